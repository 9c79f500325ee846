"""Compute values again where they are read late, instead of keeping them in memory until then.

The copies of ops must neither be merged with the originals nor run before they are needed. So each
copy depends on a scalar of a value that the program computes just before: on a GPU by a barrier
(but for indices), elsewhere by a `select` whose condition always holds. XLA:CPU of jaxlib 0.10.2
erases barriers before it merges equal ops, and the TPU compiler merged copies behind barriers too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.cost.liveness import Timeline, size_of
from jxc.ir import build, is_used, walk
from jxc.ir.module import has_regions, is_pure, ops_of
from jxc.ir.values import element_type, is_float, is_integer, shape_of

from .copies import compares_bits


def is_repeatable(op: ir.OpView) -> bool:
    """Whether computing `op` twice has no effect: no custom call, token or random state.

    A comparison for equality is not, as in loops: a copy may find other bits.
    """
    if compares_bits(op):
        return False
    ops = [op, *walk(op)] if has_regions(op) else [op]
    ends = ("stablehlo.return",)
    return all(
        each.operation.name in ends
        or (is_pure(each) and each.operation.name != "stablehlo.custom_call")
        for each in ops
    )


def compute_again(block: ir.Block, timeline: Timeline, chosen: Collection[ir.Value]) -> int:
    """Compute stored values of `block` again for the ops that read them after a peak of memory.

    Args:
        block: of a function.
        timeline: of the block.
        chosen: stored values, made before a top of the timeline, of ops that are repeatable. One
            that is not live at a top is copied if a copy reads it.

    Returns:
        The number of values that are computed again.
    """
    found = 0
    by_top: dict[int, set[ir.Value]] = {}
    for value in chosen:
        top = timeline.top_of(value)
        later = [each for each in timeline.tops if each >= timeline.made[value]]
        for each in later if top is None else [top]:
            by_top.setdefault(each, set()).add(value)
    ops = ops_of(block)
    for top, values in sorted(by_top.items()):
        copier = _Copier(ops, timeline, top, values)
        copier.run()
        found += copier.count
    _erase_dead(ops)
    return found


def _erase_dead(ops: Iterable[ir.OpView]) -> None:
    for op in reversed(list(ops)):
        if not any(map(is_used, op.results)) and is_repeatable(op):
            op.operation.erase()


@dataclass
class _Request:
    """The copies for one op: `anchor` is the value that they wait for."""

    anchor: ir.Value
    tied: dict[ir.Value, ir.Value] = field(default_factory=dict)
    scalar: ir.Value | None = None
    condition: ir.Value | None = None


class _Copier:
    """Copies ops for the readers that come after one top of the timeline."""

    def __init__(
        self, ops: list[ir.OpView], timeline: Timeline, top: int, chosen: set[ir.Value]
    ) -> None:
        self.ops, self.chosen = ops, chosen
        self.number = {op: number for number, op in enumerate(ops)}
        self.last = timeline.steps[top].position
        self.stored = set(timeline.made)
        self.on_cpu = timeline.kind == "cpu"
        self.on_gpu = timeline.kind == "gpu"
        self.count = 0
        self._copies: dict[ir.Value, ir.Value] = {}
        self._needed: dict[ir.Value, bool] = {}
        self._tied: set[ir.Value] = set()  # what depends on an anchor
        self._depth: dict[ir.Value, int] = {}

    def run(self) -> None:
        """Let each op after the top read copies."""
        deepest: ir.Value | None = None
        for number, op in enumerate(self.ops):
            if number > self.last and deepest is not None and self._reads_chosen(op):
                self._let_read_copies(op, self._anchor(op, deepest))
            depth = 1 + max((self._depth.get(v, 0) for v in op.operands), default=0)
            for value in op.results:
                self._depth[value] = depth
                is_deeper = deepest is None or depth >= self._depth[deepest]
                if is_deeper and _can_be_anchor(value):
                    deepest = value

    def _reads_chosen(self, op: ir.OpView) -> bool:
        return any(map(self._is_needed, op.operands))

    def _anchor(self, op: ir.OpView, deepest: ir.Value) -> ir.Value:
        """A value on which the copies for `op` wait: an operand, or the latest value before it."""
        late = [v for v in op.operands if self._is_late(v) and _can_be_anchor(v)]
        best = max(late, key=lambda v: self._depth.get(v, 0), default=deepest)
        return best if self._depth.get(best, 0) * 2 > self._depth[deepest] else deepest

    def _is_late(self, value: ir.Value) -> bool:
        return self.number.get(value.owner, -1) > self.last

    def _is_needed(self, value: ir.Value) -> bool:
        """Whether a value is to be copied: it is chosen, or XLA would compute it from such ones."""
        pending = [(value, False)]
        while pending:
            each, is_visited = pending.pop()
            if each in self._needed:
                continue
            if each in self.chosen:
                self._needed[each] = True
            elif not self._is_fused(each):
                self._needed[each] = False
            elif is_visited:
                self._needed[each] = any(self._needed[v] for v in each.owner.operands)
            else:
                pending += [(each, True), *((v, False) for v in each.owner.operands)]
        return self._needed[value]

    def _let_read_copies(self, op: ir.OpView, anchor: ir.Value) -> None:
        request = _Request(anchor)
        with op.location, ir.InsertionPoint(op):
            for index, value in enumerate(op.operands):
                if self._is_needed(value):
                    op.operation.operands[index] = self._copy(value, request)

    def _copy(self, value: ir.Value, request: _Request) -> ir.Value:
        """A copy of an early value, made before the op that reads it."""
        pending = [value.owner]
        while pending:
            op = pending[-1]
            sources = [v for v in op.operands if self._is_copied_through(v)]
            missing = [v.owner for v in sources if v not in self._copies]
            if missing and op.results[0] not in self._copies:
                pending += missing
                continue
            pending.pop()
            if op.results[0] not in self._copies:
                self._clone(op, request)
        return self._copies[value]

    def _is_copied_through(self, value: ir.Value) -> bool:
        """Whether a copy reads a copy of `value`: it is needed, or XLA does not store it."""
        if self._is_needed(value):
            return True
        return self._is_fused(value) and len(value.owner.operands) > 0

    def _is_fused(self, value: ir.Value) -> bool:
        """Whether an early op computes `value` in the kernels that read it."""
        number = self.number.get(value.owner)
        is_early = number is not None and number <= self.last
        return is_early and value not in self.stored and is_repeatable(value.owner)

    def _clone(self, op: ir.OpView, request: _Request) -> None:
        read = [self._copies.get(v, v) if self._is_copied_through(v) else v for v in op.operands]
        if not any(each in self._tied for each in read):
            self._tie_one(read, request)
        with op.location:
            copy = op.operation.clone()
        for index, each in enumerate(read):
            copy.operands[index] = each
        is_tied = any(each in self._tied for each in read)
        for old, new in zip(op.results, copy.results, strict=True):
            self._copies[old] = new if is_tied else old
            self._depth[new] = self._depth.get(old, 0)
            self.count += is_tied and old in self.chosen
        if is_tied:
            self._tied.update(copy.results)
        else:
            copy.erase()

    def _tie_one(self, read: list[ir.Value], request: _Request) -> None:
        """Let one of the operands of a copy depend on the anchor of the request."""
        indices = [i for i, each in enumerate(read) if _can_be_tied(each)]
        if not indices:
            return
        known = [i for i in indices if read[i] in request.tied]
        index = known[0] if known else min(indices, key=lambda i: self._tying_cost(read[i]))
        value = read[index]
        if value not in request.tied:
            request.tied[value] = self._tie(value, request)
            self._tied.add(request.tied[value])
        read[index] = request.tied[value]

    def _tying_cost(self, value: ir.Value) -> tuple[bool, int]:
        """A CPU may copy the value; other compilers choose the layouts of arguments themselves."""
        is_argument = isinstance(value.owner, ir.Block)
        return (is_argument and not self.on_cpu, size_of(value))

    def _tie(self, value: ir.Value, request: _Request) -> ir.Value:
        if request.scalar is None:
            request.scalar = _first_element(request.anchor)
        if self.on_gpu and not _is_index(value):
            barrier = hlo.OptimizationBarrierOp([value, request.scalar])
            return barrier.results[0]
        if request.condition is None:
            request.condition = _always_true(request.scalar)
        return hlo.select(request.condition, value, build.constant(0, value))


def _is_index(value: ir.Value) -> bool:
    """Whether a value may be the index of a row.

    XLA:GPU evaluates the indices that it can compute from the counter of a loop, and fails at a
    barrier (jaxlib 0.10.2).
    """
    return is_integer(value) and not shape_of(value)


def _can_be_anchor(value: ir.Value) -> bool:
    return size_of(value) > 0 and (is_float(value) or is_integer(value))


def _can_be_tied(value: ir.Value) -> bool:
    """Whether a value is a tensor that is not a constant."""
    is_constant = not isinstance(value.owner, ir.Block) and not len(value.owner.operands)
    return not is_constant and size_of(value) > 0


def _first_element(value: ir.Value) -> ir.Value:
    rank = len(shape_of(value))
    first = build.slice_along(value, {dim: range(1) for dim in range(rank)})
    return build.reshape(first, ())


def _always_true(scalar: ir.Value) -> ir.Value:
    """A condition that holds for every scalar, which XLA does not find out.

    The bits of the scalar, shifted to the right by half their number twice, are 0.
    """
    width = ir.IntegerType(element_type(scalar)).width if is_integer(scalar) else None
    if width is None:
        width = ir.FloatType(element_type(scalar)).width
    unsigned = ir.RankedTensorType.get([], ir.IntegerType.get_unsigned(width))
    bits = hlo.bitcast_convert(unsigned, scalar)
    half = build.constant((width + 1) // 2, bits)
    bits = hlo.shift_right_logical(hlo.shift_right_logical(bits, half), half)
    return build.compare("EQ", bits, build.constant(0, bits))
