"""The differences between two programs, op by op, grouped by line of Python.

A node without a partner is "fewer" or "more"; a pair with other types or attributes is "changed"; a
pair that reads other ops, is in another region, or has its effect in another order is "rewired".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, starmap
from typing import Any, Literal

from .graph import ARGUMENT, PROGRAM, DiffNode, Graph, QuotedLine
from .matching import COMMUTATIVE, Matching

Kind = Literal["fewer", "more", "changed", "rewired"]
_MAX_LETTERS = 160  # of a value of an attribute


@dataclass(frozen=True)
class DifferenceGroup:
    """Ops of one name and line that differ in the same way.

    Attributes:
        kind: "fewer": only in the first program; "more": only in the second; "changed": in both,
            with other types or attributes; "rewired": in both, with other operands.
        op: such as "stablehlo.add"; or "argument", "result", "program".
        count: the number of ops.
        site: the line of Python in the program that has the ops; in the second if both have.
        before: the line in the first program, of "changed" and "rewired".
        changes: of "changed": names of types and attributes, with both values.
        example: the type of the ops, if they have one.
    """

    kind: Kind
    op: str
    count: int
    site: QuotedLine | None
    before: QuotedLine | None = None
    changes: tuple[tuple[str, str, str], ...] = ()
    example: str = ""

    def as_json(self) -> dict[str, Any]:
        """The group as an object."""
        names = ("what", "before", "after")
        changes = [dict(zip(names, change, strict=True)) for change in self.changes]
        return asdict(self) | {"changes": changes}

    @property
    def changes_text(self) -> str:
        """The changes as text; of a compiler's long configuration, only its name."""
        return "; ".join(starmap(_change_text, self.changes))


def _change_text(what: str, before: str, after: str) -> str:
    if what == "backend_config":
        return what
    before, after = (
        text if len(text) <= _MAX_LETTERS else f"{text[: _MAX_LETTERS - 1]}…"
        for text in (before, after)
    )
    if before and after:
        return f"{what} {before} → {after}"
    return f"{what} {before and f'was {before}'}{after and f'is now {after}'}"


@dataclass(frozen=True)
class GraphDifference:
    """The differences between two graphs.

    Attributes:
        is_same: whether both compute the same.
        ops: the number of ops of each program by name, calls followed.
        groups: the differences; the line with the most comes first.
    """

    is_same: bool
    ops: tuple[Mapping[str, int], Mapping[str, int]]
    groups: Sequence[DifferenceGroup]

    @property
    def by_line(self) -> list[tuple[QuotedLine | None, list[DifferenceGroup]]]:
        """The groups by line of Python, in the same order."""
        runs = (list(run) for _, run in groupby(self.groups, key=lambda group: str(group.site)))
        return [(run[0].site, run) for run in runs]

    def as_json(self) -> dict[str, Any]:
        """The differences as an object."""
        one, other = self.ops
        return {
            "same": self.is_same,
            "ops": {
                name: {"before": one.get(name, 0), "after": other.get(name, 0)}
                for name in sorted({*one, *other})
            },
            "groups": [group.as_json() for group in self.groups],
        }


def differ(one: Graph, other: Graph) -> GraphDifference:
    """The differences between two programs."""
    matching = Matching(one, other)
    ops, other_ops = (Counter(n.op for n in graph.walk() if n.is_op) for graph in (one, other))
    groups: list[DifferenceGroup] = []
    if not matching.is_same:
        groups = _groups(matching) or [DifferenceGroup("rewired", PROGRAM, 1, None)]
    return GraphDifference(matching.is_same, (ops, other_ops), groups)


def _groups(matching: Matching) -> list[DifferenceGroup]:
    pairs = Counter((*_changed(matching), *_rewired(matching)))
    found = [
        *_alone("fewer", matching.one, matching),
        *_alone("more", matching.other, matching),
        *(
            DifferenceGroup(kind, op, count, site, before, changes)
            for (kind, op, site, before, changes), count in pairs.items()
        ),
    ]
    weights: Counter[str] = Counter()
    for group in found:
        weights[str(group.site)] += group.count if group.kind != "rewired" else 0

    def rank(group: DifferenceGroup) -> tuple[int, str, int, int, str]:
        line = str(group.site)
        return (-weights[line], line, _ORDER[group.kind], -group.count, group.op)

    return sorted(found, key=rank)


_ORDER: Mapping[str, int] = {"changed": 0, "fewer": 1, "more": 2, "rewired": 3}


def _alone(kind: Kind, graph: Graph, matching: Matching) -> Iterable[DifferenceGroup]:
    gathered: dict[Any, list[DiffNode]] = {}
    for node in graph.walk():
        is_shown = node.is_op or (node.op == ARGUMENT and node.owner is None)
        if is_shown and node not in matching.partner:
            gathered.setdefault((node.op, node.site), []).append(node)
    for (op, site), nodes in gathered.items():
        types = {node.describe().get("type", "") for node in nodes}
        example = types.pop() if len(types) == 1 else ""
        yield DifferenceGroup(kind, op, len(nodes), site, example=example)


_Pair = tuple[Kind, str, QuotedLine | None, QuotedLine | None, tuple[tuple[str, str, str], ...]]
"""What equal differences of pairs share: the fields of a `DifferenceGroup` but their number."""


def _changed(matching: Matching) -> Iterator[_Pair]:
    for one, other in matching.pairs():
        is_inside = one.op == ARGUMENT and one.owner is not None  # its owner has the type
        if one.signature != other.signature and not is_inside:
            yield "changed", other.op, other.site, one.site, _changes(one, other)


def _changes(one: DiffNode, other: DiffNode) -> tuple[tuple[str, str, str], ...]:
    before, after = one.describe(), other.describe()
    names = dict.fromkeys((*before, *after))
    pairs = ((name, before.get(name, ""), after.get(name, "")) for name in names)
    # Large constants that differ have the same text.
    return tuple(each for each in pairs if each[1] != each[2]) or (("elements", "", ""),)


def _rewired(matching: Matching) -> Iterator[_Pair]:
    for one, other in matching.pairs():
        if one.op != PROGRAM and _is_rewired(one, other, matching.partner):
            yield "rewired", other.op, other.site, one.site, ()
    # The nodes of the second program whose effects come later than in the first.
    order = {node: index for index, node in enumerate(matching.one.walk()) if node.is_ordered}
    last = -1
    for node in matching.other.walk():
        index = order.get(matching.partner.get(node, node), last)
        if index < last:
            yield "rewired", node.op, node.site, matching.partner[node].site, ()
        last = max(last, index)


def _is_rewired(one: DiffNode, other: DiffNode, partner: Mapping[DiffNode, DiffNode]) -> bool:
    """Whether a pair has operands or owners that are not partners of each other.

    Operands that only one program has do not count: they are differences of their own.
    """
    if one.owner and other.owner and partner.get(one.owner, other.owner) is not other.owner:
        return True
    if (one.owner is None) != (other.owner is None):
        return True
    if len(one.operands) != len(other.operands) or len(one.regions) != len(other.regions):
        return True
    pairs = list(zip(one.operands, other.operands, strict=True))
    if one.op in COMMUTATIVE:
        reads = {(partner.get(a), index) for a, index in one.operands}
        known = all(a in partner and b in partner for (a, _), (b, _) in pairs)
        return known and reads != {*other.operands}
    known_pairs = [each for each in pairs if each[0][0] in partner and each[1][0] in partner]
    return any(partner[a] is not b or x != y for (a, x), (b, y) in known_pairs)
