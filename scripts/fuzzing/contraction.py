"""Ops that sum, gather or sort: reductions, products, convolutions, gathers, scatters, sorts."""

from __future__ import annotations

from .types import COMPLEX, FLOATS, SIGNED, small
from .writer import MOST_ELEMENTS, Value, Writer, ints, size_of


def _combining(element: str) -> tuple[str, ...]:
    if element == "i1":
        return ("and", "or")
    return ("add", "multiply") if element in COMPLEX else ("add", "maximum", "minimum", "multiply")


def _body(w: Writer, element: str, name: str) -> str:
    """A region that combines two scalars."""
    arguments = w.arguments(((), element), ((), element))
    return w.block(arguments, lambda inner: [inner.op(name, arguments, (), element)], closed=True)


def reduce(w: Writer) -> None:
    """A reduction over some dimensions, all or none."""
    x = w.pick()
    if x is None:
        return
    dims = sorted(w.random.sample(range(x.rank), w.random.randint(0, x.rank)))
    shape = [extent for i, extent in enumerate(x.shape) if i not in dims]
    body = _body(w, x.element, w.random.choice(_combining(x.element)))
    initial = w.constant((), x.element)
    w.op("reduce", [x, initial], shape, x.element, f"dimensions = {ints(dims)}", f"({body})")


def reduce_window(w: Writer) -> None:
    """A window of one or two elements along each dimension."""
    x = w.pick(lambda value: value.rank > 0 and 0 not in value.shape)
    if x is None:
        return
    window = [w.random.randint(1, min(2, extent)) for extent in x.shape]
    steps = [w.random.choice((1, 1, 2)) for _ in x.shape]
    sizes = zip(x.shape, window, steps, strict=True)
    shape = [(extent - size) // step + 1 for extent, size, step in sizes]
    body = _body(w, x.element, w.random.choice(_combining(x.element)))
    attributes = f"window_dimensions = {ints(window)}, window_strides = {ints(steps)}"
    initial = w.constant((), x.element)
    w.op("reduce_window", [x, initial], shape, x.element, attributes, f"({body})")


def dot_general(w: Writer) -> None:
    """A value times its own transpose, or times another one, over one dimension or none."""
    x = w.pick(lambda value: 0 < value.rank <= 3)
    if x is None:
        return
    y, dim = w.like(x), w.random.randrange(x.rank)
    if x.shape[dim] == 0 and w.chance(0.9):
        return  # a sum of nothing kills the interpreter, and XLA is no judge of bits
    batch = [i for i in range(dim) if w.chance(0.4)]
    free = [n for i, n in enumerate(x.shape) if i != dim and i not in batch]
    shape = [*(x.shape[i] for i in batch), *free, *free]
    if size_of(shape) > MOST_ELEMENTS:
        return
    dims = f"lhs_batching_dimensions = {batch}, rhs_batching_dimensions = {batch}, "
    dims += f"lhs_contracting_dimensions = [{dim}], rhs_contracting_dimensions = [{dim}]"
    attributes = f"dot_dimension_numbers = #stablehlo.dot<{dims}>"
    w.op("dot_general", [x, y], shape, x.element, attributes)


def gather(w: Writer) -> None:
    """Rows of a value, by indices that may be out of bounds."""
    x = w.pick(lambda value: value.rank > 0 and value.shape[0] > 0)
    if x is None:
        return
    count = w.random.randint(0 if w.chance(0.1) else 1, 3)  # nothing kills the interpreter
    element = w.random.choice(("i32", "i8", "ui32"))
    indices = _indices(w, count, element)
    offsets = list(range(1, x.rank))
    dims = f"offset_dims = {offsets}, collapsed_slice_dims = [0], start_index_map = [0], "
    attributes = (
        f"dimension_numbers = #stablehlo.gather<{dims}index_vector_dim = 1>, "
        f"slice_sizes = {ints((1, *x.shape[1:]))}, indices_are_sorted = false"
    )
    w.op("gather", [x, indices], (count, *x.shape[1:]), x.element, attributes)


def _indices(w: Writer, count: int, element: str) -> Value:
    found = w.pick(lambda value: value.shape == (count, 1) and value.element == element)
    if found is not None and element in SIGNED and w.chance(0.5):
        return found
    flat = w.constant((count,), element, small(element, w.random.choice((0, 1, 7))))
    return w.op("reshape", [flat], (count, 1), element)


def scatter(w: Writer) -> None:
    """Rows combined into a value, by indices that may be out of bounds, or repeat."""
    x = w.pick(lambda value: value.rank > 0 and value.shape[0] > 0)
    if x is None:
        return
    count = w.random.randint(1, 3)
    shape = (count, *x.shape[1:])
    updates = w.pick(lambda value: value.shape == shape and value.element == x.element)
    operands = [x, _indices(w, count, "i32"), updates or w.constant(shape, x.element)]
    windows = list(range(1, x.rank))
    dims = f"update_window_dims = {windows}, inserted_window_dims = [0], "
    dims += "scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
    attributes = (
        f"scatter_dimension_numbers = #stablehlo.scatter<{dims}>, "
        "indices_are_sorted = false, unique_indices = false"
    )
    body = _body(w, x.element, w.random.choice(_combining(x.element)))
    w.op("scatter", operands, x.shape, x.element, attributes, f"({body})")


def sort(w: Writer) -> None:
    """A stable sort along a dimension."""
    x = w.pick(lambda value: value.rank > 0 and value.element not in (*COMPLEX, *FLOATS))
    if x is None:
        return
    arguments = w.arguments(((), x.element), ((), x.element))
    less = "comparison_direction = #stablehlo<comparison_direction LT>"
    body = w.block(arguments, lambda v: [v.op("compare", arguments, (), "i1", less)], closed=True)
    dim = w.random.randrange(x.rank)
    w.op("sort", [x], x.shape, x.element, f"dimension = {dim} : i64, is_stable = true", f"({body})")


def convolution(w: Writer) -> None:
    """A convolution of one or two spatial dimensions; depthwise, grouped or full."""
    x = w.pick(lambda value: value.rank in (3, 4) and 0 not in value.shape)
    if x is None or x.element == "i1":
        return
    spatial = x.shape[1:-1]
    features = x.shape[-1]
    groups = w.random.choice((1, features, features))
    outputs = groups * w.random.choice((1, 1, 2))
    window = [w.random.choice((1, 2, 3)) for _ in spatial]
    kernel = w.pick(lambda v: v.shape == (*window, features // groups, outputs) and _alike(v, x))
    kernel = kernel or _kernel(w, (*window, features // groups, outputs), x.element)
    _convolution(w, x, kernel, window, groups)


def _alike(value: Value, x: Value) -> bool:
    return value.element == x.element


def _kernel(w: Writer, shape: tuple[int, ...], element: str) -> Value:
    """A few small numbers, reshaped."""
    count = size_of(shape)
    numbers = (small(element, w.random.randrange(4)) for _ in range(count))
    flat = w.constant((count,), element, f"[{', '.join(numbers)}]")
    return w.op("reshape", [flat], shape, element, keeps_bits=True)


def weight_gradient(w: Writer) -> None:
    """The gradient by a depthwise kernel: groups from the batch, as JAX writes it."""
    element, channels, images = w.palette[0], w.random.choice((32, 33)), w.random.randint(1, 2)
    size, window = w.random.randint(3, 5), w.random.randint(1, 3)
    x = _spread(w, (channels, size, images), element)
    dy = _spread(w, (images, size - window + 1, channels), element)
    attributes = (
        "dimension_numbers = #stablehlo.conv<[b, 0, f]x[i, 0, o]->[0, b, f]>, "
        f"feature_group_count = 1 : i64, batch_group_count = {channels} : i64"
    )
    w.op("convolution", [x, dy], (window, 1, channels), element, attributes)


def _spread(w: Writer, shape: tuple[int, ...], element: str) -> Value:
    """A value of the shape, or a wave."""
    found = w.pick(lambda value: value.shape == shape and value.element == element)
    if found is not None and w.chance(0.7):
        return found
    flat = w.op("iota", [], (size_of(shape),), element, "iota_dimension = 0 : i64")
    wave = w.op("sine", [flat], flat.shape, element)
    return w.op("reshape", [wave], shape, element)


def _convolution(w: Writer, x: Value, kernel: Value, window: list[int], groups: int) -> None:
    rank = len(window)
    stride, dilate, spread = ([w.random.choice((1, 1, 2)) for _ in window] for _ in range(3))
    pads = [[w.random.choice((0, 1, -1 if spread[0] == 1 else 0)) for _ in "ab"] for _ in window]
    sizes = zip(x.shape[1:-1], window, stride, dilate, spread, pads, strict=True)
    out = [((n - 1) * e + 1 + sum(p) - ((k - 1) * d + 1)) // s + 1 for n, k, s, d, e, p in sizes]
    if min(out) < 1:
        return
    numbers = ", ".join(str(i) for i in range(rank))
    layout = f"[b, {numbers}, f]x[{numbers}, i, o]->[b, {numbers}, f]"
    attributes = (
        f"dimension_numbers = #stablehlo.conv<{layout}>, window_strides = {ints(stride)}, "
        f"padding = dense<{pads}> : tensor<{rank}x2xi64>, lhs_dilation = {ints(spread)}, "
        f"rhs_dilation = {ints(dilate)}, feature_group_count = {groups} : i64, "
        "batch_group_count = 1 : i64"
    )
    shape = (x.shape[0], *out, kernel.shape[-1])
    if size_of(shape) <= MOST_ELEMENTS:
        w.op("convolution", [x, kernel], shape, x.element, attributes)
