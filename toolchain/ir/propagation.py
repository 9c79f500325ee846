"""How each value of a partitioned module is split over devices, as Shardy's propagation finds it.

JAX writes the shardings that the user chose; XLA runs Shardy's propagation to find the others. The
same propagation runs here on a copy of the module, whose ops are numbered so that its results can
be read back. The module itself gets no annotations.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy, stablehlo as hlo
from jaxlib.mlir.passmanager import PassManager

from .elementwise import is_elementwise
from .locations import INLINE
from .module import functions, is_pure, main_of, register_native_passes, walk
from .shardings import SHARDY, meshes_of
from .shardy import ShardyError, run_shardy

_NUMBER = "jxc.number"
_PROPAGATE = "builtin.module(sdy-propagation-pipeline)"
_AS_XLA_IMPORTS = (  # XLA folds ops of MHLO as it reads a module, then inlines the calls
    f"stablehlo-legalize-to-hlo,func.func(canonicalize),hlo-legalize-to-stablehlo,{INLINE},"
)
_LEFT_OUT = r"(func\.func\()?sdy-(insert-explicit-reshards|save-module)(\{[^{}]*\})?\)?,"


Meshes: TypeAlias = Mapping[str, Mapping[str, int]]
"""The sizes of the axes of each mesh of a module, by its name."""


def split_of(sharding: sdy.TensorShardingAttr | None, meshes: Meshes) -> tuple[int, ...]:
    """Into how many parts a sharding splits each dimension; () if there is none."""
    if sharding is None:
        return ()
    sizes = _sizes(sharding.mesh_or_ref, meshes)
    dims = map(sdy.DimensionShardingAttr, sharding.dimension_shardings)
    return tuple(math.prod(_size(axis, sizes) for axis in dim.axes) for dim in dims)


def _sizes(mesh: ir.Attribute, meshes: Meshes) -> Mapping[str, int]:
    if isinstance(mesh, ir.FlatSymbolRefAttr):
        return meshes.get(mesh.value, {})
    return {axis.name: axis.size for axis in map(sdy.MeshAxisAttr, sdy.MeshAttr(mesh).axes)}


def _size(axis: ir.Attribute, sizes: Mapping[str, int]) -> int:
    axis = sdy.AxisRefAttr(axis)
    info = axis.sub_axis_info
    return sizes[axis.name] if info is None else int(sdy.SubAxisInfoAttr(info).size)


def can_propagate(module: ir.Operation) -> bool:
    """Whether Shardy's propagation can run: without @main it aborts the process."""
    return bool(meshes_of(module)) and main_of(module) is not None


class Shardings:
    """The sharding of each value of a module.

    Args:
        module: a module that `can_propagate`. It is not changed.

    Attributes:
        meshes: the sizes of the axes of each mesh, by its name.
        mesh: the name of a mesh.
    """

    def __init__(self, module: ir.Operation) -> None:
        self.meshes = meshes_of(module)
        self.mesh = next(iter(self.meshes))
        self._of: dict[ir.Value, sdy.TensorShardingAttr] = {}
        copy = propagated(module)
        self._read(module, copy.operation)

    def of(self, value: ir.Value) -> sdy.TensorShardingAttr | None:
        """The sharding of a value; None if each device has the whole."""
        return self._of.get(value)

    def set(self, value: ir.Value, sharding: sdy.TensorShardingAttr | None) -> None:
        """Record the sharding of a value that is new in the module."""
        if sharding is None:
            self._of.pop(value, None)
        else:
            self._of[value] = sharding

    def split(self, value: ir.Value) -> tuple[int, ...]:
        """Into how many parts each dimension of a value is split; () if it is not known."""
        return split_of(self._of.get(value), self.meshes)

    def is_split(self, value: ir.Value) -> bool:
        """Whether the devices have different parts of a value."""
        return any(count > 1 for count in self.split(value))

    def splits(self) -> Iterator[tuple[ir.Value, tuple[int, ...]]]:
        """The values of which the devices have different parts, with the parts of each dimension.

        Dynamic shapes are left out.
        """
        for value, sharding in self._of.items():
            split, kind = split_of(sharding, self.meshes), value.type
            is_static = isinstance(kind, ir.RankedTensorType) and kind.has_static_shape
            if is_static and len(split) == kind.rank and any(count > 1 for count in split):
                yield value, split

    def is_partial(self, value: ir.Value) -> bool:
        """Whether each device holds a partial sum of a value."""
        return is_partial(self._of.get(value))

    def closed(self, value: ir.Value) -> sdy.TensorShardingAttr | None:
        """The sharding of a tensor, or one that splits no dimension; None for other types."""
        if not isinstance(value.type, ir.RankedTensorType):
            return None
        known, rank = self._of.get(value), value.type.rank
        # Another value may have had this address. Shardy ends the process at a wrong rank.
        return (
            known if known and len(known.dimension_shardings) == rank else unsplit(self.mesh, rank)
        )

    def _read(self, module: ir.Operation, copy: ir.Operation) -> None:
        found = numbered(copy)
        for number, op in enumerate(walk(module)):
            if (twin := found.get(number)) is not None:
                self._read_op(op, twin)
        twins = functions(copy)
        for name, function in functions(module).items():
            if name in twins:
                given = argument_shardings(twins[name])
                block = function.regions[0].blocks
                self._set_all(block[0].arguments if len(block) else (), given)

    def _read_op(self, op: ir.OpView, twin: ir.OpView) -> None:
        name = op.operation.name
        given = list(result_shardings(twin))
        if name == "sdy.manual_computation":
            manual = set(sdy.ManualAxesAttr(twin.attributes["manual_axes"]))
            given = per_value(twin.attributes["out_shardings"])
            inner = [without(each, manual) for each in per_value(twin.attributes["in_shardings"])]
            self._set_all(op.regions[0].blocks[0].arguments, inner)
        elif name == "stablehlo.while":
            for region in op.regions:
                self._set_all(region.blocks[0].arguments, given)
        self._set_all(op.results, given)

    def _set_all(self, values: Any, shardings: Sequence[sdy.TensorShardingAttr | None]) -> None:
        for value, sharding in zip(values, shardings, strict=False):
            self.set(value, sharding)


def set_local_types(module: ir.Operation) -> list[tuple[ir.Value, ir.Type]]:
    """Give each value of a module the type of the part that one device has of it.

    The module is not valid afterwards. It does not change if it has no mesh, or if Shardy fails.

    Returns:
        The values that changed, with the types that they had.
    """
    found: list[tuple[ir.Value, ir.Type]] = []
    if can_propagate(module):
        with suppress(ShardyError), ir.Location.unknown(module.context):
            for value, split in Shardings(module).splits():
                found.append((value, value.type))
                value.set_type(local_type(value.type, split))
    return found


@contextmanager
def local_types(module: ir.Operation) -> Iterator[None]:
    """Within it, values have the types that `set_local_types` gives them."""
    changed = set_local_types(module)
    try:
        yield
    finally:
        for value, kind in changed:
            value.set_type(kind)


def local_type(kind: ir.Type, split: Sequence[int]) -> ir.RankedTensorType:
    """The type of the largest part of a tensor whose dimensions are split into so many parts."""
    kind = ir.RankedTensorType(kind)
    shape = [-(-size // parts) for size, parts in zip(kind.shape, split, strict=True)]
    return ir.RankedTensorType.get(shape, kind.element_type)


def propagated(module: ir.Operation) -> ir.Module:
    """A copy of a module after Shardy's propagation, whose ops have the numbers of `walk`.

    Raises:
        ShardyError: the propagation failed or crashed.
    """
    copy = module.clone(ip=False).operation  # else it is inserted at the current insertion point
    with module.context:
        for number, op in enumerate(walk(copy)):
            if len(op.results):
                set_number(op, number)
                set_rule(op)
    return run_shardy(copy, propagation_passes(module.context))


def propagation_passes(context: ir.Context, before: str = "") -> str:
    """Shardy's propagation without its explicit reshards, which change no sharding of a value.

    They make invalid ops of some partial sums (jaxlib 0.10.2 and 0.12). The pipeline has a pass
    that is not registered by name, and writes files where it is told to.

    Args:
        context: of the module.
        before: passes to run first, each followed by a comma.
    """
    register_native_passes()
    passes = re.sub(_LEFT_OUT, "", str(PassManager.parse(_PROPAGATE, context)))
    return passes.replace("builtin.module(", f"builtin.module({before}", 1)


def set_number(op: ir.OpView, number: int) -> None:
    """Give an op a number by which `numbered` finds what Shardy's passes make of it."""
    integer = ir.IntegerType.get_signless(64, op.context)
    op.attributes[_NUMBER] = ir.IntegerAttr.get(integer, number)


def numbered(root: ir.Operation) -> dict[int, ir.OpView]:
    """The ops in `root` by the number that `set_number` gave them."""
    return {
        ir.IntegerAttr(op.attributes[_NUMBER]).value: op
        for op in walk(root)
        if _NUMBER in op.attributes
    }


def set_rule(op: ir.OpView) -> None:
    """Describe an elementwise op of CHLO to Shardy, which has no sharding rules for them.

    XLA propagates through them, since it converts them to StableHLO first.
    """
    if not (is_elementwise(op) and op.OPERATION_NAME.startswith("chlo.")):
        return
    mappings = []
    for value in [*op.operands, op.results[0]]:
        dims = [
            sdy.DimMappingAttr.get([dim]) for dim in range(ir.RankedTensorType(value.type).rank)
        ]
        mappings.append(sdy.TensorMappingAttr.get(dims))
    sizes = ir.RankedTensorType(op.results[0].type).shape
    rule = sdy.OpShardingRuleAttr.get(sizes, mappings[:-1], mappings[-1:], is_custom=True)
    op.attributes["sdy.sharding_rule"] = rule


def result_shardings(op: ir.OpView) -> Iterator[sdy.TensorShardingAttr | None]:
    """The sharding of each result of an op, as its attribute says."""
    if SHARDY not in op.attributes:
        return iter([None] * len(op.results))
    return iter(per_value(op.attributes[SHARDY]))


def per_value(attribute: ir.Attribute) -> list[sdy.TensorShardingAttr]:
    """The shardings in an attribute that has one for each value."""
    if isinstance(attribute, sdy.TensorShardingAttr):
        return [attribute]
    return [*map(sdy.TensorShardingAttr, sdy.TensorShardingPerValueAttr(attribute).shardings)]


def argument_shardings(function: ir.OpView) -> list[sdy.TensorShardingAttr | None]:
    """The sharding of each argument of a function, as its attributes say."""
    return _in_dicts(function, "arg_attrs")


def main_result_shardings(module: ir.Operation) -> list[sdy.TensorShardingAttr | None]:
    """The sharding that the propagation gives each result of @main, in a module that can.

    It runs on what XLA runs it on, since a folded op or a call decides which of two shardings wins:
    a module without calls, whose ops were folded before. In jaxlib 0.12 it refuses calls of
    functions that return partial sums.
    """
    passes = propagation_passes(module.context, before=_AS_XLA_IMPORTS)
    main = main_of(run_shardy(_with_rules(module), passes))
    return [] if main is None else shardings_of_results(main)


def as_xla_imports(module: ir.Operation) -> ir.Module:
    """A copy of a module as XLA runs the propagation on it: without calls, with ops folded.

    Large constants do not have their values in it.
    """
    register_native_passes()
    return run_shardy(_with_rules(module), f"builtin.module({_AS_XLA_IMPORTS.rstrip(',')})")


def _with_rules(module: ir.Operation) -> ir.Operation:
    copy = module.clone(ip=False).operation
    with module.context, ir.Location.unknown():
        for op in walk(copy):
            set_rule(op)
        _fold_empty(copy)
    return copy


def _fold_empty(module: ir.Operation) -> None:
    """Replace the results of ops that have no elements by constants, as XLA does."""
    for op in [*walk(module)]:
        kind = op.results[0].type if len(op.results) == 1 and is_pure(op) else None
        if isinstance(kind, ir.RankedTensorType) and kind.has_static_shape and 0 in kind.shape:
            with ir.InsertionPoint(op):
                empty = hlo.constant(ir.Attribute.parse(f"dense<> : {kind}"))
            op.results[0].replace_all_uses_with(empty)


def shardings_of_results(main: ir.OpView) -> list[sdy.TensorShardingAttr | None]:
    """The sharding of each result of @main, as its attributes say."""
    return _in_dicts(main, "res_attrs")


def restore_result_shardings(
    module: ir.Operation, wanted: Sequence[sdy.TensorShardingAttr | None]
) -> None:
    """Write the shardings `wanted` on those results of @main that would now get others.

    A result for which none is wanted gets one that splits no dimension. What is written may move
    further results, so the propagation runs again after it.
    """
    main = main_of(module)
    if main is None:
        return
    kinds = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).results
    given: list[dict[str, ir.Attribute]] = [{} for _ in kinds]
    if "res_attrs" in main.attributes:
        dicts = map(ir.DictAttr, ir.ArrayAttr(main.attributes["res_attrs"]))
        given = [{entry.name: entry.attr for entry in each} for each in dicts]
    while moved := [at for at in _moved(module, wanted) if SHARDY not in given[at]]:
        mesh = next(iter(meshes_of(module)))
        for at in moved:
            given[at][SHARDY] = wanted[at] or unsplit(mesh, ir.RankedTensorType(kinds[at]).rank)
        main.attributes["res_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(each) for each in given])


def _moved(module: ir.Operation, wanted: Sequence[sdy.TensorShardingAttr | None]) -> list[int]:
    """The results of @main that the propagation splits otherwise than `wanted`, by number."""
    pairs = zip(wanted, main_result_shardings(module), strict=False)
    return [at for at, (old, new) in enumerate(pairs) if placement(old) != placement(new)]


Placement: TypeAlias = tuple[str, tuple[tuple[str, ...], ...], tuple[str, ...]]
"""A mesh, the axes that split each dimension, and the axes over which values are partial sums."""


def placement(sharding: sdy.TensorShardingAttr | None) -> Placement:
    """What the devices hold of a value: equal for shardings that need no data to move.

    The mesh counts where an axis is used: another mesh may have the devices in another order.
    """
    if sharding is None:
        return "", (), ()
    axes = [
        tuple(map(str, dim.axes))
        for dim in map(sdy.DimensionShardingAttr, sharding.dimension_shardings)
    ]
    while axes and not axes[-1]:
        axes.pop()
    partial = tuple(map(str, sharding.unreduced_axes))
    return str(sharding.mesh_or_ref) if axes or partial else "", tuple(axes), partial


def is_partial(sharding: sdy.TensorShardingAttr | None) -> bool:
    """Whether each device holds a partial sum, as under JAX's `P(unreduced={axis})`."""
    return sharding is not None and len(sharding.unreduced_axes) > 0


def unsplit(mesh: str, rank: int) -> sdy.TensorShardingAttr:
    """The sharding of a tensor that each device has whole."""
    return sdy.TensorShardingAttr.get(mesh, [sdy.DimensionShardingAttr.get([], True)] * rank)


def _in_dicts(function: ir.OpView, key: str) -> list[sdy.TensorShardingAttr | None]:
    if key not in function.attributes:
        return []
    each = [ir.DictAttr(found) for found in ir.ArrayAttr(function.attributes[key])]
    return [sdy.TensorShardingAttr(found[SHARDY]) if SHARDY in found else None for found in each]


def without(sharding: sdy.TensorShardingAttr, axes: set[str]) -> sdy.TensorShardingAttr:
    """A sharding without these axes."""
    dims = []
    for each in map(sdy.DimensionShardingAttr, sharding.dimension_shardings):
        kept = [axis for axis in each.axes if sdy.AxisRefAttr(axis).name not in axes]
        dims.append(sdy.DimensionShardingAttr.get(kept, True))
    partial = [axis for axis in sharding.unreduced_axes if sdy.AxisRefAttr(axis).name not in axes]
    return sdy.TensorShardingAttr.get(sharding.mesh_or_ref, dims, unreduced_axes=partial)
