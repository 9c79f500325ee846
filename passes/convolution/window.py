"""What the rules share: the padded image, and the parts of it that a window's walk selects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from jxc.ir import build
from jxc.ir.values import element_type, shape_of

from .geometry import Axis


def pad(image: ir.Value, spatial: Sequence[int], axes: Sequence[Axis]) -> ir.Value:
    """`image` with the zeros that the window meets: around it, and between dilated elements."""
    low, high, interior = ([0] * len(shape_of(image)) for _ in range(3))
    for dim, axis in zip(spatial, axes, strict=True):
        low[dim], high[dim], interior[dim] = axis.low, axis.high, axis.lhs_dilation - 1
    if not any((*low, *high, *interior)):
        return image
    return stablehlo.pad(image, build.scalar(0, element_type(image)), low, high, interior)


def backwards(kernel: ir.Value, spatial: Sequence[int], axes: Sequence[Axis]) -> ir.Value:
    """`kernel` in the order in which the window meets the image: turned where it is reversed."""
    turned = [dim for dim, axis in zip(spatial, axes, strict=True) if axis.reverse]
    return stablehlo.reverse(kernel, turned) if turned else kernel


@dataclass(frozen=True)
class Walk:
    """Equally shaped parts of a padded image, numbered row-major along `spatial`.

    Part k starts `jump` elements after part k - 1 along the last dimension of `spatial`, and so on;
    it has `size` elements, `step` apart.

    Attributes:
        spatial: the image's spatial dimensions.
        count: how many parts there are along each.
        jump, size, step: per dimension, in elements of the padded image.
    """

    spatial: tuple[int, ...]
    count: tuple[int, ...]
    jump: tuple[int, ...]
    size: tuple[int, ...]
    step: tuple[int, ...]

    @property
    def parts(self) -> int:
        """How many parts there are in all."""
        return prod(self.count)

    def part(self, image: ir.Value, index: int) -> ir.Value:
        """Part number `index` of `image`."""
        starts = []
        for count, jump in zip(reversed(self.count), reversed(self.jump), strict=True):
            index, place = divmod(index, count)
            starts.append(place * jump)
        return self._strided(image, starts[::-1])

    def part_at(self, image: ir.Value, index: ir.Value) -> ir.Value:
        """Part number `index`, a scalar i32, of `image`."""
        starts = [build.scalar(0, index.type.element_type)] * len(shape_of(image))
        sizes = list(shape_of(image))
        for dim, count, jump, size, step in reversed(list(self._dimensions())):
            limit = build.scalar(count, index.type.element_type)
            place = stablehlo.remainder(index, limit)
            starts[dim] = stablehlo.multiply(place, build.scalar(jump, index.type.element_type))
            sizes[dim] = (size - 1) * step + 1
            index = stablehlo.divide(index, limit)
        return self._strided(stablehlo.dynamic_slice(image, starts, sizes), [0] * len(self.size))

    def _dimensions(self) -> zip[tuple[int, int, int, int, int]]:
        return zip(self.spatial, self.count, self.jump, self.size, self.step, strict=True)

    def _strided(self, image: ir.Value, starts: Sequence[int]) -> ir.Value:
        """The elements of a part; StableHLO's dynamic_slice alone cannot leave any out."""
        shape = shape_of(image)
        first, limit, stride = [0] * len(shape), list(shape), [1] * len(shape)
        for start, (dim, _, _, size, step) in zip(starts, self._dimensions(), strict=True):
            first[dim], limit[dim], stride[dim] = start, start + (size - 1) * step + 1, step
        if not any(first) and limit == list(shape) and set(stride) == {1}:
            return image
        return stablehlo.slice(image, first, limit, stride)
