"""Collectives whose results are added, or reduced over the dimension that they gather."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.values import element_type, is_float, is_splat
from jxc.rewrite import reassociates, rule
from jxc.rewrite.annotations import has_annotation

from .._shared.elementwise import is_used_once, numeric_shape
from .._shared.reduce_body import combiner_of
from .._shared.region import copy_regions
from .reduced import AllReduced, add_terms, all_reduce, all_reduced, signed_terms


@rule(reassociates, needs=(hlo.AllReduceOp,))
def sum_of_all_reduces(op: hlo.AddOp | hlo.SubtractOp) -> ir.Value | None:
    """psum(x) * a + y - psum(z) / b -> psum(x * a - z / b) + y, over the same devices.

    The constants a and b are splats. Reshapes and transposes may follow the sums.
    """
    terms = list(signed_terms(op))
    sums = {value: each for _, value in terms if (each := _sum_of(value)) is not None}
    keys = [each.key for each in sums.values()]
    shared = next((key for key in keys if keys.count(key) > 1), None)
    if shared is None:
        return None
    merged = {value: each for value, each in sums.items() if each.key == shared}
    local = [(sign, merged[value].local()) for sign, value in terms if value in merged]
    total = all_reduce(add_terms(local), next(iter(merged.values())).op)
    return add_terms([(1, total), *((s, value) for s, value in terms if value not in merged)])


def _sum_of(value: ir.Value) -> AllReduced | None:
    found = all_reduced(value)
    is_sum = found is not None and found.combiner == "add" and not found.is_widened
    return found if is_sum else None


@rule(reassociates, producer=hlo.AllGatherOp)
def reduce_of_all_gather(op: hlo.ReduceOp) -> ir.Value | None:
    """sum(all_gather(x)) over the gathered dimension -> psum(sum(x)); max of integers likewise.

    The maximum of floats is NaN if one of them is; an all-reduce on XLA:CPU may lose the NaN.
    """
    name, gather = combiner_of(op), op.inputs[0].owner
    if name is None or not isinstance(gather, hlo.AllGatherOp) or has_annotation(gather):
        return None
    if not is_used_once(op.inputs[0]) or len(gather.operands_) != 1:
        return None
    operand, init = gather.operands_[0], op.init_values[0]
    if numeric_shape(operand) is None or gather.all_gather_dim.value not in op.dimensions:
        return None
    # XLA:CPU refuses all-reduces by `and` and `or` of integers.
    is_maximum = name in ("maximum", "minimum") and not is_float(operand)
    if not (name == "add" and is_splat(init, 0)) and not is_maximum:
        return None
    if not _is_reduced_everywhere(element_type(operand)):
        return None
    local = hlo.ReduceOp([op.results[0].type], [operand], [init], op.dimensions)
    copy_regions(op, local)
    return all_reduce(local.results[0], gather, op)


def _is_reduced_everywhere(kind: ir.Type) -> bool:
    """Whether all-reduces take an element type: XLA:CPU ends the process on booleans, NCCL has no
    reduction of 16-bit integers.
    """
    if isinstance(kind, ir.IntegerType):
        return kind.width in (8, 32, 64)
    return isinstance(kind, ir.BF16Type | ir.F16Type | ir.F32Type | ir.F64Type)
