"""The time of a step: when its collectives run, and how much of them computation hides.

`collectives` finds in the schedule where the result of an asynchronous one is awaited. `step_of`
walks the schedule with a clock for the device and one for each kind of link. A synchronous
collective stops the device. An asynchronous one occupies the network only, and the device waits at
its `-done` for what is left. Collectives that use the same links run one after the other. Copies
between a device and its host are treated alike; their link has two directions.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..backend.targets import Target
from ..cost.network import CollectivePrice, DeviceCoordinates, Fabric
from .collectives import Collective
from .host_copies import HostCopy
from .kernels import Kernel, least_seconds

if TYPE_CHECKING:
    from ..cost.device import Device


def fabric_of(target: Target, places: Sequence[Sequence[int]], devices: int) -> Fabric | None:
    """The network between the devices of a program; None if it is not known.

    Args:
        target: the hardware.
        places: of each TPU device its slice, coordinates and core; empty for other devices.
        devices: how many the program is for.
    """
    network = target.device.network
    if network is None or (network.kind == "torus" and len(places) != devices):
        return None
    if network.kind != "torus":
        node = network.node_devices or devices
        return Fabric(
            network, tuple(DeviceCoordinates(number // node) for number in range(devices))
        )
    topology = target.name.split(":")[2:]
    coordinates = [place[1:-1] for place in places]
    extents = tuple(max(along) + 1 for along in zip(*coordinates, strict=True))
    if topology:
        extents = tuple(map(int, topology[0].split("x")))
    rank = len(extents)
    return Fabric(
        network,
        tuple(
            DeviceCoordinates(place[0], tuple(place[1 : 1 + rank]), place[-1]) for place in places
        ),
        extents,
    )


_ROUNDING = 1e-9


@dataclass(frozen=True)
class Communication:
    """A collective and its time.

    Attributes:
        collective: the collective.
        price: of one run; None if the network is not known.
        exposed_seconds: of all its runs, how long the device waits for it.
    """

    collective: Collective
    price: CollectivePrice | None
    exposed_seconds: float

    @property
    def seconds(self) -> float | None:
        """The time of all its runs on the network; None if that is not known."""
        return self.price.seconds * self.collective.times if self.price else None

    def as_json(self) -> dict[str, Any]:
        """The collective as an object for `--json`; `seconds` are of one run."""
        known = self.price is not None
        return {
            **self.collective.as_json(),
            "seconds": self.price.seconds if self.price else None,
            "exposed_seconds": self.exposed_seconds if known else None,
            "algorithm": self.price.algorithm if self.price else None,
        }


@dataclass(frozen=True)
class Step:
    """The time of one run of a program.

    Attributes:
        computation_seconds: of everything but collectives.
        communication: the collectives, in the order in which they were given.
        host_seconds: how long the device waits for copies to and from its host; 0.0 if the
            bandwidth of that link is not known.
    """

    computation_seconds: float
    communication: tuple[Communication, ...] = ()
    host_seconds: float = 0.0

    @property
    def is_priced(self) -> bool:
        """Whether the time of every collective is known."""
        return all(each.price for each in self.communication)

    @cached_property
    def network_seconds(self) -> float:
        """The time of the priced collectives, whether computation hides it or not."""
        return sum(each.seconds or 0.0 for each in self.communication)

    @cached_property
    def exposed_seconds(self) -> float:
        """How long the device waits for collectives.

        A collective whose time on the network is not known counts as its traffic with memory.
        """
        return sum(each.exposed_seconds for each in self.communication)

    @property
    def hidden_seconds(self) -> float:
        """The time of the priced collectives that computation hides; 0 below rounding."""
        hidden = self.network_seconds - self.exposed_seconds
        return hidden if hidden > _ROUNDING * self.network_seconds else 0.0

    @property
    def seconds(self) -> float:
        """The time of the step, with communication and copies to and from the host."""
        return self.computation_seconds + self.exposed_seconds + self.host_seconds

    @property
    def share(self) -> float:
        """The share of the step in which the device waits for collectives."""
        return self.exposed_seconds / self.seconds if self.seconds else 0.0

    def as_json(self) -> dict[str, Any]:
        """The times as an object for `--json`; null where the network is not known."""
        known = self.is_priced
        return {
            "step_seconds": self.seconds if known else None,
            "computation_seconds": self.computation_seconds,
            "network_seconds": self.network_seconds if known else None,
            "exposed_seconds": self.exposed_seconds if known else None,
            "overlapped_seconds": self.hidden_seconds if known else None,
            "share": self.share if known else None,
        }


def step_of(
    kernels: Sequence[Kernel],
    collectives: Sequence[Collective],
    fabric: Fabric | None,
    device: Device,
    copies: Sequence[HostCopy] = (),
) -> Step:
    """The time of one run of a program.

    Args:
        kernels: in order of the schedule, one for each instruction that runs.
        collectives: of the same instructions.
        fabric: the network between its devices; None if it is not known.
        device: one of them.
        copies: between the device and its host, of the same instructions.
    """
    prices = [
        fabric.price(each.kind, each.payload, each.groups) if fabric else None
        for each in collectives
    ]
    sent = _collective_transfers(kernels, collectives, prices, device)
    waits = _waits(kernels, [*sent, *_host_transfers(copies, device)], device)
    rest = [kernel for kernel in kernels if kernel.kind != "collective"]
    computation = sum(_own_seconds(kernel, device) for kernel in rest)
    if not any(kernel.cycles is not None for kernel in kernels):
        computation = least_seconds(rest, device)
    found = map(Communication, collectives, prices, waits)
    return Step(computation, tuple(found), sum(waits[len(sent) :]))


@dataclass(frozen=True)
class _Transfer:
    """Data on the way to or from the device.

    Attributes:
        start, end: as those of `Collective`.
        seconds: of all its runs.
        links: what it keeps busy.
    """

    start: int
    end: int | None
    seconds: float
    links: Collection[Hashable]


def _collective_transfers(
    kernels: Sequence[Kernel],
    collectives: Sequence[Collective],
    prices: Sequence[CollectivePrice | None],
    device: Device,
) -> list[_Transfer]:
    every = {link for price in prices if price for link in price.links} or {(0, 1)}
    found = []
    for each, price in zip(collectives, prices, strict=True):
        kernel = kernels[each.start]
        seconds = (price.seconds if price else _in_memory(kernel, device)) * kernel.times
        links = (price.links if price else None) or every
        found.append(_Transfer(each.start, each.end, seconds, links))
    return found


def _host_transfers(copies: Sequence[HostCopy], device: Device) -> list[_Transfer]:
    if not copies or device.host is None:
        return []
    rate = device.host.bandwidth
    return [
        _Transfer(each.start, each.end, each.times * each.bytes / rate, [each.is_to_host])
        for each in copies
    ]


def _own_seconds(kernel: Kernel, device: Device) -> float:
    """The time of all runs of a kernel; 0.0 for copies that run during the kernels after them."""
    if kernel.is_asynchronous and kernel.cycles is None:
        return 0.0
    return kernel.estimate(device) * kernel.times


def _waits(
    kernels: Sequence[Kernel], transfers: Sequence[_Transfer], device: Device
) -> list[float]:
    """How long the device waits for each transfer, in seconds."""
    starts, ends = _by_number(transfers, "start"), _by_number(transfers, "end")
    waits = [0.0] * len(transfers)
    clock = 0.0  # when the device is free
    free = dict.fromkeys((link for each in transfers for link in each.links), 0.0)
    finished: dict[int, float] = {}

    def wait_for(each: int) -> None:
        nonlocal clock
        waits[each] = max(finished[each] - clock, 0.0)
        clock += waits[each]

    for number, kernel in enumerate(kernels):
        for each in ends.get(number, ()):
            wait_for(each)
        for each in starts.get(number, ()):
            transfer = transfers[each]
            begin = max(clock, *(free[link] for link in transfer.links))
            finished[each] = begin + transfer.seconds
            free.update(dict.fromkeys(transfer.links, finished[each]))
            if transfer.end is None:
                wait_for(each)
        if kernel.kind != "collective":
            clock += _own_seconds(kernel, device)
    for each in ends.get(len(kernels), ()):
        wait_for(each)
    return waits


def _in_memory(kernel: Kernel, device: Device) -> float:
    """The time of a collective whose network is not known: its traffic with memory."""
    return kernel.roofline(device).seconds if kernel.kind == "collective" else 0.0


def _by_number(transfers: Sequence[_Transfer], name: str) -> Mapping[int, list[int]]:
    """The transfers that start or end at each instruction."""
    found: dict[int, list[int]] = {}
    for number, each in enumerate(transfers):
        at = getattr(each, name)
        if at is not None:
            found.setdefault(at, []).append(number)
    return found
