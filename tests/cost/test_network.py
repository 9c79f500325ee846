"""Prices of collectives against numbers computed by hand, for round bandwidths.

A torus has links of 100 bytes per second in each direction and hops of 1 second; a switch passes
100 bytes per second of each device, and 10 to other nodes.
"""

from __future__ import annotations

from itertools import product

import pytest

from jxc.cost.network import DeviceCoordinates, Fabric, Network, wire_bytes

LINK = 100.0
TORUS = Network("torus", LINK, "a test", hop_seconds=1.0, ring_extent=4)
SWITCH = Network(
    "switch",
    100.0,
    "a test",
    hop_seconds=1.0,
    start_seconds=5.0,
    node_devices=4,
    outer_bandwidth=10.0,
    outer_hop_seconds=2.0,
)


def torus(*extents: int, network: Network = TORUS, cores: int = 1) -> Fabric:
    """A torus whose last coordinate varies fastest, and the core faster still."""
    places = [
        DeviceCoordinates(0, chip, core)
        for chip in product(*map(range, extents))
        for core in range(cores)
    ]
    return Fabric(network, tuple(places), extents)


def switch(devices: int, network: Network = SWITCH) -> Fabric:
    return Fabric(network, tuple(DeviceCoordinates(number // 4) for number in range(devices)))


def seconds(fabric: Fabric, kind: str, payload: float, groups: object) -> float:
    price = fabric.price(kind, payload, groups)  # type: ignore[arg-type]
    assert price is not None
    return price.seconds


def rows(size: int, width: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(range(at, at + width)) for at in range(0, size, width))


EVERY = (tuple(range(16)),)


def test_wire_bytes_of_a_ring() -> None:
    found = [wire_bytes(kind, 80, 4) for kind in ("all-reduce", "all-gather", "collective-permute")]
    assert found == [120, 60, 80]
    assert wire_bytes("all-reduce", 80, 1) == 0


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("all-gather", 3 / 4 * 800 / 200 + 2),  # two links; 4 // 2 hops
        ("reduce-scatter", 3 / 4 * 800 / 200 + 2),
        ("all-reduce", 2 * (3 / 4 * 800 / 200 + 2)),  # both
        ("all-to-all", 4 * 800 / (8 * 100) + 2),  # nV / 8 on each link
    ],
)
def test_a_ring_is_used_in_both_directions(kind: str, expected: float) -> None:
    assert seconds(torus(4, 4), kind, 800, rows(16, 4)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("all-gather", 1 / 2 * 800 / 100 + 1),  # one link at the end of the line; 2 - 1 hops
        ("all-to-all", 2 * 800 / (4 * 100) + 1),  # nV / 4 on the middle link
    ],
)
def test_an_axis_that_does_not_close_has_half_the_links(kind: str, expected: float) -> None:
    assert seconds(torus(4, 2), kind, 800, rows(8, 2)) == pytest.approx(expected)


def test_two_axes_are_used_together() -> None:
    # (15/16 800 bytes over four links, 2 + 2 hops) twice
    expected = 2 * (15 / 16 * 800 / 400 + 4)
    assert seconds(torus(4, 4), "all-reduce", 800, EVERY) == pytest.approx(expected)
    # every axis carries nV / 8 of its own ring: 4 800 / 800
    assert seconds(torus(4, 4), "all-to-all", 800, EVERY) == pytest.approx(4 + 4)


def test_groups_that_interleave_share_the_links() -> None:
    # chips 0 and 2, and 1 and 3, of rings of 4: 1/2 800 bytes over 2/2 links, 1 step of 2 hops
    groups = tuple((at + a, at + a + 2) for at in range(0, 16, 4) for a in (0, 1))
    assert seconds(torus(4, 4), "all-gather", 800, groups) == pytest.approx(4 + 2)


def test_part_of_an_axis_is_a_line() -> None:
    # chips 0 and 1, and 2 and 3: 1/2 800 bytes over one link
    assert seconds(torus(4, 4), "all-gather", 800, rows(16, 2)) == pytest.approx(4 + 1)


def test_a_3d_torus_closes_only_as_a_whole() -> None:
    assert TORUS.rings((4, 8, 4)) == (True, True, True)
    assert TORUS.rings((2, 4, 4)) == (False, False, False)
    assert TORUS.rings((2, 4)) == (False, True)


def test_devices_that_are_no_box_form_a_ring_in_their_order() -> None:
    # An L of three chips, 0-1 and 0-4: the way from 4 to 1 passes 0, so that each link carries a
    # message of both directions twice: 2/3 900 bytes, half each way, twice; 3 // 2 steps of 2 hops
    fabric = torus(4, 4)
    price = fabric.price("all-gather", 900, ((0, 1, 4),))
    assert price is not None and "not a box" in price.algorithm
    assert price.seconds == pytest.approx(2 / 3 * 900 / 2 * 2 / 100 + 2)


def test_permute_counts_the_busiest_link() -> None:
    shift = tuple((4 * row + at, 4 * row + (at + 1) % 4) for row in range(4) for at in range(4))
    assert seconds(torus(4, 4), "collective-permute", 800, shift) == pytest.approx(8 + 1)
    # by two: each link of a ring carries two messages over two hops
    far = tuple((4 * row + at, 4 * row + (at + 2) % 4) for row in range(4) for at in range(4))
    assert seconds(torus(4, 4), "collective-permute", 800, far) == pytest.approx(16 + 2)
    # on a line of two, an exchange uses both directions of the link
    swap = ((0, 1), (1, 0))
    assert seconds(torus(4, 2), "collective-permute", 800, swap) == pytest.approx(8 + 1)


def test_permutes_in_opposite_directions_use_different_links() -> None:
    fabric = torus(4, 4)
    ahead = fabric.price("collective-permute", 8, ((0, 1), (1, 2)))
    back = fabric.price("collective-permute", 8, ((1, 0), (2, 1)))
    assert ahead is not None and back is not None
    assert not ahead.links & back.links


def test_devices_of_one_chip_share_its_links() -> None:
    network = Network("torus", LINK, "a test", hop_seconds=1.0, ring_extent=4, chip_bandwidth=400.0)
    fabric = torus(4, 4, network=network, cores=2)
    apart = tuple(
        tuple(8 * row + 2 * chip + core for chip in range(4)) for row in range(4) for core in (0, 1)
    )
    # two groups on each ring
    assert seconds(fabric, "all-gather", 800, apart) == pytest.approx(2 * 3 / 4 * 800 / 200 + 2)
    # one group of eight: half of the data between the devices of a chip, all of it over the ring
    expected = 1 / 2 * 800 / 400 + 3 / 4 * 800 / 200 + 2
    assert seconds(fabric, "all-gather", 800, rows(32, 8)) == pytest.approx(expected)
    assert seconds(fabric, "all-gather", 800, rows(32, 2)) == pytest.approx(1)


def test_unpublished_numbers_give_no_price() -> None:
    assert torus(4, 4, cores=2).price("all-gather", 800, rows(32, 8)) is None
    assert torus(4, 4, cores=2).price("collective-permute", 800, ((0, 1),)) is None
    alone = Network("switch", 100.0, "a test", node_devices=4)
    assert switch(8, alone).price("all-reduce", 800, (tuple(range(8)),)) is None
    assert switch(4, alone).price("send", 800, ((0, 1),)) is None


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("all-gather", 5 + 3 * 1 + 3 / 4 * 800 / 100),  # start, 3 steps of a ring, bytes
        ("all-reduce", 5 + 2 * 2 * 1 + 2 * 3 / 4 * 800 / 100),  # a tree of 2 levels, up and down
        ("all-to-all", 5 + 1 + 3 / 4 * 800 / 100),  # directly
        ("collective-permute", 5 + 1 + 800 / 100),
    ],
)
def test_switch_of_one_node(kind: str, expected: float) -> None:
    groups = ((0, 1), (1, 0)) if kind == "collective-permute" else rows(4, 4)
    assert seconds(switch(4), kind, 800, groups) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        # 7/8 800 bytes leave the node through four adapters; 6 steps inside and 2 between
        ("all-gather", 5 + 6 * 1 + 2 * 2 + 7 / 8 * 800 / 4 / 10),
        # twice that; a tree of 2 levels inside and 1 between, up and down
        ("all-reduce", 5 + 2 * (2 * 1 + 2) + 2 * 7 / 8 * 800 / 4 / 10),
        ("all-to-all", 5 + 2 + 4 / 8 * 800 / 10),  # half of the data is for the other node
        ("collective-permute", 5 + 2 + 800 / 10),
    ],
)
def test_switch_between_nodes(kind: str, expected: float) -> None:
    groups = ((0, 4), (4, 0)) if kind == "collective-permute" else rows(8, 8)
    assert seconds(switch(8), kind, 800, groups) == pytest.approx(expected)


def test_shared_memory_carries_every_byte_twice() -> None:
    fabric = Fabric(Network("memory", 100.0, "a test"), (DeviceCoordinates(),) * 4)
    # 4 devices send 2 3/4 800 bytes each, written and read
    assert seconds(fabric, "all-reduce", 800, rows(4, 4)) == pytest.approx(2 * 4 * 1200 / 100)
    assert seconds(fabric, "collective-permute", 800, ((0, 1),)) == pytest.approx(2 * 800 / 100)


def test_a_group_of_one_costs_nothing() -> None:
    assert seconds(switch(4), "all-reduce", 800, rows(4, 1)) == 0.0


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"kind": "star"}, "expected kind torus, switch, memory; found 'star'"),
        ({"bandwidth": 0.0}, "a positive bandwidth"),
        ({"source": ""}, "its source"),
        ({"hop_seconds": -1.0}, "hop_seconds is negative"),
        ({"ring_extent": 0}, "needs its ring_extent"),
    ],
)
def test_network_rejects_impossible_numbers(numbers: dict[str, object], message: str) -> None:
    valid = {"kind": "torus", "bandwidth": 1.0, "source": "a test", "ring_extent": 4}
    with pytest.raises(ValueError, match=message):
        Network(**{**valid, **numbers})  # type: ignore[arg-type]
