"""The speeds of ops as XLA:CPU compiles them.

`jxc calibrate` measures each `Rate`. The shipped values are those of jaxlib 0.10.2 on two x86
cores, and of 0.12 where it differs. `OWN` has a function for each op that is a kernel of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log, log2, prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from ..ir.values import shape_of
from . import roofline
from .rates import IS_OLD, Rate, Rates

CORES = 2
"""The cores of the machine on which the shipped rates were measured."""

CACHE = 32 * 2**20
"""Bytes of the last-level cache of the machine on which the shipped rates were measured."""

MAPPED = 32 * 2**20
"""Bytes from which the C library maps fresh pages for an array, and returns them afterwards.

A kernel that writes 36 MB of a temporary waited 14 ms for them.
"""

FIRST_CACHE = 32 * 2**10
"""Bytes of the cache of one core that is read without delay."""

LINE = 64
"""Bytes of a cache line."""

PAGE = 4096
"""Addresses this many bytes apart, or a power of two less, map to few sets of the cache."""

PARALLEL_NS = 50_000.0
"""Ops outside of fused kernels run on all cores if they take longer than this on one."""

_PASS_NS = 1000.0  # starting the kernels of an iteration that counts keys

VECTOR = 8
"""Windows over fewer neighboring elements are not vectorized."""

COMPILE_KERNEL = Rate(
    "compile-kernel", "compiling one more elementwise kernel of two ops, in ns", 7e6
)
FORK = Rate("fork", "starting a kernel on all cores, an addition of 65536 f32, in ns", 8000.0)
ROW_SUM = Rate("row-sum", "a sum of 3 adjacent f32, on one core, in ns", 5.2)
ROW_EXTREMUM = Rate("row-extremum", "a maximum of 3 adjacent f32, on one core, in ns", 2.3)
SUMMED = Rate("summed-element", "one element of a sum of 1024 adjacent f32, one core, in ns", 0.1)
ROW_OP = Rate(
    "row-op", "an addition to 3 adjacent f32 in a kernel with a reduction, on one core, in ns", 2.0
)
ROW_BROADCAST = Rate(
    "row-broadcast",
    "one element of a reduction of rows that is stored broadcast, on one core, in ns",
    1.5 if IS_OLD else 0.1,
)
SEARCHED = Rate("searched-element", "one element of an argmax of f32, on one core, in ns", 2.0)
WIDE_ROW = Rate(
    "wide-row-element",
    "one element of a sum of 8 rows of 131,072 f32, one core, in ns",
    9.0 if IS_OLD else 0.15,
)
PADDED = Rate("padded-element", "one element of a pad within a kernel of f32, in ns", 0.5)
STRIDED = Rate("strided-element", "one element of a slice of columns of f32, in ns", 0.1)
WINDOW = Rate("window-element", "one element of a 3x3 maximum of f32, on one core, in ns", 0.65)
WINDOW_SUM = Rate("window-sum", "one element of a 3x3 sum of f32, on one core, in ns", 0.26)
RUNNING = Rate(
    "running-sum-of-xla",
    "one element of stablehlo.reduce_window as cumsum, on one core, in ns",
    8.0,
)
SELECTED = Rate("selected-element", "one element of a window of select_and_scatter, in ns", 4.0)
TRANSPOSED = Rate("transposed-element", "one element of a transpose of f32, one core, in ns", 0.5)
UNTILED = Rate(
    "untiled-transposed-element",
    "one element of a transpose of 1024x1024 f32 in one kernel with a constant, one core, in ns",
    6.5,
)
TINY_PRODUCT = Rate(
    "tiny-product-of-xla", "the product of two 4x4 matrices of f32, one of thousands, in ns", 480.0
)
SHORT_PRODUCT = Rate(
    "short-product-of-xla",
    "the product of an 8x4 and a 4x4 matrix of f32, one of thousands, ns",
    60.0,
)
NAIVE = Rate("naive-multiply-add", "one multiply-add of 3x3 matrices of f32, in ns", 0.3)
TALL_PRODUCT = Rate(
    "tall-product-of-xla",
    "a multiply-add of a 20000x3 and a 3x16 matrix of f32, in ns",
    0.37 if IS_OLD else 0.11,
)
TALL_ROW = 48
"""The multiply-adds in a row of that product."""
NAIVE_CONVOLUTION = Rate(
    "naive-convolution-multiply-add",
    "one multiply-add in a convolution of 2x2 images by windows of 3x3, 32 to 32 f32, in ns",
    0.6,
)
VOLUME_TAP = Rate(
    "tap-of-volume",
    "one element under one tap of a convolution of volumes by 3x3x3, 1 to 1 f32, in ns",
    12.0,
)
GROUPED_BATCH = Rate(
    "batch-grouped-multiply-add",
    "one multiply-add in the gradient by the kernel of a convolution of 16 groups to 64 f32, in ns",
    3.0,
)
SORTED = Rate("sorted-element", "one comparison of a sort of 100,000 f32, in ns", 15.0)
PLAIN_SORTED = Rate(
    "plain-sorted-element", "one comparison of a sort of 100,000 i32, of one operand, in ns", 3.0
)
SORTED_PAIR = Rate(
    "sorted-pair",
    "one comparison of a sort of 100,000 f32 and as many i32, in ns",
    23.0 if IS_OLD else 15.0,
)
TOP_SCANNED = Rate("top-1-element", "one element of the top-1 of 100,000 f32, in ns", 1.5)
TOP_KEPT = Rate("top-k-comparison", "one comparison of the top-1,000 of 100,000 f32, in ns", 10.0)
SCATTERED = Rate("scattered-element", "one element of scattered rows of f32, in ns", 0.5)
SCATTERED_ROW = Rate("scattered-row", "one scattered row of f32, in ns", 15.0)
SCATTERED_COLUMN = Rate("scattered-column", "one element of scattered columns of f32, in ns", 8.0)
GATHERED_ROW = Rate("gathered-row", "one gathered element of f32, in ns", 3.0)
ITERATION = Rate(
    "while-iteration", "an iteration of stablehlo.while that adds 16 elements, ns", 20.0
)
CHOLESKY = Rate(
    "cholesky-of-lapack",
    "the Cholesky factor of a 4x4 matrix of f32, one of thousands, by LAPACK's potrf, in ns",
    105.0,
)
TRIANGULAR_SOLVE = Rate(
    "triangular-solve-of-lapack",
    "a triangular system of 4 equations in f32, one of thousands, by BLAS's trsm, in ns",
    65.0,
)
OF_TRIANGLE = Rate(
    "triangle-element",
    "one element of the triangle of 512 equations in f32, by BLAS's trsm, in ns",
    0.5 if IS_OLD else 0.7,
)
OF_VECTOR = Rate(
    "vector-multiply-add",
    "one multiply-add in a product of a 512x512 matrix and a vector, in ns",
    0.06,
)
OF_VECTOR_BY_COLUMNS = Rate(
    "vector-multiply-add-by-columns",
    "one multiply-add in a product of the transpose of a 1000x512 matrix and a vector, in ns",
    0.5 if IS_OLD else 0.9,
)
OF_VECTOR_BY_ROWS = Rate(
    "vector-multiply-add-by-rows",
    "one multiply-add in a product of a vector and a 1000x512 matrix, in ns",
    0.1,
)
OF_COLUMNS = Rate(
    "product-across-element",
    "one element of a 512x1024 matrix of f32, of which a product sums the columns, in ns",
    2.1,
)
SINE = Rate("sine-of-xla", "one element of stablehlo.sine on f32, in ns", 4.0)
SUMMED_SINE = Rate(
    "summed-sine-of-xla",
    "one element of a sum of sines, which newer versions of XLA make a kernel of, in ns",
    4.0 if IS_OLD else 0.5,
)
TANGENT = Rate("tangent-of-xla", "one element of stablehlo.tan on f32, in ns", 10.0)
SCALAR_ROOT = Rate(
    "scalar-root", "one element of stablehlo.rsqrt that is not vectorized, in ns", 6.0
)
CUBE_ROOT = Rate("cube-root-of-xla", "one element of stablehlo.cbrt on f32, in ns", 18.0)
SOFTPLUS = Rate(
    "softplus-of-xla",
    "one element of log_plus_one of exponential on f32, on one core, in ns",
    4.0,
)
ARC = Rate("arc-function-of-xla", "one element of stablehlo.atan2 on f32, in ns", 13.0)
REMAINDER = Rate("remainder-of-xla", "one element of stablehlo.remainder on f32, in ns", 18.0)
COMPLEX = Rate("complex-exponential", "one element of exponential on complex64, in ns", 5.0)
POWER = Rate("power-of-xla", "one element of stablehlo.power on f32, in ns", 5.0)
ARCTANGENT = Rate(
    "arctangent-of-xla",
    "one element of chlo.atan on f32, a call of the C library in older versions of XLA, in ns",
    10.0 if IS_OLD else 0.8,
)

FUNCTIONS = {
    **dict.fromkeys(("sine", "cosine"), SINE),
    "tan": TANGENT,
    "cbrt": CUBE_ROOT,
    "log_plus_one": SOFTPLUS,
    "power": POWER,
    "atan": ARCTANGENT,
    **dict.fromkeys(("acos", "asin", "atan2"), ARC),
}
"""The rates of functions that have one of their own."""


def _window(op: hlo.ReduceWindowOp, rates: Rates) -> float:
    window = [int(size) for size in op.attributes["window_dimensions"]]
    outputs = prod(shape_of(op.results[0]))
    if not window:
        return 0.0
    if is_running(window, shape_of(op.operands[0]), shape_of(op.results[0])):
        return running_ns(rates, outputs) * len(op.results)
    each = rates[WINDOW_SUM if body_of(op) == "add" else WINDOW] * len(op.results)
    if not body_of(op):
        each *= 4
    strides = op.attributes.get("window_strides", [1])
    is_strided = window[-1] > 1 and strides[len(strides) - 1] > 2
    if is_strided or shape_of(op.results[0])[-1] < VECTOR:
        each = max(each, 4 * rates[WINDOW_SUM])
    return _on_cores(outputs * prod(window) * each)


def running_ns(rates: Rates, elements: int) -> float:
    """The time of XLA's windows for the running sums of so many elements, in ns."""
    return _on_cores(elements * rates[RUNNING])


def elements_of_iteration(sizes: Sequence[int], axis: int) -> int:
    """How many elements along an axis an iteration computes.

    One element at a time, most of an iteration is the loop itself: 8 of a row of 65,536 ran 2.1
    times as fast, 4 1.9 times; 16 were not fused and ran 30 times slower. With 4 or more elements
    beside each other, several were not faster: 512 x 4 0.3 times with 8, 0.8 with 4.
    """
    return 8 if prod(sizes) == sizes[axis] else 1


def _on_cores(ns: float) -> float:
    """The time of an op outside of fused kernels, of which one core takes `ns`."""
    return ns / CORES if ns > PARALLEL_NS else ns


def is_running(window: Sequence[int], operand: Sequence[int], result: Sequence[int]) -> bool:
    """Whether a window spans a whole dimension of operand and result, as that of a cumsum does.

    XLA computes such windows in several steps of smaller ones.
    """
    rows = zip(window, operand, result, strict=True)
    return any(length == size == out > 1 for length, size, out in rows)


def _selection(op: hlo.SelectAndScatterOp, rates: Rates) -> float:
    sizes = () if op.window_dimensions is None else op.window_dimensions
    shape = shape_of(op.operands[1])
    each = rates[SELECTED] * len(shape) / 4  # the loops compute an index for each dimension
    return prod(shape) * prod(int(size) for size in sizes) * each


def _sort(op: hlo.SortOp, rates: Rates) -> float:
    shape = shape_of(op.operands[0])
    length = shape[op.attributes["dimension"].value if "dimension" in op.attributes else -1]
    operands = len(op.operands)
    is_of_integers = isinstance(op.operands[0].type.element_type, ir.IntegerType)
    is_plain = is_of_integers and operands == 1 and body_of(op) == "compare"
    return sort_ns(rates, prod(shape) // max(length, 1), length, operands, is_plain)


def sort_ns(rates: Rates, rows: int, size: int, operands: int, is_plain: bool) -> float:
    """The time of sorting, in ns.

    Args:
        rates: of the device.
        rows: how many lines of elements are sorted.
        size: the elements of a line.
        operands: how many arrays are sorted together, by the comparator of the op.
        is_plain: whether XLA calls the C++ library's sort of integers, without a comparator.
    """
    each = rates[PLAIN_SORTED]
    if not is_plain:
        each = rates[SORTED] + (operands - 1) * (rates[SORTED_PAIR] - rates[SORTED])
    return rows * size * log2(max(size, 2)) * each


def top_k_ns(rates: Rates, rows: int, size: int, kept: int) -> float:
    """The time of finding the `kept` largest of `size` elements in each row, in ns.

    Every element is compared with the least one kept. In random order,
    `kept * (1 + log(size / kept))` elements enter the heap.
    """
    if not kept:
        return 0.0
    entering = kept * (1 + log(max(size / kept, 1)))
    heap = entering * log2(kept + 1) * rates[TOP_KEPT]
    return rows * max(size * rates[TOP_SCANNED], heap)


def bisection_ns(rates: Rates, elements: int, passes: int) -> float:
    """The time of comparing so many keys, and counting them, in each of several passes, in ns."""
    return passes * (_PASS_NS + elements * (rates[SUMMED] + 2 * rates[roofline.ELEMENTWISE]))


def _top_k(op: ir.OpView, rates: Rates) -> float:
    shape, found = shape_of(op.operands[0]), shape_of(op.results[0])
    if not isinstance(op.operands[0].type.element_type, ir.F32Type):
        # XLA sorts other types with their positions.
        rows = prod(shape[:-1])
        return sort_ns(rates, rows, shape[-1], operands=2, is_plain=False) if rows else 0.0
    return top_k_ns(rates, prod(shape[:-1]), shape[-1], found[-1])


def _scatter(op: hlo.ScatterOp, rates: Rates) -> float:
    inputs = len(op.results)
    updates, indices = op.operands[-1], op.operands[inputs]
    rows, elements = prod(shape_of(indices)[:-1]), prod(shape_of(updates))
    if elements > rows and not _writes_rows(op):
        return elements * rates[SCATTERED_COLUMN]
    return rows * rates[SCATTERED_ROW] + elements * rates[SCATTERED]


def _writes_rows(op: hlo.ScatterOp) -> bool:
    """Whether the windows of a scatter hold adjacent elements of its operand."""
    last = len(shape_of(op.operands[0])) - 1
    numbers = hlo.ScatterDimensionNumbers(op.scatter_dimension_numbers)
    return last not in (*numbers.inserted_window_dims, *numbers.input_batching_dims)


def are_few_wide_rows(rows: int, columns: int) -> bool:
    """Whether adding so many rows takes `WIDE_ROW` for each element."""
    return rows < 64 and columns > 2**14


def lines_apart(distance: int) -> int:
    """The cache lines to count for each of many rows that are `distance` bytes apart."""
    competing = lines_in_sets(distance)
    # Three for a row in a page of its own: the TLB overflows before the cache.
    return max(competing, 3) if distance > PAGE // 2 else competing


def lines_in_sets(distance: int) -> int:
    """The cache lines that compete for a place of each of many that are `distance` bytes apart."""
    return max(min(distance & -distance, PAGE) // LINE, 1)


def relative_distance(shape: Sequence[int], order: Sequence[int], width: float) -> float:
    """How much longer a transpose takes to read an element than one of 1024x1024 f32.

    Adjacent elements of its result are in cache lines `distance` bytes apart. The cache holds each
    line until its next element is read if there are few lines in between.

    Args:
        shape: of its operand.
        order: for each dimension of its result, the dimension of the operand.
        width: bytes of an element.
    """
    order = [dim for dim in order if shape[dim] > 1]
    if not order or order[-1] == max(order):
        return 0.0
    distance = int(prod(shape[order[-1] + 1 :]) * width)
    if distance < LINE:
        return 0.0
    rows = prod(shape[dim] for dim in order[order.index(max(order)) + 1 :])
    lines = rows * lines_apart(distance)
    # Far apart, neither the prefetcher nor the TLB helps, unless few rows are read in turn.
    farthest = (max(distance, PAGE // 16) / PAGE) ** 0.83
    if shape[order[-1]] <= 16:
        farthest = min(farthest, 0.25)
    return float(min((lines / (1024 * lines_apart(PAGE))) ** 0.7, farthest))


def body_of(op: ir.OpView) -> str:
    """The name of the one op in the body of a reduction; empty if it has others."""
    ops = list(op.regions[0].blocks[0].operations)
    return ops[0].operation.name.removeprefix("stablehlo.") if len(ops) == 2 else ""


OWN: dict[str, Callable[..., float]] = {
    "reduce_window": _window,
    "select_and_scatter": _selection,
    "sort": _sort,
    "top_k": _top_k,
    "scatter": _scatter,
}
