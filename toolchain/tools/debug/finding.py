"""Where a NaN comes from, as a value and as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import JxcError
from ...ir.locations import scopes_of
from ...rewrite.former_names import warn_renamed
from ...source import SourceLine, innermost_library_line, line_of_stack
from ...units import counted
from .origin import IsBad, NanRecord, is_not_finite
from .values import COUNT, Statistics

_MAX_RESULTS = 3  # named in a sentence


@dataclass(frozen=True, repr=False)
class NanFinding:
    """The op that made the first NaN (or infinity) that reaches a result.

    Attributes:
        what: "NaN" or "infinity".
        kind: where it comes from. "value": an op computed it. "failure": a routine, for example of
            linear algebra, failed, and JAX returns NaN for its results. "argument": an argument
            holds it. "constant": it is a constant of the program. "carried" (of a cause): an
            earlier iteration of the loop computed it. "unknown": the second run, which records
            every value, has none.
        op: the op's name, such as "log"; of an argument, the argument's name.
        path: JAX's name of the op: "jit(step)/jvp()/log".
        place: the user's line; None if no location gives one.
        library: the line in a library that this line calls, as "optax/losses/_regression.py:88";
            empty if it calls none, or only jax.
        iterations: of the loops around the op, the outermost first, counted from 0.
        operands, result: statistics of the op's operands and result; empty and None if not known.
        operand_types: the types of the operands.
        largest: the largest absolute value of each floating-point operand, in order.
        reaches: the names of the program's results that hold a NaN.
        others: the number of other ops that made a NaN from operands without one.
        cause: if the NaN comes from an infinity, where that comes from.
        call: the number of the call of `jxc.locate_nans`, from 0; otherwise None.
    """

    what: str
    kind: str
    op: str
    path: str = ""
    place: SourceLine | None = None
    library: str = ""
    iterations: tuple[int, ...] = ()
    operands: tuple[Statistics, ...] = ()
    result: Statistics | None = None
    operand_types: tuple[str, ...] = ()
    largest: tuple[float, ...] = ()
    reaches: tuple[str, ...] = ()
    others: int = 0
    cause: NanFinding | None = None
    call: int | None = None

    @property
    def turns(self) -> tuple[int, ...]:
        """The former name of `iterations`."""
        warn_renamed("turns", "iterations")
        return self.iterations

    def as_json(self) -> dict[str, Any]:
        """The finding as an object. "turns" repeats "iterations", under its former name."""
        return {
            "what": self.what,
            "kind": self.kind,
            "op": self.op,
            "path": self.path,
            "file": self.place.file if self.place else None,
            "line": self.place.line if self.place else None,
            "library": self.library,
            "iterations": list(self.iterations),
            "turns": list(self.iterations),
            "operands": [each.as_json() for each in self.operands],
            "result": self.result.as_json() if self.result else None,
            "reaches": list(self.reaches),
            "others": self.others,
            "cause": self.cause.as_json() if self.cause else None,
            "call": self.call,
        }

    def __repr__(self) -> str:
        return f"<NanFinding: {self._sentence()}>"

    def __str__(self) -> str:
        call = "" if self.call is None else f"call {self.call} (from 0): "
        lines = [f"{call}{self._sentence()}", *self._where()]
        known = [(f"operand {index}", each) for index, each in enumerate(self.operands)]
        known += [("result", self.result)] if self.result else []
        lines += [f"  {name:9} {each.type:16} {each}" for name, each in known]
        if not self.operands and self.largest:
            sizes = ", ".join(f"{size:.6g}" for size in self.largest)
            lines.append(f"  largest |operand|: {sizes}")
        if self.reaches:
            lines.append(f"  it reaches {_listed(self.reaches)}")
        if self.others:
            ops = counted(self.others, "other op")
            lines.append(f"  {ops} also made {_a(self.what)} from operands without one")
        if self.cause:
            lines.append(f"  it comes from an infinity: {self.cause._sentence()}")
            lines += self.cause._where()
        return "\n".join(lines)

    def _where(self) -> list[str]:
        """The text of the line; the part of a network, and the line in a library that it calls."""
        place = self.place
        lines = [f"  {place.line} |   {place.text}"] if place and place.text else []
        inside = ", ".join(filter(None, ("/".join(scopes_of(self.path)), self.library)))
        return lines + [f"  within    {inside}"] * bool(inside)

    def _sentence(self) -> str:
        at = f" at {self.place}" if self.place else ""
        if self.place and self.place.function:
            at += f" ({self.place.function.rpartition('<locals>.')[2]})"
        at += ", in the gradient" if "transpose(" in self.path else ""
        if self.iterations:
            numbers = ", ".join(map(str, self.iterations))
            is_one = len(self.iterations) == 1
            at += (
                f", in iteration {numbers} (from 0) of its loop"
                if is_one
                else (f", in iterations {numbers} (from 0) of its loops, the outermost first")
            )
        match self.kind:
            case "argument":
                return f"the argument {self.op} already holds {_a(self.what)}"
            case "constant":
                return f"{_a(self.what)} is a constant of the program, created{at}"
            case "failure":
                why = _FAILURES.get(self.path.rpartition("/")[2], "failed")
                return f"the first {self.what} is made by {self.op}{at}: it {why}"
            case "carried":
                return "an earlier iteration of the loop computed it"
            case "unknown":
                return (
                    f"{_listed(self.reaches)} holds {_a(self.what)}, but the program that records "
                    "every value does not: it depends on how XLA rounds"
                )
        return f"the first {self.what} is made by {self.op}{at}"


class NanError(JxcError):
    """A program made a NaN. The message names the op, its line and its operands.

    Attributes:
        finding: where the NaN comes from.
        outputs: what the program returned.
    """

    def __init__(self, finding: NanFinding, outputs: Any = None) -> None:
        super().__init__(str(finding))
        self.finding = finding
        self.outputs = outputs

    def __repr__(self) -> str:
        return f"NanError({self.finding!r})"


def bad_results(table: dict[str, Any], numbers: Sequence[float]) -> list[str]:
    """The names of the results that hold a NaN, or an infinity if the table asks for them."""
    is_bad = is_not_finite if table["infs"] else math.isnan
    return [
        name for (name, _), number in zip(table["results"], numbers, strict=True) if is_bad(number)
    ]


def find_first(record: NanRecord) -> tuple[NanFinding, int] | None:
    """Where the first NaN in a record comes from, and the number of the op; None without a NaN."""
    table = record.table
    is_bad = is_not_finite if table["infs"] else math.isnan
    returned = [(name, at) for name, at in table["results"] if record.holds_bad(at, is_bad)]
    origins = record.origins((at for _, at in returned), is_bad)
    if not origins and table["watch"] == "masked":
        origins = record.all_origins(is_bad)
    if not origins:
        return None
    computed = (at for at in origins if record.sites[at]["kind"] != "constant")
    first = next(computed, origins[0])
    number = record.numbers[first]
    what = "infinity" if is_bad(number) and not math.isnan(number) else "NaN"
    cause = None
    if what == "NaN":
        operands = (at for _, at in record.sites[first]["operands"])
        infinite = record.origins(operands, math.isinf)
        cause = _described(record, infinite[0], "infinity", math.isinf) if infinite else None
    found = replace(
        _described(record, first, what, is_bad),
        reaches=tuple(name for name, _ in returned),
        others=len(origins) - 1,
        cause=cause,
    )
    return found, record.sites[first]["number"]


def _described(record: NanRecord, at: int, what: str, is_bad: IsBad) -> NanFinding:
    """The finding for one site, without what other sites say."""
    site = record.sites[at]
    operands = site["operands"]
    kind = site["kind"] if site["kind"] in ("argument", "constant", "carried") else "value"
    # A constant's own line is that of the whole call; the op that reads it has a better one.
    is_own = kind == "constant" and site["number"] >= 0
    reader = record.reader(at, is_bad) if is_own else None
    stack = record.table["stacks"][(site if reader is None else record.sites[reader])["stack"]]
    return NanFinding(
        what,
        kind if is_bad(record.numbers[at]) else "failure",
        site["op"] if kind == "argument" else _op_name(site),
        site["path"],
        line_of_stack(stack),
        innermost_library_line(SourceLine(*frame) for frame in reversed(stack)),
        record.iterations(at),
        operand_types=tuple(type_ for type_, _ in operands),
        largest=tuple(record.numbers[each] for _, each in operands if each >= 0),
    )


def _op_name(site: dict[str, Any]) -> str:
    """StableHLO's name of an op, followed by JAX's if that differs: "divide (div)"."""
    name, jax_name = str(site["op"]), site["path"].rpartition("/")[2]
    is_same = not jax_name or jax_name == name or "(" in jax_name
    return name if is_same else f"{name} ({jax_name})"


def with_statistics(finding: NanFinding, record: NanRecord) -> NanFinding:
    """The finding with statistics of its operands and result, from a record that has them."""
    found: dict[str, list[Statistics]] = {"operand": [], "result": []}
    for at, site in enumerate(record.sites):
        if site["kind"] == "statistics":
            numbers = record.numbers[at : at + COUNT]
            found[site["op"]].append(Statistics.of(site["type"], numbers))
    result = next((each for each in found["result"] if each.nan or each.inf), None)
    if finding.kind != "failure":
        result = result or next(iter(found["result"]), None)
    return replace(finding, operands=tuple(found["operand"]), result=result)


_FAILURES = {
    "cholesky": "failed, since its operand is not positive definite",
    "eig": "did not converge",
    "eigh": "did not converge",
    "schur": "did not converge",
    "svd": "did not converge",
}
"""Why a routine fails, by the name of its primitive."""


def _a(what: str) -> str:
    return f"{'an' if what == 'infinity' else 'a'} {what}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_RESULTS} more results" if len(names) > _MAX_RESULTS else ""
    return ", ".join(names[:_MAX_RESULTS]) + more
