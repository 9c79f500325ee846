"""The speeds of LAPACK's factorizations and triangular systems as XLA:CPU calls them.

LAPACK takes matrices by columns. XLA copies each one that it computed by rows, in a slow loop.
"""

from __future__ import annotations

from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from ..ir.elementwise import is_elementwise
from ..ir.values import shape_of, swaps_matrices
from . import cpu, roofline
from .price import width_of
from .rates import Rates

_MOST_VISITED = 16  # ops before a matrix
_START = 8.0  # starting a blocked algorithm, relative to a system of 4 equations


def matrices_ns(op: ir.OpView, rates: Rates) -> float:
    """The time of `stablehlo.cholesky` or `stablehlo.triangular_solve`, in ns."""
    shape = shape_of(op.operands[0])
    return prod(shape[:-2]) * rates[cpu.CHOLESKY] * (shape[-1] / 4) ** 2


def library_ns(op: hlo.CustomCallOp, rates: Rates) -> float:
    """The time of a call of LAPACK, in ns; 0.0 for other libraries, whose time is not known."""
    name = op.call_target_name.value
    shape = shape_of(op.operands[0]) if len(op.operands) else ()
    if not name.startswith("lapack_") or len(shape) < 2:
        return 0.0
    systems = prod(shape_of(op.operands[-1])[-2:]) // max(shape[-1], 1)
    each = _of_one(name, shape[-1], systems, rates)
    return prod(shape[:-2]) * each + _copies_ns(op, rates)


def _of_one(name: str, size: int, systems: int, rates: Rates) -> float:
    """The time of one matrix, by an algorithm for small ones or by blocks, in ns.

    Args:
        name: of the call.
        size: rows of the matrix.
        systems: right-hand sides of a triangular system.
        rates: of the device.
    """
    is_solve = "trsm" in name
    rate = cpu.TRIANGULAR_SOLVE if is_solve else cpu.CHOLESKY
    rows = size / 4
    small = rates[rate] * max(1.0, rows**2)
    if is_solve:  # half the time of a small system is spent on the call
        small = rates[rate] * (0.45 + 0.5 * rows + 0.05 * rows**2) * float(systems) ** 0.25
    if not is_solve and "potrf" not in name:
        return small
    # Multiply-adds for each element of the triangle.
    terms = systems if is_solve else size / 3
    blocked = size**2 / 2 * (rates[cpu.OF_TRIANGLE] + terms * rates[roofline.PRODUCT])
    return min(small, _START * rates[rate] + blocked)


def _copies_ns(op: hlo.CustomCallOp, rates: Rates) -> float:
    """The time of copying operands and results of a call into the layout of their other side."""
    ns = 0.0
    for name, values in (("operand_layouts", op.operands), ("result_layouts", op.results)):
        for value, layout in zip(values, op.attributes.get(name, ()), strict=False):
            order = [int(dim) for dim in layout]
            if len(order) < 2 or 1 in shape_of(value)[-2:]:
                continue
            is_by_columns = order[0] < order[1]
            known = _lies_by_columns(value) if name == "operand_layouts" else False
            if known is not None and known != is_by_columns:
                ns += _copy_ns(value, rates)
    return ns


def _lies_by_columns(value: ir.Value) -> bool | None:
    """Whether XLA computes `value` by columns without a copy; None if in either order.

    Libraries compute by columns, and a transpose of rows lies by columns.
    """
    pending, orders = [(value, False)], set()
    for _ in range(_MOST_VISITED):
        if not pending:
            break
        each, is_turned = pending.pop()
        owner = each.owner
        if is_elementwise(owner):
            pending += [(operand, is_turned) for operand in owner.operands]
        elif isinstance(owner, hlo.TransposeOp) and swaps_matrices(owner):
            pending.append((owner.operand, not is_turned))
        elif isinstance(owner, hlo.CustomCallOp) and "result_layouts" in owner.attributes:
            order = list(owner.attributes["result_layouts"])[each.result_number]
            if len(order) > 1:
                orders.add((order[0] < order[1]) != is_turned)
        elif not isinstance(owner, hlo.ConstantOp | hlo.IotaOp | hlo.BroadcastInDimOp):
            orders.add(is_turned)
    return orders.pop() if len(orders) == 1 else None


def _copy_ns(value: ir.Value, rates: Rates) -> float:
    """The time of copying matrices from rows to columns, or from columns to rows."""
    shape = shape_of(value)
    *batch, row, column = range(len(shape))
    distance = cpu.relative_distance(shape, (*batch, column, row), width_of(value))
    each = max(rates[cpu.STRIDED], distance * rates[cpu.UNTILED])
    return prod(shape) * each / cpu.CORES
