"""Summaries of compilations: rows by function and line, and groups by reason.

A row has the time of one function at one line. A group has the recompilations of one function that
have the same kinds of differences. Its sentence says what varied and over which values, and its fix
what to do about it. For a dimension that varied, the fix proposes sizes to pad to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from ...cost.padding import padding_waste, propose_shapes, propose_sizes
from ...source import SourceLine
from ...units import counted
from .calls import JitCall
from .compilations import Compilation
from .reasons import (
    SUBJECTS,
    fix_of_call,
    fix_of_kind,
    fix_of_operations,
    join,
    mask_padding,
    new_object,
)

_MAX_VALUES = 6  # of something that varied, in a sentence
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
_MAX_OPERATIONS = 3  # of one line that a row names
_MIN_OPERATIONS = 5  # outside of jit at one line, below which they are not reported


@dataclass
class CompilationRow:
    """What one line of the user's made JAX compile of one function, or of single operations.

    Attributes:
        function: its name; for operations, the most frequent ones.
        called: the user's line.
        is_eager: whether these are single operations outside of any jit.
        compilations: its programs, in order.
    """

    function: str
    called: SourceLine | None
    is_eager: bool
    compilations: list[Compilation] = field(default_factory=list)

    def __repr__(self) -> str:
        where = f" at {self.called}" if self.called else ""
        return f"<CompilationRow: {self.function}{where}, {self.times} times, {self.total:.3g} s>"

    @property
    def seconds(self) -> dict[str, float]:
        """By stage, over all programs."""
        return dict(seconds_by_stage(self.compilations))

    @property
    def total(self) -> float:
        """Seconds in all stages."""
        return sum(self.seconds.values())

    @property
    def times(self) -> int:
        """How many programs were compiled; those that were only traced do not count."""
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


def seconds_by_stage(compilations: Iterable[Compilation | CompilationRow]) -> Counter[str]:
    """The seconds of all programs together, by stage."""
    total: Counter[str] = Counter()
    for each in compilations:
        total.update(each.seconds)
    return total


def rows_of(compilations: Iterable[Compilation]) -> list[CompilationRow]:
    """A row for each function at each line, operations by line alone; the longest time first."""
    rows: dict[Hashable, CompilationRow] = {}
    for each in compilations:
        line = (each.called.file, each.called.line) if each.called else None
        key = (line, "") if each.is_eager else (line, each.function, each.defined)
        row = rows.setdefault(key, CompilationRow(each.function, each.called, each.is_eager))
        row.compilations.append(each)
    for row in rows.values():
        if row.is_eager:
            counts = Counter(each.function for each in row.compilations)
            names = [name for name, _ in counts.most_common()]
            more = f" +{len(names) - _MAX_OPERATIONS}" if len(names) > _MAX_OPERATIONS else ""
            row.function = ", ".join(names[:_MAX_OPERATIONS]) + more
    return sorted(rows.values(), key=lambda row: -row.total)


@dataclass(frozen=True)
class RecompilationGroup:
    """Compilations of one function that happened again for the same kinds of differences.

    Attributes:
        function: its name.
        called: the user's lines.
        numbers: of the compilations.
        kinds: of the differences, such as ("shape",); ("eager",) for operations outside of jit.
        seconds: of these compilations.
        sentence: why they happened.
        fix: what the user can do about it.
        sizes: what to pad to, if that helps.
    """

    function: str
    called: tuple[SourceLine, ...]
    numbers: tuple[int, ...]
    kinds: tuple[str, ...]
    seconds: float
    sentence: str
    fix: str
    sizes: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return f"<RecompilationGroup: {self.sentence}>"

    def as_json(self) -> dict[str, Any]:
        return {
            "function": self.function,
            "called": [str(line) for line in self.called],
            "compilations": list(self.numbers),
            "kinds": list(self.kinds),
            "seconds": self.seconds,
            "sentence": self.sentence,
            "fix": self.fix,
            "sizes": list(self.sizes),
        }


def groups_of(
    compilations: Sequence[Compilation], calls: Mapping[int, JitCall]
) -> list[RecompilationGroup]:
    """Everything that was compiled again, by reason; the longest time first."""
    members: dict[tuple[Hashable, tuple[str, ...], frozenset[str]], list[Compilation]] = {}
    for each in compilations:
        if each.reason is not None and each.is_compiled and not each.is_eager:
            kinds = tuple(dict.fromkeys(d.kind for d in each.reason.differences))
            # Static arguments and captured variables have each their own fix.
            own = ("static value", "closure")
            names = frozenset(d.where for d in each.reason.differences if d.kind in own)
            members.setdefault((calls[each.number].key, kinds, names), []).append(each)
    reasons = Counter(function for function, *_ in members)
    groups = [
        _Recompilations(found, calls, kinds).group(is_only_reason=reasons[function] == 1)
        for (function, kinds, _), found in members.items()
    ]
    rows = (row for row in rows_of(compilations) if row.is_eager and row.times >= _MIN_OPERATIONS)
    return sorted([*groups, *map(_operations_group, rows)], key=lambda group: -group.seconds)


class _Recompilations:
    """The compilations of one group, and the words for them."""

    def __init__(
        self, members: Sequence[Compilation], calls: Mapping[int, JitCall], kinds: tuple[str, ...]
    ) -> None:
        reasons = [each.reason for each in members if each.reason is not None]
        self.members, self.kinds, self.last_reason = members, kinds, reasons[-1]
        self.calls = [calls[each.number] for each in members]
        self.all_calls = [each for each in calls.values() if each.key == self.calls[0].key]
        self.differences = [each for reason in reasons for each in reason.differences]
        before = calls[reasons[0].nearest]
        self.varied_dimensions = self._varied_dimensions([before, *self.calls])

    def group(self, *, is_only_reason: bool) -> RecompilationGroup:
        name, kinds, count = self.calls[0].function.name, self.kinds, len(self.members)
        sizes = self._sizes() if "shape" in kinds else ()
        if count == 1 or not kinds:
            sentence, fix = self.last_reason.sentence, self.last_reason.fix
            if kinds:  # calls after this one may change what the best fix is
                fix = fix_of_call(self.calls[-1], self.last_reason.differences, self.all_calls)
        else:
            times = f"{count + 1} times" if is_only_reason else f"{count} more times"
            because = "; and ".join(self._because(kind) for kind in kinds)
            sentence = f"{name} was compiled {times}, because {because}"
            fix = " ".join(dict.fromkeys(self._fix(kind, sizes) for kind in kinds))
        return RecompilationGroup(
            function=name,
            called=tuple(dict.fromkeys(each.called for each in self.members if each.called)),
            numbers=tuple(each.number for each in self.members),
            kinds=kinds,
            seconds=sum(each.total for each in self.members),
            sentence=sentence,
            fix=fix,
            sizes=sizes,
        )

    def _because(self, kind: str) -> str:
        """What varied, with its values."""
        if kind == "function":
            return f"each time {new_object(self.calls[0])}"
        if kind == "shape":
            return _and(
                f"the {dimension} of {join(names)} {_varied(map(str, sizes))}"
                for (dimension, sizes), names in self.varied_dimensions.items()
            )
        subjects = SUBJECTS | {"dtype": "the dtype of {}", "weak type": "the type of {}"}
        found = [each for each in self.differences if each.kind == kind]
        clauses = []
        for where in dict.fromkeys(each.where for each in found):
            own = [each for each in found if each.where == where]
            values = [own[0].before, *(each.after for each in own)]
            is_one = len(set(values)) == 1  # only the identity differs
            varied = f"was {values[0]}, another one each time" if is_one else _varied(values)
            clauses.append(f"{subjects.get(kind, '{}').format(where)} {varied}")
        return _and(clauses)

    def _varied_dimensions(
        self, calls: Sequence[JitCall]
    ) -> dict[tuple[str, tuple[Any, ...]], list[str]]:
        """By dimension in words and the sizes that it had, in order: the names of the arguments."""
        found: dict[tuple[str, tuple[Any, ...]], list[str]] = {}
        for name in dict.fromkeys(each.where for each in self.differences if each.kind == "shape"):
            shapes = [leaf.shape for call in calls for leaf in call.leaves if leaf.name == name]
            ranks = tuple(map(len, shapes))
            if len(set(ranks)) > 1:
                found.setdefault(("rank", ranks), []).append(name)
                continue
            for axis, sizes in enumerate(zip(*shapes, strict=True)):
                if len(set(sizes)) > 1:
                    ordinal = _ORDINALS[axis] if axis < len(_ORDINALS) else f"{axis + 1}th"
                    found.setdefault((f"{ordinal} dimension", sizes), []).append(name)
        return found

    def _sizes(self) -> tuple[int, ...]:
        """What to pad the dimension to that varied; nothing if several did."""
        varied = {sizes for word, sizes in self.varied_dimensions if word != "rank"}
        if len(varied) != 1:
            return ()
        return propose_sizes(size for size in next(iter(varied)) if isinstance(size, int))

    def _fix(self, kind: str, sizes: tuple[int, ...]) -> str:
        if kind == "shape" and not sizes and (fix := self._fix_of_several_dimensions()):
            return fix
        if kind != "shape" or not sizes:
            found = [each for each in self.differences if each.kind == kind]
            return fix_of_kind(kind, found, self.calls)
        names = join(dict.fromkeys(chain(*self.varied_dimensions.values())))
        _, varied = next(iter(self.varied_dimensions))
        seen = [size for size in varied if isinstance(size, int)]
        mask = mask_padding(self.calls[0])
        if len(set(seen)) <= len(sizes):
            return f"Pad {names} to {max(sizes)}, so that one program serves all calls. {mask}"
        programs = counted(len(sizes), "program")
        return (
            f"Pad {names} to {_options(sizes)}: {programs} instead of {len(set(seen))}, with "
            f"{padding_waste(seen, sizes):.0%} padding. {mask}"
        )

    def _fix_of_several_dimensions(self) -> str:
        """The padded sizes of dimensions that vary on their own, and the programs they would give.

        Empty where the ranks differ, or where a size is 0 or symbolic.
        """
        varied = [(word, sizes) for word, sizes in self.varied_dimensions]
        shapes = [sizes for _, sizes in varied]
        is_usable = len(varied) > 1 and len(set(map(len, shapes))) == 1
        if not is_usable or not all(isinstance(n, int) and n > 0 for each in shapes for n in each):
            return ""
        seen = list(zip(*shapes, strict=True))
        of_arrays = [
            [at for at, key in enumerate(varied) if name in self.varied_dimensions[key]]
            for name in dict.fromkeys(chain(*self.varied_dimensions.values()))
        ]
        sizes, programs, waste = propose_shapes(seen, of_arrays)
        paddings = [
            f"the {word} of {join(self.varied_dimensions[word, each])} to {_options(chosen)}"
            for (word, each), chosen in zip(varied, sizes, strict=True)
        ]
        count = "one program" if programs == 1 else f"{programs} programs"
        return (
            f"Pad {_and(paddings)}: {count} instead of {len(set(seen))}, with {waste:.0%} padding. "
            f"{mask_padding(self.calls[0], len(varied))}"
        )


def _operations_group(row: CompilationRow) -> RecompilationGroup:
    compiled = [each for each in row.compilations if each.is_compiled]
    types = {tuple(each.arguments.values()) for each in compiled}
    again = sum(each.reason is not None for each in compiled)
    sentence = (
        f"{len(compiled)} programs of one operation each were compiled, because this line runs "
        f"outside jax.jit: {row.function}"
    )
    if again:
        sentence += f"; {again} of them again"
        sentence += f", for {len(types)} different types of arguments" if len(types) > 1 else ""
    return RecompilationGroup(
        function=row.function,
        called=(row.called,) if row.called else (),
        numbers=tuple(each.number for each in compiled),
        kinds=("eager",),
        seconds=row.total,
        sentence=sentence,
        fix=fix_of_operations(is_varied=bool(again)),
    )


def _and(clauses: Iterable[str], most: int = 4) -> str:
    """Clauses that contain commas; of more than four, the first four and the number of others."""
    listed = list(clauses)
    more = [f"{len(listed) - most} more"] if len(listed) > most else []
    return "; and ".join([*listed[:most], *more])


def _varied(values: Iterable[str]) -> str:
    different = list(dict.fromkeys(values))
    shown = ", ".join(different[:_MAX_VALUES])
    more = f", ... ({len(different)} in all)" if len(different) > _MAX_VALUES else ""
    return f"varied: {shown}{more}"


def _options(sizes: Sequence[int]) -> str:
    return " or ".join(filter(None, (", ".join(map(str, sizes[:-1])), str(sizes[-1]))))
