"""What an op costs on any machine: arithmetic and memory traffic, from its types and attributes.

Estimates for ranking ops and for a roofline, not for predicting time: fusion saves traffic that is
counted here. Units: flops are single
additions, multiplications or comparisons on real numbers; bytes are what is read and written if
each operand and result passes through memory once. Loops: a `while` costs one turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from jaxlib.mlir import ir

TRANSCENDENTAL = 10
"""Flops of one exponential, logarithm, sine, tanh, power, ...

A range reduction and a polynomial of degree five to seven (Cephes; XLA's own CPU code is of this
form): about ten additions and multiplications.
"""


class Cost(NamedTuple):
    """What an op costs once.

    Attributes:
        flops: additions, multiplications and comparisons; None where nobody knows.
        bytes: memory read and written.
    """

    flops: int | None
    bytes: int

    @property
    def intensity(self) -> float:
        """Flops per byte; 0.0 where there is no traffic or the flops are unknown."""
        return (self.flops or 0) / self.bytes if self.bytes else 0.0


def cost_of(op: ir.OpView) -> Cost | None:
    """The cost of one op; None where it has none of its own or the extents are dynamic.

    A `custom_call`, a `composite` and whatever is not listed here have unknown flops. Constants
    are counted with the ops that read them, calls not at all: inline first. `while` costs one turn
    of its condition and body, `if` and `case` their costliest branch.
    """
    name = op.operation.name.removeprefix("stablehlo.").removeprefix("chlo.")
    if name in _CONTROL:
        return _CONTROL[name]([total_of(region) for region in op.regions])
    if not op.results or name in ("func.call", "constant") or not _is_static(op):
        return None
    traffic = _TRAFFIC.get(name, _all_of_it)(op)
    return Cost(_flops(name, op), traffic)


def total_of(region: ir.Region) -> Cost:
    """The sum over the ops of a region; unknown flops count as none."""
    found = [cost_of(op) for block in region.blocks for op in block.operations]
    costs = [cost for cost in found if cost is not None]
    return Cost(sum(cost.flops or 0 for cost in costs), sum(cost.bytes for cost in costs))


def _one_turn(regions: Sequence[Cost]) -> Cost:
    return Cost(sum(cost.flops or 0 for cost in regions), sum(cost.bytes for cost in regions))


def _costliest(regions: Sequence[Cost]) -> Cost:
    return max(regions, key=lambda cost: (cost.flops or 0, cost.bytes))


_CONTROL: dict[str, Callable[[Sequence[Cost]], Cost]] = {
    "while": _one_turn,
    "if": _costliest,
    "case": _costliest,
}


def elements_of(kind: ir.Type) -> int:
    """How many elements a ranked tensor of static shape has."""
    return math.prod(ir.RankedTensorType(kind).shape)


def bytes_of(kind: ir.Type) -> int:
    """The size of a tensor, packed: booleans take a byte, i4 half of one; 0 for tokens."""
    if not isinstance(kind, ir.RankedTensorType):
        return 0
    return math.ceil(elements_of(kind) * _bits(kind.element_type) / 8)


def _bits(element: ir.Type) -> int:
    if isinstance(element, ir.ComplexType):
        return 2 * _bits(element.element_type)
    width = getattr(element, "width", 32)
    return max(8, width) if width == 1 else width


def _is_static(op: ir.OpView) -> bool:
    kinds = [value.type for value in (*op.operands, *op.results)]
    return all(k.has_static_shape for k in kinds if isinstance(k, ir.RankedTensorType))


def _all_of_it(op: ir.OpView) -> int:
    return sum(bytes_of(value.type) for value in (*op.operands, *op.results))


def _result_twice(op: ir.OpView) -> int:
    """Slices read only what they give."""
    return 2 * sum(bytes_of(value.type) for value in op.results)


def _taken_twice(op: ir.OpView) -> int:
    """A gather reads its indices and what it gives."""
    return _result_twice(op) + bytes_of(op.operands[1].type)


def _update_twice(op: ir.OpView) -> int:
    """XLA writes the update into its operand, in place where it can."""
    return 2 * bytes_of(op.operands[1].type)


def _scattered(op: ir.OpView) -> int:
    """A scatter reads indices and updates, and reads and writes as many elements of its operand."""
    inputs = len(op.results)
    updates = [value.type for value in op.operands[inputs + 1 :]]
    return bytes_of(op.operands[inputs].type) + 3 * sum(bytes_of(kind) for kind in updates)


_TRAFFIC: dict[str, Callable[[ir.OpView], int]] = {
    "slice": _result_twice,
    "dynamic_slice": _result_twice,
    "gather": _taken_twice,
    "dynamic_update_slice": _update_twice,
    "scatter": _scattered,
}


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


ARITHMETIC = _names(
    "abs add and ceil clamp compare divide floor is_finite maximum minimum multiply negate not or "
    "popcnt count_leading_zeros reduce_precision remainder round_nearest_afz round_nearest_even "
    "select shift_left shift_right_arithmetic shift_right_logical sign sqrt rsqrt subtract xor "
    "square convert"
)
"""What takes one flop an element of its result, by StableHLO's and CHLO's names."""
ELEMENTARY = _names(
    "atan2 cbrt cosine exponential exponential_minus_one log log_plus_one logistic power sine tan "
    "tanh erf erf_inv erfc lgamma digamma acos acosh asin asinh atan atanh cosh sinh zeta "
    "polygamma bessel_i1e next_after"
)
"""What takes `TRANSCENDENTAL` flops an element."""
MOVEMENT = _names(
    "bitcast_convert broadcast broadcast_in_dim complex concatenate dynamic_slice "
    "dynamic_update_slice gather get_tuple_element imag iota optimization_barrier pad real reshape "
    "reverse slice transpose tuple"
)
"""What only moves data."""


def _flops(name: str, op: ir.OpView) -> int | None:
    if name in MOVEMENT:
        return 0
    if name in ARITHMETIC:
        return elements_of(op.results[0].type) * _complex_factor(name, op)
    if name in ELEMENTARY:
        return elements_of(op.results[0].type) * TRANSCENDENTAL * _complex_factor(name, op)
    formula = _FORMULAS.get(name)
    return formula(op) if formula else None


def _complex_factor(name: str, op: ir.OpView) -> int:
    """Real operations in one complex one: six in a product, about two of the others."""
    if not _is_complex(op.operands[-1].type):
        return 1
    return {"multiply": 6, "divide": 11}.get(name, 2)


def _is_complex(kind: ir.Type) -> bool:
    return isinstance(ir.RankedTensorType(kind).element_type, ir.ComplexType)


def _product_factor(op: ir.OpView) -> int:
    """Flops of one multiply-add: 2, or 8 on complex numbers."""
    return 8 if _is_complex(op.operands[0].type) else 2


def dot_general(op: ir.OpView) -> int:
    """2 * elements of the result * extents contracted (8 * on complex numbers)."""
    from jaxlib.mlir.dialects import stablehlo

    numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    shape = ir.RankedTensorType(op.operands[0].type).shape
    contracted = math.prod(shape[dim] for dim in numbers.lhs_contracting_dimensions)
    return _product_factor(op) * elements_of(op.results[0].type) * contracted


def convolution(op: ir.OpView) -> int:
    """2 * elements of the result * window * input features of a group, padding counted in."""
    from jaxlib.mlir.dialects import stablehlo

    numbers = stablehlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
    kernel = ir.RankedTensorType(op.operands[1].type).shape
    outputs = kernel[numbers.kernel_output_feature_dimension]
    if not outputs:
        return 0
    return _product_factor(op) * elements_of(op.results[0].type) * math.prod(kernel) // outputs


def reduce(op: ir.OpView) -> int:
    """(elements in - elements out) * ops in the body."""
    before, after = elements_of(op.operands[0].type), elements_of(op.results[0].type)
    return max(before - after, 0) * _body(op)


def reduce_window(op: ir.OpView) -> int:
    """Elements out * (window - 1) * ops in the body."""
    window = math.prod(ir.DenseI64ArrayAttr(op.attributes["window_dimensions"]))
    return elements_of(op.results[0].type) * (window - 1) * _body(op)


def select_and_scatter(op: ir.OpView) -> int:
    """Elements of the source * (window comparisons + one combination)."""
    window = math.prod(ir.DenseI64ArrayAttr(op.attributes["window_dimensions"]))
    return elements_of(op.operands[1].type) * window


def scatter(op: ir.OpView) -> int:
    """Elements of the updates * ops in the body."""
    return elements_of(op.operands[-1].type) * _body(op)


def sort(op: ir.OpView) -> int:
    """n * log2(n) comparisons for each line of n, * ops in the comparator."""
    kind = ir.RankedTensorType(op.operands[0].type)
    dimension = op.attributes["dimension"].value if "dimension" in op.attributes else -1
    length = kind.shape[dimension] if kind.rank else 1
    return math.ceil(elements_of(kind) * math.log2(max(length, 2))) * _body(op)


def fft(op: ir.OpView) -> int:
    """5 * n * log2(n) for each transform of n points, half for real ones (FFTW's convention)."""
    lengths = list(ir.DenseI64ArrayAttr(op.attributes["fft_length"]))
    kinds = (op.operands[0].type, op.results[0].type)
    points = max(elements_of(kind) for kind in kinds)
    flops = 5 * points * math.log2(max(math.prod(lengths), 2))
    return math.ceil(flops if all(_is_complex(kind) for kind in kinds) else flops / 2)


def cholesky(op: ir.OpView) -> int:
    """n^3 / 3 for each matrix (Golub and Van Loan, 4.2); four times that on complex numbers."""
    kind = ir.RankedTensorType(op.operands[0].type)
    size = kind.shape[-1]
    return math.ceil(_product_factor(op) / 2 * elements_of(kind) * size / 3)


def triangular_solve(op: ir.OpView) -> int:
    """n^2 for each right-hand side of n (Golub and Van Loan, 3.1); four times that on complex."""
    size = ir.RankedTensorType(op.operands[0].type).shape[-1]
    return _product_factor(op) // 2 * size * elements_of(op.operands[1].type)


def batch_norm(op: ir.OpView) -> int:
    """About 5 for each element of the operand: subtract, scale, shift, and two running sums."""
    return 5 * elements_of(op.operands[0].type)


def map_(op: ir.OpView) -> int:
    """Elements of the result * ops in the body."""
    return elements_of(op.results[0].type) * _body(op)


def _body(op: ir.OpView) -> int:
    """The ops in the first region, its terminator left out; at least one."""
    ops = sum(len(list(block.operations)) - 1 for block in op.regions[0].blocks)
    return max(ops, 1)


_FORMULAS: dict[str, Callable[[ir.OpView], int]] = {
    "dot_general": dot_general,
    "convolution": convolution,
    "reduce": reduce,
    "reduce_window": reduce_window,
    "select_and_scatter": select_and_scatter,
    "scatter": scatter,
    "sort": sort,
    "fft": fft,
    "cholesky": cholesky,
    "triangular_solve": triangular_solve,
    "batch_norm_training": batch_norm,
    "batch_norm_inference": batch_norm,
    "batch_norm_grad": batch_norm,
    "map": map_,
}
