"""A whole random program from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from . import arithmetic, contraction, control, motion
from .grafts import graft
from .types import ELEMENTS
from .writer import Value, Writer

Family = Callable[[Writer], None]

_ARITHMETIC: tuple[tuple[Family, int], ...] = (
    (arithmetic.binary, 14),
    (arithmetic.neutral, 30),
    (arithmetic.unary, 6),
    (arithmetic.negated_pair, 4),
    (arithmetic.compare, 5),
    (arithmetic.select, 5),
    (arithmetic.clamp, 1),
    (arithmetic.convert, 5),
    (arithmetic.bitcast, 2),
    (arithmetic.complex_parts, 2),
    (arithmetic.iota, 3),
    (arithmetic.constant, 2),
)
_MOTION: tuple[tuple[Family, int], ...] = (
    (motion.transpose, 5),
    (motion.reshape, 6),
    (motion.broadcast, 6),
    (motion.slice_, 8),
    (motion.pad, 4),
    (motion.padded_again, 2),
    (motion.reverse, 4),
    (motion.concatenate, 4),
    (motion.cut_and_joined, 2),
    (motion.dynamic_slice, 3),
    (motion.dynamic_update_slice, 2),
)
_CONTRACTION: tuple[tuple[Family, int], ...] = (
    (contraction.reduce, 3),
    (contraction.reduce_window, 1),
    (contraction.dot_general, 2),
    (contraction.gather, 2),
    (contraction.scatter, 1),
    (contraction.sort, 1),
)
_CONTROL = (control.call, control.if_, control.case, control.while_)

_GENERAL = (*_ARITHMETIC, *_MOTION, *_CONTRACTION)
# Around a convolution that is rewritten nothing jumps: other rounding must stay small.
_SMOOTH = (
    (contraction.convolution, 12),
    (contraction.weight_gradient, 2),
    *_MOTION,
    (arithmetic.iota, 1),
)

_SHAPES = (
    (),
    (1,),
    (3,),
    (2, 3),
    (4, 1),
    (2, 1, 3),
    (5,),
    (0,),
    (2, 0),
    (2, 4),
    (3, 2, 2),
    (17,),
    (24,),
)
_ROOMY = ((9,), (7,), (5, 6), (4, 7), (2, 3, 4), (12,), (0, 3), (3, 1))  # for starts and strides
_IMAGES = ((1, 5, 4), (2, 6, 2), (1, 4, 4, 3), (1, 3, 5, 2), (2, 3, 3, 1))
_MOST_RESULTS = 60


def random_program(seed: str, most_ops: int, *, focused: bool = False) -> str:
    """The text of a module whose @main is well typed; the same for the same seed.

    Args:
        seed: of every choice.
        most_ops: about how many ops it may have; most programs have fewer.
        focused: a few ops of two families; no other kind of program.
    """
    generator = random.Random(seed)
    if focused:
        return _focused_program(generator, most_ops)
    kinds = (_focused_program, _grafted_program, _general_program, _smooth_program)
    return generator.choices(kinds, (9, 6, 4, 1))[0](generator, most_ops)


def _general_program(generator: random.Random, most_ops: int) -> str:
    palette = generator.sample(ELEMENTS, generator.randint(1, 3))
    palette += generator.choices(("f32", "i32", "i1"), k=1)
    kinds = [(generator.choice(_SHAPES), generator.choice(palette)) for _ in range(4)]
    kinds += [
        (kinds[0][0], kinds[0][1]),
        (kinds[0][0], "i1"),
        ((), generator.choice(("i32", "i1"))),
    ]
    count = int(most_ops * generator.random() ** 2) + 3

    def fill(w: Writer, ops: int) -> None:
        _fill(w, ops, _GENERAL, _CONTROL, fill)

    return _module(Writer(generator, palette), kinds, lambda w: fill(w, count))


def _focused_program(generator: random.Random, most_ops: int) -> str:
    """A few ops of two families in turn: what the one makes is what the other takes."""
    element = generator.choice(("f32", "i32", *ELEMENTS))
    shapes = generator.sample(_ROOMY, 2)
    kinds = [(shape, element) for shape in shapes] + [(shapes[0], element), (shapes[0], "i1")]
    kinds.append(((), generator.choice(("i32", element))))
    functions, weights = zip(*_GENERAL, strict=True)
    often = generator.choices(functions, weights)[0]
    families = ((often, 1), (generator.choice(functions), 1))
    count = generator.randint(2, max(2, min(14, most_ops)))
    return _module(
        Writer(generator, [element]), kinds, lambda w: _fill(w, count, families, (), None)
    )


def _grafted_program(generator: random.Random, most_ops: int) -> str:
    """Functions of lit files in a row, often of one family, with a few ops between them."""
    palette = ["f32", "i32", "i1", *generator.sample(ELEMENTS, generator.randint(0, 2))]
    count = generator.randint(1, max(2, min(12, most_ops // 8)))

    def fill(w: Writer) -> None:
        file = None
        for _ in range(count):
            file = graft(w, file if w.chance(0.4) else None)
            if w.chance(0.3):
                _fill(w, w.random.randint(1, 2), _GENERAL, (), None)

    return _module(Writer(generator, palette), (), fill)


def _smooth_program(generator: random.Random, most_ops: int) -> str:
    element = generator.choice(("f32", "f32", "f64", "bf16", "f16"))
    kinds = [(shape, element) for shape in (*generator.choices(_IMAGES, k=2), ())]
    count = generator.randint(2, max(2, min(most_ops, 12)))
    return _module(
        Writer(generator, [element]), kinds, lambda w: _fill(w, count, _SMOOTH, (), None)
    )


def _fill(
    w: Writer,
    ops: int,
    families: Sequence[tuple[Family, int]],
    control_families: Sequence[Callable[[Writer, control.Fill], None]],
    fill: control.Fill | None,
) -> None:
    """Write about so many ops: runs of one family, as rules look for chains of a kind."""
    functions, weights = zip(*families, strict=True)
    family = None
    for _ in range(ops):
        if fill is not None and control_families and w.chance(0.05):
            w.random.choice(control_families)(w, fill)
            continue
        if family is None or not w.chance(0.3):
            family = w.random.choices(functions, weights)[0]
        family(w)


def _module(
    w: Writer, kinds: Sequence[tuple[tuple[int, ...], str]], fill: Callable[[Writer], None]
) -> str:
    arguments = [
        Value(f"%a{i}", shape, element, is_given=True) for i, (shape, element) in enumerate(kinds)
    ]
    w.values += arguments
    w.given = arguments
    fill(w)
    results = _results(w, arguments)
    w.line([], "func.return", results)
    head = ", ".join(f"{each.name}: {each.type}" for each in arguments)
    kinds_out = ", ".join(each.type for each in results)
    main = f"func.func public @main({head}) -> ({kinds_out}) {{\n" + "\n".join(w.lines) + "\n}"
    return "\n".join([main, *w.functions]) + "\n"


def _results(w: Writer, arguments: Sequence[Value]) -> list[Value]:
    """The last values that nothing uses, so that little of the program is dead."""
    text = "\n".join(w.lines)
    made = [value for value in w.values if value not in arguments]
    unused = [v for v in made if text.count(f"{v.name},") + text.count(f"{v.name})") == 0]
    return (unused or made or list(arguments))[-_MOST_RESULTS:]
