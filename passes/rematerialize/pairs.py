"""Pairs of loops of which the second reads, element by element, what the first stored.

The gradient of `jax.lax.scan` is such a pair: the forward loop writes a row of a stack in each
iteration, and the backward loop reads that row, often from the last to the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.cost.flops import bytes_of
from jxc.ir.locations import inline_calls
from jxc.ir.module import blocks_of, terminator, walk
from jxc.ir.values import is_used, shape_of

from .._shared.region import has_placeholder
from ..loops.counted import CountedLoop, Index, Row
from .inflated import compute_in_loops


@dataclass(frozen=True)
class StackedValue:
    """A value that each iteration of a loop stores for one iteration of another loop.

    It refers to ops of the module, and is not valid any more after one of its loops was rewritten.

    Attributes:
        forward: the loop that stores it.
        backward: the loop that reads it, and nothing else does.
        index: the number of the forward loop's result that is the stack of all stored values.
        value: the stored value, in the body of the forward loop.
        bytes: the size of the stack.
    """

    forward: hlo.WhileOp
    backward: hlo.WhileOp
    index: int
    value: ir.Value
    bytes: int


@dataclass(frozen=True)
class WrittenStack:
    """A result of a loop of which each iteration writes one row.

    Attributes:
        index: the number of the result.
        result: the result.
        row: the row that an iteration writes.
        update: what it writes, with an extent of 1.
        value: the same without that extent.
    """

    index: int
    result: ir.Value
    row: Row
    update: ir.Value
    value: ir.Value

    @property
    def position(self) -> ir.Value:
        """The index of the row, in the body of the loop."""
        position: ir.Value = (
            self.result.owner.body.blocks[0]
            .operations[-1]
            .operands[self.index]
            .owner.start_indices[self.row.dim]
        )
        return position


class LoopPair:
    """A forward loop, and a backward loop of as many iterations.

    Attributes:
        forward, backward: the loops.
        reads: the ops of the backward loop that read a row of a stack that only this loop reads,
            by the number of the stack.
    """

    def __init__(self, forward: CountedLoop, backward: CountedLoop) -> None:
        self.forward, self.backward = forward, backward
        self.reads: dict[int, list[hlo.DynamicSliceOp]] = {}

    @classmethod
    def of(cls, value: StackedValue) -> LoopPair | None:
        """The pair of loops of a stacked value."""
        loop = CountedLoop.of(value.forward)
        pairs = [] if loop is None else pairs_of(loop)
        return next((each for each in pairs if each.backward.op == value.backward), None)

    @cached_property
    def stacks(self) -> dict[int, WrittenStack]:
        """All results of the forward loop that are stacks, by number."""
        return {each.index: each for each in _stacks(self.forward)}

    @cached_property
    def stacked(self) -> list[StackedValue]:
        """The values of all stacks that only the backward loop reads."""
        return [
            StackedValue(
                self.forward.op,
                self.backward.op,
                index,
                self.stacks[index].value,
                bytes_of(self.stacks[index].result.type),
            )
            for index in self.reads
        ]

    def index_of_read(self, index: int) -> Index:
        """The row of a stack that an iteration of the backward loop reads."""
        row = self.backward.row_of(self.reads[index][0].result)
        assert row is not None
        return row.index

    @property
    def is_reverse(self) -> bool:
        """Whether the backward loop reads first what the forward loop wrote last."""
        index = next(iter(self.reads))
        written, read = self.stacks[index].row.index, self.index_of_read(index)
        return written.first == read.last(self.backward.trips)


def prepare(module: ir.Operation) -> None:
    """Inline all calls, and let loops read what no iteration changes from outside of the loop.

    They compute masks and other values that are larger than their sources themselves.
    `stacked_values` finds the pairs of loops of a program only after this.
    """
    inline_calls(module)
    ops = list(walk(module))
    for op in ops:
        if isinstance(op, hlo.WhileOp):
            _read_from_outside(op)
    reshapes = [op for op in ops if isinstance(op, hlo.ReshapeOp)]
    for op in reshapes:
        _fold_reshape(op)
    for op in reversed(reshapes):
        if not is_used(op.result):
            op.operation.erase()
    compute_in_loops(module)


def _read_from_outside(op: hlo.WhileOp) -> None:
    test, body = op.cond.blocks[0], op.body.blocks[0]
    ends = list(terminator(body).operands)
    for index, initial in enumerate(op.operand):
        argument = body.arguments[index]
        if ends[index] == argument and initial.type == argument.type and _is_tensor(initial):
            argument.replace_all_uses_with(initial)
            test.arguments[index].replace_all_uses_with(initial)
            op.results[index].replace_all_uses_with(initial)


def _is_tensor(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def _fold_reshape(op: hlo.ReshapeOp) -> None:
    """reshape(reshape(x)) -> x, which the unrolled scans of JAX put between the two loops."""
    match op.operand.owner:
        case hlo.ReshapeOp(operand=x) if x.type == op.result.type:
            op.result.replace_all_uses_with(x)


def stacked_values(module: ir.Operation) -> list[StackedValue]:
    """The values that one loop stores for each iteration of exactly one other loop.

    The other loop has as many iterations, each of which reads the row of one iteration. Nothing
    else reads the stack. Call `prepare` on the module first.
    """
    return [value for pair in loop_pairs(module) for value in pair.stacked]


def loop_pairs(module: ir.Operation) -> list[LoopPair]:
    """The pairs of loops of a module."""
    return [
        pair
        for block in blocks_of(module)
        for op in block.operations
        if isinstance(op, hlo.WhileOp) and (loop := CountedLoop.of(op)) is not None
        for pair in pairs_of(loop)
    ]


def pairs_of(forward: CountedLoop) -> list[LoopPair]:
    """The pairs that a loop forms with the loops which read its stacks."""
    pairs: list[LoopPair] = []
    for stack in _stacks(forward):
        reader = _only_reader(stack.result)
        if reader is None or reader.operation.block != forward.op.operation.block:
            continue
        pair = next((each for each in pairs if each.backward.op == reader), None)
        if pair is None:
            backward = CountedLoop.of(reader)
            if backward is None or backward.trips != forward.trips:
                continue
            pair = LoopPair(forward, backward)
        if (reads := _reads(pair.backward, stack)) is None:
            continue
        if not pair.reads:
            pairs.append(pair)
        pair.reads[stack.index] = reads
    return [pair for pair in pairs if _is_one_mapping(pair)]


def _is_one_mapping(pair: LoopPair) -> bool:
    """Whether an iteration reads from all stacks what the same iteration wrote."""
    last = pair.backward.trips
    pairings = {
        pair.stacks[index].row.index.first == pair.index_of_read(index).first
        for index in pair.reads
        if last > 1
    }
    return len(pairings) == 1


def _stacks(loop: CountedLoop) -> Iterator[WrittenStack]:
    for index, result in enumerate(loop.op.results):
        if loop.is_tested(index) or not is_used(result) or not has_placeholder(result):
            continue
        if (found := loop.write_of(index)) is None:
            continue
        row, update = found
        if shape_of(result)[row.dim] == loop.trips:
            yield WrittenStack(index, result, row, update, _without_extent(update))


def _without_extent(update: ir.Value) -> ir.Value:
    """The value of which `update` is a reshape, or `update`."""
    match update.owner:
        case hlo.ReshapeOp(operand=x):
            return x
        case hlo.BroadcastInDimOp(operand=x, broadcast_dimensions=dims):
            sizes = [size for size in shape_of(update) if size != 1]
            is_reshape = sizes == [size for size in shape_of(x) if size != 1]
            return x if is_reshape and list(dims) == sorted(dims) else update
    return update


def _only_reader(result: ir.Value) -> hlo.WhileOp | None:
    """The one loop that carries `result` or whose body uses it, if nothing else does."""
    found: hlo.WhileOp | None = None
    for use in result.uses:
        owner = use.owner
        loop = owner if isinstance(owner, hlo.WhileOp) else owner.operation.parent.opview
        if not isinstance(loop, hlo.WhileOp) or (found is not None and loop != found):
            return None
        found = loop
    return found


def _reads(loop: CountedLoop, stack: WrittenStack) -> list[hlo.DynamicSliceOp] | None:
    """The reads of a stack in the body of `loop`, all of the same row; None if others use it."""
    reads: list[hlo.DynamicSliceOp] = []
    for use in stack.result.uses:
        match use.owner:
            case hlo.WhileOp():
                if not _passes_on(loop, use.operand_number):
                    return None
            case hlo.ReturnOp() as end if end.operation.block == loop.body:
                if loop.op.operands[use.operand_number] != stack.result:
                    return None
            case hlo.DynamicSliceOp() as read if read.operation.block == loop.body:
                reads.append(read)
            case _:
                return None
    rows = [loop.row_of(each.result) for each in reads]
    is_one = len(set(rows)) == 1 and rows[0] is not None and rows[0].dim == stack.row.dim
    return sorted(reads, key=lambda each: loop.position[each.result]) if is_one else None


def _passes_on(loop: CountedLoop, number: int) -> bool:
    """Whether a loop carries a value that nothing in it or after it uses."""
    values: Sequence[ir.Value] = (
        loop.op.results[number],
        loop.body.arguments[number],
        loop.op.cond.blocks[0].arguments[number],
    )
    return not any(map(is_used, values))
