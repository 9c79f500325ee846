"""Collectives in the optimized HLO of these programs, for a mesh of data=2, model=4.

`collectives_cpu`, `_gpu`, `_tpu`, and `_newest` (for CPU, by jax 0.12). The argument is
f32[512,1024], split over both axes, so that each device has f32[256,256]:

    @jax.shard_map(...)
    def manual(x):
        a = lax.ppermute(x, "model", [(i, (i + 1) % 4) for i in range(4)])                # line 25
        b = lax.all_to_all(x, "model", 0, 1, tiled=True)                                  # line 26
        c = lax.psum_scatter(x, "data", scatter_dimension=0, tiled=True)                  # line 27
        c = lax.psum(c, "data")                                                           # line 28
        d = lax.all_gather(x, "model", axis=1, tiled=True)                                # line 29
        d = d[:, : x.shape[1]] * lax.pmax(x.sum(), ("data", "model"))                     # line 30
        return a, b.reshape(x.shape), c, d

`collectives_fsdp` (TPU) and `_joined` (GPU) are a gradient step, weights f32[1024,4096] split over
both axes and f32[512,1024] over data; `collectives_loop` (GPU) has a psum over model and a ppermute
over data in a loop of five iterations.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from jxc.compiled.collectives import (
    Collective,
    axes_of_groups,
    axes_of_pairs,
    collectives_of,
    parse_groups,
)
from jxc.compiled.replicated import Replicated, replicated_arguments
from jxc.hlo import Module, parse_hlo

PROGRAMS = Path(__file__).parent / "programs"
MESH = {"data": 2, "model": 4}
BLOCK = 256 * 256 * 4


def _module(name: str) -> Module:
    return parse_hlo((PROGRAMS / f"collectives_{name}" / "hlo.txt").read_text())


def _found(name: str) -> list[Collective]:
    return collectives_of(_module(name), MESH)


@pytest.mark.parametrize("target", ["cpu", "newest", "gpu", "tpu"])
def test_every_kind_has_its_bytes_axes_and_line(target: str) -> None:
    both = ("data", "model")
    assert [
        (
            each.kind,
            each.payload,
            each.wire,
            each.group_size,
            each.axes,
            each.place and each.place.line,
        )
        for each in _found(target)
    ] == [
        ("all-gather", 4 * BLOCK, 3 * BLOCK, 4, ("model",), 29),
        ("collective-permute", BLOCK, BLOCK, 4, ("model",), 25),
        ("all-to-all", BLOCK, 3 * BLOCK / 4, 4, ("model",), 26),
        ("reduce-scatter", BLOCK, BLOCK / 2, 2, ("data",), 27),
        ("all-reduce", BLOCK / 2, BLOCK / 2, 2, ("data",), 28),
        ("all-reduce", 4, 7.0, 8, both, 30),
    ]


def test_collectives_of_counts_a_fused_reduce_scatter_on_tpu() -> None:
    first, second, third = _found("fsdp")
    whole = 1024 * 1024 * 4
    assert (first.kind, first.payload, first.axes) == ("reduce-scatter", whole, ("data",))
    assert first.place is not None and first.place.line == 38  # from the fusion
    assert (second.kind, second.payload) == ("all-gather", whole // 2)  # in bf16
    assert (third.kind, third.group_size) == ("all-reduce", 8)


def test_collective_without_a_line_has_that_of_its_operand() -> None:
    scattered = next(each for each in _found("joined") if each.kind == "reduce-scatter")
    assert scattered.op_name == "jit(grad)/transpose(jvp())/transpose"
    assert scattered.place is not None and scattered.place.line == 38


def test_collective_in_a_loop_counts_each_iteration() -> None:
    found = {each.kind: each for each in _found("loop")}
    assert {kind: (each.times, each.axes) for kind, each in found.items()} == {
        "all-reduce": (5, ("model",)),
        "collective-permute": (5, ("data",)),
    }
    reduced = found["all-reduce"]
    assert str(reduced.place) == "/home/user/main.py:34" and reduced.payload == 256 * 1024


def test_without_a_mesh_there_are_no_axes() -> None:
    assert {each.axes for each in collectives_of(_module("cpu"))} == {None}


ASYNC = """HloModule wrapped, num_partitions=4

%inner (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  ROOT %b = f32[8]{0} collective-broadcast(%p), replica_groups={{0,1},{2,3}}
}

ENTRY %main (x: f32[8], to: f32[8]) -> (f32[8], f32[8]) {
  %x = f32[8]{0} parameter(0)
  %to = f32[8]{0} parameter(1)
  %s = ((f32[8]{0}), f32[8]{0}) async-start(%x), calls=%inner
  %d = f32[8]{0} async-done(%s)
  %m = f32[8]{0} collective-permute(%x, %to), source_target_pairs={{0,1},{1,0}}
  ROOT %t = (f32[8]{0}, f32[8]{0}) tuple(%d, %m)
}
"""


def test_collective_inside_an_asynchronous_wrapper_counts_once() -> None:
    found = collectives_of(parse_hlo(ASYNC), {"x": 2, "y": 2})
    found = [(each.kind, each.payload, each.group_size, each.axes) for each in found]
    assert found == [
        ("collective-broadcast", 32, 2, ("y",)),
        ("collective-permute", 32, 2, ("y",)),
    ]


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("{{0,1},{2,3}}", ((0, 1), (2, 3))),
        ("{}", ((0, 1, 2, 3),)),
        ("[2,2]<=[4]", ((0, 1), (2, 3))),
        ("[2,2]<=[2,2]T(1,0)", ((0, 2), (1, 3))),
        ("mesh['x'=2,'y'=2] {'x'}", ((0, 2), (1, 3))),
        ("mesh['x'=2,'y'=2] {'y','x'}", ((0, 2, 1, 3),)),
        ("mesh['axis_0'=4,'axis_1'=1] {'axis_0'}", ((0, 1, 2, 3),)),
        ("mesh['x'=4] {'x':(1)2}", ((0, 2), (1, 3))),
        ("mesh['x'=4] {'x':(2)2}", ((0, 1), (2, 3))),
        ("mesh['x'=2,'y'=2], device_ids=([4]<=[2,2]T(1,0)) {'y'}", ((0, 2), (1, 3))),
        ("mesh['x'=2,'y'=2], device_ids=(3,2,1,0) {'y'}", ((3, 2), (1, 0))),
        ("mesh['x'=2,'y'=2], device_ids=([2,2]T(1,0)) {'x'}", ((0, 1), (2, 3))),
    ],
)
def test_parse_groups_reads_every_form(text: str, groups: tuple[tuple[int, ...], ...]) -> None:
    assert parse_groups(text, 4) == groups


def test_groups_of_a_mesh_with_device_ids_are_read_from_an_instruction() -> None:
    text = """HloModule m, num_partitions=4

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  x = f32[8]{0} parameter(0)
  ROOT r = f32[8]{0} all-reduce(x), channel_id=1, replica_groups=mesh['p'=2,'q'=1,'r'=2], \
device_ids=([2,2]T(1,0)) {'p'}, use_global_device_ids=true, to_apply=add
}
"""
    (found,) = collectives_of(parse_hlo(text), {"data": 2, "model": 2})
    assert (found.axes, found.group_size) == (("model",), 2)


@pytest.mark.parametrize("text", ["mesh", "[2,2]", "all of them"])
def test_parse_groups_rejects_other_texts(text: str) -> None:
    with pytest.raises(ValueError, match="not a list of device groups"):
        parse_groups(text, 4)


def test_groups_that_are_not_whole_axes_have_no_axes() -> None:
    mesh = {"a": 2, "b": 2, "c": 1}
    assert axes_of_groups(((0, 1), (2, 3)), mesh) == ("b",)
    assert axes_of_groups(((2, 0), (3, 1)), mesh) == ("a",)
    assert axes_of_groups(((0, 1, 2, 3),), mesh) == ("a", "b")
    assert axes_of_groups(((0,), (1,), (2,), (3,)), mesh) == ()
    assert axes_of_groups(((0, 3), (1, 2)), mesh) is None
    assert axes_of_pairs(((0, 3), (3, 0)), mesh) == ("a", "b")


def test_a_group_of_one_sends_nothing() -> None:
    assert Collective("all-reduce", "r", 100, 1).wire == 0


def test_replicated_arguments_are_those_that_no_axis_splits() -> None:
    module = _module("cpu")  # each device has f32[256,256]
    assert replicated_arguments(module, [("x", 8 * BLOCK)]) == []
    assert replicated_arguments(module, [("x", BLOCK)]) == [Replicated("x", BLOCK, 8, (256, 256))]
    assert Replicated("x", BLOCK, 8).wasted == 7 * BLOCK
    with pytest.raises(ValueError, match="@main has 0 arguments, the HLO has 1"):
        replicated_arguments(module, [])


@pytest.mark.parametrize(
    ("dims", "split", "parts"),
    [
        ((16, 32), "data+model", 8),  # the first dimension, over all devices
        ((6, 32), "None,data+model", 8),
        ((6, 12), "None,model", 4),
        ((6,), "data", 2),
        ((7,), "None", None),
        ((), "None", None),
    ],
)
def test_replicated_split_is_the_finest_even_one(
    dims: tuple[int, ...], split: str, parts: int | None
) -> None:
    found = Replicated("x", 64, 8, dims).split(MESH)
    assert (str(found), found and found.parts) == (split, parts)


def test_replicated_arguments_on_one_device_are_none() -> None:
    alone = parse_hlo(
        "HloModule one\n\nENTRY %m (x: f32[8]) -> f32[8] {\n  ROOT %x = f32[8]{0} parameter(0)\n}\n"
    )
    assert replicated_arguments(alone, [("x", 32)]) == []


def test_collectives_as_json() -> None:
    found = _found("gpu")[0].as_json()
    assert (found["kind"], found["bytes"], found["axes"], found["line"]) == (
        "all-gather",
        4 * BLOCK,
        ["model"],
        29,
    )
    assert Replicated("w", 10, 4).as_json()["wasted_bytes"] == 30


HOST_TRANSFER = """
HloModule printed, entry_computation_layout={(f32[])->f32[]}

ENTRY main {
  x = f32[] parameter(0)
  start = token[] after-all()
  sent = (f32[], u32[], token[]) send(x, start), channel_id=1, is_host_transfer=true
  done = token[] send-done(sent), channel_id=1, is_host_transfer=true
  ROOT y = f32[] add(x, x)
}
"""


def test_transfer_to_the_host_is_no_collective() -> None:
    assert collectives_of(parse_hlo(HOST_TRANSFER), None) == []
    to_device = HOST_TRANSFER.replace(", is_host_transfer=true", "")
    assert [each.kind for each in collectives_of(parse_hlo(to_device), None)] == ["send"]
