"""The difference between a variant and its program: drawn in advance, or while it is built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.check.rebuild import rebuild
from jxc.check.rebuild_types import DYNAMIC, Attributes, Values
from jxc.ir.values import element_type

from .attributes import VARIED
from .draws import Draws, Number, draw_elements, draw_extents
from .program import SeedProgram, constant, vary_numbers

_COMMUTATIVE = {
    f"stablehlo.{name}" for name in ("add", "multiply", "maximum", "minimum", "and", "or", "xor")
}


@dataclass(frozen=True, kw_only=True)
class Variation(Draws):
    """How one variant differs from its program.

    Attributes:
        elements: the new element type for each old one, as MLIR spells them.
        numbers: the elements of the program's constants, see `SeedProgram.numbers`.
    """

    elements: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[ir.Value, Sequence[Number]] = field(default_factory=dict)

    def element(self, element: ir.Type) -> ir.Type:
        name = str(element)
        new = self.elements.get(name, name)
        return element if new == name else ir.Type.parse(new, element.context)

    def drawn_shape(self, size: int, rank: int) -> list[int] | None:
        if not self.chance(0.15):
            return None
        shape = [1] * max(1, rank + self.random.choice((0, 1, -1)))
        for prime in (2, 3, 5, 7):
            while size and size % prime == 0:
                size, place = size // prime, self.random.randrange(len(shape))
                shape[place] *= prime
        shape[0] *= size
        return shape

    def constant_instead(self, argument: ir.Value) -> ir.Value | None:
        kind = argument.type
        if isinstance(kind, ir.RankedTensorType) and self.chance(0.05):
            return constant([self.number(str(kind.element_type))], kind)
        return None

    def constant(self, op: hlo.ConstantOp) -> ir.Value:
        if op.result not in self.numbers:
            return super().constant(op)
        kind = self.static_type(op.result.type)
        types = str(element_type(op.result)), str(kind.element_type)
        return constant(vary_numbers(self.numbers[op.result], *types, self), kind)

    def operands(self, op: ir.OpView, operands: list[ir.Value], made: Values) -> list[ir.Value]:
        name, random = op.operation.name, self.random
        if name == "func.return" and made and self.chance(0.15):
            return [*operands, random.choice(made)]
        if name in _COMMUTATIVE and self.chance(0.25):
            operands.reverse()
        if len(operands) > 1 and self.chance(0.06):
            to, of = (random.randrange(len(operands)) for _ in range(2))
            if operands[to].type == operands[of].type:
                operands[to] = operands[of]
        return operands

    def attributes(self, op: ir.OpView, operands: Values) -> Attributes:
        vary = VARIED.get(op.operation.name)
        if vary is None:
            return super().attributes(op, operands)
        return dict(op.attributes.items()) | vary(op, operands, self)

    def inside(self, op: ir.OpView) -> Variation:
        """The variation inside an op, without redrawing in a loop, whose counter could change."""
        return replace(self, wildness=0.0) if isinstance(op, hlo.WhileOp) else self


def draw_variation(types: Iterable[ir.Type], random: Random, *, mild: bool = False) -> Variation:
    """A variation of a program in which these types occur."""
    tensors = [kind for kind in types if isinstance(kind, ir.RankedTensorType)]
    elements = list(dict.fromkeys(str(kind.element_type) for kind in tensors))
    extents = sorted({size for kind in tensors for size in kind.shape if size != DYNAMIC})
    wildness = random.choice((0.0, 1.0, 2.0, 3.0))
    is_flat = all(len(kind.shape) <= 2 for kind in tensors)
    return Variation(
        random=random,
        elements=draw_elements(elements, random, mild=mild),
        extents=draw_extents(extents, is_flat, random),
        wildness=wildness,
        mild=mild,
    )


def build_variant(program: SeedProgram, variation: Variation) -> ir.Module:
    """The program changed by the variation, verified, in the same context.

    Raises:
        NotValid: the variation makes no valid program of it.
    """
    return rebuild(program.module, replace(variation, numbers=program.numbers))
