"""Whether two programs compute the same by the same ops: a proof that does not run them.

Ops with equal operands and attributes get equal numbers, as in global value numbering. Two
programs are the same if the numbers of their results are. Copies of ops therefore count as their
originals, and so do barriers and conditions that always hold, which `rematerialize` adds.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from ..ir import clone_module
from ..ir.locations import inline_calls
from ..ir.module import has_regions, is_pure, main_of
from ..ir.values import splat_of


def is_same_by_numbering(before: ir.Module, after: ir.Module) -> bool:
    """Whether the results of @main have the same numbers in both modules.

    The programs are inlined copies of the modules. False says only that no proof was found.
    """
    table: dict[object, int] = {}
    numbers = []
    for module in (before, after):
        copy = clone_module(module)
        with copy.context:
            inline_calls(copy.operation)
            main = main_of(copy)
            if main is None:
                return False
            numbering = _Numbering(table)
            block = main.regions[0].blocks[0]
            arguments = [("argument", i) for i in range(len(block.arguments))]
            numbers.append(
                numbering.of_block(block, [table.setdefault(a, len(table)) for a in arguments])
            )
    return numbers[0] == numbers[1]


class _Numbering:
    def __init__(self, table: dict[object, int]) -> None:
        self.table = table
        self.of: dict[ir.Value, int] = {}
        self.viewed: dict[int, tuple[int, str]] = {}  # what a reshape shows, and its type
        self.effects = 0

    def of_block(self, block: ir.Block, arguments: Sequence[int]) -> tuple[int, ...]:
        """The numbers of the values that a block returns, and of its ops with effects."""
        self.of.update(zip(block.arguments, arguments, strict=True))
        before = self.effects
        *ops, end = block.operations
        for op in ops:
            self._visit(op)
        returned = tuple(self.of[value] for value in end.operands)
        return (*returned, self.effects - before)

    def _visit(self, op: ir.OpView) -> None:
        if op.operation.name == "stablehlo.reshape" and not len(op.operation.attributes):
            self.of[op.results[0]] = self._of_reshape(op)
            return
        operands = [self.of[value] for value in op.operands]
        same = _unchanged(op)
        if same is not None:
            for result, index in zip(op.results, same, strict=True):
                self.of[result] = operands[index]
            return
        key: list[object] = [op.operation.name, tuple(operands)]
        key.append(tuple((name, str(a)) for name, a in sorted(op.operation.attributes.items())))
        key.append(tuple(str(result.type) for result in op.results))
        if has_regions(op):
            key.append(tuple(self._of_region(region, key[1]) for region in op.regions))
        if not is_pure(op):
            self.effects += 1
            key.append(("effect", self.effects))
        for index, result in enumerate(op.results):
            self.of[result] = self._number((*key, index))

    def _of_reshape(self, op: ir.OpView) -> int:
        """The number of a reshape: that of one from the first shape, or of the value itself."""
        number = self.of[op.operands[0]]
        source, kind = self.viewed.get(number, (number, str(op.operands[0].type)))
        if str(op.results[0].type) == kind:
            return source
        found = self._number(("reshape", source, str(op.results[0].type)))
        self.viewed[found] = source, kind
        return found

    def _of_region(self, region: ir.Region, operands: object) -> object:
        """The numbers that the blocks of a region return, their arguments being numbered alike."""
        found = []
        for block in region.blocks:
            kinds = [("inner", operands, i, str(a.type)) for i, a in enumerate(block.arguments)]
            found.append(self.of_block(block, [self._number(kind) for kind in kinds]))
        return tuple(found)

    def _number(self, key: object) -> int:
        return self.table.setdefault(key, len(self.table))


def _unchanged(op: ir.OpView) -> list[int] | None:
    """For an op that returns operands: the operand that each result is. None for other ops."""
    name = op.operation.name
    if name == "stablehlo.optimization_barrier":
        return list(range(len(op.results)))
    if name == "stablehlo.select" and _always_holds(op.operands[0]):
        return [1]
    return None


def _always_holds(value: ir.Value) -> bool:
    """Whether a condition compares bits that were shifted out, as `rematerialize` writes it."""
    compare = value.owner
    if _name(compare) != "compare" or splat_of(compare.operands[1]) != 0:
        return False
    if "EQ" not in str(compare.attributes["comparison_direction"]):
        return False
    outer = compare.operands[0].owner
    if _name(outer) != "shift_right_logical":
        return False
    inner = outer.operands[0].owner
    if _name(inner) != "shift_right_logical":
        return False
    shifts = [splat_of(each.operands[1]) for each in (inner, outer)]
    element = ir.RankedTensorType(compare.operands[0].type).element_type
    width = ir.IntegerType(element).width if isinstance(element, ir.IntegerType) else 0
    known = [s for s in shifts if s is not None and 0 <= s <= width]
    return width > 0 and len(known) == 2 and sum(known) >= width


def _name(owner: object) -> str:
    return "" if isinstance(owner, ir.Block) else owner.operation.name.removeprefix("stablehlo.")  # type: ignore[attr-defined]
