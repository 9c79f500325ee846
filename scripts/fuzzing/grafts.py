"""The functions of the lit files, with other types, put one after the other into one program.

Each shows one rule firing, or nearly. Together they are what no single rule was written for: what
one leaves is what the next one finds, values in the middle of one get other users, operands are
shared, equal or constant.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jaxlib.mlir import ir

from jxc.check.modules import entry_names, with_main
from jxc.check.variants import NotValid, SeedProgram, Variation, rebuild
from jxc.check.variants.elements import COMPLEX, ELEMENTS, family
from jxc.ir import functions, make_context, read_module, walk

from . import types
from .writer import MOST_ELEMENTS, Value, Writer, ints, size_of

_LIT_FILES = Path(__file__).parent.parent.parent / "lit_tests" / "passes"
_MOST_OPS = 40
_LARGEST = 3 * MOST_ELEMENTS  # of a value: the interpreter takes its time
_INDEXED = re.compile(r"stablehlo\.(?:dynamic_|gather|scatter)")
_DIVIDING = re.compile(r"stablehlo\.(?:divide|remainder)")
_BITWISE = re.compile(r"bitcast_convert|TOTALORDER|stablehlo\.sort")
_NOT_RUN = re.compile(
    r"custom_call|stablehlo\.rng|optimization_barrier|collective|all_|replica|partition_id|feed"
    r"|send|recv|token|composite|func\.call|sdy\.|mhlo\.|\?|quant"
    r"|fft|cholesky|triangular|batch_norm|stablehlo\.map"
    r"|while"  # with other operands it may not end
)
_NAME = re.compile(r"%([\w$.-]+)")


@dataclass(frozen=True)
class Graft:
    """Ops to be written into a program.

    Attributes:
        lines: the ops, in MLIR's generic form, one or more lines each.
        arguments: what they use from outside: names without %, types.
        results: what they give in their order, types; name#0 and on where an op gives several.
    """

    lines: Sequence[str]
    arguments: Sequence[tuple[str, ir.RankedTensorType]]
    results: Sequence[tuple[str, ir.RankedTensorType]]


@cache
def _pieces() -> list[list[str]]:
    """The texts of the modules in each lit file."""
    return [list(_split(path.read_text())) for path in sorted(_LIT_FILES.rglob("*.mlir"))]


def _split(text: str) -> Iterator[str]:
    for piece in re.split(r"^// -----.*$", text, flags=re.MULTILINE):
        code = "\n".join(line for line in piece.splitlines() if not line.startswith("//"))
        if re.search(r"func\.func (?:public )?@", code):
            yield code


@cache
def _programs(file: int, piece: int) -> list[SeedProgram]:
    """The functions of a piece that stand for themselves, have static shapes and can be run."""
    module = read_module(_pieces()[file][piece], make_context(), name="lit")
    found = [with_main(module, name) for name in entry_names(module)]
    return [SeedProgram.of(each) for each in found if _is_plain(each)]


def _is_plain(module: ir.Module) -> bool:
    if len(functions(module)) != 1 or _NOT_RUN.search(str(module)):
        return False
    kinds = [value.type for op in walk(module.operation) for value in op.results]
    kinds += functions(module)["main"].arguments.types
    tensors = [kind for kind in kinds if isinstance(kind, ir.RankedTensorType)]
    if not len(tensors) == len(kinds) <= _MOST_OPS:
        return False
    if any(str(kind.element_type) not in types.ELEMENTS for kind in tensors):
        return False
    return all(size_of(kind.shape) <= _LARGEST for kind in tensors)


def graft(w: Writer, file: int | None = None) -> int | None:
    """Write the ops of some function of a lit file; its file, or None where none was found."""
    for _ in range(8):
        at = w.random.randrange(len(_pieces())) if file is None else file
        programs = _programs(at, w.random.randrange(len(_pieces()[at])))
        if programs:
            found = _drawn(w, w.random.choice(programs))
            if found is not None:
                _write(w, found)
                return at
    return None


def _drawn(w: Writer, program: SeedProgram) -> Graft | None:
    """The program with types that occur around it, mostly."""
    try:
        module = rebuild(program, _plan(w, program.types))
    except NotValid:
        return None
    main = functions(module)["main"]
    sizes = [size_of(v.type.shape) for op in walk(main) for v in op.results]
    return _taken(main) if max(sizes, default=0) <= _LARGEST else None


def _plan(w: Writer, kinds: Sequence[ir.Type]) -> Variation:
    tensors = [kind for kind in kinds if isinstance(kind, ir.RankedTensorType)]
    named = dict.fromkeys(str(kind.element_type) for kind in tensors)
    elements = {name: _element(w, name) for name in named} if w.chance(0.7) else {}
    if set(COMPLEX) & (set(elements) | set(elements.values())):
        elements = {}  # numbers and their parts stay what they are together
    extents = {}
    if w.chance(0.4):
        known = sorted({size for kind in tensors for size in kind.shape if size > 1})
        extents = {n: w.random.choice((n, n, 1, 2, 3, 4)) for n in known}
        if w.chance(0.05) and known:
            extents[w.random.choice(known)] = 0
    wildness = w.random.choice((0.0, 0.0, 0.5, 1.0, 2.0))
    return Variation(random.Random(w.random.random()), elements, extents, wildness)


def _element(w: Writer, name: str) -> str:
    if name not in ELEMENTS:
        return name
    fitting = [each for each in w.palette if each in family(name)]
    return w.random.choice(fitting) if fitting else name


def _taken(main: ir.OpView) -> Graft:
    lines, results = [], []
    for op in list(main.entry_block.operations)[:-1]:
        text = op.operation.get_asm(print_generic_op_form=True, use_local_scope=True)
        lines.append(text)
        name = text.split(" ", 1)[0][1:].split(":")[0]
        several = len(op.results) > 1
        kinds = [value.type for value in op.results]
        results += [(f"{name}#{i}" if several else name, kind) for i, kind in enumerate(kinds)]
    arguments = [(f"arg{i}", value.type) for i, value in enumerate(main.arguments)]
    return Graft(lines, arguments, results)


def _write(w: Writer, found: Graft) -> None:
    text = "\n".join(found.lines)
    names: dict[str, str] = {}
    for name, kind in found.arguments:
        names[name] = _operand(w, kind, text).name[1:]
    for name in dict.fromkeys(_NAME.findall(text)):
        if name not in names:
            names[name] = w.fresh()[1:]
    w.lines += [_NAME.sub(lambda match: f"%{names[match[1]]}", line) for line in found.lines]
    for name, kind in found.results:
        base, mark, number = name.partition("#")
        full = f"%{names[base]}{mark}{number}"
        w.values.append(Value(full, tuple(kind.shape), str(kind.element_type)))


def _operand(w: Writer, kind: ir.RankedTensorType, text: str) -> Value:
    """What is there of the type, or can be made of it; a constant, or an argument of @main."""
    shape, element = tuple(kind.shape), str(kind.element_type)
    if element in types.UNSIGNED and _INDEXED.search(text):  # both oracles misread large indices
        return w.constant(shape, element, types.small(element, w.random.choice((0, 1, 2, 7))))
    found = _found(w, shape, element, only_given=_BITWISE.search(text) is not None)
    if element in types.INTEGERS and _DIVIDING.search(text):  # the interpreter traps on zeros
        one = w.constant(shape, element, types.small(element, 1))
        return w.op("or", [found, one], shape, element)
    return found


def _found(w: Writer, shape: tuple[int, ...], element: str, *, only_given: bool) -> Value:
    usable = [v for v in w.values if v.element == element and (v.is_given or not only_given)]
    same = [value for value in usable if value.shape == shape]
    if same and w.chance(0.75):
        return same[-1] if w.chance(0.4) else w.random.choice(same)
    if element in types.ELEMENTS and w.chance(0.12):
        return w.constant(shape, element)
    if w.chance(0.6):
        made = _made(w, shape, element, usable, only_given=only_given)
        if made is not None:
            return made
    if w.given is not None:
        return w.ask(shape, element)
    return same[-1] if same else w.constant(shape, element)


def _made(
    w: Writer, shape: tuple[int, ...], element: str, usable: Sequence[Value], *, only_given: bool
) -> Value | None:
    """The shape made of other values, by one op of those that many rules look through."""
    w.random.shuffle(usable := list(usable))
    for x in usable[:6]:
        if size_of(x.shape) == size_of(shape):
            return w.op("reshape", [x], shape, element, keeps_bits=True)
        if not x.shape:
            dims = f"broadcast_dimensions = {ints(())}"
            return w.op("broadcast_in_dim", [x], shape, element, dims, keeps_bits=True)
        if x.rank == len(shape) and all(n <= m for n, m in zip(shape, x.shape, strict=True)):
            zeros, ones = ints([0] * x.rank), ints([1] * x.rank)
            cuts = f"start_indices = {zeros}, limit_indices = {ints(shape)}, strides = {ones}"
            return w.op("slice", [x], shape, element, cuts, keeps_bits=True)
    others = [v for v in w.values if v.shape == shape and v.element not in (*COMPLEX, element)]
    if others and not only_given and element not in COMPLEX:
        return w.op("convert", [w.random.choice(others)], shape, element)
    return None
