"""How long kernels take on a CPU as XLA compiles them.

A kernel takes the longest of its arithmetic and its traffic. Ops that XLA runs at a speed of their
own have rates of their own: `cpu.OWN`.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from math import ceil, prod
from typing import NamedTuple

from jaxlib.mlir import ir

from ..ir.values import is_integer, shape_of
from . import cpu, roofline
from .cpu_lapack import library_ns, matrices_ns
from .cpu_products import convolution_ns, copied_operands, copies_for_dot, dot_ns
from .device import Device
from .flops import known_flops
from .formulas import ARITHMETIC, FUNCTIONS, SCALAR_FUNCTIONS
from .node import (
    ELEMENTWISE,
    FusedKernel,
    Node,
    is_copied_product,
    is_library_reduction,
    takes_columns,
)
from .price import Model, width_of
from .rates import IS_OLD, Rates

_COMPUTED_WIDE = 6.0  # how many times faster such sums are if the kernel computes the elements


class OnCpu(Model):
    """How long kernels take on one CPU."""

    kind = "cpu"

    def __init__(self, device: Device, rates: Rates) -> None:
        super().__init__(device, rates)
        self._is_unrolled: bool | None = None
        self._cache = device.cache_bytes if rates.measured else cpu.CACHE

    def with_unrolling(self, is_unrolled: bool) -> OnCpu:
        """The same CPU with LLVM's loop unrolling, or with `xla_cpu_disable_loop_unrolling`.

        The result prices only kernels whose time depends on that. Before this is called, each
        kernel is assumed to be compiled in the faster of the two ways.
        """
        other = copy(self)
        other._is_unrolled = is_unrolled
        other.matters = _is_changed_by_unrolling
        return other

    @property
    def launch(self) -> float:
        """The time from one kernel to the next, in ns."""
        return self.rates[roofline.LAUNCH]

    @property
    def iteration(self) -> float:
        """The time of the test of a loop and its jump back, in ns."""
        return self.rates[cpu.ITERATION]

    def nanoseconds(self, kernel: FusedKernel, moved: float) -> float:
        """The time of one kernel."""
        own = self._own(kernel.root)
        if own is None:
            return self._fused(kernel, moved)
        return max(own, self._memory_ns(moved))

    def loops(self, shape: Sequence[int]) -> Loops:
        """How the loops over a result of this shape are compiled."""
        ways = {True: _unrolled_loops, False: _rolled_loops}
        if self._is_unrolled is not None:
            return ways[self._is_unrolled](shape)
        return min(way(shape) for way in ways.values())

    def _rolled(self, name: str) -> float:
        """How many times longer an op takes because LLVM does not unroll its loops."""
        return _ROLLED.get(name, 1.0) if self._is_unrolled is False else 1.0

    def compile_ns(self, kernel: FusedKernel) -> float:
        """The time of compiling a kernel, in ns: none for a call of a library."""
        root = kernel.root
        each = self.rates[cpu.COMPILE_KERNEL]
        if root.name in _OF_LIBRARY:
            return each * len(copied_operands(root.op)) * (1 + _COMPILE_TRANSPOSE)
        if any(n.name == "reduce" and is_library_reduction(n) for n in kernel.nodes):
            return 0.0
        kernels = 1 + _COMPILE_OP * len(kernel.nodes)
        for node in kernel.nodes:
            if node.name == "transpose" and _moves_last(node.op):
                kernels += _COMPILE_TRANSPOSE
            elif node.name == "concatenate":
                kernels += len(node.operands) * _COMPILE_PART
            elif node.name in FUNCTIONS:
                kernels += _COMPILE_FUNCTION
            elif node.name == "scatter" or (node.name == "reduce" and len(node.results) == 1):
                kernels += _COMPILE_NEST
        return each * kernels * self._rolled("compile")

    def _own(self, node: Node) -> float | None:
        """The time of an op that is no part of a fused kernel, in ns; None for one that is."""
        if node.is_fused:
            return None
        if (own := _OWN.get(node.name)) is not None:
            ns = self._rolled(node.name) * own(node.op, self.rates)
            return ns + self._rolled_copies(node) if node.name == "dot_general" else ns
        return known_flops(node.op) / self._peak(node) * 1e9

    def _rolled_copies(self, node: Node) -> float:
        """How much longer copying the operands of a product takes without unrolling, in ns."""
        more = (self._rolled("transpose") - 1) * self.rates[cpu.TRANSPOSED]
        if not more:
            return 0.0
        copies = copies_for_dot(node.op)
        return more * sum(each.elements for each in copies if each.moves_last == IS_OLD)

    def _peak(self, node: Node) -> float:
        kind = node.kind
        peaks = self.device.peak_flops
        return peaks.get(kind) or peaks.get("f32") or max(peaks.values())

    def _fused(self, kernel: FusedKernel, moved: float) -> float:
        """The time of a fused kernel, in ns."""
        root, one_core, flops = kernel.root, 0.0, 0.0
        is_library = any(n.name == "reduce" and len(n.results) == 1 for n in kernel.nodes)
        is_search = any(n.name == "reduce" and len(n.results) > 1 for n in kernel.nodes)
        is_scalar = is_search or (
            not is_library
            and any(
                (takes_columns(n) and kernel.demand[n.key] >= root.elements)
                or (n is not root and _branches(n))
                for n in kernel.nodes
            )
        )
        is_alone = len(kernel.nodes) == 1  # XLA compiles its loops in another way
        turns = [n for n in kernel.nodes if n.name == "transpose" and _moves_last(n.op)]
        loops = _VECTORIZED if is_library or is_alone or turns else self.loops(root.shape)
        is_tiled = is_search or _is_tiled(kernel)
        for node in kernel.nodes:
            wanted = kernel.demand[node.key]
            each = self._each(node, is_library)
            if node is root and node.name in _MOVED:
                each = 0.0
            elif node.name == "transpose" and not is_tiled:
                distance = cpu.relative_distance(
                    shape_of(node.op.operand), node.op.permutation, width_of(node.key)
                )
                each = max(each, distance * self.rates[cpu.UNTILED])
            elif node.name in ("sqrt", "rsqrt") and is_scalar:
                each = self.rates[cpu.SCALAR_ROOT]
            elif node.name in FUNCTIONS:
                is_slow = is_search or (is_scalar and loops is _VECTORIZED)
                each *= _SCALAR if is_slow else loops.function
            elif node.name in _COUNTED:
                is_slow = is_search or node.key in kernel.scattered
                each *= _SCALAR if is_slow else loops.arithmetic
            elif _is_wide_broadcast(node) and node.key in kernel.scattered:
                each = self.rates[roofline.ELEMENTWISE] * _SCALAR
            if is_library and node.name in _COUNTED_OR_FUNCTION:
                last = _last(node)
                each *= ceil(last / _LANES) * _LANES / last
                one_core += wanted / last * self.rates[cpu.ROW_OP]
            if is_library and node is root and _is_wide_broadcast(node):
                each = self.rates[cpu.ROW_BROADCAST]
            one_core += each * wanted
            flops += wanted * (node.name in _COUNTED)
            if node.name == "reduce":
                factor = 1.0 if is_library_reduction(node) else self._rolled("reduce")
                one_core += factor * self._reduced(kernel, node, wanted)
        one_core += root.elements * loops.element * self.rates[roofline.ELEMENTWISE]
        threads = 1 if is_search else _threads(flops, moved)
        ns = max(one_core / threads, self._memory_ns(moved))
        if is_alone and root.name == "transpose":
            is_slower = _moves_last(root.op) == IS_OLD
        elif is_tiled:
            is_slower = IS_OLD and bool(turns)
        else:
            is_slower = any(_last(node) <= _NARROW for node in turns)
        if is_slower:
            ns *= self._rolled("transpose")
        return ns + self.rates[cpu.FORK] if threads > 1 else ns

    def _each(self, node: Node, is_library: bool) -> float:
        """The time of computing one element of an op in a kernel, on one core, in ns."""
        wide = width_of(node.key) / 4
        kind = node.key.type.element_type
        if isinstance(kind, ir.ComplexType) and node.name in FUNCTIONS:
            return self.rates[cpu.COMPLEX]
        if node.name == "remainder" and not isinstance(kind, ir.IntegerType):
            return self.rates[cpu.REMAINDER]
        if is_library and node.name in ("sine", "cosine", "tan"):
            return self.rates[cpu.SUMMED_SINE]
        if node.name in SCALAR_FUNCTIONS or (node.name in cpu.FUNCTIONS and not is_library):
            return self.rates[cpu.FUNCTIONS.get(node.name, roofline.SCALAR_FUNCTION)]
        if node.name in FUNCTIONS:
            return self.rates[roofline.FUNCTION] * max(wide, 1)
        if node.name == "transpose" and _moves_last(node.op):
            return self.rates[cpu.TRANSPOSED]
        if takes_columns(node):
            return self.rates[cpu.STRIDED]
        if node.name in ("maximum", "minimum"):
            return 5 * self.rates[roofline.ELEMENTWISE] * max(wide, 0.5)
        if node.name in _MOVED:
            return self.rates[cpu.PADDED] * self._rolled(node.name) if _branches(node) else 0.0
        if node.name == "gather":
            return self.rates[cpu.GATHERED_ROW] / _row(node.op)
        if node.name in ("sqrt", "rsqrt", "divide"):
            return 4 * self.rates[roofline.ELEMENTWISE] * max(wide, 1)
        if node.name in _COUNTED:
            return self.rates[roofline.ELEMENTWISE] * max(wide, 0.5)
        return 0.0

    def _reduced(self, kernel: FusedKernel, node: Node, wanted: float) -> float:
        """The time of combining the elements of a reduction, on one core, in ns.

        Args:
            kernel: the kernel that it is part of.
            node: the reduction.
            wanted: elements of its result.
        """
        is_root = node is kernel.root
        shape = shape_of(node.op.operands[0])
        dims = sorted(int(dim) for dim in node.op.attributes["dimensions"])
        combined = prod(int(shape[dim]) for dim in dims)
        elements = wanted * combined
        if not dims:
            return 0.0
        if len(node.results) > 1:
            return elements * self.rates[cpu.SEARCHED]
        is_inside = IS_OLD and is_library_reduction(node)
        if is_inside and cpu.body_of(node.op) == "add" and is_copied_product(node):
            return elements * self.rates[cpu.WIDE_ROW]
        inner = prod(shape[dims[-1] + 1 :])
        rate = cpu.ROW_SUM if cpu.body_of(node.op) == "add" else cpu.ROW_EXTREMUM
        start = 0.0 if is_integer(node.key) else self.rates[rate]  # LLVM adds rows at once
        is_wide = inner * combined == prod(shape) and cpu.are_few_wide_rows(combined, inner)
        if is_wide and (is_root or is_inside):
            is_computed = any(n.name in _COUNTED_OR_FUNCTION for n in kernel.nodes)
            factor = 1.0 if cpu.body_of(node.op) == "add" or not IS_OLD else 0.5
            if is_computed and not is_inside:
                factor /= _COMPUTED_WIDE
            return elements * self.rates[cpu.WIDE_ROW] * factor
        starts = wanted if inner == 1 or not is_root else elements / inner
        return starts * start + elements * self.rates[cpu.SUMMED]

    def _memory_ns(self, moved: float) -> float:
        device = self.device
        is_cached = device.cache_bandwidth and moved <= self._cache
        return moved / (device.cache_bandwidth if is_cached else device.bandwidth) * 1e9


_OWN = {
    **cpu.OWN,
    "dot_general": dot_ns,
    "convolution": convolution_ns,
    "custom_call": library_ns,
    "cholesky": matrices_ns,
    "triangular_solve": matrices_ns,
}
_OF_LIBRARY = ("dot_general", "convolution", "sort", "top_k", "custom_call")

# What compiling takes, in kernels of two elementwise ops: each op, a part of a concatenation, an
# elementary function, and loops that LLVM unrolls or interchanges.
_COMPILE_OP, _COMPILE_PART, _COMPILE_FUNCTION = 0.05, 1.8, 1.4
_COMPILE_TRANSPOSE, _COMPILE_NEST = 8.5, 6.0
# How many times longer ops take in loops that LLVM does not unroll: sums of integers and of complex
# numbers, windows, transposes that are a kernel of their own (1.1 to 7; in older versions of XLA
# those that move the last dimension, in newer ones the others), or in tiles with elementwise ops
# (1.3 to 3.5 in older ones), or in narrow rows with others (1.3 to 2.8); pads between elements (1.2
# to 3); compiling, of 30 programs.
_ROLLED = {
    "reduce": 1.7,
    "reduce_window": 1.6,
    "select_and_scatter": 1.2,
    "pad": 1.5,
    "transpose": 2.3 if IS_OLD else 1.8,
    "compile": 0.85,
}

_COUNTED = ARITHMETIC | {"square"}
_COUNTED_OR_FUNCTION = _COUNTED | FUNCTIONS
_MOVED = ("concatenate", "pad")
_TILED = ELEMENTWISE | {"transpose", "reduce"} | ({"reshape"} if IS_OLD else set())
_LANES = 8  # the library for reductions computes so many adjacent elements of a row at once
_SCALAR = 6.0  # how many times longer ops take that are not vectorized
_UNROLLED = 37  # LLVM unrolls loops over at most so many elements
_NARROW = 64  # transposes outside of tiles are slower without unrolling if their rows are shorter
_UNROLLED_ROWS = 17  # and loops of fewer iterations around them


class Loops(NamedTuple):
    """How much longer the ops of a kernel take than in a vectorized loop.

    Attributes:
        function, arithmetic: how many times longer an elementary function, and other ops.
        element: what loading and storing an element adds, in flops.
    """

    function: float
    arithmetic: float
    element: float


_VECTORIZED = Loops(1.0, 1.0, 0.0)
_STRIDED_LOOPS = Loops(3.0, 1.6, 30.0)  # the elements of a vector are in different rows
_SCALAR_LOOPS = Loops(7.0, 1.6, 30.0)
_HALF_VECTORS = Loops(2.2, 1.0, 0.0)
_SCALAR_FUNCTIONS = Loops(7.0, 1.5, 0.0)


def _threads(flops: float, moved: float) -> int:
    """On how many cores XLA:CPU runs a kernel, see `parallel_task_assignment.cc`."""
    if flops <= moved:
        return max(1, min(cpu.CORES, ceil(moved / 2**18)))
    return max(1, min(cpu.CORES, ceil((flops + 10 * moved) / 100_000)))


def _moves_last(op: ir.OpView) -> bool:
    """Whether adjacent elements of a transpose are not adjacent in its operand."""
    shape = shape_of(op.operand)
    order = [dim for dim in op.permutation if shape[dim] != 1]
    return bool(order) and order[-1] != max(order)


def _is_tiled(kernel: FusedKernel) -> bool:
    """Whether XLA transposes small tiles in a kernel, rather than one element at a time.

    It does so between elementwise ops. Older versions do not if they also read the same array in
    its own order.
    """
    if any(node.name not in _TILED and node.elements > 1 for node in kernel.nodes):
        return False
    turned = {node.operands[0] for node in kernel.nodes if node.name == "transpose"}
    others = {v for node in kernel.nodes if node.name != "transpose" for v in node.operands}
    return not IS_OLD or turned.isdisjoint(others)


def _unrolled_loops(shape: Sequence[int]) -> Loops:
    """How LLVM compiles the loops over a result, the short ones of which it unrolls.

    It vectorizes the loop around an unrolled one if that is not unrolled as well.
    """
    *outer, rows, columns = (0, 0, *(size for size in shape if size > 1))
    if not rows or columns > _UNROLLED:
        return _VECTORIZED
    if outer[-1] and rows < _UNROLLED_ROWS and rows not in (4, 8, 16):
        return _SCALAR_LOOPS
    return _VECTORIZED if columns <= cpu.VECTOR else _STRIDED_LOOPS


def _rolled_loops(shape: Sequence[int]) -> Loops:
    """The same with `xla_cpu_disable_loop_unrolling`: only the innermost loop is vectorized."""
    *_, rows, columns = (0, 0, *(size for size in shape if size > 1))
    if not rows or columns > _UNROLLED or columns % cpu.VECTOR == 0:
        return _VECTORIZED
    if columns % 4 == 0 and columns != 12:
        return _HALF_VECTORS
    return _SCALAR_LOOPS if columns == 2 else _SCALAR_FUNCTIONS


def _is_changed_by_unrolling(root: Node) -> bool:
    """Whether the time of a kernel may depend on LLVM's unrolling."""
    if root.name in _ROLLED or root.name in ("dot_general", "while", "if", "case"):
        return not is_library_reduction(root)
    return root.is_fused and _unrolled_loops(root.shape) != _rolled_loops(root.shape)


def _branches(node: Node) -> bool:
    """Whether an op within a kernel of others keeps it from being vectorized."""
    if node.name not in _MOVED:
        return False
    shape, operand = node.shape, shape_of(node.operands[0])
    if not shape:
        return False
    if shape[-1] != operand[-1]:
        return True
    has_holes = node.name == "pad" and any(node.op.interior_padding)
    return shape[-1] < cpu.VECTOR and not has_holes


def _is_wide_broadcast(node: Node) -> bool:
    """Whether a broadcast is of more than one element."""
    return node.name == "broadcast_in_dim" and prod(shape_of(node.operands[0])) > 1


def _last(node: Node) -> int:
    """The extent of the last dimension of a result."""
    shape = node.shape
    return shape[-1] if shape else 1


def _row(op: ir.OpView) -> int:
    """The adjacent elements that a gather takes for each index."""
    return max(prod(int(size) for size in op.slice_sizes), 1)
