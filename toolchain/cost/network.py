"""The time of a collective on the network between devices.

A `Network` holds the numbers of a kind of device: bandwidth, latency, and how the devices are
connected. `Fabric` adds the position of each device of a program, and prices collectives.

The model is Hockney's: steps times latency, plus bytes over bandwidth (Thakur, Rabenseifner and
Gropp, 2005). Each collective runs alone on the network, at the peak bandwidth that the vendor
states, so the times are lower bounds. Let n be the devices of a group, V the bytes of one device's
array before a reduction or after a gather, and B the bandwidth:

- all-gather, reduce-scatter: (n-1)/n V / B. An all-reduce is both, one after the other.
- all-to-all, permute: the bytes on the busiest link, over the bandwidth of that link.

**torus** (TPU). B is the sum over the axes of the torus along which the group lies: two links of an
axis that closes to a ring, one link of an axis that does not; the data is split over the axes
("How to Scale Your Model", Austin et al., 2025, part 3). Devices that are not a box of the torus
form one ring in their order, and the links that its messages share are counted.

**switch** (GPU). B is the bandwidth of one device into the switch. Between nodes, each device of a
node sends an equal part through its own adapter.

**memory** (CPU devices of one process). Every byte is written and read once in main memory, which
all devices share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import ceil, log2, prod

Groups = tuple[tuple[int, ...], ...]
"""Devices that exchange data, by their number in the program; of a permute, pairs."""

_KINDS = ("torus", "switch", "memory")
_EXCHANGES = ("all-to-all", "ragged-all-to-all")


@dataclass(frozen=True)
class Network:
    """How the devices of one kind are connected.

    Attributes:
        kind: "torus", "switch" or "memory".
        bandwidth: bytes per second in one direction: of the link between neighbouring chips of a
            torus, of a device into a switch; of main memory, read and written bytes together.
        source: where the numbers are from, and which are assumed.
        hop_seconds: the latency of one step to a neighbour, or through the switch.
        start_seconds: the latency of starting a collective.
        ring_extent: an axis of a 2D torus closes to a ring if its extent is a multiple of this; a
            3D torus closes if all its extents are.
        chip_bandwidth: bytes per second in one direction between the devices of one chip; 0.0 if it
            is not published.
        node_devices: how many devices a switch connects; 0 for all of them.
        outer_bandwidth: bytes per second in one direction of a device into the network between
            nodes or slices; 0.0 if it is not known.
        outer_hop_seconds: the latency of one step between nodes.

    Raises:
        ValueError: a number is missing or negative, or the kind is not known.
    """

    kind: str
    bandwidth: float
    source: str
    hop_seconds: float = 0.0
    start_seconds: float = 0.0
    ring_extent: int = 0
    chip_bandwidth: float = 0.0
    node_devices: int = 0
    outer_bandwidth: float = 0.0
    outer_hop_seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise ValueError(f"network: expected kind {', '.join(_KINDS)}; found {self.kind!r}")
        if not self.bandwidth > 0 or not self.source:
            raise ValueError("network: expected a positive bandwidth and its source")
        negative = [n for n, v in vars(self).items() if not isinstance(v, str) and v < 0]
        if negative:
            raise ValueError(f"network: {negative[0]} is negative")
        if self.kind == "torus" and not self.ring_extent:
            raise ValueError("network: a torus needs its ring_extent")

    def rings(self, extents: Sequence[int]) -> tuple[bool, ...]:
        """Whether each axis of a torus of these extents closes to a ring."""
        whole = [extent % self.ring_extent == 0 for extent in extents]
        return tuple(whole) if len(extents) == 2 else (all(whole),) * len(extents)


@dataclass(frozen=True)
class DeviceCoordinates:
    """The position of a device in the network.

    Attributes:
        node: the number of its node or slice.
        chip: its coordinates in the torus; empty on other networks.
        core: its number on its chip.
    """

    node: int = 0
    chip: tuple[int, ...] = ()
    core: int = 0


@dataclass(frozen=True)
class CollectivePrice:
    """The cost of one run of a collective.

    Attributes:
        seconds: the time by the model.
        algorithm: the algorithm and the links that it assumes.
        links: the axes and directions that it keeps busy, as (axis, 1 or -1); empty for all. Two
            collectives that use different links run at the same time.
    """

    seconds: float
    algorithm: str
    links: frozenset[tuple[int, int]] = frozenset()


def wire_bytes(kind: str, payload: float, devices: int) -> float:
    """The bytes that each device of a group sends in one run, by a ring algorithm.

    Args:
        kind: of the collective, an opcode of HLO.
        payload: bytes of one device's array; of the whole array for a gather.
        devices: the number of devices of the group.
    """
    if devices <= 1:
        return 0.0
    if kind in ("collective-permute", "collective-broadcast", "send"):
        return payload
    return payload * (devices - 1) / devices * (2 if kind == "all-reduce" else 1)


@dataclass(frozen=True)
class _Axis:
    """The chips of a group along one axis of the torus: how many, and how far apart."""

    number: int
    size: int
    stride: int
    is_ring: bool

    @property
    def links(self) -> float:
        """The links of a chip that one group can use at a time.

        Groups that interleave on the axis share each link.
        """
        return (2 if self.is_ring else 1) / self.stride

    @property
    def hops(self) -> int:
        """The steps until the data of each chip has reached all others."""
        return (self.size // 2 if self.is_ring else self.size - 1) * self.stride


@dataclass(frozen=True)
class Fabric:
    """The network between the devices of a program.

    Attributes:
        network: its numbers.
        devices: where each device is, by its number in the program.
        extents: of the torus; empty on other networks.
    """

    network: Network
    devices: tuple[DeviceCoordinates, ...]
    extents: tuple[int, ...] = ()

    def price(self, kind: str, payload: float, groups: Groups) -> CollectivePrice | None:
        """The cost of a collective; None where the network's numbers are not known.

        Args:
            kind: an opcode of HLO, without `-start`.
            payload: bytes of one device's array; of the whole array for a gather or a scatter.
            groups: which devices exchange data, all groups at the same time.
        """
        if kind == "send":  # to whom is not in the HLO
            return None
        if kind != "collective-permute" and max(map(len, groups)) <= 1:
            return CollectivePrice(0.0, "stays on the device")
        price = {"torus": self._on_torus, "switch": self._on_switch, "memory": self._in_memory}
        return price[self.network.kind](kind, payload, groups)

    # -- memory ----------------------------------------------------------------------------------

    def _in_memory(self, kind: str, payload: float, groups: Groups) -> CollectivePrice:
        is_permute = kind == "collective-permute"
        senders = len(groups) if is_permute else sum(map(len, groups))
        sent = payload if is_permute else wire_bytes(kind, payload, max(map(len, groups)))
        return CollectivePrice(2 * sent * senders / self.network.bandwidth, "through shared memory")

    # -- switch ----------------------------------------------------------------------------------

    def _on_switch(self, kind: str, payload: float, groups: Groups) -> CollectivePrice | None:
        numbers = self.network
        nodes = [Counter(self.devices[each].node for each in group) for group in groups]
        apart = max(map(len, nodes))
        n, together = max(map(len, groups)), max(max(each.values()) for each in nodes)
        if apart > 1 and not numbers.outer_bandwidth:
            return None
        if kind == "collective-permute":
            rate, hop = numbers.bandwidth, numbers.hop_seconds
            if apart > 1:
                rate, hop = numbers.outer_bandwidth, numbers.outer_hop_seconds
            return CollectivePrice(numbers.start_seconds + hop + payload / rate, "point to point")
        outer = _between_nodes(kind, payload, n, together) if apart > 1 else 0.0
        sent = wire_bytes(kind, payload, n)
        seconds = sent / numbers.bandwidth
        if kind in _EXCHANGES:
            seconds = (sent - outer) / numbers.bandwidth
        if outer:
            seconds = max(seconds, outer / numbers.outer_bandwidth)
        steps, name = self._switch_latency(kind, n, together, apart)
        where = "through the switch" if apart == 1 else f"over {apart} nodes"
        return CollectivePrice(numbers.start_seconds + steps + seconds, f"{name} {where}")

    def _switch_latency(self, kind: str, n: int, together: int, apart: int) -> tuple[float, str]:
        """The latency of all steps, and the algorithm: the faster of a ring and a tree."""
        hop, outer = self.network.hop_seconds, self.network.outer_hop_seconds
        if kind in _EXCHANGES:
            return (outer if apart > 1 else hop), "direct"
        rounds = 2 if kind == "all-reduce" else 1
        ring = rounds * ((n - apart) * hop + (apart if apart > 1 else apart - 1) * outer)
        tree = 2 * (ceil(log2(together)) * hop + ceil(log2(apart)) * outer)
        if kind == "all-reduce" and tree < ring:
            return tree, "tree"
        return ring, "ring"

    # -- torus -----------------------------------------------------------------------------------

    @cached_property
    def _rings(self) -> tuple[bool, ...]:
        return self.network.rings(self.extents)

    @cached_property
    def _cores(self) -> int:
        """The devices of a chip."""
        return 1 + max(device.core for device in self.devices)

    def _on_torus(self, kind: str, payload: float, groups: Groups) -> CollectivePrice | None:
        if len({self.devices[each].node for group in groups for each in group}) > 1:
            return None  # several slices
        if kind == "collective-permute":
            return self._permute(payload, groups)
        found = [self._in_group(kind, payload, group) for group in self._distinct(groups)]
        return None if None in found else max(filter(None, found), key=lambda each: each.seconds)

    def _distinct(self, groups: Groups) -> list[tuple[int, ...]]:
        """One of the groups for each shape: groups that are translations cost the same."""
        shapes: dict[tuple[object, ...], tuple[int, ...]] = {}
        for group in groups:
            start = self.devices[group[0]].chip
            shape = tuple(
                (*(b - a for a, b in zip(start, device.chip, strict=True)), device.core)
                for device in (self.devices[each] for each in group)
            )
            shapes.setdefault(shape, group)
        return list(shapes.values())

    def _in_group(
        self, kind: str, payload: float, group: tuple[int, ...]
    ) -> CollectivePrice | None:
        chips = list(dict.fromkeys(self.devices[each].chip for each in group))
        cores = len(group) // len(chips)
        on_chip = 0.0
        if cores > 1:
            if not self.network.chip_bandwidth:
                return None
            on_chip = wire_bytes(kind, payload, cores) / self.network.chip_bandwidth
        if len(chips) == 1:
            return CollectivePrice(on_chip, "between the devices of a chip")
        shared = self._cores // cores  # groups of other devices of the same chips
        axes = self._box(chips)
        if axes is None:
            seconds, name = self._ring_of(kind, payload * shared, chips)
        elif kind in _EXCHANGES:
            seconds, name = self._exchange(payload * shared * cores, axes)
        else:
            seconds, name = self._along(kind, payload * shared, axes)
        links = frozenset((axis.number, way) for axis in axes or () for way in (1, -1))
        return CollectivePrice(on_chip + self.network.start_seconds + seconds, name, links)

    def _box(self, chips: Sequence[tuple[int, ...]]) -> list[_Axis] | None:
        """The axes along which chips form a box with a constant stride; None if they do not."""
        axes = []
        for number, along in enumerate(map(sorted, map(set, zip(*chips, strict=True)))):
            if len(along) == 1:
                continue
            strides = {b - a for a, b in pairwise(along)}
            if len(strides) > 1:
                return None
            stride, extent = strides.pop(), self.extents[number]
            is_ring = self._rings[number] and len(along) * stride == extent
            axes.append(_Axis(number, len(along), stride, is_ring))
        return axes if prod(axis.size for axis in axes) == len(chips) else None

    def _along(self, kind: str, payload: float, axes: list[_Axis]) -> tuple[float, str]:
        n = prod(axis.size for axis in axes)
        bandwidth = self.network.bandwidth * sum(axis.links for axis in axes)
        rounds = 2 if kind == "all-reduce" else 1
        latency = rounds * self.network.hop_seconds * sum(axis.hops for axis in axes)
        return latency + wire_bytes(kind, payload, n) / bandwidth, _named(axes)

    def _exchange(self, payload: float, axes: list[_Axis]) -> tuple[float, str]:
        """An all-to-all: on each axis the middle links carry the data between the two halves.

        Each of the size/2 chips of a half sends half of its data: size/4 of the payload, over one
        link of a line, or two of a ring.
        """
        busiest = max(axis.size / 4 / axis.links for axis in axes)
        latency = self.network.hop_seconds * sum(axis.hops for axis in axes)
        return latency + payload * busiest / self.network.bandwidth, _named(axes)

    def _ring_of(
        self, kind: str, payload: float, chips: Sequence[tuple[int, ...]]
    ) -> tuple[float, str]:
        """A ring in the order of the chips, half of the data in each direction."""
        n = len(chips)
        pairs = list(zip(chips, (*chips[1:], chips[0]), strict=True))
        loads = Counter(link for a, b in pairs for link in (*self._path(a, b), *self._path(b, a)))
        share = max(loads.values()) / 2
        hops = max(len(list(self._path(a, b))) for a, b in pairs) * (n // 2)
        steps = 2 if kind == "all-reduce" else 1
        sent = payload * n / 4 if kind in _EXCHANGES else wire_bytes(kind, payload, n)
        seconds = share * sent / self.network.bandwidth
        return steps * hops * self.network.hop_seconds + seconds, f"ring of {n} chips, not a box"

    def _permute(self, payload: float, pairs: Groups) -> CollectivePrice | None:
        ends = [(self.devices[a], self.devices[b]) for a, b in pairs]
        between = [(a.chip, b.chip) for a, b in ends if a.chip != b.chip]
        if len(between) < sum(a != b for a, b in ends) and not self.network.chip_bandwidth:
            return None
        if not between:
            on_chip = self.network.chip_bandwidth if any(a != b for a, b in ends) else 0.0
            return CollectivePrice(
                payload / on_chip if on_chip else 0.0, "between the devices of a chip"
            )
        paths = [list(self._path(a, b)) for a, b in between]
        loads = Counter(link for path in paths for link in path)
        busiest = max(loads.values())
        hops = self.network.start_seconds + max(map(len, paths)) * self.network.hop_seconds
        name = "point to point" if busiest == 1 else f"point to point, {busiest} on a link"
        links = frozenset((axis, way) for _, axis, way in loads)
        return CollectivePrice(hops + busiest * payload / self.network.bandwidth, name, links)

    def _path(
        self, start: tuple[int, ...], end: tuple[int, ...]
    ) -> Iterator[tuple[tuple[int, ...], int, int]]:
        """The directed links of a shortest path, one axis after the other."""
        at = list(start)
        for axis, goal in enumerate(end):
            extent = self.extents[axis]
            ahead = (goal - at[axis]) % extent if self._rings[axis] else goal - at[axis]
            if self._rings[axis] and ahead > extent // 2:
                ahead -= extent
            step = 1 if ahead > 0 else -1
            for _ in range(abs(ahead)):
                yield tuple(at), axis, step
                at[axis] = (at[axis] + step) % extent


def _between_nodes(kind: str, payload: float, n: int, together: int) -> float:
    """The bytes that each device sends to other nodes.

    Args:
        kind: of the collective.
        payload: bytes of one device's array.
        n: the devices of a group.
        together: those of them in one node, which share the traffic of a ring evenly.
    """
    if kind in _EXCHANGES:
        return payload * (n - together) / n
    return wire_bytes(kind, payload, n) / together


def _named(axes: Sequence[_Axis]) -> str:
    """The axes as text: "rings x=4, z=4", "line y=2"."""
    parts = []
    for is_ring, name in ((True, "ring"), (False, "line")):
        found = [f"{'xyz'[axis.number]}={axis.size}" for axis in axes if axis.is_ring == is_ring]
        if found:
            parts.append(f"{name}{'s' * (len(found) > 1)} {', '.join(found)}")
    return " and ".join(parts)
