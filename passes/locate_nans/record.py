"""Code that records, for every value of a program, whether it holds a NaN.

The record of a block is a vector with a number for each value, in program order. A loop keeps the
record of the first iteration in which a carried value became bad; a branch that is not taken leaves
zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import argument_names, walk
from jxc.ir.build import compare, convert, scalar, splat
from jxc.ir.extra_results import add_branch_results, add_loop_values
from jxc.ir.finite import is_finite_constant
from jxc.ir.locations import frames_of
from jxc.ir.module import ops_of, terminator
from jxc.ir.values import element_type

from ..trace_values.statistics import COUNT, is_numeric, statistics
from .values import (
    NanSite,
    item,
    joined,
    largest,
    magnitude,
    may_be_nan,
    operands_of,
    type_name,
    vector,
)

_SAME_ELEMENTS = frozenset(
    f"stablehlo.{name}"
    for name in (
        *("abs", "broadcast_in_dim", "negate", "optimization_barrier", "reshape", "reverse"),
        "transpose",
    )
)
"""Ops whose results are bad if and only if the operand is, so they share the operand's number."""

_BRANCHES = (hlo.IfOp, hlo.CaseOp)

Piece = tuple[list[NanSite], ir.Value]


@dataclass
class NanRecorder:
    """Adds the record to the blocks of one program, in place.

    Attributes:
        element: the type of the record's numbers.
        infs: whether infinities are bad too.
        masked: whether an iteration counts although its bad values never leave it.
        detail: the number of the op whose operands and results are recorded in full; -1 for none.
    """

    element: ir.Type
    infs: bool
    masked: bool
    detail: int
    sites: dict[ir.Value, NanSite] = field(default_factory=dict)
    _scalars: dict[ir.Value, ir.Value] = field(default_factory=dict)
    _stored: list[ir.Value] = field(default_factory=list)
    _count: int = 0

    def main(self, main: ir.OpView) -> tuple[Piece, list[NanSite | None]]:
        """The record of @main's body, and the sites of what it returns."""
        block = main.regions[0].blocks[0]
        ops = ops_of(block)
        pieces: list[Piece] = []
        with ir.InsertionPoint.at_block_begin(block):
            for argument, name in zip(block.arguments, argument_names(main), strict=True):
                if may_be_nan(argument):
                    pieces.append(self._look(argument, "argument", name, argument.location))
        pieces += self._ops(ops, None)
        last = terminator(block)
        with ir.InsertionPoint(last):
            whole = _whole(pieces) if pieces else (_padded([]), self._zeros(1))
        return whole, [self.sites.get(value) for value in last.operands]

    def _ops(self, ops: Sequence[ir.OpView], within: NanSite | None) -> list[Piece]:
        pieces: list[Piece] = []
        for op in ops:
            if isinstance(op, hlo.WhileOp):
                pieces += self._loop(op, within)
            elif isinstance(op, _BRANCHES):
                pieces += self._branches(op, within)
            else:
                with ir.InsertionPoint.after(op):
                    pieces += self._op(op, within)
        return pieces

    def _op(self, op: ir.OpView, within: NanSite | None) -> list[Piece]:
        number, self._count = self._count, self._count + 1
        name = op.operation.name
        if name in _SAME_ELEMENTS:
            pieces: list[Piece] = []
            for value, same in zip(op.operands, op.results, strict=True):
                pieces += self._alias(value, same, op)
            return pieces + (self._in_full(op, within) if number == self.detail else [])
        kind = "constant" if isinstance(op, hlo.ConstantOp) else "value"
        operands = operands_of(op, self.sites)
        bad = [value for value in op.results if may_be_nan(value)]
        if bad and _is_clean(op):
            bad = []
        pieces = [
            self._look(value, kind, name, op.location, operands, within, number) for value in bad
        ]
        return pieces + (self._in_full(op, within) if number == self.detail else [])

    def _look(
        self,
        value: ir.Value,
        kind: str,
        op: str,
        location: ir.Location,
        operands: Sequence[tuple[str, NanSite | None]] = (),
        within: NanSite | None = None,
        number: int = -1,
    ) -> Piece:
        site = NanSite(kind, op, location, type_name(value.type), operands, within, number)
        self.sites[value] = site
        self._scalars[value] = self._magnitude(value)
        return [site], vector([self._scalars[value]])

    def _magnitude(self, value: ir.Value) -> ir.Value:
        """The number of a value; for an update of an array, from the numbers of both operands.

        A loop that fills an array would otherwise read all of it in each iteration.
        """
        op = value.owner
        if isinstance(op, hlo.ScatterOp):
            self._stored += [self._scalar(each) for each in op.updates]
        if isinstance(op, hlo.DynamicUpdateSliceOp):
            self._stored.append(self._scalar(op.update))
            return hlo.maximum(self._scalar(op.operand), self._scalar(op.update))
        return magnitude(value, self.element)

    def _alias(self, value: ir.Value, same: ir.Value, op: ir.OpView) -> list[Piece]:
        """Record a value under another one's number.

        A constant gets the location of the op that broadcasts it: its own is that of the call of
        `jax.jit`, or of another op that uses the same constant.
        """
        if value not in self.sites:
            return []
        site, self._scalars[same] = self.sites[value], self._scalars[value]
        if site.kind != "constant" or not frames_of(op.location):
            self.sites[same] = site
            return []
        self.sites[same] = own = replace(site, location=op.location, number=-1)
        return [([own], vector([self._scalars[same]]))]

    def _scalar(self, value: ir.Value) -> ir.Value:
        found = self._scalars.get(value)
        return scalar(0.0, self.element) if found is None else found

    def _in_full(self, op: ir.OpView, within: NanSite | None) -> list[Piece]:
        """The statistics of an op's operands and results."""
        watched = [("operand", value) for value in op.operands]
        watched += [("result", value) for value in op.results]
        return [
            self._statistics(op, what, value, within)
            for what, value in watched
            if is_numeric(value)
        ]

    def _statistics(
        self, op: ir.OpView, what: str, value: ir.Value, within: NanSite | None
    ) -> Piece:
        first = NanSite("statistics", what, op.location, type_name(value.type), (), within)
        more = [NanSite("more", "", op.location) for _ in range(COUNT - 1)]
        return [first, *more], statistics(value, self.element)

    # Loops

    def _loop(self, op: hlo.WhileOp, within: NanSite | None) -> list[Piece]:
        if not _holds_floats(op):
            return []
        given, location, body = list(op.operands), op.location, op.regions[1].blocks[0]
        ops = ops_of(body)
        floats = [index for index, value in enumerate(given) if may_be_nan(value)]
        iteration = NanSite("iteration", "while", location, within=within)
        carried = [
            NanSite("carried", "while", location, *self._flows([given[index]]), iteration)
            for index in floats
        ]
        before = body.add_argument(self._vector_type(max(len(floats), 1)), location)
        number = body.add_argument(self._number_type(), location)
        with ir.InsertionPoint.at_block_begin(body):
            for place, index in enumerate(floats):
                self._set(body.arguments[index], carried[place], item(before, place))
        pieces, stored = self._body(ops, iteration)
        last = terminator(body)
        yielded = [last.operands[index] for index in floats]
        results = [
            NanSite("result", "while", location, *self._flows([value, given[index]]), within)
            for value, index in zip(yielded, floats, strict=True)
        ]
        with ir.InsertionPoint(last):
            after = self._numbers(yielded)
            sites, now = _whole([(_padded(carried), before), *pieces])
            kept = body.add_argument(self._vector_type(1 + len(sites)), location)
            is_first = self._is_to_keep(before, after, stored, pieces)
            following = hlo.add(number, scalar(1, _i32()))
            first = _first(following, now, kept, is_first)
        with ir.InsertionPoint(op):
            start = self._numbers([given[index] for index in floats])
            initial = [start, scalar(0, _i32()), self._zeros(1 + len(sites))]
        new = add_loop_values(op, initial, [after, following, first])
        *_, final, _, record = new.results
        with ir.InsertionPoint.after(new):
            for place, index in enumerate(floats):
                self._set(new.results[index], results[place], item(final, place))
        return [(_padded(results), final), ([iteration, *sites], record)]

    def _body(self, ops: Sequence[ir.OpView], loop: NanSite) -> tuple[list[Piece], list[ir.Value]]:
        """The record of a loop's body, and the numbers of what it stores in arrays."""
        outer, self._stored = self._stored, []
        pieces = self._ops(ops, loop)
        stored, self._stored = self._stored, outer
        return pieces, stored

    def _is_to_keep(
        self,
        before: ir.Value,
        after: ir.Value,
        stored: Sequence[ir.Value],
        pieces: Sequence[Piece],
    ) -> ir.Value:
        """Whether to keep the record of this iteration, if it is the first such: a scalar i1.

        True if a carried value became bad, or something bad was stored in an array, which may have
        been full of NaNs from the start.
        """
        bad = hlo.and_(self._bad(after), hlo.not_(self._bad(before)))
        if stored:
            bad = joined([bad, self._bad(vector(stored))])
        if self.masked and pieces:
            seen = self._bad(joined([values for _, values in pieces]))
            bad = joined([bad, seen])
        ones = convert(bad, self.element)
        return compare("GT", largest(ones), scalar(0.0, self.element))

    def _bad(self, numbers: ir.Value) -> ir.Value:
        """A mask of the numbers of a vector that are NaN, or infinite if `infs` is set."""
        if not self.infs:
            return compare("NE", numbers, numbers)
        infinite = splat(float("inf"), numbers.type)
        return hlo.not_(compare("LT", numbers, infinite))

    # Branches

    def _branches(self, op: ir.OpView, within: NanSite | None) -> list[Piece]:
        if not _holds_floats(op):
            return []
        name, location = op.operation.name, op.location
        floats = [index for index, value in enumerate(op.results) if may_be_nan(value)]
        blocks = [region.blocks[0] for region in op.regions]
        stored, pieces = self._stored, []
        for block in blocks:
            self._stored = []  # values of a branch cannot be used outside of it
            pieces.append(self._ops(ops_of(block), within))
        self._stored = stored
        yields = [[terminator(block).operands[index] for index in floats] for block in blocks]
        results = [
            NanSite("result", name, location, *self._flows(values), within)
            for values in zip(*yields, strict=True)
        ]
        sizes = [sum(len(sites) for sites, _ in each) for each in pieces]
        widened = [
            self._branch(block, values, each, sum(sizes[:place]), sum(sizes[place + 1 :]))
            for place, (block, values, each) in enumerate(zip(blocks, yields, pieces, strict=True))
        ]
        new = add_branch_results(op, widened)
        *_, final, record = new.results
        with ir.InsertionPoint.after(new):
            for place, index in enumerate(floats):
                self._set(new.results[index], results[place], item(final, place))
        sites = [site for each in pieces for some, _ in each for site in some]
        return [(_padded(results), final), (_padded(sites), record)]

    def _branch(
        self,
        block: ir.Block,
        yielded: Sequence[ir.Value],
        pieces: Sequence[Piece],
        ahead: int,
        behind: int,
    ) -> list[ir.Value]:
        """The extra results of a branch: the numbers of its results, and its part of the record."""
        with ir.InsertionPoint(terminator(block)):
            parts = [self._zeros(ahead)] if ahead else []
            parts += [values for _, values in pieces]
            parts += [self._zeros(behind)] if behind else []
            return [self._numbers(yielded), joined(parts) if parts else self._zeros(1)]

    # Helpers

    def _set(self, value: ir.Value, site: NanSite, number: ir.Value) -> None:
        self.sites[value], self._scalars[value] = site, number

    def _flows(self, sources: Sequence[ir.Value]) -> tuple[str, list[tuple[str, NanSite | None]]]:
        """The type of a value that is one of `sources`, and these as operands."""
        kind = type_name(sources[0].type)
        return kind, [(kind, self.sites.get(value)) for value in sources]

    def _numbers(self, values: Sequence[ir.Value]) -> ir.Value:
        return vector([self._scalar(value) for value in values]) if values else self._zeros(1)

    def _zeros(self, count: int) -> ir.Value:
        return splat(0.0, self._vector_type(count))

    def _vector_type(self, count: int) -> ir.Type:
        return ir.RankedTensorType.get((count,), self.element)

    def _number_type(self) -> ir.Type:
        return ir.RankedTensorType.get((), _i32())


def _first(number: ir.Value, now: ir.Value, kept: ir.Value, is_first: ir.Value) -> ir.Value:
    """The record of this iteration with its number, from 1, if it is the first to keep."""
    element = element_type(kept)
    is_open = compare("EQ", item(kept, 0), scalar(0.0, element))
    row = joined([vector([convert(number, element)]), now])
    return hlo.select(hlo.and_(is_first, is_open), row, kept)


def _whole(pieces: Sequence[Piece]) -> Piece:
    sites = [site for some, _ in pieces for site in some]
    return sites, joined([values for _, values in pieces])


def _padded(sites: list[NanSite]) -> list[NanSite]:
    """The sites; a placeholder where there are none, as a vector needs an element."""
    return sites or [NanSite("more", "", ir.Location.unknown())]


def _holds_floats(op: ir.OpView) -> bool:
    inner = (value for each in walk(op) for value in each.results)
    return any(map(may_be_nan, (*op.results, *inner)))


def _is_clean(op: ir.OpView) -> bool:
    """Whether no result of an op can be bad: finite constants, and what is made of integers."""
    if isinstance(op, hlo.ConstantOp):
        return is_finite_constant(op.result)
    if op.operation.name == "stablehlo.convert":
        kind = element_type(op.results[0])
        is_wide = (isinstance(kind, ir.FloatType) and kind.width >= 32) or str(kind) == "bf16"
        return not may_be_nan(op.operands[0]) and is_wide
    return str(op.operation.name) == "stablehlo.iota"


def _i32() -> ir.Type:
    return ir.IntegerType.get_signless(32)
