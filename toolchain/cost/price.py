"""The price of ops: how long they take on a device as its compiler compiles them.

`Model` prices the kernels of `fusion.kernels_of`; `on_cpu` and `on_accelerator` have one for each
kind of device.

Loops count as often as they run; one of unknown trip count counts as `UNKNOWN_TRIPS`. A conditional
takes its slowest branch, or the first one where it tests whether numbers are finite. Kernels of
dynamic sizes and empty ones count as 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import isnan, nan
from typing import ClassVar, NamedTuple

from jaxlib.mlir import ir

from ..ir.bounds import trip_count
from .device import Device
from .flops import bytes_of, elements_of
from .fusion import kernels_of
from .node import FusedKernel, Node
from .rates import Rates

COMPILE_KERNEL_NS = 14e6
"""The time of compiling a kernel, without its ops. On CPU 13 to 17 ms on both jaxlib lines."""

COMPILE_OP_NS = 0.35e6
"""The time of compiling an elementwise op of a kernel. Of 40 of them 28 ms, with the kernel."""

UNKNOWN_TRIPS = 10
"""The trip count to assume of a loop whose trip count is unknown."""


class Price(NamedTuple):
    """What ops cost.

    Attributes:
        seconds: of one run.
        kernels: launched in one run.
        bytes: moved through memory in one run.
        compile_seconds: of compiling them once.
    """

    seconds: float = 0.0
    kernels: float = 0.0
    bytes: float = 0.0
    compile_seconds: float = 0.0

    def plus(self, other: Price, times: float = 1.0) -> Price:
        """The sum of this and another that runs `times` as often."""
        return Price(
            self.seconds + times * other.seconds,
            self.kernels + times * other.kernels,
            self.bytes + times * other.bytes,
            self.compile_seconds + other.compile_seconds,
        )


UNKNOWN = Price(nan, 1, 0.0, 0.0)
"""The price of a kernel that the model cannot price."""


class Model(ABC):
    """How long kernels take on one device.

    Attributes:
        unknown: the price of a kernel that has none, also inside loops.
        known: the prices of blocks of loops and conditionals that are known.
    """

    kind: ClassVar[str]
    """How its compiler fuses, see `kernels_of`."""

    matters: Callable[[Node], bool] | None = None
    """Whether a kernel with this root is priced; None for all. Others cost their compile time."""

    def __init__(self, device: Device, rates: Rates) -> None:
        self.device, self.rates = device, rates
        self.unknown = UNKNOWN
        self.known: dict[ir.Block, Price] = {}
        self._kernels: dict[ir.Block, list[FusedKernel]] = {}

    @property
    @abstractmethod
    def launch(self) -> float:
        """The time from one kernel to the next, in ns."""

    @property
    @abstractmethod
    def iteration(self) -> float:
        """The time of the test of a loop and its jump back, in ns."""

    def price(self, kernel: FusedKernel) -> Price:
        """The price of one kernel."""
        root = kernel.root
        if not kernel.demand:
            return Price(compile_seconds=self.compile_ns(kernel) * 1e-9)
        if not all(node.is_static for node in kernel.nodes):
            return Price()
        if root.name == "while":
            return self._loop(root)
        if root.name in ("if", "case"):
            return self._branches(root)
        moved = _bytes(kernel)
        ns = self.nanoseconds(kernel, moved) + self.launch
        if isnan(ns):
            return self.unknown
        return Price(ns * 1e-9, 1, moved, self.compile_ns(kernel) * 1e-9)

    @abstractmethod
    def nanoseconds(self, kernel: FusedKernel, moved: float) -> float:
        """The time of a kernel that moves so many bytes, without its launch."""

    def compile_ns(self, kernel: FusedKernel) -> float:
        """The time of compiling a kernel, in ns."""
        return COMPILE_KERNEL_NS + COMPILE_OP_NS * len(kernel.nodes)

    def _loop(self, node: Node) -> Price:
        trips = trip_count(node.op)
        condition, body = map(self.region, node.op.regions)
        times = UNKNOWN_TRIPS if trips is None else trips
        each = Price(self.iteration * 1e-9).plus(condition).plus(body)
        return Price().plus(each, times)

    def _branches(self, node: Node) -> Price:
        """The price of the slowest branch, or of the first one if the condition is `is_finite`."""
        prices = list(map(self.region, node.op.regions))
        test = node.operands[0].owner
        is_test = not isinstance(test, ir.Block) and test.operation.name == "stablehlo.is_finite"
        taken = prices[0] if is_test else max(prices, key=lambda price: price.seconds)
        return taken._replace(compile_seconds=sum(each.compile_seconds for each in prices))

    def region(self, region: ir.Region) -> Price:
        """The price of the kernels of a region, once."""
        total = Price()
        for block in region.blocks:
            if (known := self.known.get(block)) is not None:
                total = total.plus(known)
                continue
            for kernel in self._kernels_of(block):
                total = total.plus(self.price(kernel))
        return total

    def _kernels_of(self, block: ir.Block) -> list[FusedKernel]:
        if block not in self._kernels:
            *ops, last = block.operations
            self._kernels[block] = kernels_of(
                ops, list(last.operands), kind=self.kind, matters=self.matters
            )
        return self._kernels[block]


def _bytes(kernel: FusedKernel) -> float:
    root = kernel.root
    written = sum(bytes_of(value.type) for value in root.results)
    if root.name in _UPDATES and _is_overwritten(root.operands[0]):
        written = bytes_of(root.operands[_UPDATES[root.name]].type)
    read = sum(count * width_of(value) for value, count in kernel.reads.items() if count > 1)
    return written + read


_UPDATES = {"dynamic_update_slice": 1, "scatter": -1}
"""The operand that an op writes to its first operand."""


def _is_overwritten(value: ir.Value) -> bool:
    """Whether XLA updates an array in place. It copies arguments of functions first."""
    owner = value.owner
    return not isinstance(owner, ir.Block) or owner.owner.operation.name != "func.func"


def width_of(value: ir.Value) -> float:
    """Bytes of one element of a tensor; 4.0 for other values."""
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        return 4.0
    return bytes_of(kind) / max(elements_of(kind), 1)
