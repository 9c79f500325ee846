"""The flops of a convolution, from its window and the labels of its dimensions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from .. import Instruction, Shape

_FIELD = re.compile(r"(\w+)=(\S+)")


@dataclass(frozen=True)
class Window:
    """One spatial dimension of a convolution.

    Attributes:
        size: of the window.
        stride: from one window to the next.
        low: elements of padding before the first.
        base_dilation: from one element of the input to the next, with holes between.
        dilation: from one element of the window to the next.
    """

    size: int
    stride: int = 1
    low: int = 0
    base_dilation: int = 1
    dilation: int = 1

    def meetings(self, inputs: int, outputs: int) -> int:
        """How many pairs of an output and a window element meet an input or padding, not a hole.

        A matrix product over batches counts what it multiplies: one pair for each output.
        """
        if self.base_dilation == 1:
            return outputs * self.size
        if self.is_batch(inputs, outputs):
            return outputs
        return sum(map(sum, self._met(inputs, outputs)))

    def is_batch(self, inputs: int, outputs: int) -> bool:
        """Whether every output meets one input, as many as there are: a batch, and no space.

        So a TPU writes a matrix product over batches, the holes being wide enough.
        """
        if not inputs == outputs == self.size or self.base_dilation == 1:
            return False
        return sum(found for found, _ in self._met(inputs, outputs)) == outputs

    def _met(self, inputs: int, outputs: int) -> Iterator[tuple[int, int]]:
        """For each element of the window: at how many outputs it meets an input, and padding."""
        for tap in range(self.size):
            shift = tap * self.dilation - self.low
            last = (inputs - 1) * self.base_dilation
            first = max(0, -(shift // self.stride))  # the first output at or behind the start
            behind = min(outputs, max(first, (last - shift) // self.stride + 1))
            padding = first + outputs - behind if first < outputs else outputs
            yield self._solutions(shift, min(first, outputs), behind), padding

    def _solutions(self, shift: int, first: int, behind: int) -> int:
        """How many outputs from `first` on fall on an element: o * stride = -shift mod dilation."""
        common = math.gcd(self.stride, self.base_dilation)
        if shift % common or behind <= first:
            return 0
        period = self.base_dilation // common
        inverse = pow(self.stride // common, -1, period) if period > 1 else 0
        residue = (-shift // common) * inverse % period
        return len(range(first + (residue - first) % period, behind, period))


def windows(text: str) -> list[Window]:
    """From `{size=3x3 stride=2x2 pad=1_1x1_1 lhs_dilate=2x2 rhs_dilate=2x2}`."""
    fields = {name: value.split("x") for name, value in _FIELD.findall(text.strip("{}"))}
    sizes = [int(size) for size in fields.get("size", [])]
    ones = ["1"] * len(sizes)
    pads = [pad.partition("_")[0] for pad in fields.get("pad", ["0"] * len(sizes))]
    rows = zip(
        sizes,
        fields.get("stride", ones),
        pads,
        fields.get("lhs_dilate", ones),
        fields.get("rhs_dilate", ones),
        strict=True,
    )
    return [Window(size, *map(int, row)) for size, *row in rows]


def is_product(instruction: Instruction) -> bool:
    """Whether a convolution is a matrix product: traced as one, without a window, or of batches."""
    traced = instruction.op_name.rpartition("/")[2]
    if traced.startswith(("dot_general", "conv_general_dilated")):
        return traced.startswith("dot_general")
    inputs, _, output = re.split("_|->", instruction.attributes["dim_labels"])
    before, after = instruction.operands[0].shape.dims, instruction.shape.leaves[0].dims
    return all(
        window.is_batch(before[inputs.index(str(n))], after[output.index(str(n))])
        for n, window in enumerate(windows(instruction.attributes.get("window", "")))
    )


def convolution(instruction: Instruction) -> int:
    """2 * elements of the result * window * input features of a group, padding counted in."""
    left, right = (operand.shape for operand in instruction.operands[:2])
    return convolved(instruction, left, right, instruction.shape)


def convolved(instruction: Instruction, left: Shape, right: Shape, result: Shape) -> int:
    """The flops of convolving `left` with the kernel `right`, as the attributes describe it."""
    labels = instruction.attributes["dim_labels"]
    inputs, kernel, output = re.split("_|->", labels)
    found = windows(instruction.attributes.get("window", ""))
    taps = math.prod(
        window.meetings(left.dims[inputs.index(str(n))], result.dims[output.index(str(n))])
        for n, window in enumerate(found)
    )
    outer = result.dims[output.index("b")] * result.dims[output.index("f")]
    features = right.dims[kernel.index("i")]
    return (8 if left.is_complex else 2) * outer * features * taps
