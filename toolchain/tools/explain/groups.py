"""Many compilations as few lines: by function and line, and by the reason they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...source import SourceLine
from .calls import Call
from .reasons import eager_fix, fix_for, fix_of, join, mask, new_object
from .records import Compilation, Difference, Reason
from .sizes import padding_waste, propose_sizes

_SHOWN = 6  # values of something that varied, in a sentence
_MANY_OPS = 5  # programs of one operation each that a line may have before it is told of


@dataclass
class Row:
    """What one line of the user's made JAX compile of one function, or op by op.

    Attributes:
        function: its name; of ops, the most frequent ones.
        called: the user's line.
        is_eager: whether these are single operations outside of any jit.
        compilations: its programs, in order.
    """

    function: str
    called: SourceLine | None
    is_eager: bool
    compilations: list[Compilation] = field(default_factory=list)

    @property
    def seconds(self) -> dict[str, float]:
        """By stage, over all of them."""
        total: Counter[str] = Counter()
        for each in self.compilations:
            total.update(each.seconds)
        return dict(total)

    @property
    def total(self) -> float:
        """Seconds in all stages."""
        return sum(self.seconds.values())

    @property
    def times(self) -> int:
        """How many programs came to be; what was only traced does not count."""
        return sum(each.is_compiled for each in self.compilations)

    def as_json(self) -> dict[str, Any]:
        return {
            "function": self.function,
            "called": str(self.called) if self.called else None,
            "eager": self.is_eager,
            "times": self.times,
            "seconds": self.seconds,
            "compilations": [each.number for each in self.compilations],
        }


def rows_of(compilations: Iterable[Compilation]) -> list[Row]:
    """One row for each function at each line, the costliest first; eager ops by line alone."""
    rows: dict[Hashable, Row] = {}
    for each in compilations:
        line = (each.called.file, each.called.line) if each.called else None
        key = (line, "") if each.is_eager else (line, each.function, each.defined)
        row = rows.setdefault(key, Row(each.function, each.called, each.is_eager))
        row.compilations.append(each)
    for row in rows.values():
        if row.is_eager:
            row.function = _op_names(row.compilations)
    return sorted(rows.values(), key=lambda row: -row.total)


def _op_names(compilations: Sequence[Compilation], most: int = 3) -> str:
    names = [name for name, _ in Counter(each.function for each in compilations).most_common()]
    more = f" +{len(names) - most}" if len(names) > most else ""
    return ", ".join(names[:most]) + more


@dataclass(frozen=True)
class Group:
    """Compilations of one function that happened again for one kind of reason.

    Attributes:
        function: its name.
        called: the user's lines.
        numbers: of the compilations.
        kinds: of the differences, such as ("shape",); ("eager",) for ops outside of any jit.
        seconds: that they took.
        sentence: why, in words.
        fix: what to do about it, in words.
        sizes: what to pad to, where that helps.
    """

    function: str
    called: tuple[SourceLine, ...]
    numbers: tuple[int, ...]
    kinds: tuple[str, ...]
    seconds: float
    sentence: str
    fix: str
    sizes: tuple[int, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "function": self.function,
            "called": [str(place) for place in self.called],
            "compilations": list(self.numbers),
            "kinds": list(self.kinds),
            "seconds": self.seconds,
            "sentence": self.sentence,
            "fix": self.fix,
            "sizes": list(self.sizes),
        }


def groups_of(compilations: Sequence[Compilation], calls: Mapping[int, Call]) -> list[Group]:
    """The reasons for all that was compiled again, the costliest first."""
    again: dict[tuple[Hashable, tuple[str, ...], frozenset[str]], list[Compilation]] = {}
    for each in compilations:
        if each.reason is not None and each.is_compiled and not each.is_eager:
            kinds = tuple(dict.fromkeys(d.kind for d in each.reason.differences))
            again.setdefault((calls[each.number].key, kinds, _names(each.reason)), []).append(each)
    reasons = Counter(function for function, *_ in again)
    groups = [
        _group(members, compilations, calls, kinds, is_only=reasons[function] == 1)
        for (function, kinds, _), members in again.items()
    ]
    groups += [_eager_group(row) for row in rows_of(compilations) if _is_worth_telling(row)]
    return sorted(groups, key=lambda group: -group.seconds)


def _names(reason: Reason) -> frozenset[str]:
    """The static arguments and closures that are to blame: each has a remedy of its own."""
    return frozenset(
        each.where for each in reason.differences if each.kind in ("static value", "closure")
    )


def _is_worth_telling(row: Row) -> bool:
    return row.is_eager and row.times >= _MANY_OPS


def _group(
    members: Sequence[Compilation],
    compilations: Sequence[Compilation],
    calls: Mapping[int, Call],
    kinds: tuple[str, ...],
    *,
    is_only: bool,
) -> Group:
    told = _Told(members, calls)
    reason = members[-1].reason
    assert reason is not None
    lines = tuple(dict.fromkeys(each.called for each in members if each.called))
    sizes: tuple[int, ...] = ()
    if len(members) == 1 or not kinds:
        sentence, fix = reason.sentence, reason.fix
        if kinds:  # later calls may tell more than was known when it was compiled
            call = calls[members[-1].number]
            others = [each for each in calls.values() if each.key == call.key]
            fix = fix_of(call, reason.differences, others)
        if "shape" in kinds:
            sizes = told.sizes()
    else:
        sizes = told.sizes() if "shape" in kinds else ()
        because = "; and ".join(told.because(kind) for kind in kinds)
        sentence = f"{told.name} was compiled {told.times(is_only)}, because {because}"
        fix = " ".join(dict.fromkeys(told.fix(kind, sizes) for kind in kinds))
    return Group(
        function=told.name,
        called=lines,
        numbers=tuple(each.number for each in members),
        kinds=kinds,
        seconds=sum(sum(each.seconds.values()) for each in members),
        sentence=sentence,
        fix=fix,
        sizes=sizes,
    )


class _Told:
    """Compilations of one function for one kind of reason, as sentences tell of them."""

    def __init__(self, members: Sequence[Compilation], calls: Mapping[int, Call]) -> None:
        self._members = members
        first = members[0].reason
        assert first is not None
        self._calls = [calls[each.number] for each in members]
        self._before = calls[first.nearest]
        self.name = self._calls[0].function.name
        self._differences = [d for each in members if each.reason for d in each.reason.differences]

    def times(self, is_only: bool) -> str:
        """How often, the first time included where all were for this reason."""
        return f"{len(self._members) + 1} times" if is_only else f"{len(self._members)} times again"

    def of(self, kind: str) -> list[Difference]:
        """The differences of one kind."""
        return [each for each in self._differences if each.kind == kind]

    def because(self, kind: str) -> str:
        """What varied, with the values that it took."""
        places = dict.fromkeys(each.where for each in self.of(kind))
        match kind:
            case "shape":
                return self._shapes()
            case "function":
                return f"each time {new_object(self._calls[0])}"
            case "static value":
                return _and(f"the static argument {p} {self._varied(kind, p)}" for p in places)
            case "closure":
                return _and(
                    f"{p}, which it takes from outside, {self._varied(kind, p)}" for p in places
                )
            case "metadata":
                return _and(f"what {p} holds beside arrays {self._varied(kind, p)}" for p in places)
            case "sharding":
                return _and(f"the placement of {p} {self._varied(kind, p)}" for p in places)
        word = {"dtype": "the dtype of ", "weak type": "the type of "}.get(kind, "")
        return _and(f"{word}{p} {self._varied(kind, p)}" for p in places)

    def _varied(self, kind: str, where: str) -> str:
        found = [each for each in self.of(kind) if each.where == where]
        values = [found[0].before, *(each.after for each in found)]
        if len(set(values)) == 1:  # told apart by identity alone
            return f"was {values[0]}, another one each time"
        return f"varied: {_listed(values)}"

    def _shapes(self) -> str:
        """Each dimension that varied, arguments that varied alike being named together."""
        varied: dict[tuple[str, tuple[Any, ...]], list[str]] = {}
        for name, dimension, extents in self._dimensions():
            varied.setdefault((dimension, tuple(extents)), []).append(name)
        return _and(
            f"the {dimension} of {join(names)} varied: {_listed(map(str, extents))}"
            for (dimension, extents), names in varied.items()
        )

    def _dimensions(self) -> Iterable[tuple[str, str, list[Any]]]:
        for name in dict.fromkeys(each.where for each in self.of("shape")):
            shapes = [
                leaf.shape
                for call in (self._before, *self._calls)
                for leaf in call.leaves
                if leaf.name == name
            ]
            if len({len(shape) for shape in shapes}) > 1:
                yield name, "rank", [len(shape) for shape in shapes]
                continue
            for axis, extents in enumerate(zip(*shapes, strict=True)):
                if len(set(extents)) > 1:
                    yield name, f"{_ordinal(axis)} dimension", list(extents)

    def sizes(self) -> tuple[int, ...]:
        """What to pad the one dimension to that varied; nothing where several did."""
        varied = {tuple(extents) for _, word, extents in self._dimensions() if word != "rank"}
        if len(varied) != 1:
            return ()
        extents = [n for n in next(iter(varied)) if isinstance(n, int)]
        return propose_sizes(extents)

    def fix(self, kind: str, sizes: tuple[int, ...]) -> str:
        """What to do about one kind."""
        if kind != "shape" or not sizes:
            return fix_for(kind, self.of(kind), self._calls)
        dimensions, masked = list(self._dimensions()), mask(self._calls[0])
        names = join(dict.fromkeys(name for name, _, _ in dimensions))
        extents = [n for n in dimensions[0][2] if isinstance(n, int)]
        if len(set(extents)) <= len(sizes):
            return f"Pad {names} to {max(sizes)}, so that one program serves all. {masked}"
        waste = padding_waste(extents, sizes)
        return (
            f"Pad {names} to {_either(sizes)}: {_programs(len(sizes))} instead of "
            f"{len(set(extents))}, {waste:.0%} of it padding. {masked}"
        )


def _and(parts: Iterable[str], most: int = 4) -> str:
    """Parts that have commas of their own, as one; of many, the first and how many more."""
    listed = list(parts)
    more = [f"{len(listed) - most} more"] if len(listed) > most else []
    return "; and ".join([*listed[:most], *more])


def _programs(count: int) -> str:
    return "1 program" if count == 1 else f"{count} programs"


def _either(sizes: Sequence[int]) -> str:
    listed = [str(size) for size in sizes]
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} or {listed[-1]}"


def _ordinal(axis: int) -> str:
    names = ("first", "second", "third", "fourth", "fifth", "sixth")
    return names[axis] if axis < len(names) else f"{axis + 1}th"


def _listed(values: Iterable[str]) -> str:
    different = list(dict.fromkeys(values))
    if len(different) <= _SHOWN:
        return ", ".join(different)
    return f"{', '.join(different[:_SHOWN])}, ... ({len(different)} in all)"


def _eager_group(row: Row) -> Group:
    compiled = [each for each in row.compilations if each.is_compiled]
    types = {tuple(each.arguments.values()) for each in compiled}
    again = sum(each.reason is not None for each in compiled)
    sentence = (
        f"{len(compiled)} programs of one operation each were compiled, since what this line does "
        f"runs outside of jax.jit: {row.function}"
    )
    if again:
        sentence += f"; {again} of them again"
        sentence += f", for {len(types)} different types of arguments" if len(types) > 1 else ""
    fix = eager_fix(is_varied=bool(again))
    called = (row.called,) if row.called else ()
    numbers = tuple(each.number for each in compiled)
    return Group(row.function, called, numbers, ("eager",), row.total, sentence, fix)
