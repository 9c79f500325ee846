"""Ops on elements: arithmetic, bits, comparisons, selects, converts, complex numbers."""

from __future__ import annotations

from .types import COMPLEX, FLOATS, INTEGERS, SIGNED, edges, part_of, small, width_of
from .writer import Value, Writer

_ANY = ("add", "multiply", "add", "multiply", "subtract")
_ORDERED = ("maximum", "minimum")
_BITS = ("and", "or", "xor")
_SHIFTS = ("shift_left", "shift_right_arithmetic", "shift_right_logical")
_PLAIN = (*_ANY, *_ORDERED, *_BITS, "divide")
_ROUNDED = ("floor", "ceil", "round_nearest_even", "round_nearest_afz")
_FUNCTIONS = (
    *("exponential", "log", "tanh", "sine", "cosine", "sqrt", "rsqrt", "logistic"),
    *("cbrt", "exponential_minus_one", "log_plus_one"),
)


def _binary_names(element: str) -> tuple[str, ...]:
    if element == "i1":
        return ("add", "multiply", *_ORDERED, *_BITS, *_BITS)
    if element in COMPLEX:
        return (*_ANY, "divide")
    if element in FLOATS:
        return (*_ANY, *_ORDERED, "divide", "divide", "remainder", "power", "atan2")
    return (*_ANY, *_ORDERED, *_BITS, *_SHIFTS, "divide", "remainder")


def binary(w: Writer) -> None:
    """An op of two operands, one of them often neutral, absorbing or the other one."""
    x = w.pick()
    if x is None:
        return
    name, y = w.random.choice(_binary_names(x.element)), w.like(x)
    if name in ("divide", "remainder") and x.element in INTEGERS:
        y = _without_zeros(w, y)
    elif w.chance(0.3):
        x, y = y, x
    w.op(name, [x, y], x.shape, x.element)


def neutral(w: Writer) -> None:
    """An op with a constant that is neutral or absorbing for some type, or nearly so."""
    x = w.pick()
    if x is None:
        return
    name = w.random.choice([each for each in _binary_names(x.element) if each in _PLAIN])
    most = edges(x.element)
    y = w.constant(
        x.shape, x.element, w.random.choice((*most[:3], *most[:3], w.random.choice(most)))
    )
    if name == "divide" and x.element in INTEGERS:
        x, y = (x, _without_zeros(w, y)) if w.chance(0.6) else (y, _without_zeros(w, x))
    elif w.chance(0.4):
        x, y = y, x
    w.op(name, [x, y], x.shape, x.element)


def _without_zeros(w: Writer, value: Value) -> Value:
    """A constant above 0, or the value with its last bit set: the interpreter traps on zeros."""
    one = w.constant(value.shape, value.element, small(value.element, w.random.choice((1, 1, 3))))
    return one if w.chance(0.5) else w.op("or", [value, one], value.shape, value.element)


def unary(w: Writer) -> None:
    """An op of one operand; negations and complements often, and often twice."""
    x = w.pick()
    if x is None:
        return
    if x.element == "i1" or (x.element in INTEGERS and w.chance(0.4)):
        name = "not"
    elif x.element in INTEGERS:
        names = ("negate", "negate", "popcnt", "count_leading_zeros")
        name = w.random.choice((*names, "abs", "sign") if x.element in SIGNED else names)
    elif x.element in COMPLEX:
        name = w.random.choice(("negate", "negate", "exponential", "sign"))
    else:
        names = ("negate", "negate", "abs", "sign", *_ROUNDED)
        name = w.random.choice((*names, w.random.choice(_FUNCTIONS)))
    result = w.op(name, [x], x.shape, x.element)
    if name in ("negate", "not", "abs") and w.chance(0.3):
        again = "abs" if name == "negate" and x.element in (*SIGNED, *FLOATS) else name
        w.op(w.random.choice((name, again)), [result], x.shape, x.element)


def negated_pair(w: Writer) -> None:
    """An op on negated operands."""
    x = w.pick(lambda value: value.element != "i1")
    if x is None:
        return
    both = [w.op("negate", [each], x.shape, x.element) for each in (x, w.like(x))]
    if w.chance(0.5):
        both[w.random.randrange(2)] = w.like(x)
    name = w.random.choice(("add", "subtract", "multiply", "divide"))
    if name == "divide" and x.element in INTEGERS:
        both[1] = _without_zeros(w, both[1])
    result = w.op(name, both, x.shape, x.element)
    if w.chance(0.4):
        w.op("negate", [result], x.shape, x.element)


_KIND = {"i1": "UNSIGNED", "f": "FLOAT", "b": "FLOAT", "u": "UNSIGNED", "i": "SIGNED"}


def compare(w: Writer) -> None:
    """A comparison, negated at times, or of its outcome with a boolean constant."""
    x = w.pick(lambda value: value.element not in COMPLEX)
    if x is None:
        return
    result = _compare(w, x, w.like(x))
    if w.chance(0.3):
        result = w.op("not", [result], x.shape, "i1")
    if w.chance(0.3):
        _compare(w, result, w.constant(x.shape, "i1"))


def _compare(w: Writer, x: Value, y: Value) -> Value:
    direction = w.random.choice(("EQ", "NE", "LT", "LE", "GT", "GE"))
    kind = _KIND.get(x.element) or _KIND[x.element[0]]
    if kind == "FLOAT" and x.is_given and y.is_given and w.chance(0.2):
        kind = "TOTALORDER"
    attributes = (
        f"comparison_direction = #stablehlo<comparison_direction {direction}>, "
        f"compare_type = #stablehlo<comparison_type {kind}>"
    )
    operands = [x, y] if w.chance(0.5) else [y, x]
    return w.op("compare", operands, x.shape, "i1", attributes)


def _predicate(w: Writer, shape: tuple[int, ...]) -> Value:
    """A boolean for each element, or one for all; at times a constant or a complement."""
    found = w.pick(lambda value: value.element == "i1" and value.shape in (shape, ()))
    if found is None or w.chance(0.15):
        found = w.constant(shape, "i1")
    if found.shape == () and shape and w.chance(0.3):
        none = "broadcast_dimensions = array<i64>"
        found = w.op("broadcast_in_dim", [found], shape, "i1", none)
    return w.op("not", [found], found.shape, "i1") if w.chance(0.2) else found


def select(w: Writer) -> None:
    """A select, at times of a select by the same predicate."""
    x = w.pick(lambda value: value.element == "i1") if w.chance(0.3) else w.pick()
    if x is None:
        return
    p = _predicate(w, x.shape)
    for _ in range(2 if w.chance(0.3) else 1):
        sides = [x, w.like(x)]
        w.random.shuffle(sides)
        x = w.op("select", [p, *sides], x.shape, x.element)


def clamp(w: Writer) -> None:
    """A clamp between values or scalars."""
    x = w.pick(lambda value: value.element not in COMPLEX)
    if x is None:
        return
    if w.chance(0.5):
        bounds = [w.like(x), w.like(x)]
    else:
        bounds = [w.constant((), x.element) for _ in range(2)]
    w.op("clamp", [bounds[0], x, bounds[1]], x.shape, x.element)


def convert(w: Writer) -> None:
    """A convert, and at times another one, back or further."""
    x = w.pick(lambda value: value.element not in COMPLEX)
    if x is None:
        return
    first = x.element
    for _ in range(w.random.choice((1, 2, 2))):
        to = w.random.choice((*w.palette, *INTEGERS, *FLOATS, "i1", first, first))
        if to not in COMPLEX:
            x = w.op("convert", [x], x.shape, to)


_AS_BITS = {8: ("i8", "ui8"), 16: ("i16", "ui16"), 32: ("i32", "ui32"), 64: ("i64", "ui64")}
_AS_FLOAT = {8: ("f8E5M2",), 16: ("f16", "bf16"), 32: ("f32",), 64: ("f64",)}


def bitcast(w: Writer) -> None:
    """The same bits as another type, and back; never the bits of a NaN that was computed."""
    x = w.pick(lambda v: v.element in (*INTEGERS, *FLOATS) and width_of(v.element) >= 8)
    if x is None or (x.element in FLOATS and not x.is_given):
        return
    bits = width_of(x.element)
    to = w.random.choice((*_AS_BITS[bits], *_AS_FLOAT[bits]))
    middle = w.op("bitcast_convert", [x], x.shape, to, keeps_bits=True)
    if w.chance(0.6):
        w.op("bitcast_convert", [middle], x.shape, x.element, keeps_bits=x.is_given)


def complex_parts(w: Writer) -> None:
    """Complex numbers taken apart and put together."""
    z = w.pick(lambda value: value.element in COMPLEX)
    if z is None:
        x = w.pick(lambda value: value.element in ("f32", "f64"))
        if x is None:
            return
        z = w.op("complex", [x, w.like(x)], x.shape, f"complex<{x.element}>")
    part = part_of(z.element)
    real, imag = (w.op(name, [z], z.shape, part) for name in ("real", "imag"))
    if w.chance(0.5):
        pair = [real, imag] if w.chance(0.7) else [imag, w.like(real)]
        w.op("complex", pair, z.shape, z.element)
    elif w.chance(0.5):
        w.op("abs", [z], z.shape, part)


def iota(w: Writer) -> None:
    """Counting along a dimension of some shape that is there."""
    x = w.pick(lambda value: value.rank > 0)
    if x is None:
        return
    element = w.random.choice([each for each in (*w.palette, "i32", "f32") if each != "i1"])
    w.op("iota", [], x.shape, element, f"iota_dimension = {w.random.randrange(x.rank)} : i64")


def constant(w: Writer) -> None:
    """A constant of the shape of some value."""
    x = w.pick()
    if x is not None:
        w.constant(x.shape, x.element)
