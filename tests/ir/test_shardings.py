"""Meshes, specs and paths as text."""

from __future__ import annotations

import pytest

from jxc.errors import UsageError
from jxc.ir import make_context, read_module
from jxc.ir.shardings import (
    device_count,
    format_mesh,
    format_spec,
    levels_above,
    meshes_of,
    parse_mesh,
    parse_spec,
    path_prefixes,
    sharding_problem,
    without_trailing,
)


def test_mesh_round_trips():
    mesh = parse_mesh(" data=4, model=2")
    assert list(mesh.items()) == [("data", 4), ("model", 2)]
    assert parse_mesh("data=4 model=2") == mesh == parse_mesh(format_mesh(mesh))
    assert device_count(mesh) == 8


@pytest.mark.parametrize("text", ["", "data", "data=", "data=0", "data=-1", "4=data", "None=2"])
def test_malformed_mesh_is_an_error(text):
    with pytest.raises(UsageError, match="expected AXIS=SIZE"):
        parse_mesh(text)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("", ()),
        ("None", ()),
        ("data", (("data",),)),
        ("None, data+model", ((), ("data", "model"))),
        ("data,None", (("data",), ())),
    ],
)
def test_spec_round_trips(text, spec):
    assert parse_spec(text) == spec
    assert parse_spec(format_spec(spec)) == spec
    assert not without_trailing(spec) or without_trailing(spec)[-1]


@pytest.mark.parametrize("text", ["data,", "data+", "+", "P('data')", "none data", "None+data"])
def test_malformed_spec_is_an_error(text):
    with pytest.raises(UsageError, match="expected the axes of each dimension or None"):
        parse_spec(text)


def test_sharding_problem_names_dimensions_that_fit():
    mesh = {"data": 4, "model": 2}
    fits = {"data": (8, 3), "data+model": (16,), "None,model": (3, 6), "None": (), "": (5,)}
    for text, shape in fits.items():
        assert sharding_problem(parse_spec(text), mesh, shape) is None
    assert "dimension 0, of size 6" in str(sharding_problem(parse_spec("data"), mesh, (6, 8)))
    assert "dimension 1 is" in str(sharding_problem(parse_spec("data"), mesh, (6, 8)))
    assert "no dimension is" in str(sharding_problem(parse_spec("data+model"), mesh, (4, 4)))
    assert "of size b" in str(sharding_problem(parse_spec("data"), mesh, ("b",)))


def test_path_prefixes():
    assert path_prefixes("x") == ("x",)
    assert path_prefixes("s.params['a.b[0]'][1]") == (
        "s",
        "s.params",
        "s.params['a.b[0]']",
        "s.params['a.b[0]'][1]",
    )
    assert path_prefixes("['loss'][0]") == ("['loss']", "['loss'][0]")


def test_levels_above_a_leaf():
    leaf = ["params['layers'][11]['w']"]
    above = {
        "params['layers'][*]['w']": 0,
        "params['layers'][11]": 1,
        "params": 3,
        "*": 3,
        "**['w']": 0,
        "p*[*][*]": 1,
    }
    assert {pattern: levels_above(pattern, leaf) for pattern in above} == above
    for pattern in ("param", "params['layers'][1]", "*['w']", "params[layers]"):
        assert levels_above(pattern, leaf) is None
    assert levels_above("1", ["x['w']", "1['w']"]) == 1


def test_meshes_of_a_module():
    text = """
    sdy.mesh @mesh = <["data"=4, "model"=2]>
    sdy.mesh @empty_mesh = <[]>
    """
    assert meshes_of(read_module(text, make_context())) == {"mesh": {"data": 4, "model": 2}}
