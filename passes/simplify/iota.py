"""Converts, slices and reverses of iotas that are iotas or constants."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.bounds import type_bounds
from jxc.ir.values import element_type, is_boolean, is_integer, shape_of, static_shape
from jxc.rewrite import exact, rule

from .slice import cuts_of

_EXACT_TO = {"bf16": 1 << 8, "f16": 1 << 11, "f32": 1 << 24, "f64": 1 << 53}  # all integers up to


@rule(exact, producer=hlo.IotaOp)
def convert_of_iota(op: hlo.ConvertOp) -> ir.Value | None:
    """convert(iota) -> iota, from integers, if both types represent every number in it."""
    match op.operand.owner:
        case hlo.IotaOp(iota_dimension=dim) if is_integer(op.operand):
            shape = static_shape(op.result)
            if shape is None or is_boolean(op.result):
                return None
            last = shape[dim.value] - 1
            if last <= min(_exact_to(element_type(each)) for each in (op.operand, op.result)):
                return hlo.iota(op.result.type, dim)
    return None


def _exact_to(element: ir.Type) -> int:
    """The last integer up to which a type represents all; -1 for types without integers."""
    kind = type_bounds(element)
    return _EXACT_TO.get(str(element), -1) if kind is None else kind.high


@rule(exact, producer=hlo.IotaOp)
def slice_of_iota(op: hlo.SliceOp) -> ir.Value | None:
    """slice(iota) -> iota, if it takes the first numbers; -> k, if it takes only that number."""
    match op.operand.owner:
        case hlo.IotaOp(iota_dimension=dim):
            cuts = cuts_of(op)
            if cuts is None:
                return None
            first, last, step = cuts[dim.value]
            if first == 0 and step == 1:
                return hlo.iota(op.result.type, dim)
            kind = type_bounds(element_type(op.result))
            if first == last and kind is not None and kind.high >= first:
                return build.splat(first, op.result.type)
    return None


@rule(exact, producer=hlo.IotaOp)
def reverse_of_iota(op: hlo.ReverseOp) -> ir.Value | None:
    """reverse(iota, dims) -> iota, if the iota dimension is not in dims."""
    match op.operand.owner:
        case hlo.IotaOp(iota_dimension=dim) if dim.value not in op.dimensions:
            return hlo.iota(op.result.type, dim) if shape_of(op.result) else None
    return None
