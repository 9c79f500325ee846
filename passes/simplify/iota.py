"""Converts, slices and reverses of iotas that are iotas or constants."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.bounds import type_bounds
from jxc.ir.values import element_type, is_boolean, is_integer, shape_of, static_shape
from jxc.rewrite import exact, rule

from .convert import exact_to
from .slice import cuts_of


@rule(exact, producer=hlo.IotaOp)
def convert_of_iota(op: hlo.ConvertOp) -> ir.Value | None:
    """convert(iota) -> iota, from integers, if both types represent every number in it."""
    match op.operand.owner:
        case hlo.IotaOp(iota_dimension=dim) if is_integer(op.operand):
            shape = static_shape(op.result)
            if shape is None or is_boolean(op.result):
                return None
            last = shape[dim.value] - 1
            if last <= min(exact_to(element_type(each)) for each in (op.operand, op.result)):
                return hlo.iota(op.result.type, dim)
    return None


@rule(exact, producer=hlo.IotaOp)
def slice_of_iota(op: hlo.SliceOp) -> ir.Value | None:
    """slice(iota) -> iota, if it takes the first numbers; -> k, if it takes only that number."""
    match op.operand.owner:
        case hlo.IotaOp(iota_dimension=dim):
            cuts = cuts_of(op)
            if cuts is None:
                return None
            cut, kind = cuts[dim.value], type_bounds(element_type(op.result))
            if cut == range(len(cut)):
                return hlo.iota(op.result.type, dim)
            if len(cut) == 1 and kind is not None and kind.high >= cut[0]:
                return build.splat(cut[0], op.result.type)
    return None


@rule(exact, producer=hlo.IotaOp)
def reverse_of_iota(op: hlo.ReverseOp) -> ir.Value | None:
    """reverse(iota, dims) -> iota, if the iota dimension is not in dims."""
    match op.operand.owner:
        case hlo.IotaOp(iota_dimension=dim) if dim.value not in op.dimensions:
            return hlo.iota(op.result.type, dim) if shape_of(op.result) else None
    return None
