"""Strategies on locations, attributes and constants."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from ...ir import walk
from ...ir.values import is_complex
from ...pipeline.native import run_native
from ..edit import NotApplicable, distance_from_zero
from .extents import resized
from .search import Search, shrink

_OPTIONAL = frozenset(
    {
        "algorithm",
        "backend_config",
        "base_dilations",
        "channel_handle",
        "channel_id",
        "compare_type",
        "indices_are_sorted",
        "is_stable",
        "lhs_dilation",
        "operand_layouts",
        "output_operand_aliases",
        "padding",
        "precision_config",
        "result_accuracy",
        "result_layouts",
        "rhs_dilation",
        "unique_indices",
        "use_global_device_ids",
        "window_dilations",
        "window_reversal",
        "window_strides",
    }
)
_NEUTRAL = {
    ("stablehlo.pad", "edge_padding_low"): 0,
    ("stablehlo.pad", "edge_padding_high"): 0,
    ("stablehlo.pad", "interior_padding"): 0,
    ("stablehlo.slice", "strides"): 1,
}
_ABOUT_VALUES = ("arg_attrs", "res_attrs")


def strip_locations(search: Search) -> None:
    """Drop locations."""
    search.attempt(lambda module: run_native("strip-debuginfo", module))


def drop_annotations(search: Search) -> None:
    """Drop discardable attributes: shardings, donation, names of results."""
    _drop(search, lambda op, name: "." in name or name in _ABOUT_VALUES)


def drop_optional_attributes(search: Search) -> None:
    """Drop attributes that have a default: strides, padding, dilation, precision."""
    _drop(search, lambda op, name: name in _OPTIONAL)


def _drop(search: Search, concerns: Callable[[ir.OpView, str], bool]) -> None:
    def found(module: ir.Module) -> list[tuple[ir.OpView, str]]:
        return [
            (op, name) for op in _all_ops(module) for name in op.attributes if concerns(op, name)
        ]

    def edit(module: ir.Module, chunk: range) -> ir.Module:
        for op, name in found(module)[chunk.start : chunk.stop]:
            del op.attributes[name]
        return resized(module, {})

    shrink(search, lambda module: len(found(module)), edit)


def _all_ops(module: ir.Module) -> Iterator[ir.OpView]:
    yield module.operation.opview
    yield from walk(module.operation)


def neutralise_attributes(search: Search) -> None:
    """Set padding to 0 and strides to 1 where the attribute is required."""

    def found(module: ir.Module) -> list[tuple[ir.OpView, str, int]]:
        return [
            (op, name, neutral)
            for op in walk(module.operation)
            for (kind, name), neutral in _NEUTRAL.items()
            if op.operation.name == kind and set(op.attributes[name]) - {neutral}
        ]

    def edit(module: ir.Module, chunk: range) -> ir.Module:
        for op, name, neutral in found(module)[chunk.start : chunk.stop]:
            rank = len(op.attributes[name])
            op.attributes[name] = ir.DenseI64ArrayAttr.get([neutral] * rank)
        return resized(module, {})

    shrink(search, lambda module: len(found(module)), edit)


def simplify_constants(search: Search) -> None:
    """Replace constants by zeros, else by ones, else by a splat of their first element."""
    for distance in (0, 1, 2):
        _simplify_constants(search, distance)


def _simplify_constants(search: Search, distance: int) -> None:
    def found(module: ir.Module) -> list[hlo.ConstantOp]:
        ops = [op for op in walk(module.operation) if isinstance(op, hlo.ConstantOp)]
        simple = [op for op in ops if not is_complex(op.result) and len(op.value)]
        return [op for op in simple if distance_from_zero(op) > distance]

    def edit(module: ir.Module, chunk: range) -> None:
        for op in found(module)[chunk.start : chunk.stop]:
            op.attributes["value"] = _splat_at_distance(op, distance)

    shrink(search, lambda module: len(found(module)), edit)


def _splat_at_distance(op: hlo.ConstantOp, distance: int) -> ir.Attribute:
    kind = ir.RankedTensorType(op.result.type)
    element = kind.element_type
    if distance == 2:
        return _splat_of_first(op, kind)
    if isinstance(element, ir.IntegerType):
        return ir.DenseElementsAttr.get_splat(kind, ir.IntegerAttr.get(element, distance))
    if isinstance(element, ir.FloatType):
        return ir.DenseElementsAttr.get_splat(kind, ir.FloatAttr.get(element, float(distance)))
    raise NotApplicable


def _splat_of_first(op: hlo.ConstantOp, kind: ir.RankedTensorType) -> ir.Attribute:
    """A splat of the constant's first element."""
    elements = iter(op.value)
    element = kind.element_type
    get = ir.IntegerAttr.get if isinstance(element, ir.IntegerType) else ir.FloatAttr.get
    return ir.DenseElementsAttr.get_splat(kind, get(element, next(elements)))
