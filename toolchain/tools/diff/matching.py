"""Which op of one program is which op of the other.

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

from .graph import ARGUMENT, RESULT, Graph, Node

COMMUTATIVE = frozenset(
    f"{dialect}{name}"
    for dialect in ("stablehlo.", "")
    for name in ("add", "multiply", "maximum", "minimum", "and", "or", "xor")
)

_Users = dict[Node, list[tuple[Node, int, int]]]
"""For each node its users, the position of the operand, and which of the node's results it is."""


class NodeNumbers:
    """The numbers of the nodes of two programs: equal for equal expressions.

    Attributes:
        down: by what a node computes; an argument by its pair.
        up: by what it is computed for.
        down_shape, up_shape: the same by the names of ops alone, without types and attributes.
    """

    def __init__(self, one: Graph, other: Graph, argument_pairs: dict[Node, int]) -> None:
        self._table: dict[Hashable, int] = {}
        self._argument_pairs = argument_pairs
        self.down: dict[Node, int] = {}
        self.up: dict[Node, int] = {}
        self.down_shape: dict[Node, int] = {}
        self.up_shape: dict[Node, int] = {}
        for graph in (one, other):
            users = _users(graph)
            for down, up, is_exact in (
                (self.down, self.up, True),
                (self.down_shape, self.up_shape, False),
            ):
                self._number_down([*graph.arguments, *graph.nodes], down, 0, is_exact)
                self._number_up(graph.nodes, up, users, is_exact)
                self._number_up(graph.arguments, up, users, is_exact)

    def of_block(self, nodes: Sequence[Node], down: dict[Node, int] | None = None) -> int:
        """The number of a block: its results, its effects in order, and the rest in any order."""
        known = self.down if down is None else down
        results = tuple(known[node] for node in nodes if node.op == RESULT)
        effects = tuple(known[node] for node in nodes if node.is_ordered)
        rest = sorted(known[node] for node in nodes if not node.is_ordered)
        return self._number(("block", results, effects, tuple(rest)))

    def _number(self, key: Hashable) -> int:
        return self._table.setdefault(key, len(self._table))

    def _number_down(
        self, nodes: Sequence[Node], known: dict[Node, int], level: int, is_exact: bool
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
        self, nodes: Sequence[Node], known: dict[Node, int], users: _Users, is_exact: bool
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


def _users(graph: Graph) -> _Users:
    found: _Users = {}
    for node in graph.walk():
        for position, (operand, result) in enumerate(node.operands):
            found.setdefault(operand, []).append((node, position, result))
    return found


_Key = Callable[[Node], Hashable]
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
        self.partner: dict[Node, Node] = {}
        self.arguments = _paired_arguments(one, other)
        argument_pairs = {
            node: number for number, pair in enumerate(self.arguments) for node in pair
        }
        self._numbers = NodeNumbers(one, other, argument_pairs)
        self.is_same = self._is_same()
        self._pair_all()

    def pairs(self) -> Iterable[tuple[Node, Node]]:
        """Every pair, in the order of `one`."""
        yield self.one.program, self.other.program
        yield from ((n, self.partner[n]) for n in self.one.walk() if n in self.partner)

    def _is_same(self) -> bool:
        one, other = self.one, self.other
        return (
            self._numbers.of_block(one.nodes) == self._numbers.of_block(other.nodes)
            and one.program.signature == other.program.signature
            and [n.signature for n in one.arguments] == [n.signature for n in other.arguments]
        )

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
            for line in (_line_and_path, _line, _anywhere):
                self._pair_by(_joint(key, line))

    def _pair_by(self, key: _Key) -> None:
        """Pair the remaining nodes with equal keys, in order."""
        waiting: dict[Hashable, deque[Node]] = {}
        for node in self._unpaired(self.one):
            if (found := key(node)) is not None:
                waiting.setdefault(found, deque()).append(node)
        if not waiting:
            return
        for node in self._unpaired(self.other):
            if queue := waiting.get(key(node)):
                self._join(queue.popleft(), node)

    def _unpaired(self, graph: Graph) -> list[Node]:
        return [node for node in graph.walk() if node not in self.partner]

    def _join(self, one: Node, other: Node) -> None:
        self.partner[one], self.partner[other] = other, one

    def _pair_neighbours(self, like: _Key) -> None:
        """Pair neighbours of pairs that are alike, and their neighbours in turn."""
        one, other = _readers(self._unpaired(self.one)), _readers(self._unpaired(self.other))
        pending = deque(self.pairs())
        while pending:
            pair = pending.popleft()
            near = (
                *_operand_pairs(*pair),
                *_region_pairs(*pair),
                *_reader_pairs(*pair, one, other, like),
            )
            for a, b in near:
                if a in self.partner or b in self.partner or not _are_alike(a, b, like):
                    continue
                self._join(a, b)
                pending.append((a, b))


def _are_alike(one: Node, other: Node, like: _Key) -> bool:
    if not one.is_op:  # arguments and ends of regions are paired by position
        return one.op == other.op
    found = like(one)
    return found is not None and found == like(other)


# Keys


def _whole(node: Node) -> Hashable:
    return (node.op, node.types, node.attributes)


def _types(node: Node) -> Hashable:
    return (node.op, node.types)


def _attributes(node: Node) -> Hashable:
    return (node.op, node.attributes) if node.operands else None


def _name(node: Node) -> Hashable:
    return node.op if node.operands else None


def _line_and_path(node: Node) -> Hashable:
    return (node.site.identity, node.path) if node.site and node.path else None


def _line(node: Node) -> Hashable:
    return node.site.identity if node.site else None


def _anywhere(node: Node) -> Hashable:
    return ()


def _joint(one: _Key, other: _Key) -> _Key:
    """Both keys as one; a node has it if it has both."""

    def key(node: Node) -> Hashable:
        first = one(node)
        second = None if first is None else other(node)
        return None if second is None else (first, second)

    return key


# Neighbours


def _operand_pairs(one: Node, other: Node) -> Iterable[tuple[Node, Node]]:
    if len(one.operands) != len(other.operands):
        return []
    pairs = zip(one.operands, other.operands, strict=True)
    return [(a, b) for (a, _), (b, _) in pairs]


def _region_pairs(one: Node, other: Node) -> Iterable[tuple[Node, Node]]:
    """The arguments and ends of the regions of both."""
    for regions in zip(one.regions, other.regions, strict=False):
        yield from zip(*([n for n in nodes if not n.is_op] for nodes in regions), strict=False)


_Readers = dict[Node, list[tuple[Node, int]]]


def _readers(nodes: Sequence[Node]) -> _Readers:
    """Those of `nodes` that read each node, with the position of the operand."""
    found: _Readers = {}
    for node in nodes:
        for position, (operand, _) in enumerate(node.operands):
            found.setdefault(operand, []).append((node, position))
    return found


def _reader_pairs(
    one: Node, other: Node, ones: _Readers, others: _Readers, like: _Key
) -> Iterable[tuple[Node, Node]]:
    """The remaining readers of both that are alike and read the same operand position."""
    waiting: dict[Hashable, deque[Node]] = {}
    for reader, position in ones.pop(one, ()):
        waiting.setdefault((position, like(reader)), deque()).append(reader)
    found = []
    for reader, position in others.pop(other, ()):
        if queue := waiting.get((position, like(reader))):
            found.append((queue.popleft(), reader))
    return found


# Arguments

_NO_NAME = re.compile(r"arg\d+$")  # MLIR's name of an argument without one
_MAX_ALIGNED = 500  # arguments that are aligned by types, which takes quadratic time


def _paired_arguments(one: Graph, other: Graph) -> list[tuple[Node, Node]]:
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
