"""Build the ops of an iteration: copies of the program's ops that work on parts of the batch.

An emitter has what an iteration computed of each value, by the state in which it is read. The ops
of a block are copied in order, by their plans. A part of a whole value is computed when it is first
read: from parts of the operands of its op where `push` has a rule, else by a `dynamic_slice`. Loops
and branches have an emitter of their own, which asks the outer one for values from outside.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.module import ops_of, terminator, walk
from jxc.ir.values import element_type, is_integer, shape_of, splat_attr, users

from .analysis import Analysis, reads_of
from .push import plan_part
from .states import SAME, CannotSplit, OpPlan, Parted, State, is_whole

_MOST_PUSHED = 200  # how many producers deep a part of a whole value is computed


class Emitter:
    """Builds the ops of a block of the program for an iteration.

    Args:
        analysis: of the program.
        counter: the number of the iteration.
        block: the block of the program.
        outer: the emitter of the block around it; None for the block of @main.
    """

    def __init__(
        self,
        analysis: Analysis,
        counter: ir.Value,
        block: ir.Block,
        outer: Emitter | None = None,
    ) -> None:
        self.analysis, self.counter, self.outer = analysis, counter, outer
        self.parts = analysis.parts
        self._block = block
        self._known: dict[tuple[ir.Value, State], ir.Value] = {}
        self._own = {*block.arguments, *(v for op in block.operations for v in op.results)}
        self._inside: ir.OpView | None = None  # the op whose regions are being built
        self._depth = 0

    def define(self, value: ir.Value, state: State, built: ir.Value) -> None:
        """Record what an iteration has of a value in a state."""
        self._known[value, SAME if is_whole(state) else state] = built

    def get(self, value: ir.Value, form: State) -> ir.Value:
        """What an iteration has of a value: its part, its summand, or the whole."""
        if value not in self._own and self.outer is not None:
            with ir.InsertionPoint(self.outer._inside):
                return self.outer.get(value, form)
        found = self._known.get((value, form))
        if found is not None:
            return found
        if isinstance(form, Parted):
            built = self._part(value, form.dim)
        elif (value, SAME) in self._known:
            return self._known[value, SAME]
        elif self.outer is None and _is_view(value):
            built, form = self._view(value), SAME
        else:
            return value
        self._known[value, form] = built
        return built

    def run(self) -> None:
        """Build the ops of the block that depend on the batch, at the insertion point."""
        for op in ops_of(self._block):
            plan = self.analysis.plans.get(op.results[0]) if len(op.results) else None
            with op.location:
                if plan is not None:
                    self.emit(op, plan)
                elif self.outer is not None:
                    self._copy(op)

    def _view(self, value: ir.Value) -> ir.Value:
        """The same op in the loop, before which its result would be an array of its own."""
        copy = value.owner.operation.clone()
        copy.operands[0] = self.get(value.owner.operands[0], SAME)
        return copy.results[0]

    # Parts of whole values

    def _part(self, value: ir.Value, dim: int) -> ir.Value:
        size = shape_of(value)[dim] // self.parts
        kind = self._type(value, Parted(dim))
        op = value.owner
        if isinstance(op, hlo.IotaOp):
            return self._iota(op, dim, size, kind)
        if isinstance(op, hlo.ConstantOp) and (attr := splat_attr(value)) is not None:
            return build.splat(attr, kind)
        is_argument = isinstance(op, ir.Block)
        if not is_argument and self._depth < _MOST_PUSHED and is_whole(self.analysis.of(value)):
            self._depth += 1
            built = self._pushed(value, dim)
            self._depth -= 1
            if built is not None:
                return built
        whole = self.get(value, SAME)
        shape = ir.RankedTensorType(kind).shape
        if dim or size == 1:
            starts = build.starts_along(whole, {dim: self.first_row(size)})
            return hlo.dynamic_slice(whole, starts, shape)
        # As the parts of `lax.scan`: XLA:TPU fuses less around a slice that starts at a product.
        every = build.reshape(whole, [self.parts, *shape])
        part = hlo.dynamic_slice(every, build.starts_along(every, {0: self.counter}), [1, *shape])
        return build.reshape(part, shape)

    def _pushed(self, value: ir.Value, dim: int) -> ir.Value | None:
        op = value.owner
        if isinstance(op, hlo.WhileOp):
            plan = self._loop_plan(op, value, dim)
        else:
            plan = plan_part(value, dim, self.parts)
        if plan is None:
            return None
        with op.location:
            self.emit(op, plan)
        return self._known.get((value, Parted(dim)))

    def _loop_plan(self, op: hlo.WhileOp, value: ir.Value, dim: int) -> OpPlan | None:
        """The plan for a whole loop whose result is split: the other results may be split too."""
        number = ir.OpResult(value).result_number
        given = [Parted(dim) if at == number else SAME for at in range(len(op.operands))]
        try:
            plan = self.analysis.plan_while(op, given)
        except CannotSplit:
            return None
        return plan if plan.results[number] == Parted(dim) else None

    def _iota(self, op: hlo.IotaOp, dim: int, size: int, kind: ir.Type) -> ir.Value:
        if op.iota_dimension.value != dim:
            return hlo.iota(kind, op.iota_dimension)
        element = element_type(op.result)  # floats would round both terms and their sum
        counted = element if is_integer(op.result) else element_type(self.counter)
        local = hlo.iota(
            ir.RankedTensorType.get(ir.RankedTensorType(kind).shape, counted), op.iota_dimension
        )
        first = build.broadcast(build.convert(self.first_row(size), counted), shape_of(local))
        return build.convert(hlo.add(local, first), element)

    def first_row(self, size: int) -> ir.Value:
        """The number of the first row of the iteration's part, of `size` rows."""
        if size == 1:
            return self.counter
        return hlo.multiply(self.counter, build.constant(size, self.counter))

    def _type(self, value: ir.Value, state: State) -> ir.Type:
        if not isinstance(state, Parted):
            return value.type
        shape = list(shape_of(value))
        shape[state.dim] //= self.parts
        return ir.RankedTensorType.get(shape, element_type(value))

    # Ops

    def emit(self, op: ir.OpView, plan: OpPlan) -> None:
        """Build what an iteration computes of an op."""
        if isinstance(op, hlo.WhileOp):
            results = self._while(op, plan)
        elif isinstance(op, hlo.CaseOp | hlo.IfOp):
            results = self._case(op, plan)
        else:
            results = self._clone(op, plan)
        for value, state, built in zip(op.results, plan.results, results, strict=True):
            self.define(value, state, built)

    def _clone(self, op: ir.OpView, plan: OpPlan) -> Sequence[ir.Value]:
        given = [self.get(v, s) for v, s in zip(op.operands, plan.operands, strict=True)]
        if plan.row_index is not None:
            given[1] = self._local_rows(op, given[1], plan)
        copy = op.operation.clone()
        for at, value in enumerate(given):
            copy.operands[at] = value
        for result, value, state in zip(copy.results, op.results, plan.results, strict=True):
            result.set_type(self._type(value, state))
        self._set_sizes(op, copy, plan, given)
        return list(copy.results)

    def _set_sizes(
        self, op: ir.OpView, copy: ir.Operation, plan: OpPlan, given: Sequence[ir.Value]
    ) -> None:
        """Write the attributes that have the extents of a part."""
        first = plan.operands[0]
        match op:
            case hlo.SliceOp() if isinstance(first, Parted):
                limits = list(op.limit_indices)
                limits[first.dim] = shape_of(given[0])[first.dim]
                copy.attributes["limit_indices"] = ir.DenseI64ArrayAttr.get(limits)
            case hlo.DynamicSliceOp() if isinstance(first, Parted):
                copy.attributes["slice_sizes"] = _sizes(op, first.dim, given[0])
            case hlo.GatherOp() if isinstance(first, Parted) and op.slice_sizes[first.dim] > 1:
                copy.attributes["slice_sizes"] = _sizes(op, first.dim, given[0])
            case hlo.ConvolutionOp():
                self._set_groups(op, copy, plan)

    def _set_groups(self, op: hlo.ConvolutionOp, copy: ir.Operation, plan: OpPlan) -> None:
        is_split = all(isinstance(state, Parted) for state in (*plan.operands, *plan.results))
        if is_split:
            count = op.feature_group_count.value // self.parts
            i64 = ir.IntegerType.get_signless(64)
            copy.attributes["feature_group_count"] = ir.IntegerAttr.get(i64, count)

    def _local_rows(self, op: ir.OpView, indices: ir.Value, plan: OpPlan) -> ir.Value:
        """Indices whose rows are counted from the first row of the part."""
        assert isinstance(plan.operands[0], Parted)
        if isinstance(op, hlo.GatherOp):
            vector = hlo.GatherDimensionNumbers(op.dimension_numbers).index_vector_dim
        else:
            vector = hlo.ScatterDimensionNumbers(op.scatter_dimension_numbers).index_vector_dim
        shape, kind = shape_of(indices), element_type(indices)
        size = shape_of(op.operands[0])[plan.operands[0].dim] // self.parts
        first = build.broadcast(build.convert(self.first_row(size), kind), shape)
        if vector < len(shape):
            entries = np.zeros([1] * vector + [shape[vector]] + [1] * (len(shape) - vector - 1))
            entries.reshape(-1)[plan.row_index] = 1
            first = hlo.multiply(first, build.constant(entries, indices))
        return hlo.subtract(indices, first)

    def _copy(self, op: ir.OpView) -> None:
        """Copy an op of a nested block that is the same in all iterations."""
        reads = {value: self.get(value, SAME) for value in reads_of(op)}
        copy = op.operation.clone()
        for each in (copy, *walk(copy)):
            for at, operand in enumerate(each.operands):
                if operand in reads:
                    each.operands[at] = reads[operand]
        for value, built in zip(op.results, copy.results, strict=True):
            self.define(value, SAME, built)

    def _while(self, op: hlo.WhileOp, plan: OpPlan) -> Sequence[ir.Value]:
        given = [self.get(v, s) for v, s in zip(op.operands, plan.operands, strict=True)]
        types = [value.type for value in given]
        made = hlo.WhileOp(types, given)
        for source, target in zip(op.regions, made.regions, strict=True):
            block = target.blocks.append(*types, arg_locs=[op.location] * len(types))
            states = plan.results if source == op.body else (SAME,)
            self._region(source.blocks[0], block, made, plan.operands, states)
        return list(made.results)

    def _case(self, op: hlo.CaseOp | hlo.IfOp, plan: OpPlan) -> Sequence[ir.Value]:
        types = [self._type(v, s) for v, s in zip(op.results, plan.results, strict=True)]
        index = self.get(op.operands[0], SAME)
        made = ir.Operation.create(
            op.operation.name, results=types, operands=[index], regions=len(op.regions)
        )
        for source, target in zip(op.regions, made.regions, strict=True):
            self._region(source.blocks[0], target.blocks.append(), made, (), plan.results)
        return list(made.results)

    def _region(
        self,
        source: ir.Block,
        target: ir.Block,
        made: ir.OpView | ir.Operation,
        given: Sequence[State],
        returned: Sequence[State],
    ) -> None:
        before, self._inside = self._inside, made
        inner = Emitter(self.analysis, self.counter, source, self)
        for argument, state, built in zip(source.arguments, given, target.arguments, strict=True):
            inner.define(argument, state, built)
        with ir.InsertionPoint(target):
            inner.run()
            ends = zip(terminator(source).operands, returned, strict=True)
            hlo.return_([inner.get(value, state) for value, state in ends])
        self._inside = before


def _is_view(value: ir.Value) -> bool:
    """Whether XLA computes a value where it is read, without an array for it."""
    match value.owner:
        case hlo.BroadcastInDimOp() | hlo.ReshapeOp():
            return True
        case hlo.TransposeOp():
            return all(isinstance(user, hlo.DotGeneralOp) for user in users(value))
    return False


def _sizes(op: ir.OpView, dim: int, operand: ir.Value) -> ir.Attribute:
    sizes = list(op.slice_sizes)
    sizes[dim] = shape_of(operand)[dim]
    return ir.DenseI64ArrayAttr.get(sizes)
