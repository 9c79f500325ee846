"""Lowering over a mesh gives the module of JAX, with and without the devices."""

from __future__ import annotations

import functools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec as P

from jxc.errors import MissingTargetError, UsageError
from jxc.frontend import LowerRequest
from jxc.frontend.diagnose import TraceError
from jxc.frontend.lowering import lower
from jxc.frontend.request import run_request
from jxc.frontend.shardings import parse_shardings, split_shardings

MESH = {"data": 2, "model": 2}
ABSTRACT = AbstractMesh((2, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
PARAMS = {"w": jax.ShapeDtypeStruct((8, 6), "float32"), "b": jax.ShapeDtypeStruct((6,), "float32")}
X = jax.ShapeDtypeStruct((16, 8), "float32")


def step(params, x):
    return jnp.tanh(x @ params["w"] + params["b"])


def over(*spec):
    return NamedSharding(ABSTRACT, P(*spec))


def partitions(lowering):
    return lowering.module.operation.attributes["mhlo.num_partitions"].value


BY_NAME = {"params": P(), "params['w']": P(None, "model"), "1": P("data", None)}
BY_PREFIX = ({"w": P(None, "model"), "b": P()}, P("data"))


@pytest.mark.parametrize("platform", ["tpu", "cuda", "cpu", None])
@pytest.mark.parametrize("shardings", [BY_NAME, BY_PREFIX, list(BY_PREFIX)])
def test_lower_over_a_mesh_equals_jax_with_these_shardings(platform, shardings):
    ours = lower(
        step,
        (PARAMS, X),
        mesh=MESH,
        in_shardings=shardings,
        out_shardings={"0": P("data", "model")},
        platform=platform,
    )
    inside = ({"w": over(None, "model"), "b": over()}, over("data"))
    theirs = jax.jit(step, in_shardings=inside, out_shardings=over("data", "model"))
    traced = theirs.trace(PARAMS, X)
    assert str(ours.module) == traced.lower(lowering_platforms=(platform or "cpu",)).as_text()
    assert dict(ours.mesh) == MESH
    assert partitions(ours) == 4


def test_arguments_without_a_rule_have_no_sharding():
    text = str(lower(step, (PARAMS, X), mesh="data=4", in_shardings={"x": P("data")}).module)
    assert text.count("sdy.sharding =") == 1


def test_dimension_split_over_two_axes():
    rules, _, _ = parse_shardings(("x=model+data",))
    text = str(lower(step, (PARAMS, X), mesh=MESH, in_shardings=rules).module)
    assert '#sdy.sharding<@mesh, [{"model", "data"}, {}]>' in text


def test_most_specific_name_wins():
    def apply(params, x):
        return sum(layer["w"] @ x for layer in params["layers"])

    w = jax.ShapeDtypeStruct((4, 4), "float32")
    rules = {
        "params": P("data"),
        "params['layers'][*]['w']": P("model"),
        "params['layers'][1]['w']": P(None, "model"),
    }
    args = ({"layers": [{"w": w}, {"w": w}], "extra": [w]}, w)
    module = lower(apply, args, mesh=MESH, in_shardings=rules, jit_kwargs={"keep_unused": True})
    found = next(line for line in str(module.module).splitlines() if "@main" in line)
    specs = [each.partition("]>")[0] for each in found.split("<@mesh, [")[1:]]
    assert specs == ['{"data"}, {}', '{"model"}, {}', '{}, {"model"}']


def test_out_shardings_by_name_and_prefix():
    def both(x):
        return {"out": x * 2, "more": (jnp.sum(x), x)}

    ways = [
        {"result['out']": P("data"), "['more'][1]": P(None, "model"), "0": P()},
        {"out": P("data"), "more": (P(), P(None, "model"))},
    ]
    texts = [str(lower(both, (X,), mesh=MESH, out_shardings=way).module) for way in ways]
    assert texts[0] == texts[1]
    assert texts[0].count("sdy.sharding =") == 3
    left = {"result": P(), "1": None, "result['more'][0]": P()}
    assert str(lower(both, (X,), mesh=MESH, out_shardings=left).module).count("sdy.sharding =") == 2


def test_in_shardings_of_keywords_varargs_and_python_numbers():
    def add(a, *rest, scale, **more):
        return (a + rest[0] + rest[1] + more["last"]) * scale

    x = jax.ShapeDtypeStruct((8,), "float32")
    rules = {"rest": P("data"), "rest[1]": P("model"), "last": P(), "scale": P()}
    lowering = lower(add, (x, x, x), {"scale": 2.0, "last": x}, mesh=MESH, in_shardings=rules)
    text = str(lowering.module)
    assert [text.count(spec) for spec in ('[{"data"}]', '[{"model"}]', "[{}]")] == [1, 1, 1]
    assert lowering.jaxpr.in_avals[-1].weak_type or lowering.jaxpr.in_avals[-2].weak_type


def test_lower_over_a_mesh_keeps_donation():
    jitted = jax.jit(lambda x: x + 1, donate_argnums=0)
    text = str(lower(jitted, (X,), mesh="data=4", in_shardings={"x": P("data")}).module)
    assert "jax.buffer_donor = true" in text
    assert '<@mesh, [{"data"}, {}]>' in text


def test_lower_a_jitted_method_over_a_mesh():
    class Model:
        @functools.partial(jax.jit, static_argnums=0)
        def apply(self, x):
            return x * 2

    text = str(lower(Model().apply, (X,), mesh="data=4", in_shardings={"x": P("data")}).module)
    assert '<@mesh, [{"data"}, {}]>' in text


def test_mesh_without_shardings_defines_the_axes():
    def constrained(x):
        return jax.lax.with_sharding_constraint(jnp.sin(x), P("data"))

    def reduced(x):
        return jax.shard_map(
            lambda part: jax.lax.psum(part, "data"), in_specs=P("data"), out_specs=P()
        )(x)

    lowering = lower(constrained, (X,), mesh=MESH)
    assert 'sdy.sharding_constraint %0 <@mesh, [{"data"}, {}]>' in str(lowering.module)
    assert partitions(lowering) == 4
    assert "sdy.manual_computation" in str(lower(reduced, (X,), mesh=MESH).module)
    assert partitions(lower(jnp.sin, (X,), mesh=MESH)) == 4


def test_lowering_reports_the_mesh_of_the_function():
    mesh = jax.make_mesh((4,), ("d",), axis_types=(AxisType.Auto,))
    own = jax.jit(jnp.sin, in_shardings=NamedSharding(mesh, P("d")))
    assert dict(lower(own, (X,)).mesh) == {"d": 4}
    assert dict(lower(own, (X,), mesh="d=4").mesh) == {"d": 4}
    assert not lower(jnp.sin, (X,)).mesh


def test_program_over_a_concrete_mesh_runs():
    lowering = lower(step, (PARAMS, X), mesh=MESH, in_shardings=BY_NAME, concrete=True)
    abstract = lower(step, (PARAMS, X), mesh=MESH, in_shardings=BY_NAME)
    assert str(lowering.module) == str(abstract.module)
    params = {"w": np.ones((8, 6), np.float32), "b": np.arange(6, dtype=np.float32)}
    x = np.linspace(-1, 1, 128, dtype=np.float32).reshape(16, 8)
    result = lowering.lowered.compile()(params, x)
    assert len(result.sharding.device_set) == 4
    np.testing.assert_allclose(result, step(params, x), rtol=1e-5)


def test_a_concrete_mesh_needs_its_devices():
    with pytest.raises(MissingTargetError, match="data=64 has 64 devices; here is 4 of kind cpu"):
        lower(jnp.sin, (X,), mesh="data=64", concrete=True)


def test_request_with_a_mesh_is_lowered_over_it(tmp_path):
    file = tmp_path / "sharded_model.py"
    file.write_text(
        "import jax, jax.numpy as jnp\n"
        "from jax.sharding import PartitionSpec as P\n"
        "@jax.jit\n"
        "def f(x, y): return x @ y\n"
        "def place(mesh): return (P('data'), None), P('data', 'model')\n"
    )
    specs = ("f32[8,8]", "f32[8,8]")
    made = LowerRequest(
        f"{file}:f.__wrapped__", specs, mesh="data=2,model=2", sharding=(f"{file}:place",)
    )
    spelled = LowerRequest(
        f"{file}:f.__wrapped__",
        specs,
        mesh="data=2,model=2",
        sharding=("x=data,None", "result=data,model"),
        concrete=True,
    )
    texts = [str(run_request(each).lowering.module) for each in (made, spelled)]
    assert texts[0] == texts[1]
    assert texts[0].count("sdy.sharding =") == 2


def test_argument_called_result_is_named_by_its_position(tmp_path):
    file = tmp_path / "named_result.py"
    file.write_text("def f(x, *, result):\n    return x + result\n")
    request = LowerRequest(f"{file}:f", ("f32[8]", "result=f32[8]"), mesh="a=2", sharding=("1=a",))
    text = str(run_request(request).lowering.module)
    assert "%arg1: tensor<8xf32> {sdy.sharding" in text and text.count("sdy.sharding =") == 1
    with pytest.raises(UsageError, match="'result': --sharding 1=SPEC shards the argument"):
        run_request(replace(request, sharding=("result=a",)))


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"x": P("dat")}, r"x is f32\[16,8\]: the mesh .* no axis 'dat'. Did you mean 'data'"),
        ({"x": P("data", "data")}, "the axis 'data' occurs twice"),
        ({"x": P("data", None, None)}, "the spec is for rank 3 or more, the array has rank 2"),
        ({"params": P("data")}, r"params\['b'\] is f32\[6\]: dimension 0, of size 6, is not"),
        ({"y": P()}, r"no argument 'y'. There is params\['b'\], params\['w'\], x"),
        ({"params['v']": P()}, r"Did you mean \"params\['w'\]\""),
        ({"x": P("data"), "1": P("model")}, "both name x: leave one out"),
        ({"x": "data"}, "expected a PartitionSpec or a NamedSharding, found str"),
        (({"w": P(), "c": P()}, None), r"in_shardings\[0\] has another structure"),
        (P("data"), r"params\['b'\] is f32\[6\]"),
        (
            {"x": NamedSharding(AbstractMesh((3,), ("data",)), P())},
            "x is sharded over another mesh",
        ),
    ],
)
def test_sharding_that_does_not_fit_is_rejected(rules, message):
    with pytest.raises(UsageError, match=message):
        lower(step, (PARAMS, X), mesh={"data": 4, "model": 2}, in_shardings=rules)


def test_mesh_that_contradicts_the_function_is_rejected():
    mesh = jax.make_mesh((4,), ("d",), axis_types=(AxisType.Auto,))
    own = jax.jit(jnp.sin, in_shardings=NamedSharding(mesh, P("d")))
    with pytest.raises(UsageError, match="a mesh of its own, d=4, which is not --mesh data=4"):
        lower(own, (X,), mesh="data=4")
    with pytest.raises(UsageError, match="with its own in_shardings"):
        lower(own, (X,), mesh="d=4", in_shardings={"x": P("d")})
    with pytest.raises(UsageError, match="with its own out_shardings"):
        lower(jax.jit(jnp.sin), (X,), mesh="d=4", out_shardings={"0": P("d")})

    def mapped(x):
        return jax.shard_map(jnp.sin, mesh=mesh, in_specs=P("d"), out_specs=P("d"))(x)

    with pytest.raises(TraceError, match="a mesh of its own: leave --mesh out"):
        lower(mapped, (X,), mesh="data=4")
    assert dict(lower(mapped, (X,), mesh="d=4", concrete=True).mesh) == {"d": 4}
    left_out = lower(mapped, (X,), platform="tpu")
    assert dict(left_out.mesh) == {"d": 4}
    assert partitions(left_out) == 4


def test_split_shardings_of_each_form():
    a, b = P("data"), P()
    args = (PARAMS, X)
    assert split_shardings((a, b), args) == ((a, b), None)
    assert split_shardings(((a, b), a), args) == ((a, b), a)
    assert split_shardings({"out_shardings": a}, args) == (None, a)
    assert split_shardings(a, args) == (a, None)
    assert split_shardings(([a, b], a), args) == ([a, b], a)
    with pytest.raises(UsageError, match="Return a dict"):
        split_shardings(((a, b), b), ((X, X), X))


def test_sharding_of_a_symbolic_dimension_is_rejected():
    symbolic = jax.ShapeDtypeStruct(jax.export.symbolic_shape("b, 8"), "float32")
    with pytest.raises(UsageError, match="of size b, is not divisible by the 4 devices of 'data'"):
        lower(jnp.sin, (symbolic,), mesh="data=4", in_shardings={"0": P("data")})
    whole = lower(jnp.sin, (symbolic,), mesh="data=4", in_shardings={"0": P(None, "data")})
    assert '<@mesh, [{}, {"data"}]>' in str(whole.module)
