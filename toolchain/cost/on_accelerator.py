"""How long kernels take on a GPU or TPU, as their compilers estimate it.

A kernel takes the longest of its arithmetic and its traffic. Sorts, transforms and calls of
libraries have no price there: a rewrite that removes or builds one is declined. On TPU, grouped
convolutions and the gradient of max pooling have no price either.
"""

from __future__ import annotations

from math import ceil, nan
from typing import ClassVar

from jaxlib.mlir.dialects import stablehlo as hlo

from . import cpu, roofline
from .flops import bytes_of, known_flops, matrices_of
from .formulas import ARITHMETIC, FUNCTIONS, TRANSCENDENTAL, names
from .node import ELEMENTWISE, FusedKernel, Node, elements_of_value
from .price import Model, width_of


class OnAccelerator(Model):
    """How long kernels take on a GPU or TPU."""

    of_64_bits: ClassVar[float]
    """How many times longer elementwise ops on 64 bits take than on 32."""

    reductions = names("reduce reduce_window")
    """Ops that take the time of their arithmetic."""

    @property
    def launch(self) -> float:
        """The time from one kernel to the next, in ns."""
        return self.rates.get(roofline.LAUNCH, self.device.launch_seconds * 1e9)

    @property
    def iteration(self) -> float:
        """The time of the test of a loop and its jump back, in ns."""
        return self.launch

    def nanoseconds(self, kernel: FusedKernel, moved: float) -> float:
        """The time of one kernel; NaN if it is not known."""
        computed = 0.0
        for node in kernel.nodes:
            computed += self._arithmetic(node, kernel.demand[node.key])
            computed += self._shifting(node)
            moved += self._moved_besides(node)
        return max(computed, moved * self.rates.get(roofline.BYTE, 1e9 / self.device.bandwidth))

    def _arithmetic(self, node: Node, wanted: float) -> float:
        """The time of computing so many elements of an op."""
        peaks = self.device.peak_flops
        elementwise = peaks.get("elementwise-f32", peaks["f32"])
        if _is_wide(node):
            elementwise /= self.of_64_bits
        if node.name in ("dot_general", "convolution"):
            return self._multiply_adds(node)
        if node.name in FUNCTIONS:
            return wanted * TRANSCENDENTAL / elementwise * 1e9
        if node.name in ARITHMETIC:
            return wanted / elementwise * 1e9
        if node.name in self.reductions:
            return known_flops(node.op) * wanted / max(node.elements, 1) / elementwise * 1e9
        return 0.0 if node.is_fused or node.name == "scatter" else nan

    def _multiply_adds(self, node: Node) -> float:
        """The time of a product or convolution; a product with a vector may have its own rate."""
        kind = node.kind
        peaks = self.device.peak_flops
        usual = peaks.get("tf32") or peaks["f32"]
        each = self.rates.get(roofline.PRODUCT, 2e9 / usual)
        if node.name == "dot_general" and _is_by_vector(node.op):
            each = self.rates.get(cpu.OF_VECTOR, each)
        slower: float = usual / peaks.get("tf32" if kind == "f32" else kind, usual)
        return known_flops(node.op) / 2 * each * slower

    def _moved_besides(self, node: Node) -> float:
        """The bytes that an op moves besides its operands and results."""
        return 0.0

    def _shifting(self, node: Node) -> float:
        """The time of moving elements to other places in registers or memory, in ns."""
        return 0.0


_OF_TILES = 0.6  # the time of a byte of padding in tiles, relative to other bytes
_SLICE_NS = 300.0  # a slice that starts within a tile
_PRODUCTS = names("dot_general convolution")
_ROUNDED = ELEMENTWISE | names("transpose")
_INDEXED_NS = 3000.0  # a gather or scatter of v5e, without its traffic
_INDICES_MOVED = 4  # XLA:GPU writes and reads the indices twice: one by one, and joined
_SELECTION_KERNELS = 3  # besides the scatter: the search, the indices and the zeros


class OnGpu(OnAccelerator):
    """How long kernels take on a GPU."""

    kind = "gpu"
    of_64_bits = 2.0
    reductions = OnAccelerator.reductions | names("select_and_scatter")

    def _moved_besides(self, node: Node) -> float:
        """The indices of what `select_and_scatter` selects, and the zeros to which it adds."""
        if node.name != "select_and_scatter":
            return 0.0
        indices = 4 * len(node.shape) * elements_of_value(node.operands[1])
        return _INDICES_MOVED * indices + 2 * bytes_of(node.key.type)

    def _shifting(self, node: Node) -> float:
        """The launches of the other kernels of a `select_and_scatter`."""
        return _SELECTION_KERNELS * self.launch if node.name == "select_and_scatter" else 0.0


class OnTpu(OnAccelerator):
    """How long kernels take on a TPU, which has no unit for 64 bits."""

    kind = "tpu"
    of_64_bits = 20.0

    def _multiply_adds(self, node: Node) -> float:
        """NaN for grouped convolutions: their layouts, and what they are fused with, decide."""
        if node.name == "convolution":
            groups = node.op.feature_group_count.value, node.op.batch_group_count.value
            if max(groups) > 1:
                return nan
        return super()._multiply_adds(node)

    def nanoseconds(self, kernel: FusedKernel, moved: float) -> float:
        """The time of one kernel; NaN if it is not known."""
        return super().nanoseconds(kernel, moved + self._rounded(kernel))

    def _rounded(self, kernel: FusedKernel) -> float:
        """The bytes of the values in f32 that a kernel rounds to 16 bits.

        The compilers of TPUs whose vector unit computes in f32 only count one more pass over them.
        """
        root = kernel.root
        is_rounded = root.name in _ROUNDED and root.kind in ("bf16", "f16")
        if "elementwise-bf16" in self.device.peak_flops or not is_rounded:
            return 0.0
        has_product = any(node.name in _PRODUCTS for node in kernel.nodes)
        return 0.0 if has_product else 4.0 * root.elements

    def _moved_besides(self, node: Node) -> float:
        """Each matrix of a product occupies tiles of 8 by 128 elements."""
        if node.name != "dot_general":
            return 0.0
        op = node.op
        batch, rows, terms, columns = matrices_of(op)
        pairs = ((rows, terms), (terms, columns), (rows, columns))
        added = 0.0
        for pair, value in zip(pairs, (op.lhs, op.rhs, op.result), strict=True):
            least, most = sorted(pair)
            tiles = ceil(least / 8) * 8 * ceil(most / 128) * 128
            added += batch * tiles * width_of(value) - bytes_of(value.type)
        return _OF_TILES * added

    def _shifting(self, node: Node) -> float:
        if node.name in ("gather", "scatter"):
            return _INDEXED_NS
        return _SLICE_NS if node.name == "slice" else 0.0


def _is_wide(node: Node) -> bool:
    return node.kind in ("f64", "i64", "ui64")


def _is_by_vector(op: hlo.DotGeneralOp) -> bool:
    found = matrices_of(op)
    return 1 in (found.rows, found.columns)
