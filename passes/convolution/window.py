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

from .._shared.window import WindowAxis
from .geometry import Convolution


def backwards(kernel: ir.Value, spatial: Sequence[int], axes: Sequence[WindowAxis]) -> ir.Value:
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
class WalkAxis:
    """The parts of a `Walk` along one dimension of the image; lengths in elements of the image.

    Attributes:
        dim: the dimension.
        count: number of parts.
        jump: distance between the starts of two parts.
        size: number of elements of a part.
        step: distance between two of them.
    """

    dim: int
    count: int
    jump: int
    size: int
    step: int

    @property
    def span(self) -> int:
        """The extent from the first element of a part to its last one."""
        return (self.size - 1) * self.step + 1


@dataclass(frozen=True)
class Walk:
    """Equally shaped parts of a padded image, numbered row-major along its spatial dimensions."""

    axes: tuple[WalkAxis, ...]

    @property
    def spatial(self) -> list[int]:
        """The image's spatial dimensions."""
        return [axis.dim for axis in self.axes]

    @property
    def parts(self) -> int:
        """The number of parts."""
        return prod(axis.count for axis in self.axes)

    def part(self, image: ir.Value, index: int) -> ir.Value:
        """Part number `index` of `image`."""
        kept = {}
        for axis in reversed(self.axes):
            index, position = divmod(index, axis.count)
            start = position * axis.jump
            kept[axis.dim] = range(start, start + axis.span, axis.step)
        return build.slice_along(image, kept)

    def cut(self, axis: int, count: int) -> Walk:
        """The same walk with only the first `count` parts along `axis`."""
        cut = replace(self.axes[axis], count=count)
        return Walk((*self.axes[:axis], cut, *self.axes[axis + 1 :]))

    def shape(self, image: ir.Value) -> list[int]:
        """The shape of a part of `image`."""
        sizes = {axis.dim: axis.size for axis in self.axes}
        return [sizes.get(dim, size) for dim, size in enumerate(shape_of(image))]

    def slab(self, image: ir.Value, axis: int, start: ir.Value, count: int) -> ir.Value:
        """The elements of `count` consecutive parts along `axis`, from element `start`, an i32."""
        along = self.axes[axis]
        sizes = list(shape_of(image))
        sizes[along.dim] = (count - 1) * along.jump + along.span
        return hlo.dynamic_slice(image, build.starts_along(image, {along.dim: start}), sizes)

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
        starts = [build.scalar(0, ir.IntegerType.get_signless(32))] * len(self.axes)

        def body(number: ir.Value, given: Sequence[ir.Value]) -> list[ir.Value]:
            *starts, carried = given
            carried = step(number, starts, carried)
            return [*self._following(starts), carried]

        return build.fori_loop(self.parts, [*starts, initial], body)[-1]

    def _following(self, starts: Sequence[ir.Value]) -> list[ir.Value]:
        """The starts of the next part: the last start moves; where it wraps, the one before it."""
        moved = []
        wraps = None
        for start, axis in zip(reversed(starts), reversed(self.axes), strict=True):
            element = element_type(start)
            after = hlo.add(start, build.scalar(axis.jump, element))
            end = build.scalar(axis.count * axis.jump, element)
            at_end = build.compare("GE", after, end)
            here = hlo.select(at_end, build.scalar(0, element), after)
            moved.append(here if wraps is None else hlo.select(wraps, here, start))
            wraps = at_end if wraps is None else hlo.and_(wraps, at_end)
        return moved[::-1]

    def part_at(self, image: ir.Value, starts: Sequence[ir.Value]) -> ir.Value:
        """The part of `image` with these starts along `spatial`, scalars, i32."""
        corner = build.starts_along(image, dict(zip(self.spatial, starts, strict=True)))
        sizes = list(shape_of(image))
        for axis in self.axes:
            sizes[axis.dim] = axis.span
        block = hlo.dynamic_slice(image, corner, sizes)
        return build.slice_along(
            block, {axis.dim: range(0, axis.span, axis.step) for axis in self.axes}
        )


def result_walk(conv: Convolution, spatial: Iterable[int]) -> Walk:
    """The walk whose parts are the image elements under the window at each result position."""
    return Walk(
        tuple(
            WalkAxis(dim, axis.out, axis.stride, axis.window, axis.window_dilation)
            for dim, axis in zip(spatial, conv.axes, strict=True)
        )
    )


def window_walk(conv: Convolution, spatial: Iterable[int]) -> Walk:
    """The walk whose parts are the image elements that each tap of the window meets."""
    return Walk(
        tuple(
            WalkAxis(dim, axis.window, axis.window_dilation, axis.out, axis.stride)
            for dim, axis in zip(spatial, conv.axes, strict=True)
        )
    )
