"""Numbers for nodes: two nodes have the same number just where what it stands for is the same.

Values are numbered as compilers number them: from the operands (what is computed) and from the
users (what it is computed for). One table serves both programs that are compared, so that equal
numbers mean equal expressions, and nothing rests on a hash that might collide.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from .graph import ARGUMENT, RESULT, Graph, Node

COMMUTATIVE = frozenset(
    f"{dialect}{name}"
    for dialect in ("stablehlo.", "")
    for name in ("add", "multiply", "maximum", "minimum", "and", "or", "xor")
)


class Numbers:
    """The numbers of every node of two programs.

    Attributes:
        down: by what it computes; an argument by its pair.
        up: by what it is computed for.
        down_shape, up_shape: the same by the names of ops alone, types and attributes left out.
    """

    def __init__(self, one: Graph, other: Graph, paired: dict[Node, int]) -> None:
        self._table: dict[Hashable, int] = {}
        self._paired = paired
        self.down: dict[Node, int] = {}
        self.up: dict[Node, int] = {}
        self.down_shape: dict[Node, int] = {}
        self.up_shape: dict[Node, int] = {}
        for graph in (one, other):
            users = _users(graph)
            for down, up, whole in (
                (self.down, self.up, True),
                (self.down_shape, self.up_shape, False),
            ):
                self._downwards([*graph.arguments, *graph.nodes], down, 0, whole)
                self._upwards(graph.nodes, up, users, whole)
                self._upwards(graph.arguments, up, users, whole)

    def of_block(self, nodes: Sequence[Node], down: dict[Node, int] | None = None) -> int:
        """The number of what a block gives and does, whatever the order of the rest."""
        known = self.down if down is None else down
        gives = tuple(known[node] for node in nodes if node.op == RESULT)
        does = tuple(known[node] for node in nodes if node.is_ordered)
        rest = sorted(known[node] for node in nodes if not node.is_ordered)
        return self._number(("block", gives, does, tuple(rest)))

    def _number(self, key: Hashable) -> int:
        return self._table.setdefault(key, len(self._table))

    def _downwards(
        self, nodes: Sequence[Node], known: dict[Node, int], level: int, whole: bool
    ) -> None:
        arguments = 0
        for node in nodes:
            if node in self._paired:
                known[node] = self._number(("given", self._paired[node]))
                continue
            signature = node.signature if whole else None
            if node.op == ARGUMENT:
                known[node] = self._number((ARGUMENT, level, arguments, signature))
                arguments += 1
                continue
            reads = [(known[operand], index) for operand, index in node.operands]
            if node.op in COMMUTATIVE:
                reads.sort()
            inside = []
            for region in node.regions:
                self._downwards(region, known, level + 1, whole)
                inside.append(self.of_block(region, known))
            known[node] = self._number((node.op, signature, tuple(reads), tuple(inside)))

    def _upwards(
        self,
        nodes: Sequence[Node],
        known: dict[Node, int],
        users: dict[Node, list[tuple[Node, int, int]]],
        whole: bool,
    ) -> None:
        """Users come after what they use, and owners before what is in them."""
        for node in reversed(nodes):
            above = known[node.owner] if node.owner else -1
            reads = []
            for user, operand, result in users.get(node, ()):
                signature = user.signature if whole else None
                place = -1 if user.op in COMMUTATIVE else operand
                reads.append(self._number((user.op, signature, known[user], place, result)))
            known[node] = self._number(("for", above, tuple(sorted(reads))))
            for position, region in enumerate(node.regions):
                ends = region[-1]
                known[ends] = self._number(("ends", known[node], position))
                self._upwards(region[:-1], known, users, whole)


def _users(graph: Graph) -> dict[Node, list[tuple[Node, int, int]]]:
    found: dict[Node, list[tuple[Node, int, int]]] = {}
    for node in graph.walk():
        for position, (operand, result) in enumerate(node.operands):
            found.setdefault(operand, []).append((node, position, result))
    return found
