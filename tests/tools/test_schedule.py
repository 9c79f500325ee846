"""The time of a step from the schedule of small modules, on devices with round numbers.

A device moves 1000 bytes of memory a second; a switch passes 100 bytes a second. An all-reduce of
400 bytes over two devices takes 2 1/2 400 / 100 = 4 s. An addition of two arrays of 400 bytes moves
1200 bytes in 1.2 s. The link to the host passes 200 bytes a second in each direction.
"""

from __future__ import annotations

from typing import Any

import pytest

from jxc.backend.targets import Target, find_target
from jxc.compiled.collectives import collectives_of
from jxc.compiled.host_copies import host_copies_of
from jxc.compiled.kernels import kernels_of
from jxc.compiled.schedule import Step, fabric_of, step_of
from jxc.cost.device import Device, HostLink
from jxc.cost.network import Network
from jxc.hlo import parse_hlo
from jxc.hlo.work import executed

HOST = HostLink(200.0, "a test")
SWITCH = Network("switch", 100.0, "a test", node_devices=8)
ADD_SECONDS = 1.2
REDUCE_SECONDS = 4.0


def step(text: str, network: Network | None = SWITCH, places: Any = ()) -> Step:
    module = parse_hlo(text)
    device = Device("some", "gpu", "", 0, 1000.0, {}, 0.0, "a test", network=network, host=HOST)
    target = Target("gpu:some", "gpu", "cuda", device)
    fabric = fabric_of(target, places, module.num_partitions)
    copies = host_copies_of(module, executed(module))
    return step_of(kernels_of(module), collectives_of(module), fabric, device, copies)


HEAD = """HloModule m, is_scheduled=true, num_partitions=2

%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}
"""

SYNCHRONOUS = f"""{HEAD}
ENTRY %main (x: f32[100], y: f32[100]) -> f32[100] {{
  %x = f32[100]{{0}} parameter(0)
  %y = f32[100]{{0}} parameter(1)
  %r = f32[100]{{0}} all-reduce(%x), replica_groups={{{{0,1}}}}, to_apply=%sum
  ROOT %z = f32[100]{{0}} add(%r, %y)
}}
"""


def asynchronous(between: str, after: str = "") -> str:
    return f"""{HEAD}
ENTRY %main (x: f32[100], y: f32[100]) -> (f32[100]) {{
  %x = f32[100]{{0}} parameter(0)
  %y = f32[100]{{0}} parameter(1)
  %r = f32[100]{{0}} all-reduce-start(%x), replica_groups={{{{0,1}}}}, to_apply=%sum
  {between}
  %d = f32[100]{{0}} all-reduce-done(%r)
  {after}
  ROOT %t = (f32[100]{{0}}) tuple(%d)
}}
"""


def addition(number: int) -> str:
    return f"%add.{number} = f32[100]{{0}} add(%x, %y)"


def test_a_synchronous_collective_stops_the_device() -> None:
    found = step(SYNCHRONOUS)
    assert found.computation_seconds == pytest.approx(ADD_SECONDS)
    assert found.exposed_seconds == found.network_seconds == REDUCE_SECONDS
    assert found.seconds == pytest.approx(5.2)
    assert found.share == pytest.approx(4 / 5.2)


def test_computation_between_start_and_done_hides_a_collective() -> None:
    one = step(asynchronous(addition(0)))
    assert one.exposed_seconds == pytest.approx(REDUCE_SECONDS - ADD_SECONDS)
    four = step(asynchronous("\n  ".join(map(addition, range(4)))))
    assert four.exposed_seconds == 0
    assert four.seconds == pytest.approx(4 * ADD_SECONDS)
    assert four.as_json()["overlapped_seconds"] == REDUCE_SECONDS


def test_computation_after_the_done_hides_nothing() -> None:
    found = step(asynchronous("", addition(0)))
    assert found.exposed_seconds == REDUCE_SECONDS


def test_collectives_on_one_network_wait_for_one_another() -> None:
    second = "%q = f32[100]{0} all-reduce-start(%y), replica_groups={{0,1}}, to_apply=%sum"
    found = step(asynchronous(second, "%e = f32[100]{0} all-reduce-done(%q)"))
    assert found.exposed_seconds == 2 * REDUCE_SECONDS


TRIPS = 'backend_config={"known_trip_count":{"n":"5"}}'
LOOP = f"""{HEAD}
%body (p: (s32[], f32[100])) -> (s32[], f32[100]) {{
  %p = (s32[], f32[100]{{0}}) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %v = f32[100]{{0}} get-tuple-element(%p), index=1
  %r = f32[100]{{0}} all-reduce-start(%v), replica_groups={{{{0,1}}}}, to_apply=%sum
  %w = f32[100]{{0}} add(%v, %v)
  %d = f32[100]{{0}} all-reduce-done(%r)
  ROOT %t = (s32[], f32[100]{{0}}) tuple(%i, %d)
}}

%test (p: (s32[], f32[100])) -> pred[] {{
  %p = (s32[], f32[100]{{0}}) parameter(0)
  ROOT %c = pred[] constant(true)
}}

ENTRY %main (s: (s32[], f32[100])) -> (s32[], f32[100]) {{
  %s = (s32[], f32[100]{{0}}) parameter(0)
  ROOT %l = (s32[], f32[100]{{0}}) while(%s), condition=%test, body=%body, {TRIPS}
}}
"""


def test_a_collective_in_a_loop_counts_each_iteration() -> None:
    found = step(LOOP)
    reads = 0.4 + 0.4  # v once, w
    assert found.network_seconds == 5 * REDUCE_SECONDS
    assert found.exposed_seconds == pytest.approx(5 * (REDUCE_SECONDS - reads))


GATHER = """f32[200]{0} all-gather(%a), channel_id=7, replica_groups={{0,1}}, dimensions={0}, \
frontend_attributes={chain_id="2"}"""
STEPS = """HloModule m, is_scheduled=true, num_partitions=2

%first (a: f32[100]) -> f32[200] {
  %a = f32[100]{0} parameter(0)
  ROOT %g = GATHER
}

%second (a: f32[100], b: f32[100]) -> f32[100] {
  %a = f32[100]{0} parameter(0)
  %b = f32[100]{0} parameter(1)
  %g = GATHER
  ROOT %s = f32[100]{0} add(%b, %b)
}

%third (a: f32[100]) -> f32[200] {
  %a = f32[100]{0} parameter(0)
  ROOT %g = GATHER
}

ENTRY %main (x: f32[100], y: f32[100]) -> (f32[200], f32[100]) {
  %x = f32[100]{0} parameter(0)
  %y = f32[100]{0} parameter(1)
  %start = f32[200]{0} fusion(%x), kind=kCustom, calls=%first
  %meanwhile = f32[100]{0} fusion(%x, %y), kind=kCustom, calls=%second
  %done = f32[200]{0} fusion(%x), kind=kCustom, calls=%third
  ROOT %t = (f32[200]{0}, f32[100]{0}) tuple(%done, %meanwhile)
}
""".replace("GATHER", GATHER)


def test_steps_of_one_collective_in_several_fusions_count_once() -> None:
    found = step(STEPS)
    assert [each.collective.kind for each in found.communication] == ["all-gather"]
    assert found.network_seconds == 4  # 1/2 800 bytes
    assert found.exposed_seconds < 4


def test_an_unknown_network_gives_no_time() -> None:
    found = step(SYNCHRONOUS, None)
    assert not found.is_priced
    assert set(found.as_json().values()) == {None, found.computation_seconds}
    assert found.communication[0].as_json()["seconds"] is None
    # as its traffic with memory: 400 bytes read and written
    assert found.exposed_seconds == pytest.approx(0.8)


def test_fabric_of_a_torus_has_the_extents_of_the_topology() -> None:
    target = find_target("tpu:v5p:4x4x4")
    places = [[0, x, y, z, 0] for z in range(4) for y in range(4) for x in range(4)]
    fabric = fabric_of(target, places, 64)
    assert fabric is not None and fabric.extents == (4, 4, 4)
    assert fabric.devices[1].chip == (1, 0, 0)
    assert fabric_of(target, [], 64) is None
    flat = fabric_of(find_target("tpu:v5e:2x4"), [[0, 1, 3, 0, 0]], 1)
    assert flat is not None and flat.devices[0].chip == (1, 3) and flat.extents == (2, 4)


def test_fabric_of_gpus_has_a_switch_for_each_node() -> None:
    fabric = fabric_of(find_target("gpu:h100"), [], 16)
    assert fabric is not None and [fabric.devices[n].node for n in (0, 7, 8)] == [0, 0, 1]


def copies_to_and_from_the_host(between: str) -> str:
    """A row of 400 bytes is written to a stack on the host while another one is read."""
    stack, row, indices = "f32[9,100]{1,0:S(5)}", "f32[1,100]{1,0}", "s32[], s32[]"
    written, read = (
        f"(({stack}, {row}, {indices}), {stack}, u32[])",
        f"(({stack}, {indices}), {row})",
    )
    return f"""HloModule m, is_scheduled=true

ENTRY %main (s: f32[9,100], x: f32[100], y: f32[100], i: s32[]) -> (f32[9,100], f32[1,100]) {{
  %s = {stack} parameter(0)
  %q = {stack} parameter(1)
  %x = f32[100]{{0}} parameter(2)
  %y = f32[100]{{0}} parameter(3)
  %i = s32[] parameter(4)
  %row = {row} bitcast(%x)
  %w = {written} dynamic-update-slice-start(%s, %row, %i, %i)
  %r = {read} dynamic-slice-start(%q, %i, %i), dynamic_slice_sizes={{1,100}}
  {between}
  %dr = {row} dynamic-slice-done(%r)
  %dw = {stack} dynamic-update-slice-done(%w)
  ROOT %t = ({stack}, {row}) tuple(%dw, %dr)
}}
"""


def test_both_directions_of_the_link_to_the_host_are_used_at_a_time() -> None:
    found = step(copies_to_and_from_the_host(""))
    assert found.host_seconds == pytest.approx(2.0)
    assert found.seconds == found.computation_seconds + found.host_seconds


def test_computation_hides_copies_to_and_from_the_host() -> None:
    assert step(copies_to_and_from_the_host(addition(0))).host_seconds == pytest.approx(0.8)
    two = step(copies_to_and_from_the_host(f"{addition(0)}\n  {addition(1)}"))
    assert two.host_seconds == 0


def test_synchronous_copies_to_the_host_are_waited_for() -> None:
    found = step("""HloModule m, is_scheduled=true

ENTRY %main (x: f32[100]) -> f32[100] {
  %x = f32[100]{0} parameter(0)
  ROOT %c = f32[100]{0:S(5)} copy(%x)
}
""")
    assert found.host_seconds == pytest.approx(2.0)
