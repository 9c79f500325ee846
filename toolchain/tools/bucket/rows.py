"""Whether a program keeps the rows of an axis apart, so that padding rows change no other row.

The program is lowered at two lengths of the axis, calls inlined, and both modules are walked
together:

1. The ops must be the same, in the same order, and read the same values. Attributes must be equal,
   and constants too; a splat constant may be longer. Otherwise the length is used as a number
   somewhere, as in `x / x.shape[0]`.
2. The dimension whose size differs between the two is where a value has its rows (`RowLayout`). A
   value without such a dimension has none.
3. Each op with rows must compute row i of its results from row i of its operands alone, as
   `row_ops.keeps_rows` decides.

`check_rows` returns which results have rows, or raises an error that names the op and its line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from ...errors import JxcError
from ...ir import functions, walk
from ...ir.constants import array_of
from ...ir.locations import frames_of, path_of
from ...ir.values import shape_of
from ...source import line_of_stack
from .row_ops import RowLayout, keeps_rows


class MixedRows(JxcError):
    """Padding the axis would change the results: an op computes something from several rows."""


def check_rows(
    short: ir.Module, long: ir.Module, lengths: tuple[int, int], out_axes: Sequence[int]
) -> list[bool]:
    """Check that a program keeps rows apart.

    Args:
        short, long: the program at two lengths of the axis, calls inlined.
        lengths: the two lengths.
        out_axes: the axis of the rows in each result that has them.

    Returns:
        For each result, whether it has rows.

    Raises:
        MixedRows: rows are not kept apart; the message names the op and its line.
    """
    mains = [functions(module)["main"].regions[0].blocks[0] for module in (short, long)]
    if len(mains[0].arguments) != len(mains[1].arguments):
        raise MixedRows("jxc.bucket: at another length of the axis, other arguments are used")
    layouts: dict[ir.Value, RowLayout | None] = {}  # of the values of the longer module
    counterparts: dict[ir.Value, ir.Value] = {}  # the value there for each of the shorter module

    def add(ones: Iterable[ir.Value], others: Iterable[ir.Value], op: ir.OpView | None) -> None:
        for one, other in zip(ones, others, strict=True):
            counterparts[one] = other
            layouts[other] = _layout_of(one, other, lengths, op)

    add(mains[0].arguments, mains[1].arguments, None)
    for one, other in list(_pairs(short, long)):  # reports an op that one of them lacks first
        _check_same(one, other)
        if [counterparts[value] for value in one.operands] != list(other.operands):
            raise MixedRows(_message(other, "reads other values at another length"))
        for region_one, region_other in zip(one.regions, other.regions, strict=True):
            for block_one, block_other in zip(region_one, region_other, strict=True):
                add(block_one.arguments, block_other.arguments, other)
        add(one.results, other.results, other)
        _check_op(other, layouts)
    return _results(other, layouts, out_axes)


def _pairs(short: ir.Module, long: ir.Module) -> Iterator[tuple[ir.OpView, ir.OpView]]:
    """The ops of @main of both modules in pairs, in order."""
    message = "exists at one length of the axis and not at another"
    bodies = [list(walk(functions(module)["main"])) for module in (short, long)]
    for one, other in zip(*bodies, strict=False):
        if one.operation.name != other.operation.name:
            raise MixedRows(_message(other, message))
        yield one, other
    if len(bodies[0]) != len(bodies[1]):
        raise MixedRows(_message(max(bodies, key=len)[min(map(len, bodies))], message))


def _layout_of(
    one: ir.Value, other: ir.Value, lengths: tuple[int, int], op: ir.OpView | None
) -> RowLayout | None:
    """The layout of the rows in a value: in the dimension whose size differs."""
    if not isinstance(one.type, ir.RankedTensorType):
        return None
    shapes = [shape_of(value) for value in (one, other)]
    if len(shapes[0]) != len(shapes[1]):
        raise MixedRows(_message(op, "has another rank at another length of the axis"))
    differing = [dim for dim, (a, b) in enumerate(zip(*shapes, strict=True)) if a != b]
    if not differing:
        return None
    if len(differing) > 1:
        raise MixedRows(_message(op, "combines each row with each other row"))
    (dim,) = differing
    width = shapes[1][dim] // lengths[1]
    if [shape[dim] for shape in shapes] != [width * length for length in lengths]:
        raise MixedRows(_message(op, "takes some of the rows, or appends something to them"))
    return RowLayout(dim, width)


_SIZES = frozenset(("limit_indices", "slice_sizes"))
"""Attributes that may differ: they are sizes of results, which `_layout_of` checks."""


def _check_same(one: ir.OpView, other: ir.OpView) -> None:
    """Check that an op has the same attributes at both lengths."""
    if isinstance(one, hlo.ConstantOp):
        if not _is_same_constant(one, other):
            raise MixedRows(_message(other, "has another value at another length of the axis"))
        return
    names = {named for named, _ in one.attributes.items()}
    if names != {named for named, _ in other.attributes.items()}:
        raise MixedRows(_message(other, "has other attributes at another length of the axis"))
    for name in names - _SIZES:
        if str(one.attributes[name]) != str(other.attributes[name]):
            raise MixedRows(_message(other, f"has another {name} at another length of the axis"))


def _is_same_constant(one: hlo.ConstantOp, other: hlo.ConstantOp) -> bool:
    """Whether two constants are equal, or broadcast the same number."""
    short, long = array_of(one.result), array_of(other.result)
    if short is None or long is None:
        return False
    if short.shape == long.shape:
        return short.tobytes() == long.tobytes()
    if not short.size or not long.size:
        return False
    return all(bool((array == short.flat[0]).all()) for array in (short, long))


_FORWARDING = frozenset(
    (
        *("func.return", "stablehlo.return", "stablehlo.optimization_barrier"),
        *("stablehlo.while", "stablehlo.case", "stablehlo.if"),
    )
)
"""Ops that forward values of other ops. Their conditions have no rows, or were refused."""


def _check_op(op: ir.OpView, rows: dict[ir.Value, RowLayout | None]) -> None:
    operands = [rows.get(value) for value in op.operands]
    results = [rows.get(value) for value in op.results]
    if op.operation.name in _FORWARDING or not any((*operands, *results)):
        return
    if any(operands) and not all(results):
        raise MixedRows(_message(op, "combines all rows"))
    is_kept = keeps_rows(op, operands, results)
    if not is_kept:
        unknown = "is not known to keep rows apart"
        raise MixedRows(_message(op, unknown if is_kept is None else "mixes rows"))


def _results(
    last: ir.OpView, rows: dict[ir.Value, RowLayout | None], out_axes: Sequence[int]
) -> list[bool]:
    found = [rows.get(value) for value in last.operands]
    for index, (each, axis, value) in enumerate(zip(found, out_axes, last.operands, strict=True)):
        if each and each != RowLayout(axis % len(shape_of(value)), 1):
            raise MixedRows(
                f"jxc.bucket: result {index} has the rows in axis {each.dim}, not in axis {axis}: "
                "set out_axes"
            )
    return [each is not None for each in found]


def _message(op: ir.OpView | None, problem: str) -> str:
    if op is None:
        return f"jxc.bucket: an argument {problem}"
    place = line_of_stack(frames_of(op.location))
    where = f" at {place}" if place else ""
    where += f" ({place.function})" if place and place.function else ""
    name = op.operation.name.removeprefix("stablehlo.")
    known = path_of(op.location).rpartition("/")[2]
    shown = f"{name} ({known})" if known and known != name else name
    quote = f"\n{place.quote()}" if place and place.quote() else ""
    return (
        f"jxc.bucket: {shown}{where} {problem}, so padding could change other rows. If the "
        f"function works row by row, write it for one row and pass vmap=True.{quote}"
    )
