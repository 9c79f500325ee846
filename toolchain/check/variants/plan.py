"""What is drawn once for a variant: its element types, its extents, how wild the rest may be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from jaxlib.mlir import ir

from .elements import Number, draw_elements, draw_number

_EXTENTS = (1, 2, 3, 4, 5, 7)
_ROOM = 24  # an extent with room for every edge value, for programs of small rank
_LARGE = 12  # extents from here on are kept near what they are: rules have thresholds
DYNAMIC = ir.ShapedType.get_dynamic_size()


@dataclass(frozen=True)
class Variation:
    """How one variant differs from its program.

    Attributes:
        random: where everything else is drawn from.
        elements: for each element type, as MLIR spells it, the one in its place.
        extents: for each extent the one in its place.
        wildness: how likely attributes, constants and operands are drawn again: 0 for never.
        mild: whether to draw no greatest floats: sums of them overflow in one order only.
    """

    random: Random
    elements: Mapping[str, str] = field(default_factory=dict)
    extents: Mapping[int, int] = field(default_factory=dict)
    wildness: float = 0.0
    mild: bool = False

    def chance(self, probability: float) -> bool:
        """Whether to depart from the program here. What shrinks towards zeros departs nowhere."""
        return self.random.randrange(1000) >= 1000 * (1 - probability * self.wildness)

    def number(self, element: str) -> Number:
        """A number for a constant, drawn anew."""
        return draw_number(element, self.random, mild=self.mild)

    def extent(self, extent: int) -> int:
        """What stands for an extent."""
        return self.extents.get(extent, extent)

    def static(self, extent: int) -> int:
        """The same where an op allows no dynamic extent."""
        new = self.extent(extent)
        return extent if new == DYNAMIC else new

    def element(self, element: ir.Type) -> ir.Type:
        """What stands for an element type."""
        name = str(element)
        new = self.elements.get(name, name)
        return element if new == name else ir.Type.parse(new, element.context)

    def type(self, kind: ir.Type) -> ir.Type:
        """What stands for a type; only ranked tensors change."""
        if not isinstance(kind, ir.RankedTensorType):
            return kind
        return ranked([self.extent(n) for n in kind.shape], self.element(kind.element_type))

    def static_type(self, kind: ir.RankedTensorType) -> ir.RankedTensorType:
        """What stands for the type of a constant."""
        return ranked([self.static(n) for n in kind.shape], self.element(kind.element_type))


def ranked(shape: Sequence[int], element: ir.Type) -> ir.RankedTensorType:
    """A ranked tensor type; needs a location in scope."""
    return ir.RankedTensorType.get(list(shape), element)


def draw_plan(types: Iterable[ir.Type], random: Random, *, mild: bool = False) -> Variation:
    """A plan for a program in which these types occur."""
    tensors = [kind for kind in types if isinstance(kind, ir.RankedTensorType)]
    elements = list(dict.fromkeys(str(kind.element_type) for kind in tensors))
    extents = sorted({size for kind in tensors for size in kind.shape if size != DYNAMIC})
    wildness = random.choice((0.0, 1.0, 2.0, 3.0))
    is_flat = all(len(kind.shape) <= 2 for kind in tensors)
    images = draw_elements(elements, random, mild=mild), draw_extents(extents, is_flat, random)
    return Variation(random, *images, wildness, mild)


def draw_extents(extents: Sequence[int], is_flat: bool, random: Random) -> dict[int, int]:
    how = random.randrange(100)
    if how < 20:
        return {}
    if how < 50 and is_flat and any(size > 1 for size in extents):
        return {random.choice([size for size in extents if size > 1]): _ROOM}
    if how < 65:
        return _draw_factors(extents, random)
    images = {size: _draw_extent(size, random) for size in extents}
    if how > 92 and extents:
        images[random.choice(extents)] = 0
    return images


def _draw_extent(size: int, random: Random) -> int:
    if size <= 1:
        return size if random.randrange(10) else random.choice(_EXTENTS)
    if size >= _LARGE:
        return random.choice((size, size + 1, size - 1, size // 2))
    return size if random.randrange(10) < 3 else random.choice(_EXTENTS)


def _draw_factors(extents: Sequence[int], random: Random) -> dict[int, int]:
    """Images that keep products: 2 and 3 become other numbers wherever they are factors."""
    two, three = (random.choice((1, 2, 3, 5)) for _ in range(2))
    return {size: _with_factors(size, two, three) for size in extents if 1 < size <= 64}


def _with_factors(size: int, two: int, three: int) -> int:
    image = 1
    for prime, new in ((2, two), (3, three)):
        while size % prime == 0:
            size, image = size // prime, image * new
    return image * size
