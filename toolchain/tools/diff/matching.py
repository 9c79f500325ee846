"""Pairs of corresponding ops in two programs.

1. Number the nodes of both programs, as compilers number values (`NodeNumbers`). `down` stands for
   what a node computes: its op, types and attributes, and the numbers of its operands. `up` stands
   for what it is computed for: its users and their numbers. One table serves both programs, so two
   nodes with equal numbers have equal expressions; there are no hash collisions. Variants of both
   leave out types and attributes (`down_shape`, `up_shape`).
2. The programs are the same if their blocks have equal numbers.
3. Otherwise pair nodes with equal keys, the most reliable keys first: both numbers, then one number
   with the other's shape, then one number alone (`_pair_by_numbers`). Among equal keys, nodes of
   the same line of Python are preferred.
4. Then pair neighbours of pairs that are alike (`_pair_neighbours`): operands of the same position,
   and users that read the same operand position. Whatever is left is paired by its line of Python
   and its types, attributes or name, each time followed by the neighbours.

Every step is linear in the number of nodes.
"""

from __future__ import annotations

import difflib
import re
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence

from .graph import ARGUMENT, RESULT, DiffNode, Graph

COMMUTATIVE = frozenset(
    f"{dialect}{name}"
    for dialect in ("stablehlo.", "")
    for name in ("add", "multiply", "maximum", "minimum", "and", "or", "xor")
)

_Users = dict[DiffNode, list[tuple[DiffNode, int, int]]]
"""For each node its users, the position of the operand, and which of the node's results it is."""


class NodeNumbers:
    """The numbers of the nodes of two programs: equal for equal expressions.

    Attributes:
        down: by what a node computes; an argument by its pair.
        up: by what it is computed for.
        down_shape, up_shape: the same by the names of ops alone, without types and attributes.
    """

    def __init__(
        self, one: Graph, other: Graph, arguments: Iterable[tuple[DiffNode, DiffNode]]
    ) -> None:
        self._table: dict[Hashable, int] = {}
        self._argument_pairs = {n: number for number, pair in enumerate(arguments) for n in pair}
        self.down: dict[DiffNode, int] = {}
        self.up: dict[DiffNode, int] = {}
        self.down_shape: dict[DiffNode, int] = {}
        self.up_shape: dict[DiffNode, int] = {}
        for graph in (one, other):
            nodes, users = [*graph.arguments, *graph.nodes], _users(graph.walk())
            self._number_down(nodes, self.down, 0, True)
            self._number_up(nodes, self.up, users, True)
            self._number_down(nodes, self.down_shape, 0, False)
            self._number_up(nodes, self.up_shape, users, False)

    def of_block(self, nodes: Sequence[DiffNode], known: dict[DiffNode, int]) -> int:
        """The number of a block: its results, its effects in order, and the rest in any order."""
        results = tuple(known[node] for node in nodes if node.op == RESULT)
        effects = tuple(known[node] for node in nodes if node.is_ordered)
        rest = sorted(known[node] for node in nodes if not node.is_ordered)
        return self._number(("block", results, effects, tuple(rest)))

    def _number(self, key: Hashable) -> int:
        return self._table.setdefault(key, len(self._table))

    def _number_down(
        self, nodes: Sequence[DiffNode], known: dict[DiffNode, int], level: int, is_exact: bool
    ) -> None:
        """Number nodes after their operands."""
        arguments = 0
        for node in nodes:
            if node in self._argument_pairs:
                known[node] = self._number(("pair", self._argument_pairs[node]))
                continue
            signature = node.signature if is_exact else None
            if node.op == ARGUMENT:
                known[node] = self._number((ARGUMENT, level, arguments, signature))
                arguments += 1
                continue
            operands = [(known[operand], index) for operand, index in node.operands]
            if node.op in COMMUTATIVE:
                operands.sort()
            regions = []
            for region in node.regions:
                self._number_down(region, known, level + 1, is_exact)
                regions.append(self.of_block(region, known))
            known[node] = self._number((node.op, signature, tuple(operands), tuple(regions)))

    def _number_up(
        self, nodes: Sequence[DiffNode], known: dict[DiffNode, int], users: _Users, is_exact: bool
    ) -> None:
        """Number nodes after their users and their owner."""
        for node in reversed(nodes):
            owner = known[node.owner] if node.owner else -1
            reads = []
            for user, position, result in users.get(node, ()):
                signature = user.signature if is_exact else None
                where = -1 if user.op in COMMUTATIVE else position
                reads.append(self._number((user.op, signature, known[user], where, result)))
            known[node] = self._number(("used by", owner, tuple(sorted(reads))))
            for number, region in enumerate(node.regions):
                end = region[-1]
                known[end] = self._number(("end of", known[node], number))
                self._number_up(region[:-1], known, users, is_exact)


def _users(nodes: Iterable[DiffNode]) -> _Users:
    """The users of each node that are among `nodes`."""
    found: _Users = {}
    for node in nodes:
        for position, (operand, result) in enumerate(node.operands):
            found.setdefault(operand, []).append((node, position, result))
    return found


_Key = Callable[[DiffNode], Hashable]
"""What pairs nodes: two nodes with an equal key. None excludes a node."""


class Matching:
    """The pairs of nodes of two programs.

    Attributes:
        one, other: the programs.
        partner: from a node of either program to that of the other.
        arguments: the pairs of the entry's arguments, in order.
        is_same: whether both programs compute the same from the same arguments.
    """

    def __init__(self, one: Graph, other: Graph) -> None:
        self.one, self.other = one, other
        self.partner: dict[DiffNode, DiffNode] = {}
        self.arguments = _paired_arguments(one, other)
        self._numbers = NodeNumbers(one, other, self.arguments)
        down = self._numbers.down
        self.is_same = (
            self._numbers.of_block(one.nodes, down) == self._numbers.of_block(other.nodes, down)
            and one.program.signature == other.program.signature
            and [n.signature for n in one.arguments] == [n.signature for n in other.arguments]
        )
        self._pair_all()

    def pairs(self) -> Iterable[tuple[DiffNode, DiffNode]]:
        """Every pair, in the order of `one`."""
        yield self.one.program, self.other.program
        yield from ((n, self.partner[n]) for n in self.one.walk() if n in self.partner)

    def _pair_all(self) -> None:
        for pair in self.arguments:
            self._join(*pair)
        self._pair_by_numbers()
        self._pair_neighbours(_whole)
        for line in (_line_and_path, _line):
            self._pair_by(_joint(line, _whole))
            self._pair_neighbours(_whole)
        for like in (_types, _attributes):
            self._pair_by(_joint(_line_and_path, like))
        self._pair_neighbours(_types)
        self._pair_by(_joint(_line, _types))
        self._pair_by(_joint(_line_and_path, _name))
        self._pair_neighbours(_name)
        self._pair_by(lambda node: None if node.site else _whole(node))
        self._pair_neighbours(_name)

    def _pair_by_numbers(self) -> None:
        """Pair by structure, the most reliable key first; among equals, those of one line."""
        n = self._numbers
        keys: Sequence[_Key] = (
            lambda node: (n.down[node], n.up[node]),
            lambda node: (n.down[node], n.up_shape[node]),
            lambda node: (n.up[node], n.down_shape[node]),
            lambda node: (
                n.down_shape[node],
                n.up_shape[node],
                None if node.operands else node.types,
            ),
            lambda node: n.down[node] if node.operands else None,
            lambda node: (n.up[node], _whole(node)),
        )
        for key in keys:
            for line in (_line_and_path, _line, lambda node: ()):
                self._pair_by(_joint(key, line))

    def _pair_by(self, key: _Key) -> None:
        """Pair the remaining nodes with equal keys, in order."""
        waiting: dict[Hashable, deque[DiffNode]] = {}
        for node in self._unpaired(self.one):
            if (found := key(node)) is not None:
                waiting.setdefault(found, deque()).append(node)
        for node in self._unpaired(self.other) if waiting else ():
            if queue := waiting.get(key(node)):
                self._join(queue.popleft(), node)

    def _unpaired(self, graph: Graph) -> list[DiffNode]:
        return [node for node in graph.walk() if node not in self.partner]

    def _join(self, one: DiffNode, other: DiffNode) -> None:
        self.partner[one], self.partner[other] = other, one

    def _pair_neighbours(self, like: _Key) -> None:
        """Pair neighbours of pairs that are alike, and their neighbours in turn."""
        users, other_users = (_users(self._unpaired(graph)) for graph in (self.one, self.other))
        pending = deque(self.pairs())
        while pending:
            one, other = pending.popleft()
            near = _neighbours(one, other)
            near += _alike_users(users.pop(one, ()), other_users.pop(other, ()), like)
            for a, b in near:
                if a in self.partner or b in self.partner:
                    continue
                # Arguments and ends of regions are paired by position.
                key = like(a) if a.is_op else a.op
                if key is not None and key == (like(b) if a.is_op else b.op):
                    self._join(a, b)
                    pending.append((a, b))


# Keys


def _whole(node: DiffNode) -> Hashable:
    return (node.op, node.types, node.attributes)


def _types(node: DiffNode) -> Hashable:
    return (node.op, node.types)


def _attributes(node: DiffNode) -> Hashable:
    return (node.op, node.attributes) if node.operands else None


def _name(node: DiffNode) -> Hashable:
    return node.op if node.operands else None


def _line_and_path(node: DiffNode) -> Hashable:
    return (node.site.identity, node.path) if node.site and node.path else None


def _line(node: DiffNode) -> Hashable:
    return node.site.identity if node.site else None


def _joint(one: _Key, other: _Key) -> _Key:
    """Both keys as one; a node has it if it has both."""

    def key(node: DiffNode) -> Hashable:
        first = one(node)
        second = None if first is None else other(node)
        return None if second is None else (first, second)

    return key


# Neighbours


def _neighbours(one: DiffNode, other: DiffNode) -> list[tuple[DiffNode, DiffNode]]:
    """The operands of both by position, and the arguments and ends of their regions."""
    found: list[tuple[DiffNode, DiffNode]] = []
    if len(one.operands) == len(other.operands):
        pairs = zip(one.operands, other.operands, strict=True)
        found += [(a, b) for (a, _), (b, _) in pairs]
    for regions in zip(one.regions, other.regions, strict=False):
        ends = ([node for node in nodes if not node.is_op] for nodes in regions)
        found += zip(*ends, strict=False)
    return found


def _alike_users(
    users: Iterable[tuple[DiffNode, int, int]],
    others: Iterable[tuple[DiffNode, int, int]],
    like: _Key,
) -> list[tuple[DiffNode, DiffNode]]:
    """The users of both nodes that are alike and read the same operand position."""
    waiting: dict[Hashable, deque[DiffNode]] = {}
    for user, position, _ in users:
        waiting.setdefault((position, like(user)), deque()).append(user)
    found = []
    for user, position, _ in others:
        if queue := waiting.get((position, like(user))):
            found.append((queue.popleft(), user))
    return found


# Arguments

_NO_NAME = re.compile(r"arg\d+$")  # MLIR's name of an argument without one
_MAX_ALIGNED = 500  # arguments that are aligned by types, which takes quadratic time


def _paired_arguments(one: Graph, other: Graph) -> list[tuple[DiffNode, DiffNode]]:
    """Pairs in order; if the numbers differ, aligned by name, or by type without names."""
    if len(one.arguments) == len(other.arguments):
        return list(zip(one.arguments, other.arguments, strict=True))
    keys, others = list(one.names), list(other.names)
    if all(_NO_NAME.match(name) for name in (*keys, *others)):
        if max(len(keys), len(others)) > _MAX_ALIGNED:
            return list(zip(one.arguments, other.arguments, strict=False))
        keys, others = ([str(node.types) for node in g.arguments] for g in (one, other))
    found = difflib.SequenceMatcher(None, keys, others, autojunk=False).get_matching_blocks()
    return [
        (one.arguments[block.a + k], other.arguments[block.b + k])
        for block in found
        for k in range(block.size)
    ]
