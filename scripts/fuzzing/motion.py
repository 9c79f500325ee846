"""Ops that rearrange: transposes, reshapes, broadcasts, slices, pads, concatenations, reverses."""

from __future__ import annotations

from collections.abc import Sequence

from .types import SIGNED, small
from .writer import MOST_DIMENSIONS, MOST_ELEMENTS, Value, Writer, ints, size_of


def _moved(
    w: Writer, name: str, operands: Sequence[Value], shape: Sequence[int], attributes: str = ""
) -> Value:
    return w.op(name, operands, shape, operands[0].element, attributes, keeps_bits=True)


def _counted(w: Writer) -> Value:
    """An iota of two dimensions."""
    shape, dim = w.random.choice(((2, 3), (3, 1), (4, 2), (1, 3, 2))), w.random.randrange(2)
    element = w.random.choice(("i32", "f32", "ui8"))
    return w.op("iota", [], shape, element, f"iota_dimension = {dim} : i64", keeps_bits=True)


def transpose(w: Writer) -> None:
    """A permutation; of two dimensions, they change places."""
    x = _counted(w) if w.chance(0.1) else w.pick(lambda value: value.rank > 1)
    if x is None:
        return
    order = w.random.sample(range(x.rank), x.rank)
    _moved(w, "transpose", [x], [x.shape[i] for i in order], f"permutation = {ints(order)}")


def reshape(w: Writer) -> None:
    """A reshape that drops, adds or merges dimensions, or splits one."""
    x = w.pick()
    if x is None:
        return
    shape = list(x.shape)
    if w.chance(0.6):
        shape = [extent for extent in shape if extent != 1]
    if len(shape) > 1 and w.chance(0.3):
        at = w.random.randrange(len(shape) - 1)
        shape[at : at + 2] = [shape[at] * shape[at + 1]]
    elif shape and shape[-1] in (4, 6, 8, 12) and w.chance(0.5):
        shape[-1:] = [shape[-1] // 2, 2]
    for _ in range(w.random.randrange(3)):
        shape.insert(w.random.randint(0, len(shape)), 1)
    if len(shape) <= MOST_DIMENSIONS:
        _moved(w, "reshape", [x], shape)


def broadcast(w: Writer) -> None:
    """A broadcast, in or out of order, that may repeat nothing."""
    x = _counted(w) if w.chance(0.1) else w.pick(lambda value: value.rank < MOST_DIMENSIONS)
    if x is None:
        return
    rank = min(MOST_DIMENSIONS, x.rank + w.random.choice((0, 0, 1, 1, 2)))
    dims = w.random.sample(range(rank), x.rank)
    if w.chance(0.7):
        dims.sort()
    shape = [w.random.choice((1, 1, 2, 3)) for _ in range(rank)]
    for dim, extent in zip(dims, x.shape, strict=True):
        shape[dim] = extent if extent != 1 or w.chance(0.5) else 2
    if sorted(dims) != dims and w.chance(0.5):
        shape = [x.shape[dims.index(i)] if i in dims else 1 for i in range(rank)]
    if size_of(shape) <= MOST_ELEMENTS:
        attributes = f"broadcast_dimensions = {ints(dims)}"
        _moved(w, "broadcast_in_dim", [x], shape, attributes)


def cut(w: Writer, x: Value, cuts: Sequence[tuple[int, int, int]]) -> Value:
    """The slice that takes from `first` to before `end` by `step` along each dimension."""
    first, end, step = (list(each) for each in zip(*cuts, strict=True)) if cuts else ([], [], [])
    shape = [-(-(b - a) // s) for a, b, s in cuts]
    attributes = f"start_indices = {ints(first)}, limit_indices = {ints(end)}, "
    return _moved(w, "slice", [x], shape, f"{attributes}strides = {ints(step)}")


def _random_cut(w: Writer, extent: int) -> tuple[int, int, int]:
    if w.chance(0.25):
        return 0, extent, 1
    first = w.random.randint(0, extent if w.chance(0.1) else extent // 2)
    end = w.random.randint(min(first + (not w.chance(0.1)), extent), extent)
    return first, end, w.random.choice((1, 1, 2, 2, 3))


def slice_(w: Writer) -> None:
    """A slice, with strides at times, of nothing at times, and at times another one of it."""
    x = w.pick()
    if x is None:
        return
    for _ in range(w.random.choice((1, 2, 2))):
        x = cut(w, x, [_random_cut(w, extent) for extent in x.shape])


def pad(w: Writer) -> None:
    """A pad that adds, spreads or takes away, to a value or a constant."""
    x = w.pick()
    if x is None:
        return
    amounts = (0, 0, 1, 2, -1) if w.chance(0.6) else (0, 0, -1)
    low, high = ([w.random.choice(amounts) for _ in x.shape] for _ in range(2))
    interior = [w.random.choice((0, 0, 0, 1)) if 1 in amounts else 0 for _ in x.shape]
    _pad(w, x, _padding(w, x.element), low, high, interior)


def _padding(w: Writer, element: str) -> Value:
    found = w.pick(lambda value: value.element == element and not value.shape)
    return w.constant((), element) if found is None or w.chance(0.3) else found


def _pad(
    w: Writer,
    x: Value,
    value: Value,
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int],
) -> Value | None:
    edges = zip(x.shape, low, high, interior, strict=True)
    shape = [n + max(n - 1, 0) * i + a + b for n, a, b, i in edges]
    if min(shape, default=0) < 0 or size_of(shape) > MOST_ELEMENTS:
        return None
    sides = f"edge_padding_low = {ints(low)}, edge_padding_high = {ints(high)}"
    attributes = f"{sides}, interior_padding = {ints(interior)}"
    return _moved(w, "pad", [x, value], shape, attributes)


def padded_again(w: Writer) -> None:
    """A pad, then a second one with the same value, or a slice of what was padded."""
    x = w.pick(lambda value: value.rank > 0)
    if x is None:
        return
    value, zeros = _padding(w, x.element), [0] * x.rank
    low, high = ([w.random.choice((0, 1, 2)) for _ in x.shape] for _ in range(2))
    spread = [w.random.choice((0, 0, 1)) for _ in x.shape]
    padded = _pad(w, x, value, low, high, spread)
    if padded is None:
        return
    if w.chance(0.4):
        _pad(w, padded, value, high, zeros, spread if w.chance(0.3) else zeros)
    elif w.chance(0.5):
        sizes = zip(low, x.shape, strict=True)
        cut(w, padded, [(a, a + n, 1) if n else (0, a, 1) for a, n in sizes])
    else:
        cut(
            w,
            padded,
            [(0, max(a, 1) if n else n, 1) for a, n in zip(low, padded.shape, strict=True)],
        )


def reverse(w: Writer) -> None:
    """A reverse along some dimensions, at times followed by another one."""
    x = w.pick(lambda value: value.rank > 0)
    if x is None:
        return
    for _ in range(2 if w.chance(0.3) else 1):
        dims = w.random.sample(range(x.rank), w.random.randint(0, x.rank))
        x = _moved(w, "reverse", [x], x.shape, f"dimensions = {ints(sorted(dims))}")


def _joined(w: Writer, parts: Sequence[Value], dim: int) -> Value | None:
    first = parts[0].shape
    shape = [*first[:dim], sum(each.shape[dim] for each in parts), *first[dim + 1 :]]
    if size_of(shape) > MOST_ELEMENTS:
        return None
    return _moved(w, "concatenate", parts, shape, f"dimension = {dim} : i64")


def concatenate(w: Writer) -> None:
    """A concatenation of one to four values, flat or of concatenations, then at times a slice."""
    x = w.pick(lambda value: value.rank > 0)
    if x is None:
        return
    dim = w.random.randrange(x.rank)
    like = [v for v in w.values if v.element == x.element and _fits(v, x, dim)]
    parts = [x, *w.random.choices(like, k=w.random.randint(0, 3))]
    w.random.shuffle(parts)
    joined = _joined(w, parts, dim)
    if joined is None or not w.chance(0.4):
        return
    if w.chance(0.4):
        _joined(w, [joined, x], dim)
    else:
        cuts = [(0, extent, 1) for extent in joined.shape]
        cuts[dim] = _random_cut(w, joined.shape[dim])
        cut(w, joined, cuts)


def _fits(value: Value, x: Value, dim: int) -> bool:
    if value.rank != x.rank:
        return False
    pairs = enumerate(zip(value.shape, x.shape, strict=True))
    return all(mine == theirs for i, (mine, theirs) in pairs if i != dim)


def cut_and_joined(w: Writer) -> None:
    """Slices of one value, side by side or with a gap, put together again."""
    x = w.pick(lambda value: max(value.shape, default=0) > 1)
    if x is None:
        return
    dim = max(range(x.rank), key=lambda i: x.shape[i])
    middle = w.random.randint(1, x.shape[dim] - 1)
    cuts = [_random_cut(w, n) if w.chance(0.2) else (0, n, 1) for n in x.shape]
    ends = (0, middle), (middle if w.chance(0.8) else middle - 1, x.shape[dim])
    parts = [cut(w, x, [*cuts[:dim], (*end, 1), *cuts[dim + 1 :]]) for end in ends]
    if w.chance(0.3):
        parts.insert(w.random.randrange(3), w.random.choice(parts))
    _joined(w, parts, dim)


def _starts(w: Writer, x: Value) -> list[Value]:
    """Start indices, out of bounds too; unsigned ones small: both oracles misread large ones."""
    element = w.random.choice(("i32", "i32", "i64", "i8", "ui8", "ui32"))
    if w.chance(0.5) and element in SIGNED:
        found = w.pick(lambda value: value.element == element and not value.shape)
        if found is not None:
            return [found] * x.rank
    numbers = (w.random.choice((0, 1, 2, 7)) for _ in x.shape)
    edge = w.chance(0.2) and element in SIGNED
    return [w.constant((), element, "" if edge else small(element, n)) for n in numbers]


def dynamic_slice(w: Writer) -> None:
    """A dynamic slice: of all, from constants, or from values; out of bounds too."""
    x = w.pick()
    if x is None:
        return
    whole = w.chance(0.3)
    shape = [n if whole else w.random.randint(min(1, n), n) for n in x.shape]
    _moved(w, "dynamic_slice", [x, *_starts(w, x)], shape, f"slice_sizes = {ints(shape)}")


def dynamic_update_slice(w: Writer) -> None:
    """A part of a value, or a constant, written back into it."""
    x = w.pick()
    if x is None:
        return
    shape = tuple(n if w.chance(0.5) else w.random.randint(min(1, n), n) for n in x.shape)
    update = w.pick(lambda value: value.shape == shape and value.element == x.element)
    update = update or w.constant(shape, x.element)
    _moved(w, "dynamic_update_slice", [x, update, *_starts(w, x)], x.shape)
