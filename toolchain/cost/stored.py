"""Which values XLA stores on a GPU or TPU, by estimates of the time.

These compilers fuse an op into all its readers if their estimate of the time falls. `fusion`
decides by the kinds of ops alone: a sum of residuals would be part of each later kernel, and the
exponentials of a softmax would be stored, although computing them again takes less time than
writing and reading them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jaxlib.mlir import ir

from .device import Device
from .flops import bytes_of
from .formulas import FUNCTIONS, TRANSCENDENTAL, names
from .node import ELEMENTWISE, VIEWS, Node

_PARTS = names("slice dynamic_slice gather")
"""Ops that read no more elements of their first operand than they have."""


@dataclass
class _Cone:
    """What computes a value in a kernel that reads it.

    Attributes:
        nodes: the numbers of the ops.
        reads: the bytes that they read of each stored value.
    """

    nodes: set[int]
    reads: dict[ir.Value, int]


def choose_stored(
    order: Sequence[Node],
    users: Mapping[ir.Value, Sequence[int]],
    stored: dict[ir.Value, bool],
    is_free_to_choose: Callable[[Node], bool],
    device: Device,
) -> None:
    """Change which elementwise values are stored, as an estimate of the time decides.

    Args:
        order: the nodes, producers first.
        users: the numbers of the nodes that read a value.
        stored: whether a value is in memory, by value. It is changed.
        is_free_to_choose: whether a node can be stored, and can be computed in all its readers.
        device: gives bandwidth, peak and the time of a launch.
    """
    readers = _count_of_readers(order, users, stored)
    cones: dict[ir.Value, _Cone] = {}  # of values that are not stored
    for number, node in enumerate(order):
        cone = _cone(node, number, cones)
        if node.name in ELEMENTWISE and readers[number] > 1 and is_free_to_choose(node):
            stored[node.key] = _is_faster_stored(node, cone, readers[number], order, device)
        if not stored[node.key]:
            cones.update(dict.fromkeys(node.results, cone))
    _join_only_kernels(order, users, stored, is_free_to_choose)


def _join_only_kernels(
    order: Sequence[Node],
    users: Mapping[ir.Value, Sequence[int]],
    stored: dict[ir.Value, bool],
    is_free_to_choose: Callable[[Node], bool],
) -> None:
    """Store no value whose readers are all part of one kernel, which computes it once."""
    roots = [0] * len(order)  # for each node, the kernels that compute it, as bits by number
    for number in reversed(range(len(order))):
        node = order[number]
        for value in node.results:
            for user in users.get(value, ()):
                roots[number] |= roots[user]
        is_joined = node.name in ELEMENTWISE and roots[number].bit_count() == 1
        if stored[node.key] and is_joined and is_free_to_choose(node):
            stored[node.key] = len(users[node.key]) < 2
        if stored[node.key]:
            roots[number] = 1 << number


def _count_of_readers(
    order: Sequence[Node],
    users: Mapping[ir.Value, Sequence[int]],
    stored: Mapping[ir.Value, bool],
) -> list[int]:
    """For each node, how many ops read its results, also through views of them."""
    found = list[set[int]]([set()] * len(order))
    for number in reversed(range(len(order))):
        readers = set[int]()
        for value in order[number].results:
            for user in users.get(value, ()):
                is_view = order[user].name in VIEWS and not stored[order[user].key]
                readers |= found[user] if is_view else {user}
        found[number] = readers
    return list(map(len, found))


def _cone(node: Node, number: int, cones: Mapping[ir.Value, _Cone]) -> _Cone:
    found = _Cone({number}, {})
    for value in node.operands:
        inner = cones.get(value)
        if inner is None:
            found.reads[value] = bytes_of(value.type)
        else:
            found.nodes |= inner.nodes
            found.reads.update(inner.reads)
    if node.name in _PARTS and node.operands[0] not in cones:
        source = node.operands[0]
        found.reads[source] = min(bytes_of(node.key.type), found.reads[source])
    return found


def _is_faster_stored(
    node: Node, cone: _Cone, readers: int, order: Sequence[Node], device: Device
) -> bool:
    """Whether storing a value takes less time than computing it for each reader."""
    peak = device.peak_flops.get("elementwise-f32", device.peak_flops["f32"])
    flops = sum(_flops(order[each]) for each in cone.nodes)
    size, read = bytes_of(node.key.type), sum(cone.reads.values())
    again = readers * max(flops / peak, read / device.bandwidth)
    once = max(flops / peak, (read + size) / device.bandwidth) + device.launch_seconds
    return once + readers * size / device.bandwidth < again


def _flops(node: Node) -> int:
    each = TRANSCENDENTAL if node.name in FUNCTIONS else node.name in ELEMENTWISE
    return int(each * node.elements)
