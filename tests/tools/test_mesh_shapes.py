"""Shapes of a mesh by the time of their collectives, on a switch without latency.

Over data, gradients of 800 bytes are summed that `model` splits; over model, activations of 4000
bytes that `data` splits. A device passes 100 bytes a second.
"""

from __future__ import annotations

import jax
import pytest
from jax.sharding import PartitionSpec as P

from jxc.compiled.collectives import Collective, groups_along
from jxc.compiled.mesh_shapes import fitting_shapes, mesh_shapes, shapes_of
from jxc.cost.network import DeviceCoordinates, Fabric, Network
from jxc.frontend.lowering import lower

MESH = {"data": 4, "model": 4}
SHAPES = list(shapes_of(MESH))
FABRIC = Fabric(Network("switch", 100.0, "a test"), (DeviceCoordinates(),) * 16)


def collective(axis: str, payload: int, kind: str = "all-reduce") -> Collective:
    groups = groups_along((axis,), MESH)
    return Collective(kind, "c", payload, 4, (axis,), groups=groups)


def test_shapes_of_keeps_the_axes() -> None:
    found = [tuple(sizes.values()) for sizes in shapes_of({"data": 2, "one": 1, "model": 2})]
    assert found == [(1, 1, 4), (2, 1, 2), (4, 1, 1)]
    assert list(shapes_of({"data": 4})) == [{"data": 4}]


def test_mesh_shapes_scale_each_array_by_the_other_axes() -> None:
    found = mesh_shapes(
        [collective("data", 200), collective("model", 1000)], MESH, SHAPES, FABRIC, {}
    )
    # this mesh takes 2 3/4 (200 + 1000) / 100 = 18 s
    seconds = {str(each): each.network_seconds for each in found}
    assert seconds == {
        # gradients of 800 bytes, 2 15/16 8 s; no collectives over model
        "data=16,model=1": pytest.approx(15),
        # gradients of 400 bytes, 2 7/8 4 s; activations of 500 bytes, 2 1/2 5 s
        "data=8,model=2": pytest.approx(12),
    }
    assert str(found[0]) == "data=8,model=2"


def test_mesh_shapes_keep_what_a_device_exchanges() -> None:
    found = mesh_shapes([collective("model", 1000, "all-to-all")], MESH, SHAPES, FABRIC, {})
    seconds = {str(each): each.network_seconds for each in found}
    assert seconds["data=8,model=2"] == pytest.approx(1 / 2 * 10)


def test_mesh_shapes_are_none_for_groups_that_are_not_whole_axes() -> None:
    other = Collective("all-reduce", "c", 8, 2, None, groups=((0, 3), (1, 2)))
    assert mesh_shapes([other], MESH, SHAPES, FABRIC, {}) == []
    assert mesh_shapes([], MESH, SHAPES, FABRIC, {}) == []


def test_fitting_shapes_split_the_arguments_evenly() -> None:
    over = {"data": 4, "model": 2}
    args = jax.ShapeDtypeStruct((4, 3), "float32"), jax.ShapeDtypeStruct((8,), "float32")
    shardings = {"x": P("data"), "y": P(("data", "model"))}
    lowering = lower(lambda x, y: (x, y), args, mesh=over, in_shardings=shardings)
    found = [tuple(sizes.values()) for sizes in fitting_shapes(lowering.module, over)]
    assert found == [(1, 8), (2, 4), (4, 2)]  # data=8 does not split four rows
    assert fitting_shapes(lowering.module, {"data": 8}) == []
