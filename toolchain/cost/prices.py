"""The prices of ops on any device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from jaxlib.mlir import ir

from .device import Device
from .fusion import kernels_of
from .node import FusedKernel, Node
from .on_accelerator import OnGpu, OnTpu
from .on_cpu import OnCpu
from .price import Model, Price
from .rates import Rates

_MODELS: dict[str, type[Model]] = {model.kind: model for model in (OnCpu, OnGpu, OnTpu)}


class Version(NamedTuple):
    """One of two versions of a part of a block; see `kernels_of` for its attributes."""

    ops: Iterable[ir.OpView]
    outputs: Sequence[ir.Value]
    renamed: Mapping[ir.Value, ir.Value]


def model_of(device: Device, rates: Rates) -> Model:
    """The model that prices kernels on a device."""
    return _MODELS[device.kind](device, rates)


def price_of_ops(
    ops: Iterable[ir.OpView], outputs: Sequence[ir.Value], device: Device, rates: Rates
) -> Price:
    """The price of computing `outputs` once with ops of one block."""
    return _total(model_of(device, rates), kernels_of(ops, outputs, kind=device.kind))


def prices_of_unrolling(module: ir.Operation, device: Device, rates: Rates) -> tuple[Price, Price]:
    """What LLVM's loop unrolling changes in the functions of a module on a CPU.

    Returns:
        The prices of the kernels whose time it changes, with unrolling and without. The time to
        compile is that of all kernels.
    """
    model = OnCpu(device, rates)  # both find its kernels once
    unrolled, rolled = (_of_module(model.with_unrolling(each), module) for each in (True, False))
    return unrolled, rolled


def _of_module(model: Model, module: ir.Operation) -> Price:
    total = Price()
    for function in module.regions[0].blocks[0].operations:
        for region in function.regions:
            total = total.plus(model.region(region))
    return total


def prices_of_versions(
    before: Version, after: Version, device: Device, rates: Rates
) -> tuple[Price, Price]:
    """The prices of the kernels that only one of two versions has."""
    model = model_of(device, rates)
    nodes: dict[ir.OpView, Node] = {}
    old, new = (_kernels(version, device.kind, nodes) for version in (before, after))
    same = {key for key, kernel in new.items() if key in old and old[key].is_like(kernel)}
    own = ([kernels[key] for key in kernels if key not in same] for kernels in (old, new))
    removed, added = (_total(model, kernels) for kernels in own)
    return removed, added


def _kernels(
    version: Version, kind: str, nodes: dict[ir.OpView, Node]
) -> dict[ir.Value, FusedKernel]:
    """The kernels by the first value that each stores."""
    return {kernel.root.key: kernel for kernel in kernels_of(*version, kind=kind, nodes=nodes)}


def _total(model: Model, kernels: Iterable[FusedKernel]) -> Price:
    total = Price()
    for kernel in kernels:
        total = total.plus(model.price(kernel))
    return total
