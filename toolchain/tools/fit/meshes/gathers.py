"""The copies that XLA makes of arrays that it gathers along several dimensions at once.

A collective joins the parts of all devices along one dimension. The other dimensions are put in
their places afterwards, by copies of the whole array.
"""

from __future__ import annotations

import re

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from ....cost.prices import price_of_ops
from ....rewrite import PassContext
from ....rewrite.device_work import runs_of

_COPIES = {"tpu": 3}
"""Copies of one gathered array: on TPUs two, the first of which is written in half-filled tiles."""


def split_count(op: ir.OpView) -> int:
    """The number of dimensions that a collective of Shardy gathers, scatters or slices."""
    named = ("gathering_axes", "reduce_scatter_axes", "slicing_axes")
    lists = [str(op.attributes[name]) for name in named if name in op.attributes]
    return len(re.findall(r'\{"', " ".join(lists)))


def added_by_gathers(main: ir.OpView, context: PassContext) -> float:
    """The seconds of the copies of all arrays that are gathered along several dimensions.

    Args:
        main: a function whose values have the types of one device.
        context: the hardware.
    """
    copies = _COPIES.get(context.device.kind, 1)
    gathers = [
        (op, times)
        for op, times in runs_of(main)
        if op.operation.name == "sdy.all_gather" and split_count(op) > 1
    ]
    return sum(copies * times * _seconds_of_copy(op, context) for op, times in gathers)


def _seconds_of_copy(gather: ir.OpView, context: PassContext) -> float:
    value = gather.results[0]
    with ir.InsertionPoint(gather), gather.location:
        copy = hlo.ConvertOp(value.type, value)
    price = price_of_ops([copy], [copy.result], context.device, context.rates)
    copy.operation.erase()
    return price.seconds
