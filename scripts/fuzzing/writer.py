"""Writing a program op by op, in MLIR's generic form, with the choices of a seeded generator."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from . import types

MOST_ELEMENTS = 160  # of a value: small ones meet as many rules, and run faster
MOST_DIMENSIONS = 5


@dataclass(frozen=True)
class Value:
    """A value in the text: its name, its type, and what may be done with it.

    Attributes:
        name: with its %.
        shape: its extents.
        element: its element type as MLIR writes it.
        is_given: whether its bits are those of an argument or a constant: those of a NaN that
            was computed are nobody's promise, and must not be looked at.
    """

    name: str
    shape: tuple[int, ...]
    element: str
    is_given: bool = False

    @property
    def type(self) -> str:
        return type_of(self.shape, self.element)

    @property
    def rank(self) -> int:
        return len(self.shape)


def type_of(shape: Sequence[int], element: str) -> str:
    """A tensor type as MLIR writes it."""
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{element}>"


def size_of(shape: Iterable[int]) -> int:
    """How many elements a shape has."""
    count = 1
    for extent in shape:
        count *= extent
    return count


def ints(numbers: Iterable[int]) -> str:
    """An array attribute."""
    text = ", ".join(str(number) for number in numbers)
    return f"array<i64: {text}>" if text else "array<i64>"


@dataclass
class Writer:
    """One block of a program: the values that are visible in it, and its lines.

    Attributes:
        random: where every choice comes from.
        palette: the element types that this program prefers.
        values: what can be an operand here.
        lines: the ops written so far.
        names: counts the program's values; shared by its blocks.
        functions: texts of the private functions; shared by the program's blocks.
        depth: how many regions this block is in.
        given: the arguments of @main, to which more may be added; None in any other block.
    """

    random: random.Random
    palette: Sequence[str]
    values: list[Value] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    names: list[int] = field(default_factory=lambda: [0])
    functions: list[str] = field(default_factory=list)
    depth: int = 0
    given: list[Value] | None = None

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def fresh(self) -> str:
        self.names[0] += 1
        return f"%v{self.names[0]}"

    def op(
        self,
        name: str,
        operands: Sequence[Value],
        shape: Sequence[int],
        element: str,
        attributes: str = "",
        regions: str = "",
        *,
        keeps_bits: bool = False,
    ) -> Value:
        """Write an op of one result, which becomes the latest value."""
        given = keeps_bits and all(value.is_given for value in operands)
        result = Value(self.fresh(), tuple(shape), element, given)
        self.line([result], name, operands, attributes, regions)
        self.values.append(result)
        return result

    def line(
        self,
        results: Sequence[Value],
        name: str,
        operands: Sequence[Value],
        attributes: str = "",
        regions: str = "",
    ) -> None:
        """Write an op, its results not yet being operands."""
        left = f"{', '.join(value.name for value in results)} = " if results else ""
        full = name if "." in name else f"stablehlo.{name}"
        middle = f" <{{{attributes}}}>" if attributes else ""
        kinds = f"({_types(operands)}) -> ({_types(results)})"
        used = ", ".join(value.name for value in operands)
        self.lines.append(f'{left}"{full}"({used}){middle}{regions} : {kinds}')

    def ask(self, shape: Sequence[int], element: str) -> Value:
        """One more argument of @main; to be called in its own block."""
        assert self.given is not None
        value = Value(f"%a{len(self.given)}", tuple(shape), element, is_given=True)
        self.given.append(value)
        self.values.append(value)
        return value

    def pick(self, test: Callable[[Value], bool] = lambda value: True) -> Value | None:
        """A value that fits, mostly a late one, so that chains grow."""
        fitting = [value for value in self.values if test(value)]
        if not fitting:
            return None
        draws = 1 if self.chance(0.2) else 3
        return fitting[max(self.random.randrange(len(fitting)) for _ in range(draws))]

    def like(self, value: Value) -> Value:
        """An operand of the same type: often the same one, often a constant."""
        how = self.random.random()
        if how < 0.2:
            return value
        same = [other for other in self.values if other.type == value.type]
        if how < 0.5 or not same:
            return self.constant(value.shape, value.element)
        return self.random.choice(same)

    def constant(self, shape: Sequence[int], element: str, text: str = "") -> Value:
        """A constant: mostly one edge value repeated, sometimes by broadcasting a scalar."""
        if not text and size_of(shape) > 1 and len(shape) == 1 and self.chance(0.2):
            numbers = (types.small(element, self.random.randrange(8)) for _ in range(shape[0]))
            return self._constant(shape, element, f"[{', '.join(numbers)}]")
        text = text or self.random.choice(types.edges(element))
        if shape and not text.startswith("[") and self.chance(0.3):
            scalar = self._constant((), element, text)
            attributes = f"broadcast_dimensions = {ints(())}"
            return self.op(
                "broadcast_in_dim", [scalar], shape, element, attributes, keeps_bits=True
            )
        return self._constant(shape, element, text)

    def _constant(self, shape: Sequence[int], element: str, text: str) -> Value:
        kind = type_of(shape, element)
        return self.op(
            "constant", [], shape, element, f"value = dense<{text}> : {kind}", keeps_bits=True
        )

    def block(
        self, arguments: Sequence[Value], fill: Callable[[Writer], Sequence[Value]], *, closed: bool
    ) -> str:
        """A region of one block, ended by the values that `fill` returns.

        Args:
            arguments: the block's own.
            fill: writes its body.
            closed: whether values from outside are out of reach.
        """
        outside = [] if closed else list(self.values)
        values = [*outside, *arguments]
        inner = Writer(
            self.random,
            self.palette,
            values,
            names=self.names,
            functions=self.functions,
            depth=self.depth + 1,
        )
        results = fill(inner)
        inner.line([], "return", results)
        named = ", ".join(f"{value.name}: {value.type}" for value in arguments)
        head = f"^bb0({named}):\n" if arguments else ""
        return "{\n" + head + "\n".join(inner.lines) + "\n}"

    def arguments(self, *kinds: tuple[Sequence[int], str]) -> list[Value]:
        """Names for the arguments of a block or function."""
        return [Value(self.fresh(), tuple(shape), element) for shape, element in kinds]


def _types(values: Sequence[Value]) -> str:
    return ", ".join(value.type for value in values)
