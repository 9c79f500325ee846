"""The flops of the opcodes that have a formula of their own: those of `jxc.cost`, on HLO."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from .. import Instruction, Shape
from .convolutions import convolution, windows

_DIGITS = re.compile(r"\d+")


def product_factor(shape: Shape) -> int:
    """Flops of one multiply-add: 2, or 8 on complex numbers."""
    return 8 if shape.is_complex else 2


def numbers(text: str) -> list[int]:
    """The numbers in a list such as `{1,256}` or `3x3`."""
    return [int(each) for each in _DIGITS.findall(text)]


def window_sizes(instruction: Instruction) -> list[int]:
    """The extents of `window={size=1x2x2x1 ...}`; empty where there is no window."""
    found = re.search(r"\bsize=([\dx]+)", instruction.attributes.get("window", ""))
    return numbers(found[1]) if found else []


def dot(instruction: Instruction) -> int:
    """2 * elements of the result * extents contracted (8 * on complex numbers)."""
    left = instruction.operands[0].shape
    dims = numbers(instruction.attributes.get("lhs_contracting_dims", ""))
    contracted = math.prod(left.dims[dim] for dim in dims)
    return product_factor(left) * instruction.shape.elements * contracted


def reduce(instruction: Instruction) -> int:
    """(elements in - elements out) * ops in the body."""
    before, after = instruction.operands[0].shape.elements, instruction.shape.leaves[0].elements
    return max(before - after, 0) * body_ops(instruction)


def reduce_window(instruction: Instruction) -> int:
    """Elements out * (window - 1) * ops in the body.

    Along a dimension that every window covers whole, as a TPU writes a sum that it needs at every
    element, what is computed is one sum.
    """
    operand, result = instruction.operands[0].shape, instruction.shape.leaves[0]
    found = windows(instruction.attributes.get("window", ""))
    outputs, taps = 1, 1
    for window, inside, outside in zip(found, operand.dims, result.dims, strict=True):
        is_whole = window.low >= inside - 1 and window.size - window.low >= inside
        taps *= inside if is_whole else window.size
        outputs *= 1 if is_whole else outside
    return outputs * (taps - 1) * body_ops(instruction)


def select_and_scatter(instruction: Instruction) -> int:
    """Elements of the source * (window comparisons + one combination)."""
    return instruction.operands[1].shape.elements * math.prod(window_sizes(instruction))


def scatter(instruction: Instruction) -> int:
    """Elements of the updates * ops in the body."""
    return instruction.operands[-1].shape.elements * body_ops(instruction)


def sort(instruction: Instruction) -> int:
    """n * log2(n) comparisons for each line of n, * ops in the comparator."""
    shape = instruction.operands[0].shape
    dims = numbers(instruction.attributes.get("dimensions", ""))
    length = shape.dims[dims[0]] if dims and shape.dims else 1
    return math.ceil(shape.elements * math.log2(max(length, 2))) * body_ops(instruction)


def fft(instruction: Instruction) -> int:
    """5 * n * log2(n) for each transform of n points, half for real ones (FFTW's convention)."""
    lengths = numbers(instruction.attributes.get("fft_length", ""))
    shapes = (instruction.operands[0].shape, instruction.shape)
    points = max(shape.elements for shape in shapes)
    flops = 5 * points * math.log2(max(math.prod(lengths), 2))
    return math.ceil(flops if all(shape.is_complex for shape in shapes) else flops / 2)


def cholesky(instruction: Instruction) -> int:
    """n^3 / 3 for each matrix (Golub and Van Loan, 4.2); four times that on complex numbers."""
    shape = instruction.operands[0].shape
    return math.ceil(product_factor(shape) / 2 * shape.elements * shape.dims[-1] / 3)


def triangular_solve(instruction: Instruction) -> int:
    """n^2 for each right-hand side of n (Golub and Van Loan, 3.1); four times that on complex."""
    shape, right = (operand.shape for operand in instruction.operands[:2])
    return product_factor(shape) // 2 * shape.dims[-1] * right.elements


def batch_norm(instruction: Instruction) -> int:
    """About 5 for each element of the operand: subtract, scale, shift, and two running sums."""
    return 5 * instruction.operands[0].shape.elements


def map_(instruction: Instruction) -> int:
    """Elements of the result * ops in the body."""
    return instruction.shape.elements * body_ops(instruction)


def body_ops(instruction: Instruction) -> int:
    """The ops in a reducer or a comparator, what it gives back left out; at least one."""
    body = instruction.callee("to_apply") or instruction.callee("scatter")
    if body is None:
        return 1
    ops = [each for each in body.instructions if each.opcode not in ("parameter", "tuple")]
    return max(len(ops), 1)


FORMULAS: dict[str, Callable[[Instruction], int]] = {
    "dot": dot,
    "ragged-dot": dot,
    "convolution": convolution,
    "reduce": reduce,
    "reduce-window": reduce_window,
    "select-and-scatter": select_and_scatter,
    "scatter": scatter,
    "sort": sort,
    "fft": fft,
    "cholesky": cholesky,
    "triangular-solve": triangular_solve,
    "batch-norm-training": batch_norm,
    "batch-norm-inference": batch_norm,
    "batch-norm-grad": batch_norm,
    "map": map_,
}
