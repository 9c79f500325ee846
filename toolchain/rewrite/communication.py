"""Whether a rewrite of a partitioned program makes the devices communicate more.

The ops that a rewrite removes and the ops that it builds are copied into two small functions, whose
arguments and results have the shardings of the program's values. Shardy's propagation and its
explicit collectives then show what each function sends between devices. XLA's partitioner decides
for itself, but mostly agrees on which rewrites add communication:
`tests/passes/test_partitioned.py` compares with XLA.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, sdy, stablehlo as hlo

from ..ir import functions, has_regions, walk
from ..ir.elementwise import is_elementwise
from ..ir.propagation import (
    Meshes,
    Shardings,
    can_propagate,
    numbered,
    result_shardings,
    set_number,
    set_rule,
)
from ..ir.shardings import SHARDY, is_local
from ..ir.shardy import ShardyError, run_shardy
from .cone import Cone, clone_with, dying, is_constant_like, users_of_function
from .device_work import DeviceWork, device_work_of

_PASSES = (
    "builtin.module(func.func(sdy-populate-op-sharding-rules),sdy-add-data-flow-edges,"
    "sdy-user-priority-propagate,func.func(sdy-sink-data-flow-edges),"
    "func.func(sdy-insert-explicit-reshards{enable-full-version=true},"
    "sdy-reshard-to-collectives,sdy-populate-op-sharding-rules))"
)


_INDEXING = (hlo.GatherOp, hlo.ScatterOp, hlo.DynamicSliceOp, hlo.DynamicUpdateSliceOp)


class Guard:
    """Decides on the rewrites of one run over a partitioned module."""

    def __init__(self, module: ir.Operation) -> None:
        self._module = module
        self._has_shardings = can_propagate(module)

    def allows(self, op: ir.OpView, values: Sequence[ir.Value], built: Sequence[ir.OpView]) -> bool:
        """Whether `values`, computed by the new ops `built`, may replace the results of `op`.

        If so, the shardings of what was built are recorded.
        """
        if is_local(op):
            return True
        if not self._has_shardings:
            return _keeps_dimensions(op, built)
        known = self._shardings
        if known is None or _fixes_index(op, built, known):
            return False
        _forget(built, known)
        before, after = Cone(dying(op), op.results), Cone(built, values)
        boundary = {*before.inputs, *after.inputs, *op.results}
        inner = [result for each in before.ops for result in each.results]
        if any(map(known.is_partial, [*boundary, *inner])):
            return False  # XLA cannot split a value into the partial sums that a user reads
        if not any(map(known.is_split, boundary)):
            return True
        if _keeps_dimensions(op, built):
            _record_alike(op, built, known)
            return True
        return self._compare(op, before, after, known)

    def parts(self, value: ir.Value, dim: int) -> int:
        """The number of parts into which a dimension of a value is split; 1 if it is not known."""
        if not self._has_shardings or self._shardings is None:
            return 1
        split = self._shardings.split(value)
        return split[dim] if split else 1

    @cached_property
    def _shardings(self) -> Shardings | None:
        """None if Shardy fails: on jaxlib 0.12 it does for calls that return partial sums."""
        try:
            return Shardings(self._module)
        except ShardyError:
            return None

    def _compare(self, op: ir.OpView, before: Cone, after: Cone, known: Shardings) -> bool:
        wanted = [known.closed(result) for result in op.results]
        trial = _Trial(self._module, known)
        try:
            trial.add("before", before, wanted, is_known=True)
            trial.add("main", after, wanted, is_known=False)
            found = trial.run()
        except (ir.MLIRError, ShardyError, _Unknown):
            return False
        if not found.work("before").allows(found.work("main")):
            return False
        for number, copy in found.copies("main").items():
            for value, sharding in zip(
                after.ops[number].results, result_shardings(copy), strict=True
            ):
                known.set(value, sharding)
        return True


def _fixes_index(op: ir.OpView, built: Sequence[ir.OpView], known: Shardings) -> bool:
    """Whether a rewrite makes an index into a split value constant.

    XLA turns a gather at a constant index into a slice, for which devices exchange elements. In a
    gather, each device reads its own part and the results are summed.
    """
    if not all(map(is_constant_like, built)):
        return False
    return any(
        isinstance(user, _INDEXING) and known.is_split(user.operands[0])
        for user in users_of_function(op)
    )


def _forget(built: Sequence[ir.OpView], known: Shardings) -> None:
    """Remove the shardings of erased values whose addresses the new values have."""
    for op in built:
        for each in [op, *(walk(op) if has_regions(op) else ())]:
            blocks = [block for region in each.regions for block in region.blocks]
            arguments = [value for block in blocks for value in block.arguments]
            for value in [*each.results, *arguments]:
                known.set(value, None)


def _record_alike(op: ir.OpView, built: Sequence[ir.OpView], known: Shardings) -> None:
    sharding, shape = known.of(op.results[0]), _shape(op.results[0])
    for each in built:
        if not is_constant_like(each) and _shape(each.results[0]) == shape:
            known.set(each.results[0], sharding)


class _Unknown(Exception):
    """The ops cannot be copied into a function of their own."""


def _shape(value: ir.Value) -> list[int] | None:
    kind = value.type
    return list(kind.shape) if isinstance(kind, ir.RankedTensorType) else None


_ALSO_ELEMENTWISE = (hlo.BitcastConvertOp, hlo.OptimizationBarrierOp)  # of one shape


def _keeps_dimensions(op: ir.OpView, built: Sequence[ir.OpView]) -> bool:
    """Whether the op is elementwise, and each new op a constant or elementwise on its shape."""
    shape = _shape(op.results[0])

    def is_alike(each: ir.OpView) -> bool:
        is_of_elements = is_elementwise(each) or isinstance(each, _ALSO_ELEMENTWISE)
        return is_constant_like(each) or (is_of_elements and _shape(each.results[0]) == shape)

    return is_elementwise(op) and all(map(is_alike, built))


class _Trial:
    """A module with the meshes of a program, to which functions are added."""

    def __init__(self, program: ir.Operation, shardings: Shardings) -> None:
        self._known = shardings
        self._module = ir.Module.create(ir.Location.unknown())
        for op in program.regions[0].blocks[0].operations:
            if isinstance(op, sdy.MeshOp):
                self._module.body.append(op.operation.clone(ip=False))

    def add(
        self,
        name: str,
        cone: Cone,
        wanted: Sequence[sdy.TensorShardingAttr | None],
        *,
        is_known: bool,
    ) -> None:
        """Add a function that computes the results of `cone`; its ops are numbered.

        Args:
            name: of the function; Shardy aborts the process if none is called "main".
            cone: the ops, in an order in which they can run.
            wanted: the shardings of its results.
            is_known: whether the results of the ops are values of the program, whose shardings the
                copies get.
        """
        inputs = [value.type for value in cone.inputs]
        outputs = [value.type for value in cone.results]
        with ir.InsertionPoint(self._module.body):
            function = func.FuncOp(name, (inputs, outputs))
        block = function.add_entry_block()
        function.attributes["arg_attrs"] = _dicts(map(self._known.closed, cone.inputs))
        function.attributes["res_attrs"] = _dicts(wanted)
        copies = dict(zip(cone.inputs, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            for number, op in enumerate(cone.ops):
                twin = _copied(op, copies)
                set_rule(twin)
                set_number(twin, number)
                copies.update(zip(op.results, twin.results, strict=True))
                if is_known and not is_constant_like(op):
                    self._pin(twin, op)
            func.ReturnOp([copies[value] for value in cone.results])

    def _pin(self, twin: ir.OpView, op: ir.OpView) -> None:
        each = [self._known.closed(result) for result in op.results]
        if not any(sharding is None for sharding in each):
            twin.attributes[SHARDY] = sdy.TensorShardingPerValueAttr.get(each)

    def run(self) -> _Split:
        """Propagate the shardings and make the collectives explicit.

        Raises:
            ShardyError: Shardy cannot.
        """
        return _Split(run_shardy(self._module.operation, _PASSES), self._known.meshes)


class _Split:
    """The functions of a trial with shardings and explicit collectives."""

    def __init__(self, module: ir.Module, meshes: Meshes) -> None:
        self._functions = functions(module)
        self._module = module  # owns the functions
        self._meshes = meshes

    def work(self, name: str) -> DeviceWork:
        """What one device does in a function."""
        return device_work_of(self._functions[name], self._meshes)

    def copies(self, name: str) -> dict[int, ir.OpView]:
        """The ops of a function by their position in its cone."""
        return numbered(self._functions[name].operation)


def _copied(op: ir.OpView, copies: dict[ir.Value, ir.Value]) -> ir.OpView:
    inner = walk(op) if has_regions(op) else ()
    if any(each.operation.name == "func.call" for each in (op, *inner)):
        raise _Unknown  # of a function that is not in the trial
    return clone_with(op, copies)


def _dicts(shardings: Any) -> ir.ArrayAttr:
    return ir.ArrayAttr.get(
        [ir.DictAttr.get({} if each is None else {SHARDY: each}) for each in shardings]
    )
