"""Random element types, sizes and constants of a variant.

Some numbers of a type have a role for rules: its zero, its one, its greatest number. `roles` names
them, and `translate` maps a number to the number of the same role in another type.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import TypeAlias, TypeVar

import numpy as np

from jxc.check.inputs import finfo, iinfo
from jxc.check.rebuild_types import Change
from jxc.ir.dtypes import numpy_dtype

T = TypeVar("T")
Number: TypeAlias = bool | int | float | complex

INTEGERS = ("i32", "i8", "ui8", "ui32", "i64", "ui64", "i16", "ui16", "i4", "ui4")
FLOATS = (
    *("f32", "f64", "f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ"),
    *("f8E4M3B11FNUZ", "f8E4M3", "f8E3M4", "f4E2M1FN"),
)
COMPLEX = ("complex<f32>", "complex<f64>")
ELEMENTS = ("i1", *INTEGERS, *FLOATS, *COMPLEX)
_FAMILIES = (INTEGERS, FLOATS, ("i1",), COMPLEX)


def family(element: str) -> tuple[str, ...]:
    """The element types of the same kind: booleans, integers, floats or complex numbers."""
    return next((each for each in _FAMILIES if element in each), (element,))


def parts_of(element: str) -> str:
    """The element type of a complex number's parts."""
    return element.removeprefix("complex<").removesuffix(">")


@cache
def roles(element: str) -> Mapping[str, Number]:
    """The special numbers of a type by name: its zero, its one, its greatest number."""
    if element == "i1":
        return {"zero": False, "one": True, "greatest": True, "all ones": True}
    if element in COMPLEX:
        return {"zero": 0j, "one": 1 + 0j, "minus one": -1 + 0j, "two": 2 + 0j}
    if element in INTEGERS:
        return _integer_roles(element)
    info = finfo(dtype_of(element))
    found = {"zero": 0.0, "one": 1.0, "minus one": -1.0, "two": 2.0, "half": 0.5}
    found |= {"minus zero": -0.0, "greatest": math.inf, "least": -math.inf, "nan": math.nan}
    return found | {"most": float(info.max), "tiny": float(info.smallest_subnormal)}


def _integer_roles(element: str) -> Mapping[str, Number]:
    info = iinfo(dtype_of(element))
    least, greatest = int(info.min), int(info.max)
    ones = greatest if least == 0 else -1
    found: dict[str, Number] = {"zero": 0, "one": 1, "two": 2, "least": least, "all ones": ones}
    return found | {"greatest": greatest} | ({} if least == 0 else {"minus one": -1})


@cache
def dtype_of(element: str) -> np.dtype:
    """The numpy dtype of one of `ELEMENTS`."""
    found = numpy_dtype(element)
    assert found is not None, element
    return found


def translate(number: Number, old: str, new: str, random: Random) -> Number:
    """`number` of type `old` in type `new`: the number of the same role, or of the same value."""
    if old == new:
        return number
    theirs = roles(new)
    shared = [name for name, mine in roles(old).items() if _same(mine, number) and name in theirs]
    return theirs[random.choice(shared)] if shared else cast(number, new)


def _same(a: Number, b: Number) -> bool:
    if a != a or b != b:
        return a != a and b != b
    return a == b and str(a) == str(b)  # 0.0 is not -0.0


def cast(number: Number, element: str) -> Number:
    """The number as a Python number of the type; integers are clamped to its range."""
    if element in COMPLEX:
        return complex(number)
    real = number.real if isinstance(number, complex) else number
    if element in FLOATS:
        return float(real)
    whole = int(real) if math.isfinite(real) else 0
    if element == "i1":
        return bool(whole)
    info = iinfo(dtype_of(element))
    return min(max(whole, int(info.min)), int(info.max))


def draw_number(element: str, random: Random, *, mild: bool = False) -> Number:
    """A special or an ordinary number; with `mild`, never the greatest finite one."""
    if element in COMPLEX:
        part = parts_of(element)
        return complex(*(float(draw_number(part, random, mild=mild).real) for _ in range(2)))
    if random.randrange(10) < 3:
        return cast(random.choice((3, 5, -2, 1.5, -7)), element)
    known = [number for role, number in roles(element).items() if not mild or role != "most"]
    return random.choice(known)


def near_number(number: Number, element: str, random: Random) -> Number:
    """A number close to another: of the other sign, or one more or less."""
    if element == "i1":
        return not number
    return cast(random.choice((-number, -number, number + 1, number - 1)), element)


@dataclass(frozen=True, kw_only=True)
class Draws(Change):
    """The random choices for one variant.

    Attributes:
        random: the source.
        wildness: a factor on the probability of drawing an attribute, constant or operand again.
        mild: whether to draw no greatest floats: sums of them overflow in one order only.
    """

    random: Random = field(default_factory=lambda: Random(0))
    wildness: float = 0.0
    mild: bool = False

    def chance(self, probability: float) -> bool:
        """Whether to redraw, with this probability times the wildness."""
        return self.random.randrange(1000) >= 1000 * (1 - probability * self.wildness)

    def number(self, element: str) -> Number:
        """A drawn number for a constant."""
        return draw_number(element, self.random, mild=self.mild)

    def choose(self, options: Sequence[T]) -> T:
        return self.random.choice(options)


def draw_elements(elements: list[str], random: Random, *, mild: bool = False) -> dict[str, str]:
    """The new element type for each old one, mostly of the same kind.

    Args:
        elements: the types, as MLIR spells them.
        random: the source of the choices.
        mild: whether real types stay real: XLA aborts the process on an order of complex numbers.
    """
    images = {element: _draw_image(element, elements, random) for element in elements}
    if mild:
        images = {old: old if new in COMPLEX else new for old, new in images.items()}
    for whole in set(COMPLEX) & set(
        images
    ):  # complex types and the types of their parts change only together
        if parts_of(whole) in images:
            image = images[whole] if images[whole] in COMPLEX else whole
            images |= {whole: image, parts_of(whole): parts_of(image)}
    return images


def _draw_image(element: str, elements: list[str], random: Random) -> str:
    if element not in ELEMENTS or (element == "i1" and len(elements) > 1 and random.randrange(10)):
        return element  # booleans are mostly conditions if there are other types
    where = random.randrange(100)
    if where < 30:
        return element
    return random.choice(family(element) if where < 65 else random.choice(_FAMILIES))


_EXTENTS = (1, 2, 3, 4, 5, 7)
_ROOM = 24  # large enough for every edge value, for programs of small rank
_LARGE = 12  # larger sizes change little, because rules have thresholds


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
    """New sizes that keep products: the factors 2 and 3 are replaced in all sizes."""
    two, three = (random.choice((1, 2, 3, 5)) for _ in range(2))
    return {size: _with_factors(size, two, three) for size in extents if 1 < size <= 64}


def _with_factors(size: int, two: int, three: int) -> int:
    image = 1
    for prime, new in ((2, two), (3, three)):
        while size % prime == 0:
            size, image = size // prime, image * new
    return image * size
