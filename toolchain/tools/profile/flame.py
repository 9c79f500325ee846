"""The running time as a tree: part of the wall clock, line of Python, layer, kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ...source import SourceLine
from .profile import UNKNOWN, WARM_UP, Piece, Profile

_MIN_SHARE = 0.001  # of the running time: narrower nodes are drawn as one


@dataclass
class FlameNode:
    """A node of the tree.

    Attributes:
        name: a part of the wall clock, a line, a named scope, or a kernel.
        seconds: of the wall clock, with all below it.
        part: of the wall clock.
        line: the user's line; None above it, or if unknown.
        detail: what a kernel does.
        children: by name.
    """

    name: str
    seconds: float = 0.0
    part: str = ""
    line: SourceLine | None = None
    detail: str = ""
    children: dict[str, FlameNode] = field(default_factory=dict)


@dataclass(frozen=True)
class FlameBar:
    """A node as it is drawn: `left` and `width` in percent, `depth` from 0."""

    node: FlameNode
    left: float
    width: float
    depth: int


def flame_of(profile: Profile) -> FlameNode:
    """The tree of the running time."""
    root = FlameNode("running")
    for piece in profile.pieces:
        if piece.part in WARM_UP or piece.seconds <= 0:
            continue
        node = root
        node.seconds += piece.seconds
        for name, detail in _path(piece):
            node = node.children.setdefault(name, FlameNode(name, part=piece.part, detail=detail))
            node.line = None if node.name == piece.part else piece.origin.line
            node.seconds += piece.seconds
    return root


def _path(piece: Piece) -> Iterator[tuple[str, str]]:
    origin = piece.origin
    yield piece.part, ""
    if origin.line or origin.library:
        yield str(origin.line or origin.library), origin.line.text if origin.line else ""
    elif piece.kernel:
        yield UNKNOWN, ""
    yield from ((scope, "") for scope in origin.scopes)
    if piece.kernel:
        yield piece.kernel.name, f"{piece.program}  {piece.kernel.what}"


def bars_of(root: FlameNode) -> Iterator[FlameBar]:
    """The bars of a tree, those of a node in order of their time.

    Nodes with less than a thousandth of the whole are drawn as one.
    """
    whole = root.seconds or 1.0
    pending = [(root, 0.0, 0)]
    while pending:
        node, left, depth = pending.pop()
        yield FlameBar(node, 100 * left / whole, 100 * node.seconds / whole, depth)
        for child in _shown(node, _MIN_SHARE * whole):
            pending.append((child, left, depth + 1))
            left += child.seconds


def _shown(node: FlameNode, least: float) -> Iterator[FlameNode]:
    ordered = sorted(node.children.values(), key=lambda child: -child.seconds)
    yield from (child for child in ordered if child.seconds >= least)
    small = [child for child in ordered if child.seconds < least]
    seconds = sum(child.seconds for child in small)
    if seconds >= least:
        yield FlameNode(f"{len(small)} more", seconds, node.part)
