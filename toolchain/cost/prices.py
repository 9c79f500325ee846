"""The prices of ops on any device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from jaxlib.mlir import ir

from .device import Device
from .fusion import kernels_of
from .on_accelerator import OnGpu, OnTpu
from .on_cpu import OnCpu
from .price import Model, Price
from .rates import Rates

_MODELS: dict[str, type[Model]] = {model.kind: model for model in (OnCpu, OnGpu, OnTpu)}


def prices_of(
    ops: Iterable[ir.OpView],
    outputs: Sequence[ir.Value],
    device: Device,
    rates: Rates,
    renamed: Mapping[ir.Value, ir.Value] | None = None,
) -> dict[ir.Value, Price]:
    """The price of each kernel, by the first value that it stores.

    See `kernels_of` for the other arguments.
    """
    model = _MODELS[device.kind](device, rates)
    kernels = kernels_of(ops, outputs, renamed, kind=device.kind)
    return {kernel.root.op.results[0]: model.price(kernel) for kernel in kernels}
