"""Where a NaN comes from, as a value and in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import JxcError
from ...ir.locations import scopes_of
from ...source import SourceLine, innermost_library_line, innermost_user_line
from .numbers import COUNT, Statistics
from .origin import Bad, Recorded, is_infinite, is_nan, is_not_finite

_SHOWN = 3  # results named in a sentence


@dataclass(frozen=True)
class Finding:
    """The op that made the first NaN (or infinity) that reaches a result.

    Attributes:
        what: "NaN" or "infinity".
        kind: "value", an op made it; "failure", the op is a routine, of linear algebra say, that
            did not succeed, and JAX gives NaN for its results; "argument", it was in what the
            program was given; "constant"; "carried", of a cause, an iteration before this one made
            it; "unknown", in the second run, in which every value is looked at, there was none.
        op: the op's name, such as "log"; of an argument, its name.
        path: the name that JAX gave the op: "jit(step)/jvp()/log".
        place: the user's line; None where no location says so.
        library: where in a library that line calls, as "optax/losses/_regression.py:88"; empty
            where it calls none, or jax alone.
        turns: of the loops around it, the outermost first, counted from 0.
        operands, result: what the op was given and made; empty, and None, where that is not known.
        operand_types: the types of the operands, whether more is known or not.
        largest: the largest absolute value of each operand that is of floats, in order.
        reaches: the results of the program that hold a NaN.
        others: how many other ops made one by themselves.
        cause: of a NaN that came of an infinity: where that comes from.
        call: which call of `jxc.locate_nans` it was, from 0; None elsewhere.
    """

    what: str
    kind: str
    op: str
    path: str = ""
    place: SourceLine | None = None
    library: str = ""
    turns: tuple[int, ...] = ()
    operands: tuple[Statistics, ...] = ()
    result: Statistics | None = None
    operand_types: tuple[str, ...] = ()
    largest: tuple[float, ...] = ()
    reaches: tuple[str, ...] = ()
    others: int = 0
    cause: Finding | None = None
    call: int | None = None

    def as_json(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return {
            "what": self.what,
            "kind": self.kind,
            "op": self.op,
            "path": self.path,
            "file": self.place.file if self.place else None,
            "line": self.place.line if self.place else None,
            "library": self.library,
            "turns": list(self.turns),
            "operands": [each.as_json() for each in self.operands],
            "result": self.result.as_json() if self.result else None,
            "reaches": list(self.reaches),
            "others": self.others,
            "cause": self.cause.as_json() if self.cause else None,
            "call": self.call,
        }

    def __str__(self) -> str:
        call = "" if self.call is None else f"call {self.call} (from 0): "
        lines = [f"{call}{self._sentence()}"]
        if self.place and self.place.text:
            lines.append(f"  {self.place.line} |   {self.place.text}")
        lines += self._within()
        for name, each in self._told():
            lines.append(f"  {name:9} {each.type:16} {each}")
        if not self.operands and self.largest:
            sizes = ", ".join(f"{size:.6g}" for size in self.largest)
            lines.append(f"  largest |operand|: {sizes}")
        if self.reaches:
            lines.append(f"  it reaches {_listed(self.reaches)}")
        if self.others:
            lines.append(f"  {_counted(self.others, 'other op')} made one by itself, further on")
        if self.cause:
            lines.append(f"  the infinity it came of: {self.cause._sentence()}")
            if self.cause.place and self.cause.place.text:
                lines.append(f"  {self.cause.place.line} |   {self.cause.place.text}")
            lines += self.cause._within()
        return "\n".join(lines)

    def _within(self) -> list[str]:
        """Which part of a network it is, and the line in a library: all of it has one line."""
        told = ", ".join(filter(None, ("/".join(scopes_of(self.path)), self.library)))
        return [f"  within    {told}"] if told else []

    def _told(self) -> list[tuple[str, Statistics]]:
        told = [(f"operand {index}", each) for index, each in enumerate(self.operands)]
        return told + ([("result", self.result)] if self.result else [])

    def _sentence(self) -> str:
        where = f" at {self.place}" if self.place else ""
        where += f" ({_short(self.place.function)})" if self.place and self.place.function else ""
        turns = ", in the gradient" if "transpose(" in self.path else ""
        turns += _turns(self.turns)
        match self.kind:
            case "argument":
                return f"there is {_a(self.what)} already in the argument {self.op}"
            case "constant":
                return f"{_a(self.what)} is a constant of the program, put in{where}{turns}"
            case "failure":
                why = _FAILURES.get(self.path.rpartition("/")[2], "did not succeed")
                return f"the first {self.what} is made by {self.op}{where}{turns}: it {why}"
            case "carried":
                return "the loop carried it in from an iteration before"
            case "unknown":
                return (
                    f"there is {_a(self.what)} in {_listed(self.reaches)}, and none in the program "
                    "in which every value is looked at: it depends on how XLA rounds"
                )
        return f"the first {self.what} is made by {self.op}{where}{turns}"


class NanError(JxcError):
    """A program made a NaN.

    Attributes:
        finding: where it comes from.
        outputs: what the program returned.
    """

    def __init__(self, finding: Finding, outputs: Any = None) -> None:
        super().__init__(str(finding))
        self.finding = finding
        self.outputs = outputs


def bad_results(table: dict[str, Any], numbers: Sequence[float]) -> list[str]:
    """The names of the results that hold a NaN; infinities too where they are asked for."""
    bad = is_not_finite if table["infs"] else is_nan
    return [
        name for (name, _), number in zip(table["results"], numbers, strict=True) if bad(number)
    ]


def find(recorded: Recorded) -> tuple[Finding, int] | None:
    """Where the first NaN in a record comes from, with the number of the op; None without any."""
    table = recorded.table
    bad = is_not_finite if table["infs"] else is_nan
    returned = [(name, at) for name, at in table["results"] if recorded.is_bad(at, bad)]
    origins = recorded.origins((at for _, at in returned), bad)
    if not origins and table["watch"] == "masked":
        origins = recorded.everywhere(bad)
    if not origins:
        return None
    first = next((at for at in origins if recorded.sites[at]["kind"] != "constant"), origins[0])
    number = recorded.numbers[first]
    what = "infinity" if bad(number) and not is_nan(number) else "NaN"
    cause = None
    if what == "NaN" and (infinite := _infinite_source(recorded, first)) is not None:
        cause = _described(recorded, infinite, "infinity", is_infinite)
    found = replace(
        _described(recorded, first, what, bad),
        reaches=tuple(name for name, _ in returned),
        others=len(origins) - 1,
        cause=cause,
    )
    return found, recorded.sites[first]["number"]


def _infinite_source(recorded: Recorded, site: int) -> int | None:
    """Where the infinity comes from that an op made a NaN of."""
    found = recorded.origins((at for _, at in recorded.sites[site]["operands"]), is_infinite)
    return found[0] if found else None


def _described(recorded: Recorded, at: int, what: str, bad: Bad) -> Finding:
    site = recorded.sites[at]
    operands = site["operands"]
    largest = [recorded.numbers[each] for _, each in operands if each >= 0]
    kind = site["kind"] if site["kind"] in ("argument", "constant", "carried") else "value"
    is_own = kind == "constant" and site["number"] >= 0  # whose line is that of the whole call
    reader = recorded.reader(at, bad) if is_own else None
    of_line = site if reader is None else recorded.sites[reader]
    stack = recorded.table["stacks"][of_line["stack"]]
    return Finding(
        what,
        kind if bad(recorded.numbers[at]) else "failure",
        site["op"] if kind == "argument" else _name(site),
        site["path"],
        place_of(stack),
        innermost_library_line(SourceLine(*frame) for frame in reversed(stack)),
        recorded.turns(at),
        operand_types=tuple(kind for kind, _ in operands),
        largest=tuple(largest),
    )


def _name(site: dict[str, Any]) -> str:
    """An op as it is known to both: StableHLO's name, and JAX's where that is another."""
    jax_name = site["path"].rpartition("/")[2]
    is_same = not jax_name or jax_name == site["op"] or "(" in jax_name
    return site["op"] if is_same else f"{site['op']} ({jax_name})"


def place_of(stack: Iterable[Sequence[Any]]) -> SourceLine | None:
    """The user's line behind frames, the innermost first; the innermost of all without one."""
    places = [SourceLine(file, line, function) for file, line, function in stack]
    return innermost_user_line(reversed(places)) or (places[0] if places else None)


def with_statistics(finding: Finding, recorded: Recorded) -> Finding:
    """The finding with what a record of the same program says of the op in full."""
    told: dict[str, list[Statistics]] = {"operand": [], "result": []}
    for at, site in enumerate(recorded.sites):
        if site["kind"] == "statistics":
            numbers = recorded.numbers[at : at + COUNT]
            told[site["op"]].append(Statistics.of(site["type"], numbers))
    result = next((each for each in told["result"] if each.nan or each.inf), None)
    if finding.kind != "failure":
        result = result or next(iter(told["result"]), None)
    return replace(finding, operands=tuple(told["operand"]), result=result)


_FAILURES = {
    "cholesky": "failed, since its operand is not positive definite",
    "eig": "did not converge",
    "eigh": "did not converge",
    "schur": "did not converge",
    "svd": "did not converge",
}
"""What it means that a routine did not succeed, by the primitive's name."""


def _short(function: str) -> str:
    """A function's name without the functions that it is defined in."""
    return function.rpartition("<locals>.")[2]


def _turns(turns: Sequence[int]) -> str:
    if not turns:
        return ""
    numbers = ", ".join(map(str, turns))
    if len(turns) == 1:
        return f", in iteration {numbers} (from 0) of its loop"
    return f", in iterations {numbers} (from 0) of its loops, the outermost first"


def _a(what: str) -> str:
    return f"{'an' if what == 'infinity' else 'a'} {what}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more results" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count > 1 else ''}"
