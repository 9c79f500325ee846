"""The padded image of a convolution, and the strided parts of it that a window's walk selects.

`result_walk` has one part for each position in the result, `window_walk` one for each tap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import element_type, shape_of

from .geometry import Convolution, SpatialAxis


def pad(image: ir.Value, spatial: Sequence[int], axes: Sequence[SpatialAxis]) -> ir.Value:
    """`image` with zeros around it and between dilated elements."""
    low, high, interior = ([0] * len(shape_of(image)) for _ in range(3))
    for dim, axis in zip(spatial, axes, strict=True):
        low[dim], high[dim], interior[dim] = axis.low, axis.high, axis.lhs_dilation - 1
    if not any((*low, *high, *interior)):
        return image
    return hlo.pad(image, build.scalar(0, element_type(image)), low, high, interior)


def backwards(kernel: ir.Value, spatial: Sequence[int], axes: Sequence[SpatialAxis]) -> ir.Value:
    """`kernel` in the order in which it meets the image: reversed along the reversed dimensions."""
    reversed_dims = [dim for dim, axis in zip(spatial, axes, strict=True) if axis.reverse]
    return hlo.reverse(kernel, reversed_dims) if reversed_dims else kernel


def as_result(
    value: ir.Value, conv: Convolution, *, batch: int, spatial: Iterable[int], feature: int
) -> ir.Value:
    """`value`, whose dimensions have these roles, transposed to the result's layout."""
    d = conv.dims
    source = [0] * (len(conv.axes) + 2)
    source[d.output_batch_dimension], source[d.output_feature_dimension] = batch, feature
    for to, of in zip(d.output_spatial_dimensions, spatial, strict=True):
        source[to] = of
    return build.transpose(value, source)


@dataclass(frozen=True)
class Walk:
    """Equally shaped parts of a padded image, numbered row-major along `spatial`.

    Along each dimension a part starts `jump` elements after the one before it, and has `size`
    elements that are `step` apart.

    Attributes:
        spatial: the image's spatial dimensions.
        count: number of parts along each.
        jump, size, step: for each, in elements of the padded image.
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

    def cut(self, axis: int, count: int) -> Walk:
        """The same walk with `count` parts along `axis`, the others left out."""
        return replace(self, count=(*self.count[:axis], count, *self.count[axis + 1 :]))

    def shape(self, image: ir.Value) -> list[int]:
        """The shape of a part of `image`."""
        shape = list(shape_of(image))
        for dim, size in zip(self.spatial, self.size, strict=True):
            shape[dim] = size
        return shape

    def slab(self, image: ir.Value, axis: int, start: ir.Value, count: int) -> ir.Value:
        """The elements of `count` consecutive parts along `axis`, from element `start`, an i32."""
        starts = [build.scalar(0, element_type(start))] * len(shape_of(image))
        sizes = list(shape_of(image))
        dim, jump, size, step = (
            each[axis] for each in (self.spatial, self.jump, self.size, self.step)
        )
        starts[dim] = start
        sizes[dim] = (count - 1) * jump + (size - 1) * step + 1
        return hlo.dynamic_slice(image, starts, sizes)

    def repeat(
        self, initial: ir.Value, step: Callable[[ir.Value, Sequence[ir.Value], ir.Value], ir.Value]
    ) -> ir.Value:
        """A `stablehlo.while` with an iteration for each part, in order.

        The starts of a part are carried by the loop, not computed from the part's number: XLA:CPU
        vectorizes a `dynamic_slice` only if its start is a scalar in memory.

        Args:
            initial: the initial value of the accumulator.
            step: builds an iteration from the part's number, its starts along `spatial` (i32
                scalars) and the accumulator; returns the accumulator's next value, of the same
                type.
        """
        starts = [build.scalar(0, ir.IntegerType.get_signless(32))] * len(self.spatial)

        def body(number: ir.Value, given: Sequence[ir.Value]) -> list[ir.Value]:
            *starts, carried = given
            carried = step(number, starts, carried)
            return [*self._following(starts), carried]

        return build.fori_loop(self.parts, [*starts, initial], body)[-1]

    def _following(self, starts: Sequence[ir.Value]) -> list[ir.Value]:
        """The starts of the next part: the last start moves; where it wraps, the one before it."""
        moved = []
        wraps = None
        for start, count, jump in reversed(list(zip(starts, self.count, self.jump, strict=True))):
            element = element_type(start)
            after = hlo.add(start, build.scalar(jump, element))
            end = build.scalar(count * jump, element)
            at_end = build.compare("GE", after, end)
            here = hlo.select(at_end, build.scalar(0, element), after)
            moved.append(here if wraps is None else hlo.select(wraps, here, start))
            wraps = at_end if wraps is None else hlo.and_(wraps, at_end)
        return moved[::-1]

    def part_at(self, image: ir.Value, starts: Sequence[ir.Value]) -> ir.Value:
        """The part of `image` with these starts along `spatial`, scalars, i32."""
        corner = [build.scalar(0, element_type(starts[0]))] * len(shape_of(image))
        sizes = list(shape_of(image))
        for start, (dim, _, _, size, step) in zip(starts, self._dimensions(), strict=True):
            corner[dim], sizes[dim] = start, (size - 1) * step + 1
        return self._strided(hlo.dynamic_slice(image, corner, sizes), [0] * len(self.size))

    def _dimensions(self) -> zip[tuple[int, int, int, int, int]]:
        return zip(self.spatial, self.count, self.jump, self.size, self.step, strict=True)

    def _strided(self, image: ir.Value, starts: Sequence[int]) -> ir.Value:
        """The elements of a part: `dynamic_slice` alone cannot skip elements."""
        shape = shape_of(image)
        first, limit, stride = [0] * len(shape), list(shape), [1] * len(shape)
        for start, (dim, _, _, size, step) in zip(starts, self._dimensions(), strict=True):
            first[dim], limit[dim], stride[dim] = start, start + (size - 1) * step + 1, step
        if not any(first) and limit == list(shape) and set(stride) == {1}:
            return image
        return hlo.slice(image, first, limit, stride)


def result_walk(conv: Convolution, spatial: Iterable[int]) -> Walk:
    """The walk whose parts are the image elements under the window at each result position."""
    return Walk(
        spatial=tuple(spatial),
        count=tuple(axis.out for axis in conv.axes),
        jump=tuple(axis.stride for axis in conv.axes),
        size=tuple(axis.window for axis in conv.axes),
        step=tuple(axis.rhs_dilation for axis in conv.axes),
    )


def window_walk(conv: Convolution, spatial: Iterable[int]) -> Walk:
    """The walk whose parts are the image elements that each tap of the window meets."""
    return Walk(
        spatial=tuple(spatial),
        count=tuple(axis.window for axis in conv.axes),
        jump=tuple(axis.rhs_dilation for axis in conv.axes),
        size=tuple(axis.out for axis in conv.axes),
        step=tuple(axis.stride for axis in conv.axes),
    )
