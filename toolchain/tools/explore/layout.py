"""Positions for the nodes of a small graph: a layered drawing after Sugiyama, from top to bottom.

1. A node's layer is the length of the longest path to it; a node that reads nothing is above its
   first reader. Edges that close a cycle are reversed.
2. A long edge gets a bend in each layer that it crosses.
3. The order in each layer follows the mean position of its neighbours, in sweeps down and up.
4. Nodes are placed beside each other in that order, then moved towards their neighbours as far as
   the nodes beside them allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_GAP, _BEND_WIDTH, _LAYER_HEIGHT, _MARGIN, _SWEEPS = 18.0, 6.0, 76.0, 24.0, 6
Point = tuple[float, float]


@dataclass(frozen=True)
class Drawing:
    """The center of each node and the points of each edge, in pixels; and the size of the whole."""

    centers: list[Point]
    paths: list[list[Point]]
    width: float
    height: float


def lay_out(widths: Sequence[float], edges: Sequence[tuple[int, int]]) -> Drawing:
    """Positions for nodes of these widths, and for edges from one node to another."""
    count = len(widths)
    forward = _without_cycles(count, edges)
    layer = _layers(count, forward)
    sizes, chains = list(widths), []
    for start, end in forward:
        chain = [start]
        for level in range(layer[start] + 1, layer[end]):
            chain.append(len(sizes))
            sizes.append(_BEND_WIDTH)
            layer.append(level)
        chains.append([*chain, end])
    links = [pair for chain in chains for pair in pairwise(chain)]
    order = _ordered(layer, links)
    x = _placed(order, sizes, links)
    left = min((x[i] - sizes[i] / 2 for i in range(len(sizes))), default=0.0)
    at = [
        (round(x[i] - left + _MARGIN, 1), layer[i] * _LAYER_HEIGHT + _MARGIN + 20)
        for i in range(len(sizes))
    ]
    width = max((at[i][0] + sizes[i] / 2 for i in range(len(sizes))), default=0.0) + _MARGIN
    height = len(order) * _LAYER_HEIGHT + _MARGIN
    paths = [
        [at[i] for i in (chain if chain[0] == edge[0] else chain[::-1])]
        for chain, edge in zip(chains, edges, strict=True)
    ]
    return Drawing(at[:count], paths, round(width, 1), height)


def _without_cycles(count: int, edges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The edges, with those reversed that lead back to a node on the path (an iterative search)."""
    after: list[list[int]] = [[] for _ in range(count)]
    for start, end in edges:
        after[start].append(end)
    state, back = [0] * count, set()
    for root in range(count):
        stack = [(root, iter(after[root]))] if not state[root] else []
        state[root] = state[root] or 1
        while stack:
            node, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                state[node] = 2
                stack.pop()
            elif state[following] == 1:
                back.add((node, following))
            elif not state[following]:
                state[following] = 1
                stack.append((following, iter(after[following])))
    return [(end, start) if (start, end) in back else (start, end) for start, end in edges]


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The length of the longest path to each node, in a graph without cycles."""
    layer, waiting = [0] * count, [0] * count
    after: list[list[int]] = [[] for _ in range(count)]
    for start, end in edges:
        if start != end:
            after[start].append(end)
            waiting[end] += 1
    ready = [node for node in range(count) if not waiting[node]]
    while ready:
        node = ready.pop()
        for following in after[node]:
            layer[following] = max(layer[following], layer[node] + 1)
            waiting[following] -= 1
            if not waiting[following]:
                ready.append(following)
    entered = {end for _, end in edges}
    for node in range(count):
        if node not in entered and after[node]:  # constants, beside what reads them
            layer[node] = min(layer[following] for following in after[node]) - 1
    return layer


def _ordered(layer: Sequence[int], links: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The nodes of each layer from left to right, with few crossings."""
    order: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for node, level in enumerate(layer):
        order[level].append(node)
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    for start, end in links:
        above.setdefault(end, []).append(start)
        below.setdefault(start, []).append(end)
    for sweep in range(_SWEEPS):
        near = above if sweep % 2 == 0 else below
        for nodes in order if sweep % 2 == 0 else order[::-1]:
            position = {n: i for each in order for i, n in enumerate(each)}
            mean = {
                n: sum(position[m] for m in near[n]) / len(near[n]) if n in near else position[n]
                for n in nodes
            }
            nodes.sort(key=mean.__getitem__)
    return order


def _placed(
    order: Sequence[Sequence[int]], sizes: Sequence[float], links: Sequence[tuple[int, int]]
) -> list[float]:
    """The center of each node along its layer."""
    x = [0.0] * len(sizes)
    near: dict[int, list[int]] = {}
    for start, end in links:
        near.setdefault(end, []).append(start)
        near.setdefault(start, []).append(end)
    for nodes in order:
        _pack(nodes, sizes, x, [0.0] * len(nodes))
    for sweep in range(_SWEEPS):
        for nodes in order if sweep % 2 == 0 else order[::-1]:
            wanted = [
                sum(x[m] for m in near[n]) / len(near[n]) if n in near else x[n] for n in nodes
            ]
            _pack(nodes, sizes, x, wanted)
    return x


def _pack(
    nodes: Sequence[int], sizes: Sequence[float], x: list[float], wanted: Sequence[float]
) -> None:
    """Place nodes at the wanted centers, pushed apart evenly where they would overlap."""
    blocks: list[tuple[float, float, list[int]]] = []  # the wanted left end, the width, the nodes
    for node, center in zip(nodes, wanted, strict=True):
        left, width, members = center - sizes[node] / 2, sizes[node], [node]
        while blocks and blocks[-1][0] + blocks[-1][1] + _GAP > left:
            before, before_width, others = blocks.pop()
            shifted = left - before_width - _GAP  # where the others would have to begin
            share = len(others) / (len(others) + len(members))
            left = before * share + shifted * (1 - share)
            width += before_width + _GAP
            members = others + members
        blocks.append((left, width, members))
    for left, _, members in blocks:
        for node in members:
            x[node] = left + sizes[node] / 2
            left += sizes[node] + _GAP
