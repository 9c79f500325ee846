"""Whether a program keeps the rows of an axis apart, so that rows added behind change no other.

The program is lowered at two lengths of the axis. The two must be the same but for extents, or the
length itself is used as a number somewhere; and the extents that differ say where the rows are in
every value. Each op that has rows must then hand row i of its operands to row i of its results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects.stablehlo import ConstantOp

from ...errors import JxcError
from ...ir import functions, walk
from ...ir.constants import array_of
from ...ir.locations import frames_of, path_of
from ..debug.values import line_of_stack
from .keeping import KEEPS, Rows


class MixedRows(JxcError):
    """Padding an axis would change the results: an op makes something of several rows."""


@dataclass(frozen=True)
class Lengths:
    """The two lengths at which a program was lowered."""

    short: int
    long: int


def check_rows(
    short: ir.Module, long: ir.Module, lengths: Lengths, out_axes: Sequence[int]
) -> list[bool]:
    """See that rows are kept apart.

    Args:
        short, long: the program at two lengths of the axis, calls inlined.
        lengths: these.
        out_axes: where the rows are in each result that has them.

    Returns:
        Which results have rows.

    Raises:
        MixedRows: they are not; the message names the op and its line.
    """
    pairs = list(_pairs(short, long))
    rows: dict[ir.Value, Rows | None] = {}
    twins: dict[ir.Value, ir.Value] = {}
    mains = [functions(module)["main"].regions[0].blocks[0] for module in (short, long)]
    if len(mains[0].arguments) != len(mains[1].arguments):
        raise MixedRows("jxc.bucket: at another length of the axis, other arguments are used")
    arguments = zip(mains[0].arguments, mains[1].arguments, strict=True)
    _note(arguments, rows, twins, lengths, None)
    for one, other in pairs:
        _check_same(one, other)
        if [twins[value] for value in one.operands] != list(other.operands):
            raise MixedRows(_sentence(other, "is given something else at another length"))
        for region_one, region_other in zip(one.regions, other.regions, strict=True):
            for block_one, block_other in zip(region_one, region_other, strict=True):
                arguments = zip(block_one.arguments, block_other.arguments, strict=True)
                _note(arguments, rows, twins, lengths, other)
        _note(zip(one.results, other.results, strict=True), rows, twins, lengths, other)
        _check_op(other, rows)
    return _results(pairs[-1][1], rows, out_axes)


def _pairs(short: ir.Module, long: ir.Module) -> Iterator[tuple[ir.OpView, ir.OpView]]:
    """The ops of @main of both, side by side, in order."""
    bodies = [list(walk(functions(module)["main"])) for module in (short, long)]
    for one, other in zip(*bodies, strict=False):
        if one.operation.name != other.operation.name:
            raise MixedRows(_sentence(other, "is there at one length of the axis, not at another"))
        yield one, other
    if len(bodies[0]) != len(bodies[1]):
        longer = max(bodies, key=len)
        place = min(map(len, bodies))
        raise MixedRows(
            _sentence(longer[place], "is there at one length of the axis, not at another")
        )


def _note(
    pairs: Iterator[tuple[ir.Value, ir.Value]] | zip,
    rows: dict[ir.Value, Rows | None],
    twins: dict[ir.Value, ir.Value],
    lengths: Lengths,
    op: ir.OpView | None,
) -> None:
    for one, other in pairs:
        twins[one] = other
        rows[other] = _rows_of(one, other, lengths, op)


def _rows_of(one: ir.Value, other: ir.Value, lengths: Lengths, op: ir.OpView | None) -> Rows | None:
    """Where the rows are in a value: in the dimension whose extent differs."""
    if not isinstance(one.type, ir.RankedTensorType):
        return None
    shapes = [tuple(ir.RankedTensorType(value.type).shape) for value in (one, other)]
    if len(shapes[0]) != len(shapes[1]):
        raise MixedRows(_sentence(op, "has another rank at another length of the axis"))
    differing = [dim for dim, (a, b) in enumerate(zip(*shapes, strict=True)) if a != b]
    if not differing:
        return None
    if len(differing) > 1:
        raise MixedRows(_sentence(op, "puts each row beside each other row"))
    dim = differing[0]
    each, odd = divmod(shapes[1][dim], lengths.long)
    if odd or each * lengths.short != shapes[0][dim]:
        raise MixedRows(_sentence(op, "takes a part of the rows, or puts something beside them"))
    return Rows(dim, each, shapes[1])


# The same program


_EXTENTS = frozenset(("limit_indices", "slice_sizes"))
"""Attributes that may differ with the length: results have these extents, and `KEEPS` looks."""


def _check_same(one: ir.OpView, other: ir.OpView) -> None:
    if isinstance(one, ConstantOp):
        if not _is_same_constant(one, other):
            raise MixedRows(_sentence(other, "has another value at another length of the axis"))
        return
    names = {named for named, _ in one.attributes.items()}
    if names != {named for named, _ in other.attributes.items()}:
        raise MixedRows(_sentence(other, "is another at another length of the axis"))
    for name in names - _EXTENTS:
        if str(one.attributes[name]) != str(other.attributes[name]):
            raise MixedRows(_sentence(other, f"has another {name} at another length of the axis"))


def _is_same_constant(one: ConstantOp, other: ConstantOp) -> bool:
    few, many = array_of(one.result), array_of(other.result)
    if few is None or many is None:
        return False
    if few.shape == many.shape:
        return few.tobytes() == many.tobytes()
    if not few.size or not many.size:
        return False
    return _is_repeated(few) and _is_repeated(many) and few.flat[0] == many.flat[0]


def _is_repeated(array: np.ndarray) -> bool:
    return bool((array == array.flat[0]).all())


# One op


def _check_op(op: ir.OpView, rows: dict[ir.Value, Rows | None]) -> None:
    given = [rows.get(value) for value in op.operands]
    made = [rows.get(value) for value in op.results]
    name = op.operation.name
    if name in _PASSING or not any((*given, *made)):
        return
    if any(given) and not all(made):
        raise MixedRows(_sentence(op, "makes one thing of all rows"))
    keeps = KEEPS.get(name.removeprefix("stablehlo.").removeprefix("chlo."))
    if keeps is None:
        raise MixedRows(_sentence(op, "is not known to keep rows apart"))
    if not keeps(op, given, made):
        raise MixedRows(_sentence(op, "mixes rows"))


_PASSING = frozenset(
    (
        *("func.return", "stablehlo.return", "stablehlo.optimization_barrier"),
        *("stablehlo.while", "stablehlo.case", "stablehlo.if"),
    )
)
"""Ops that hand on what others made; what decides about them has no rows, or was refused."""


def _results(
    last: ir.OpView, rows: dict[ir.Value, Rows | None], out_axes: Sequence[int]
) -> list[bool]:
    found = [rows.get(value) for value in last.operands]
    for index, (each, axis) in enumerate(zip(found, out_axes, strict=True)):
        if each is not None and (each.dim, each.each) != (axis % len(each.shape), 1):
            raise MixedRows(
                f"jxc.bucket: result {index} has the rows in axis {each.dim} and not in axis "
                f"{axis}: say so by out_axes"
            )
    return [each is not None for each in found]


def _sentence(op: ir.OpView | None, what: str) -> str:
    if op is None:
        return f"jxc.bucket: an argument {what}"
    place = line_of_stack(frames_of(op.location))
    where = f" at {place}" if place else ""
    where += f" ({place.function})" if place and place.function else ""
    name = op.operation.name.removeprefix("stablehlo.")
    known = path_of(op.location).rpartition("/")[2]
    told = f"{name} ({known})" if known and known != name else name
    quote = f"\n{place.quote()}" if place and place.quote() else ""
    return (
        f"jxc.bucket: {told}{where} {what}, so padded rows could change the others. Where the "
        f"function is meant row by row, write it for one row and give vmap=True.{quote}"
    )
