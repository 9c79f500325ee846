"""Magnitudes and type names of values, and the table that describes a record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import walk
from jxc.ir.build import convert, reshape, splat
from jxc.ir.locations import frames_of, path_of
from jxc.ir.values import is_complex, is_float, shape_of

from ..trace_values.statistics import reduced


def may_be_nan(value: ir.Value) -> bool:
    """Whether there can be a NaN or an infinity in a value of this type."""
    return isinstance(value.type, ir.RankedTensorType) and (is_float(value) or is_complex(value))


def magnitude(value: ir.Value, element: ir.Type) -> ir.Value:
    """The largest |x| of a value as a scalar: NaN if any is NaN, else infinite if any is.

    Reads the value once. Of complex numbers the larger part counts. The bits of |x| are compared as
    integers, which order numbers before infinities before NaNs: a maximum of floats over several
    devices would lose NaNs.
    """
    if is_complex(value):
        sizes = [_bits(part, element) for part in (hlo.real(value), hlo.imag(value))]
        bits = hlo.maximum(*sizes)
    else:
        bits = _bits(value, element)
    found = reduced(bits, 0, hlo.maximum)
    return hlo.bitcast_convert(ir.RankedTensorType.get((), element), found)


def _bits(value: ir.Value, element: ir.Type) -> ir.Value:
    """The bits of |x| as integers, once x is of type `element`."""
    width = ir.FloatType(element).width
    kind = ir.RankedTensorType.get(shape_of(value), ir.IntegerType.get_signless(width))
    bits = hlo.bitcast_convert(kind, convert(value, element))
    return hlo.and_(bits, splat(2 ** (width - 1) - 1, kind))


def largest(value: ir.Value) -> ir.Value:
    """The largest element, of numbers from 0, as a scalar."""
    return reduced(value, 0.0, hlo.maximum)


def record_type(module: ir.Operation) -> ir.Type:
    """The element type of magnitudes: f32, or f64 if the program has values of f64."""
    for op in walk(module):
        if any("f64" in str(result.type) for result in op.results):
            return ir.F64Type.get()
    return ir.F32Type.get()


def vector(scalars: Sequence[ir.Value]) -> ir.Value:
    """A vector of scalars."""
    return joined([reshape(each, (1,)) for each in scalars])


def joined(vectors: Sequence[ir.Value]) -> ir.Value:
    """The concatenation of one vector or more."""
    if len(vectors) == 1:
        return vectors[0]
    return hlo.concatenate(list(vectors), 0)


def part(values: ir.Value, start: int, count: int) -> ir.Value:
    """`count` elements of a vector, from `start` on."""
    return hlo.slice(values, [start], [start + count], [1])


def item(values: ir.Value, index: int) -> ir.Value:
    """One element of a vector as a scalar."""
    return reshape(part(values, index, 1), ())


def type_name(kind: ir.Type) -> str:
    """A type as JAX writes it: `f32[8,128]`."""
    if not isinstance(kind, ir.RankedTensorType):
        return str(kind)
    of = ir.RankedTensorType(kind)
    sizes = ("?" if of.is_dynamic_dim(dim) else str(of.get_dim_size(dim)) for dim in range(of.rank))
    return f"{_ELEMENTS.get(str(of.element_type), str(of.element_type))}[{','.join(sizes)}]"


_ELEMENTS = {"complex<f32>": "c64", "complex<f64>": "c128", "i1": "bool"} | {
    f"ui{bits}": f"u{bits}" for bits in (2, 4, 8, 16, 32, 64)
}


@dataclass(eq=False)
class NanSite:
    """One number of the record, and what it describes.

    Attributes:
        kind: "value": magnitude of an op's result; "argument": of an argument of @main; "constant";
            "carried": of an argument of a loop's body; "result": of a result of a loop or branch;
            "iteration": the number, from 1, of the recorded iteration of a loop, 0 for none;
            "statistics": the first of several numbers about one value; "more": the others.
        op: the op's name.
        location: of the op.
        type: of the value, as JAX writes it.
        operands: of the op: type, and site where the operand may hold a NaN.
        within: the site of the loop around it.
        number: of the op in program order.
    """

    kind: str
    op: str
    location: ir.Location
    type: str = ""
    operands: Sequence[tuple[str, NanSite | None]] = ()
    within: NanSite | None = None
    number: int = -1


def table_of(sites: Sequence[NanSite]) -> dict[str, Any]:
    """The sites as JSON, with positions in the record in place of references.

    Stacks of frames repeat: they are listed once, and an entry holds a position in that list.
    """
    at = {id(site): index for index, site in enumerate(sites)}
    stacks: dict[str, int] = {}
    entries = [_entry(site, at, stacks) for site in sites]
    return {"sites": entries, "stacks": [json.loads(stack) for stack in stacks]}


def _entry(site: NanSite, at: dict[int, int], stacks: dict[str, int]) -> dict[str, Any]:
    if site.kind == "more":
        return {"kind": "more"}
    return {
        "kind": site.kind,
        "op": site.op.removeprefix("stablehlo."),
        "path": path_of(site.location),
        "stack": stacks.setdefault(json.dumps(frames_of(site.location)), len(stacks)),
        "type": site.type,
        "operands": [[kind, -1 if each is None else at[id(each)]] for kind, each in site.operands],
        "within": -1 if site.within is None else at[id(site.within)],
        "number": site.number,
    }


def operands_of(op: ir.OpView, known: dict[ir.Value, NanSite]) -> list[tuple[str, NanSite | None]]:
    """The operands of an op as `NanSite.operands` lists them."""
    return [(type_name(value.type), known.get(value)) for value in op.operands]
