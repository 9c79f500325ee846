"""Which op of one program is which of the other: by what it computes and is computed for, then by
its line of Python, then by its neighbours. Every step is linear in the number of ops."""

from __future__ import annotations

import difflib
import re
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence

from .graph import Graph, Node
from .numbers import Numbers

_Key = Callable[[Node], Hashable]  # None: this node is not looked for by it


class Matching:
    """The pairs of two programs.

    Attributes:
        one, other: what is compared.
        partner: from a node of either to that of the other.
        arguments: the pairs of the entry's arguments, in order.
        is_same: whether both compute the same, from the same arguments.
    """

    def __init__(self, one: Graph, other: Graph) -> None:
        self.one, self.other = one, other
        self.partner: dict[Node, Node] = {}
        self.arguments = _paired_arguments(one, other)
        paired = {node: number for number, pair in enumerate(self.arguments) for node in pair}
        self._numbers = Numbers(one, other, paired)
        self.is_same = self._is_same()
        self._pair()

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

    def _pair(self) -> None:
        for pair in self.arguments:
            self._join(*pair)
        self._by_numbers()
        self._spread(_whole)
        for place in (_by_line_and_path, _by_line):
            self._by(_joint(place, _whole))
            self._spread(_whole)
        for like in (_of_types, _of_attributes):
            self._by(_joint(_by_line_and_path, like))
        self._spread(_of_types)
        self._by(_joint(_by_line, _of_types))
        self._by(_joint(_by_line_and_path, _of_name))
        self._spread(_of_name)
        self._by(lambda node: None if node.site else _whole(node))
        self._spread(_of_name)

    def _by_numbers(self) -> None:
        """Pair by structure, the surest first; where several are alike, those of one line."""
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
            for refined in (_by_line_and_path, _by_line, _anywhere):
                self._by(_joint(key, refined))

    def _by(self, key: _Key) -> None:
        """Pair what is left and has the same key, in order."""
        waiting: dict[Hashable, deque[Node]] = {}
        for node in self._left(self.one):
            if (found := key(node)) is not None:
                waiting.setdefault(found, deque()).append(node)
        if not waiting:
            return
        for node in self._left(self.other):
            if queue := waiting.get(key(node)):
                self._join(queue.popleft(), node)

    def _left(self, graph: Graph) -> list[Node]:
        return [node for node in graph.walk() if node not in self.partner]

    def _join(self, one: Node, other: Node) -> None:
        self.partner[one], self.partner[other] = other, one

    def _spread(self, like: _Key) -> None:
        """Pair the neighbours of pairs that are alike: what both read, what reads both."""
        one, other = _readers(self._left(self.one)), _readers(self._left(self.other))
        agenda = deque(self.pairs())
        while agenda:
            pair = agenda.popleft()
            near = (*_operands_of(*pair), *_ends_of(*pair), *_readers_of(*pair, one, other, like))
            for a, b in near:
                if a in self.partner or b in self.partner or not _are_alike(a, b, like):
                    continue
                self._join(a, b)
                agenda.append((a, b))


def _are_alike(one: Node, other: Node, like: _Key) -> bool:
    if not one.is_op:  # arguments and ends of blocks, which stand where they stand
        return one.op == other.op
    found = like(one)
    return found is not None and found == like(other)


def _whole(node: Node) -> Hashable:
    return (node.op, node.types, node.attributes)


def _of_types(node: Node) -> Hashable:
    return (node.op, node.types)


def _of_attributes(node: Node) -> Hashable:
    return (node.op, node.attributes) if node.operands else None


def _of_name(node: Node) -> Hashable:
    return node.op if node.operands else None


def _operands_of(one: Node, other: Node) -> Iterable[tuple[Node, Node]]:
    if len(one.operands) != len(other.operands):
        return []
    pairs = zip(one.operands, other.operands, strict=True)
    return [(a, b) for (a, _), (b, _) in pairs]


def _ends_of(one: Node, other: Node) -> Iterable[tuple[Node, Node]]:
    """The arguments and the ends of what is inside of both."""
    for inside in zip(one.regions, other.regions, strict=False):
        yield from zip(*([n for n in nodes if not n.is_op] for nodes in inside), strict=False)


_Readers = dict[Node, list[tuple[Node, int]]]


def _readers(nodes: Sequence[Node]) -> _Readers:
    found: _Readers = {}
    for node in nodes:
        for position, (operand, _) in enumerate(node.operands):
            found.setdefault(operand, []).append((node, position))
    return found


def _readers_of(
    one: Node, other: Node, ones: _Readers, others: _Readers, like: _Key
) -> Iterable[tuple[Node, Node]]:
    """What is left of the readers of both, each with one that is like it."""
    waiting: dict[Hashable, deque[Node]] = {}
    for reader, position in ones.pop(one, ()):
        waiting.setdefault((position, like(reader)), deque()).append(reader)
    found = []
    for reader, position in others.pop(other, ()):
        if queue := waiting.get((position, like(reader))):
            found.append((queue.popleft(), reader))
    return found


def _by_line_and_path(node: Node) -> Hashable:
    return (node.site.identity, node.path) if node.site and node.path else None


def _by_line(node: Node) -> Hashable:
    return node.site.identity if node.site else None


def _anywhere(node: Node) -> Hashable:
    return ()


def _joint(one: _Key, other: _Key) -> _Key:
    """Both keys as one, which a node has where it has both."""

    def key(node: Node) -> Hashable:
        first = one(node)
        second = None if first is None else other(node)
        return None if second is None else (first, second)

    return key


_NO_NAME = re.compile(r"arg\d+$")  # what stands for the name of an argument that has none
_MOST_ALIKE = 500  # arguments that are aligned by their types, which takes the square of that


def _paired_arguments(one: Graph, other: Graph) -> list[tuple[Node, Node]]:
    """In order; where one has more of them, by name, or by type where they have no names."""
    if len(one.arguments) == len(other.arguments):
        return list(zip(one.arguments, other.arguments, strict=True))
    words, others = list(one.names), list(other.names)
    if all(_NO_NAME.match(name) for name in (*words, *others)):
        if max(len(words), len(others)) > _MOST_ALIKE:
            return list(zip(one.arguments, other.arguments, strict=False))
        words, others = ([str(node.types) for node in g.arguments] for g in (one, other))
    found = difflib.SequenceMatcher(None, words, others, autojunk=False).get_matching_blocks()
    return [
        (one.arguments[block.a + k], other.arguments[block.b + k])
        for block in found
        for k in range(block.size)
    ]
