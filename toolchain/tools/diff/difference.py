"""What two programs differ in, op by op, gathered by line of Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .graph import ARGUMENT, PROGRAM, Graph, Node, Site
from .match import Matching
from .numbers import COMMUTATIVE

Kind = Literal["fewer", "more", "changed", "rewired"]


@dataclass(frozen=True)
class Group:
    """Ops that differ alike.

    Attributes:
        kind: "fewer": in the first program alone; "more": in the second alone; "changed": in both,
            with other types or attributes; "rewired": in both, reading other ops.
        op: such as "stablehlo.add"; "argument", "result" or "program" for what is no op.
        count: how many.
        site: the line of Python, in the program that has it; of "changed", in the second.
        before: the site in the first program, of "changed" and "rewired".
        changes: of "changed", what differs: by name, in the first and in the second.
        example: the type of each, where it is the same one.
    """

    kind: Kind
    op: str
    count: int
    site: Site | None
    before: Site | None = None
    changes: tuple[tuple[str, str, str], ...] = ()
    example: str = ""

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`."""
        return {
            "kind": self.kind,
            "op": self.op,
            "count": self.count,
            "site": _site(self.site),
            "before": _site(self.before),
            "changes": [
                {"what": what, "before": before, "after": after}
                for what, before, after in self.changes
            ],
            "example": self.example,
        }


def _site(site: Site | None) -> dict[str, Any] | None:
    return dict(vars(site)) if site else None


@dataclass(frozen=True)
class Difference:
    """How two programs differ.

    Attributes:
        is_same: whether they compute the same.
        ops: how many ops each has of a name, calls followed.
        groups: what differs, the lines with most of it first.
    """

    is_same: bool
    ops: tuple[Mapping[str, int], Mapping[str, int]]
    groups: Sequence[Group]

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`."""
        one, other = self.ops
        return {
            "same": self.is_same,
            "ops": {
                name: {"before": one.get(name, 0), "after": other.get(name, 0)}
                for name in sorted({*one, *other})
            },
            "groups": [group.as_json() for group in self.groups],
        }


def differ(one: Graph, other: Graph) -> Difference:
    """Match two programs and gather what differs."""
    matching = Matching(one, other)
    ops = _count(one), _count(other)
    if matching.is_same:
        return Difference(True, ops, [])
    return Difference(False, ops, _groups(matching) or [Group("rewired", PROGRAM, 1, None)])


def _count(graph: Graph) -> Mapping[str, int]:
    return Counter(node.op for node in graph.walk() if node.is_op)


def _groups(matching: Matching) -> list[Group]:
    alone = [
        *_alone("fewer", matching.one, matching),
        *_alone("more", matching.other, matching),
    ]
    found = [*alone, *_changed(matching), *_rewired(matching)]
    weights: Counter[str] = Counter()
    for group in found:
        weights[str(group.site)] += group.count if group.kind != "rewired" else 0

    def rank(group: Group) -> tuple[int, str, int, int, str]:
        line = str(group.site)
        return (-weights[line], line, _ORDER[group.kind], -group.count, group.op)

    return sorted(found, key=rank)


_ORDER: Mapping[str, int] = {"changed": 0, "fewer": 1, "more": 2, "rewired": 3}


def _alone(kind: Kind, graph: Graph, matching: Matching) -> Iterable[Group]:
    gathered: dict[Any, list[Node]] = {}
    for node in graph.walk():
        is_shown = node.is_op or (node.op == ARGUMENT and node.owner is None)
        if is_shown and node not in matching.partner:
            gathered.setdefault((node.op, node.site), []).append(node)
    for (op, site), nodes in gathered.items():
        types = {node.describe().get("type", "") for node in nodes}
        example = types.pop() if len(types) == 1 else ""
        yield Group(kind, op, len(nodes), site, example=example)


def _changed(matching: Matching) -> Iterable[Group]:
    gathered: Counter[Any] = Counter()
    for one, other in matching.pairs():
        is_inside = one.op == ARGUMENT and one.owner is not None  # as its owner says
        if one.signature != other.signature and not is_inside:
            changes = _changes(one, other)
            gathered[(other.op, other.site, one.site, changes)] += 1
    for (op, site, before, changes), count in gathered.items():
        yield Group("changed", op, count, site, before, changes)


def _changes(one: Node, other: Node) -> tuple[tuple[str, str, str], ...]:
    before, after = one.describe(), other.describe()
    names = dict.fromkeys((*before, *after))
    pairs = ((name, before.get(name, ""), after.get(name, "")) for name in names)
    # Two large constants read alike, and differ.
    return tuple(each for each in pairs if each[1] != each[2]) or (("elements", "", ""),)


def _rewired(matching: Matching) -> Iterable[Group]:
    gathered: Counter[Any] = Counter()
    for one, other in matching.pairs():
        if one.op != PROGRAM and _is_rewired(one, other, matching.partner):
            gathered[(other.op, other.site, one.site)] += 1
    for node in _out_of_turn(matching):
        gathered[(node.op, node.site, matching.partner[node].site)] += 1
    for (op, site, before), count in gathered.items():
        yield Group("rewired", op, count, site, before)


def _is_rewired(one: Node, other: Node, partner: Mapping[Node, Node]) -> bool:
    """Whether they read, or stand in, what is not each other's partner.

    What is in one program alone is told of as such, and not once more for each of its readers.
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


def _out_of_turn(matching: Matching) -> Iterable[Node]:
    """What somebody outside notices, in the second program, after what it was noticed before."""
    turns = {node: turn for turn, node in enumerate(matching.one.walk()) if node.is_ordered}
    last = -1
    for node in matching.other.walk():
        turn = turns.get(matching.partner.get(node, node), last)
        if turn < last:
            yield node
        last = max(last, turn)
