"""Other extents through a module: types from the arguments forward, and the attributes that fit.

What an op makes of its operands' new types StableHLO infers, where it does; for the rest this file
knows the rule, or takes the old extents as mapped. Whether all that fits, MLIR's verifier says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from ...ir import functions, walk
from ...ir.build import dense
from ...ir.constants import array_of
from ...ir.values import is_complex, shape_of, splat_attr
from .edit import NotApplicable, body, sync_type, terminator

Extents = tuple[int, ...]


def retype(
    module: ir.Module,
    mapping: Mapping[int, int],
    arguments: Mapping[ir.Value, Extents] | None = None,
) -> None:
    """Give every value the extents that follow from new ones for the arguments.

    Args:
        module: changed in place; valid only if all new types happen to fit.
        mapping: new extents by old; the others stay.
        arguments: whole shapes for some arguments of functions, instead of mapped ones.

    Raises:
        NotApplicable: a constant cannot be cut down.
    """
    work = _Retyper(module, mapping, arguments or {})
    for function in functions(module).values():
        work.function(function)


def with_shape(kind: ir.Type, shape: Sequence[int]) -> ir.Type:
    """The ranked tensor type with other extents, its encoding kept."""
    ranked = ir.RankedTensorType(kind)
    return ir.RankedTensorType.get(shape, ranked.element_type, ranked.encoding)


class _Retyper:
    def __init__(
        self, module: ir.Module, mapping: Mapping[int, int], arguments: Mapping[ir.Value, Extents]
    ) -> None:
        self.mapping = mapping
        self.arguments = arguments
        self.functions = functions(module)
        self.done: set[str] = set()
        self.old = {v: shape_of(v) for v in _values(module) if _is_ranked(v.type)}

    def mapped(self, extent: int) -> int:
        return self.mapping.get(extent, extent)

    def map_type(self, kind: ir.Type) -> ir.Type:
        if not _is_ranked(kind):
            return kind
        return with_shape(kind, [self.mapped(n) for n in ir.RankedTensorType(kind).shape])

    def function(self, op: ir.OpView) -> None:
        """A function, after those that it calls."""
        name = ir.StringAttr(op.attributes["sym_name"]).value
        if name in self.done or not len(op.regions[0].blocks):
            return
        self.done.add(name)
        for argument in body(op).arguments:
            shape = self.arguments.get(argument)
            given = with_shape(argument.type, shape) if shape else self.map_type(argument.type)
            argument.set_type(given)
        self.block(body(op))
        sync_type(op)

    def block(self, block: ir.Block) -> None:
        for op in block.operations:
            for result, kind in zip(op.results, self.results(op), strict=True):
                result.set_type(kind)

    def results(self, op: ir.OpView) -> Sequence[ir.Type]:
        """The types that the results have after all; adjusts attributes and regions."""
        match op:
            case stablehlo.WhileOp():
                return self.loop(op)
            case stablehlo.IfOp() | stablehlo.CaseOp():
                for region in op.regions:
                    self.block(region.blocks[0])
                return [value.type for value in terminator(op.regions[0].blocks[0]).operands]
            case stablehlo.ConstantOp():
                return [self.constant(op)]
        if op.operation.name == "func.call":
            return self.call(op)
        if (adjust := _ADJUST.get(op.operation.name)) is not None:
            adjust(self, op)
        if (compute := _COMPUTE.get(op.operation.name)) is not None:
            return compute(self, op)
        return _inferred(op) or [self.map_type(result.type) for result in op.results]

    def loop(self, op: ir.OpView) -> Sequence[ir.Type]:
        kinds = [value.type for value in op.operands]
        for region in op.regions:
            for argument, kind in zip(region.blocks[0].arguments, kinds, strict=True):
                argument.set_type(kind)
            self.block(region.blocks[0])
        return kinds

    def call(self, op: ir.OpView) -> Sequence[ir.Type]:
        callee = self.functions[ir.FlatSymbolRefAttr(op.attributes["callee"]).value]
        self.function(callee)
        return list(ir.FunctionType(ir.TypeAttr(callee.attributes["function_type"]).value).results)

    def constant(self, op: ir.OpView) -> ir.Type:
        kind = self.map_type(op.result.type)
        if kind == op.result.type:
            return kind
        if is_complex(op.result):
            op.attributes["value"] = ir.Attribute.parse(f"dense<(0.0, 0.0)> : {kind}")
        elif (element := splat_attr(op.result)) is not None:
            op.attributes["value"] = ir.DenseElementsAttr.get_splat(kind, element)
        else:
            op.attributes["value"] = _cut_down(op, kind)
        return kind


def _values(module: ir.Module) -> list[ir.Value]:
    found: list[ir.Value] = []
    for op in walk(module.operation):
        found += op.results
        found += (a for region in op.regions for block in region.blocks for a in block.arguments)
    return found


def _is_ranked(kind: ir.Type) -> bool:
    return isinstance(kind, ir.RankedTensorType)


def _cut_down(op: ir.OpView, kind: ir.Type) -> ir.Attribute:
    """The constant's first elements along each dimension."""
    array = array_of(op.result)
    if array is None:
        raise NotApplicable
    shape = ir.RankedTensorType(kind).shape
    with ir.InsertionPoint(op):
        made = dense(array[tuple(map(slice, shape))], kind)
    attribute = made.owner.value
    made.owner.operation.erase()
    return attribute


def _inferred(op: ir.OpView) -> list[ir.Type] | None:
    """What StableHLO infers from operands and attributes; None where it does not."""
    if len(op.regions):
        return None  # inference looks into regions, which a copy for the question has not
    attributes = {name: op.attributes[name] for name in op.attributes}
    try:
        probe = ir.Operation.create(
            op.operation.name,
            operands=list(op.operands),
            attributes=attributes,
            infer_type=True,
            ip=ir.InsertionPoint(op),
        )
    except (ir.MLIRError, ValueError):
        return None
    kinds = [result.type for result in probe.results]
    probe.erase()
    return kinds


def _i64s(op: ir.OpView, name: str) -> list[int] | None:
    return list(ir.DenseI64ArrayAttr(op.attributes[name])) if name in op.attributes else None


def _set(op: ir.OpView, name: str, numbers: Sequence[int]) -> None:
    op.attributes[name] = ir.DenseI64ArrayAttr.get(list(numbers))


# Attributes that hold extents.


def _adjust_slice(work: _Retyper, op: ir.OpView) -> None:
    starts, limits = [], []
    fields = zip(op.start_indices, op.limit_indices, op.strides, shape_of(op.operand), strict=True)
    for start, limit, stride, extent in fields:
        count = work.mapped(-(-(limit - start) // stride))
        count = min(count, -(-extent // stride))
        span = (count - 1) * stride + 1 if count else 0
        starts.append(min(start, extent - span))
        limits.append(starts[-1] + span)
    _set(op, "start_indices", starts)
    _set(op, "limit_indices", limits)


def _adjust_slice_sizes(work: _Retyper, op: ir.OpView) -> None:
    sizes = zip(_i64s(op, "slice_sizes") or [], shape_of(op.operands[0]), strict=True)
    _set(op, "slice_sizes", [min(work.mapped(size), extent) for size, extent in sizes])


def _adjust_window(work: _Retyper, op: ir.OpView) -> None:
    window = _i64s(op, "window_dimensions") or []
    _set(op, "window_dimensions", [work.mapped(size) for size in window])


def _adjust_fft(work: _Retyper, op: ir.OpView) -> None:
    _set(op, "fft_length", [work.mapped(size) for size in op.fft_length])


def _adjust_groups(work: _Retyper, op: ir.OpView) -> None:
    for name in ("feature_group_count", "batch_group_count"):
        old = ir.IntegerAttr(op.attributes[name])
        op.attributes[name] = ir.IntegerAttr.get(old.type, work.mapped(old.value))


_ADJUST: dict[str, Callable[[_Retyper, ir.OpView], None]] = {
    "stablehlo.slice": _adjust_slice,
    "stablehlo.dynamic_slice": _adjust_slice_sizes,
    "stablehlo.gather": _adjust_slice_sizes,
    "stablehlo.reduce_window": _adjust_window,
    "stablehlo.select_and_scatter": _adjust_window,
    "stablehlo.fft": _adjust_fft,
    "stablehlo.convolution": _adjust_groups,
}


# Results that StableHLO does not infer.


def _as_operands(work: _Retyper, op: ir.OpView) -> list[ir.Type]:
    """The shape of the operand at the result's place."""
    pairs = zip(op.results, op.operands, strict=False)
    return [with_shape(result.type, shape_of(operand)) for result, operand in pairs]


def _reduced(work: _Retyper, op: ir.OpView) -> list[ir.Type]:
    gone = _i64s(op, "dimensions") or []
    shape = [n for i, n in enumerate(shape_of(op.operands[0])) if i not in gone]
    return [with_shape(result.type, shape) for result in op.results]


def _broadcast(work: _Retyper, op: ir.OpView) -> list[ir.Type]:
    shape = [work.mapped(n) for n in work.old[op.result]]
    for place, extent in zip(op.broadcast_dimensions, shape_of(op.operand), strict=True):
        if extent != 1:
            shape[place] = extent
    return [with_shape(op.result.type, shape)]


def _reshaped(work: _Retyper, op: ir.OpView) -> list[ir.Type]:
    """The mapped shape, one extent of it changed if only that makes the sizes meet."""
    shape = [work.mapped(n) for n in work.old[op.result]]
    size = math.prod(shape_of(op.operand))
    places = sorted(range(len(shape)), key=lambda i: -work.old[op.result][i])
    for place in places if math.prod(shape) != size else []:
        others = math.prod(n for i, n in enumerate(shape) if i != place)
        if others and size % others == 0:
            shape[place] = size // others
            break
    return [with_shape(op.result.type, shape)]


def _contracted(work: _Retyper, op: ir.OpView) -> list[ir.Type]:
    numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    left, right = shape_of(op.lhs), shape_of(op.rhs)
    used_left = {*numbers.lhs_batching_dimensions, *numbers.lhs_contracting_dimensions}
    used_right = {*numbers.rhs_batching_dimensions, *numbers.rhs_contracting_dimensions}
    shape = [left[i] for i in numbers.lhs_batching_dimensions]
    shape += [n for i, n in enumerate(left) if i not in used_left]
    shape += [n for i, n in enumerate(right) if i not in used_right]
    return [with_shape(op.result.type, shape)]


def _windowed(
    sizes: Sequence[int], window: Sequence[int], op: ir.OpView, base: str, dilation: str
) -> list[int]:
    """How often a window fits, along each of its dimensions."""
    ones = [1] * len(sizes)
    strides = _i64s(op, "window_strides") or ones
    bases = _i64s(op, base) or ones
    dilations = _i64s(op, dilation) or ones
    padding = np.zeros((len(sizes), 2), int)
    if "padding" in op.attributes:
        padding = np.array(ir.DenseElementsAttr(op.attributes["padding"])).reshape(-1, 2)
    found = []
    for i, size in enumerate(sizes):
        padded = (size - 1) * bases[i] + 1 if size else 0
        padded += int(padding[i].sum())
        span = (window[i] - 1) * dilations[i] + 1 if window[i] else 0
        found.append((padded - span) // strides[i] + 1 if padded >= span else 0)
    return found


def _reduced_windows(work: _Retyper, op: ir.OpView) -> list[ir.Type]:
    window = _i64s(op, "window_dimensions") or []
    sizes = shape_of(op.operands[0])
    shape = _windowed(sizes, window, op, "base_dilations", "window_dilations")
    return [with_shape(result.type, shape) for result in op.results]


def _convolved(work: _Retyper, op: ir.OpView) -> list[ir.Type]:
    numbers = stablehlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
    image, kernel = shape_of(op.lhs), shape_of(op.rhs)
    shape = [0] * len(image)
    groups = ir.IntegerAttr(op.attributes["batch_group_count"]).value
    shape[numbers.output_batch_dimension] = image[numbers.input_batch_dimension] // max(groups, 1)
    shape[numbers.output_feature_dimension] = kernel[numbers.kernel_output_feature_dimension]
    sizes = [image[i] for i in numbers.input_spatial_dimensions]
    window = [kernel[i] for i in numbers.kernel_spatial_dimensions]
    found = _windowed(sizes, window, op, "lhs_dilation", "rhs_dilation")
    for place, extent in zip(numbers.output_spatial_dimensions, found, strict=True):
        shape[place] = extent
    return [with_shape(op.result.type, shape)]


_COMPUTE: dict[str, Callable[[_Retyper, ir.OpView], list[ir.Type]]] = {
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.reshape": _reshaped,
    "stablehlo.dot_general": _contracted,
    "stablehlo.convolution": _convolved,
    "stablehlo.reduce": _reduced,
    "stablehlo.reduce_window": _reduced_windows,
    **{
        f"stablehlo.{name}": _as_operands
        for name in ("convert", "map", "scatter", "select_and_scatter", "sort")
    },
}
