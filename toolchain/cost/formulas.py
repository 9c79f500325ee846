"""Flops of one op, from a description that StableHLO and HLO share.

`cost.flops` describes StableHLO ops, `hlo.work.flops` describes HLO instructions, and `flops_of_op`
counts both. The counts before and after XLA's compilation can therefore be compared.

An elementwise op takes one flop an element, or `TRANSCENDENTAL` flops for a function such as an
exponential. The ops that combine elements (products, reductions, sorts, transforms) have a formula
each, in `_FORMULAS`. A flop is one addition, multiplication or comparison of real numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

TRANSCENDENTAL = 10
"""Flops of one exponential, logarithm, sine, tanh, power, ...

A range reduction and a polynomial of degree five to seven (Cephes; XLA's own CPU code is of this
form): about ten additions and multiplications.
"""


def names(text: str) -> frozenset[str]:
    """The names in a text, separated by spaces."""
    return frozenset(text.split())


ARITHMETIC = names(
    "abs add and ceil clamp clz compare divide floor is_finite maximum minimum mulhi multiply "
    "negate not or popcnt count_leading_zeros reduce_precision remainder round_nearest_afz "
    "round_nearest_even select shift_left shift_right_arithmetic shift_right_logical sign sqrt "
    "rsqrt stochastic_convert subtract xor square convert"
)
"""Ops of one flop an element of the result, by the names of StableHLO, CHLO and HLO."""
VECTORIZED_FUNCTIONS = names(
    "exponential exponential_minus_one log log_plus_one logistic tanh erf erfc erf_inv sinh cosh "
    "asinh acosh atanh"
)
"""Functions that XLA:CPU computes in vector registers: 0.4 to 2.9 ns an element of f32."""
SCALAR_FUNCTIONS = names(
    "atan2 cbrt cosine power sine tan lgamma digamma acos asin atan zeta polygamma bessel_i1e "
    "next_after"
)
"""Functions that XLA:CPU computes one element at a time: 2 to 14 ns an element of f32."""
FUNCTIONS = VECTORIZED_FUNCTIONS | SCALAR_FUNCTIONS
"""Ops of `TRANSCENDENTAL` flops an element."""
MOVEMENT = names(
    "bitcast_convert broadcast broadcast_in_dim complex concatenate copy dynamic_reshape "
    "dynamic_slice dynamic_update_slice gather get_tuple_element imag infeed iota "
    "optimization_barrier outfeed pad real reshape reverse rng_get_and_update_state slice "
    "transpose tuple"
)
"""Ops that move data and compute nothing."""


class Dimensions(NamedTuple):
    """The type of an operand or a result: the sizes of its dimensions."""

    dims: tuple[int, ...]
    is_complex: bool = False

    @property
    def elements(self) -> int:
        """The product of the sizes."""
        return math.prod(self.dims)

    @property
    def product_flops(self) -> int:
        """Flops of one multiply-add of its elements: 2, or 8 on complex numbers."""
        return 8 if self.is_complex else 2


@dataclass(frozen=True)
class Window:
    """One dimension of the window of a convolution, a pooling or a windowed reduction.

    Attributes:
        size: elements that the window covers.
        stride: distance from one window to the next.
        low: elements of padding before the first.
        base_dilation: distance between elements of the input; the holes between hold no number.
        dilation: distance between elements of the window.
    """

    size: int
    stride: int = 1
    low: int = 0
    base_dilation: int = 1
    dilation: int = 1

    def meetings(self, inputs: int, outputs: int) -> int:
        """Count the pairs of an output and a window element that meet an input or padding.

        Holes are not counted. A batch of matrix products written as a window has one pair for each
        output, see `is_batch`.
        """
        if self.base_dilation == 1:
            return outputs * self.size
        if self.is_batch(inputs, outputs):
            return outputs
        return sum(map(sum, self._met(inputs, outputs)))

    def is_batch(self, inputs: int, outputs: int) -> bool:
        """Whether each output meets exactly one input, so that this is a batch dimension.

        The TPU compiler writes batched matrix products this way, with holes as wide as the window.
        """
        if not inputs == outputs == self.size or self.base_dilation == 1:
            return False
        return sum(found for found, _ in self._met(inputs, outputs)) == outputs

    def _met(self, inputs: int, outputs: int) -> Iterator[tuple[int, int]]:
        """For each window element: the outputs at which it meets an input, and those at padding."""
        for tap in range(self.size):
            shift = tap * self.dilation - self.low
            last = (inputs - 1) * self.base_dilation
            first = max(0, -(shift // self.stride))  # the first output at or after the start
            behind = min(outputs, max(first, (last - shift) // self.stride + 1))
            padding = first + outputs - behind if first < outputs else outputs
            yield self._solutions(shift, min(first, outputs), behind), padding

    def _solutions(self, shift: int, first: int, behind: int) -> int:
        """How many outputs from `first` on meet an input: o * stride = -shift mod base_dilation."""
        common = math.gcd(self.stride, self.base_dilation)
        if shift % common or behind <= first:
            return 0
        period = self.base_dilation // common
        inverse = pow(self.stride // common, -1, period) if period > 1 else 0
        residue = (-shift // common) * inverse % period
        return len(range(first + (residue - first) % period, behind, period))


@dataclass(frozen=True)
class ConvolutionDims:
    """The numbers of the dimensions of a convolution's arrays, by their meaning."""

    input_spatial: Sequence[int]
    kernel_input_features: int
    output_batch: int
    output_features: int
    output_spatial: Sequence[int]


@dataclass(frozen=True)
class OpDescription:
    """An op, described by what its flops depend on.

    Attributes:
        name: StableHLO's, without the dialect: "dot_general".
        operands, results: their types.
        body_ops: ops in a reducer, an update or a comparator; at least one.
        dimensions: of a product, the contracted dimensions of the left operand; of a sort, the
            sorted one.
        lengths: the sizes of an FFT.
        window: of a convolution or of whatever has a window, one for each dimension of it.
        convolution: what the dimensions of a convolution mean.
    """

    name: str
    operands: Sequence[Dimensions]
    results: Sequence[Dimensions]
    body_ops: int = 1
    dimensions: Sequence[int] = ()
    lengths: Sequence[int] = ()
    window: Sequence[Window] = ()
    convolution: ConvolutionDims | None = None


def flops_of_op(op: OpDescription) -> int | None:
    """The flops of running an op once; None where they are not known."""
    if op.name in MOVEMENT:
        return 0
    if (formula := _FORMULAS.get(op.name)) is not None:
        return formula(op)
    if op.name in ARITHMETIC:
        return op.results[0].elements * _complex_factor(op)
    if op.name in FUNCTIONS:
        return op.results[0].elements * TRANSCENDENTAL * _complex_factor(op)
    return None


def _complex_factor(op: OpDescription) -> int:
    """Real operations in one complex operation: six in a product, about two in most others."""
    if not op.operands or not op.operands[-1].is_complex:
        return 1
    return {"multiply": 6, "divide": 11}.get(op.name, 2)


def _dot(op: OpDescription) -> int:
    """2 * elements of the result * contracted extents (8 * on complex numbers)."""
    left = op.operands[0]
    contracted = math.prod(left.dims[dim] for dim in op.dimensions)
    return left.product_flops * op.results[0].elements * contracted


def _convolution(op: OpDescription) -> int:
    """2 * outputs * window elements that meet an input or padding * input features of a group."""
    left, right, result, dims = *op.operands[:2], op.results[0], op.convolution
    assert dims is not None
    pairs = math.prod(
        window.meetings(left.dims[inside], result.dims[outside])
        for window, inside, outside in zip(
            op.window, dims.input_spatial, dims.output_spatial, strict=True
        )
    )
    outer = result.dims[dims.output_batch] * result.dims[dims.output_features]
    return left.product_flops * outer * right.dims[dims.kernel_input_features] * pairs


def _reduce(op: OpDescription) -> int:
    """(elements in - elements out) * ops in the body."""
    return max(op.operands[0].elements - op.results[0].elements, 0) * op.body_ops


def _reduce_window(op: OpDescription) -> int:
    """Elements out * (window - 1) * ops in the body.

    A dimension that every window covers whole is counted as one sum. The TPU compiler writes sums
    that are broadcast along the summed dimension as such windows.
    """
    operand, result = op.operands[0], op.results[0]
    outputs, taps = 1, 1
    for window, inside, outside in zip(op.window, operand.dims, result.dims, strict=True):
        is_whole = window.low >= inside - 1 and window.size - window.low >= inside
        taps *= inside if is_whole else window.size
        outputs *= 1 if is_whole else outside
    return outputs * (taps - 1) * op.body_ops


def _sort(op: OpDescription) -> int:
    """n * log2(n) comparisons for each line of n, * ops in the comparator."""
    array = op.operands[0]
    length = array.dims[op.dimensions[0]] if op.dimensions and array.dims else 1
    return math.ceil(array.elements * math.log2(max(length, 2))) * op.body_ops


def _fft(op: OpDescription) -> int:
    """5 * n * log2(n) for each transform of n points, half for real ones (FFTW's convention)."""
    arrays = (op.operands[0], op.results[0])
    points = max(array.elements for array in arrays)
    flops = 5 * points * math.log2(max(math.prod(op.lengths), 2))
    return math.ceil(flops if all(array.is_complex for array in arrays) else flops / 2)


def _cholesky(op: OpDescription) -> int:
    """n^3 / 3 for each matrix (Golub and Van Loan, 4.2); four times that on complex numbers."""
    array = op.operands[0]
    return math.ceil(array.product_flops / 2 * array.elements * array.dims[-1] / 3)


def _triangular_solve(op: OpDescription) -> int:
    """n^2 for each right-hand side of n (Golub and Van Loan, 3.1); four times that on complex."""
    array, right = op.operands[:2]
    return array.product_flops // 2 * array.dims[-1] * right.elements


_FORMULAS: dict[str, Callable[[OpDescription], int]] = {
    **dict.fromkeys(("dot", "dot_general", "ragged_dot"), _dot),
    "convolution": _convolution,
    "reduce": _reduce,
    "reduce_window": _reduce_window,
    # The comparisons of each window, and one combination.
    "select_and_scatter": lambda op: (
        op.operands[1].elements * math.prod(window.size for window in op.window)
    ),
    "scatter": lambda op: op.operands[-1].elements * op.body_ops,
    "sort": _sort,
    "fft": _fft,
    "cholesky": _cholesky,
    "triangular_solve": _triangular_solve,
    "map": lambda op: op.results[0].elements * op.body_ops,
    # About five for each element: subtract, scale, shift, and two running sums.
    **dict.fromkeys(
        ("batch_norm_training", "batch_norm_inference", "batch_norm_grad"),
        lambda op: 5 * op.operands[0].elements,
    ),
}
