"""`annotate-sharding` compared with the modules of JAX, on devices, and on invalid files."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P
from jaxlib.mlir import ir

import jxc
from jxc.backend import _private
from jxc.errors import JxcError, UsageError
from jxc.frontend.lowering import lower
from jxc.ir import clone_module, make_context, read_module, write_text
from jxc.pipeline import PassError
from jxc.rewrite import module_pass

S = jax.ShapeDtypeStruct


def train(state, batch, key, rate):
    noise = jax.vmap(lambda k: jax.random.normal(k, (8,)))(key)

    def loss(w):
        return jnp.mean((jnp.tanh((batch["x"] + noise) @ w[0]) @ w[1] - batch["y"]) ** 2)

    value, grads = jax.value_and_grad(loss)(state["w"])
    return value, {"w": [w - rate * g for w, g in zip(state["w"], grads, strict=True)]}


ARGS = (
    {"w": [S((8, 12), "float32"), S((12, 4), "float32")]},
    {"x": S((16, 8), "float32"), "y": S((16, 4), "float32")},
    jax.eval_shape(lambda: jax.random.split(jax.random.key(0), 16)),
    S((), "float32"),
)


def annotate(module, tmp_path, text):
    file = tmp_path / "rules.txt"
    file.write_text(text)
    return jxc.opt(module, f"annotate-sharding{{rules={file}}}")


RULES = """
mesh data=2 model=2
state['w'][0] -> None,model
state['w'][1] -> model
batch -> data
key -> data
rate ->
result[1] ->
"""

SHARDINGS = {
    "state['w'][0]": P(None, "model"),
    "state['w'][1]": P("model"),
    "batch": P("data"),
    "key": P("data"),
    "rate": P(),
}


def annotations(module):
    """The lines with shardings of a module: its attributes, its mesh and its signature."""
    lines = write_text(clone_module(module)).splitlines()
    return [line for line in lines if re.match(r"module|  sdy.mesh @mesh |  func.*@main", line)]


@pytest.mark.parametrize("platform", ["cpu", "tpu"])
def test_annotations_equal_those_of_jax(tmp_path, platform):
    theirs = lower(
        train,
        ARGS,
        mesh="data=2,model=2",
        in_shardings=SHARDINGS,
        out_shardings={"1": P()},
        platform=platform,
    )
    plain = lower(train, ARGS, platform=platform)
    ours = annotate(plain.module, tmp_path, RULES)
    assert annotations(ours) == annotations(theirs.module)


def test_donated_argument_and_its_result_get_one_sharding(tmp_path):
    plain = lower(train, ARGS, jit_kwargs={"donate_argnums": 0})
    ours = annotate(plain.module, tmp_path, RULES.replace("result[1] ->", ""))
    main = next(line for line in write_text(ours).splitlines() if "@main" in line)
    assert main.count('[{}, {"model"}]') == main.count('[{"model"}, {}]') == 2
    with pytest.raises(UsageError, match=r"donated to result\[1\]\['w'\]\[0\], which is sharded"):
        annotate(plain.module, tmp_path, RULES)


def test_an_annotated_module_runs_on_four_devices(tmp_path):
    lowering = lower(train, ARGS, mesh="data=2,model=2", concrete=True)
    assert "@mesh" not in write_text(lowering.module)
    ours = annotate(lowering.module, tmp_path, RULES)
    compiled = _private.with_module(lowering.lowered, ours).compile()
    assert "all-reduce" in compiled.as_text()
    random = np.random.default_rng(0)
    state, batch = jax.tree.map(
        lambda s: random.standard_normal(s.shape).astype(np.float32), ARGS[:2]
    )
    args = (state, batch, jax.random.split(jax.random.key(0), 16), np.float32(0.1))
    found, expected = compiled(*args), jax.jit(train)(*args)
    assert any(len(leaf.sharding.device_set) == 4 for leaf in jax.tree.leaves(found))
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6), found, expected
    )


PROGRAM = """
module attributes {mhlo.num_partitions = 1 : i32} {
  func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<?xf32>) -> tensor<8xf32> {
    return %arg0 : tensor<8xf32>
  }
}
"""


def test_rules_file_is_read_in_each_run(tmp_path):
    for axis in ("a", "b"):
        ours = annotate(PROGRAM, tmp_path, f"mesh {axis}=2\narg0 -> {axis}")
        assert f'[{{"{axis}"}}]' in write_text(ours)


def test_mesh_gets_a_name_that_is_free(tmp_path):
    text = PROGRAM.replace("\n}", "\n  func.func private @mesh()\n}")
    assert 'sdy.mesh @mesh_0 = <["a"=2]>' in write_text(annotate(text, tmp_path, "mesh a=2"))


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("", "rules.txt: expected a mesh first, such as mesh data=4 model=2, found ''"),
        ("# nothing\nx -> a", "rules.txt:2: expected a mesh first, .* found 'x -> a'"),
        ("mesh a", "rules.txt:1: mesh 'a': expected AXIS=SIZE"),
        ("mesh a=2\nmesh b=2", "rules.txt:2: expected PATTERN -> SPEC, .* found 'mesh b=2'"),
        ("mesh a=2\n-> a", "rules.txt:2: expected PATTERN -> SPEC"),
        ("mesh a=2\narg0 -> a b", "rules.txt:2: partition spec 'a b': expected the axes"),
        ("mesh a=2\narg0 -> b", "rules.txt:2: arg0 -> b: .* has no axis 'b'"),
        ("mesh a=2\narg0 -> a,a", "the axis 'a' occurs twice"),
        ("mesh a=2\narg0 -> None,a", "the spec is for rank 2 or more, the array has rank 1"),
        ("mesh a=3\narg0 -> a", "dimension 0, of size 8, is not divisible by the 3 devices of 'a'"),
        ("mesh a=2\narg1 -> a", r"argument arg1 is tensor<\?xf32>: dimension 0"),
        ("mesh a=2\narg2 -> a", r"no argument matches. Did you mean 'arg1' or 'arg0'\?"),
        ("mesh a=2\nresult[1] -> a", r"no result matches. Did you mean 'result\[0\]'"),
    ],
)
def test_malformed_rules_file_is_an_error(tmp_path, rules, message):
    with pytest.raises(UsageError, match=message):
        annotate(PROGRAM, tmp_path, rules)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("func.func @f() { return }", "the module has no function @main"),
        (PROGRAM.replace("= 1 :", "= 8 :"), "already partitioned for 8 devices, but the mesh"),
        (
            PROGRAM.replace("  func", '  sdy.mesh @m = <["b"=2]>\n  func'),
            "already sharded over the mesh b=2",
        ),
    ],
)
def test_module_with_another_sharding_is_an_error(tmp_path, module, message):
    with pytest.raises(JxcError, match=message):
        annotate(module, tmp_path, "mesh a=2\n** -> ?")


def test_unreadable_rules_file_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="absent: no such file"):
        jxc.opt(PROGRAM, f"annotate-sharding{{rules={tmp_path}/absent}}")
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="binary: not a text in UTF-8"):
        jxc.opt(PROGRAM, f"annotate-sharding{{rules={binary}}}")


def _set_partitions(module: ir.Operation) -> None:
    """Change an attribute that only a pass that declares this may change."""
    module.attributes["mhlo.num_partitions"] = ir.IntegerAttr.get(
        ir.IntegerType.get_signless(32), 3
    )


def test_only_a_declared_pass_may_change_num_partitions():
    module = read_module(PROGRAM, make_context())
    with pytest.raises(PassError, match=r"mhlo\.num_partitions was 1 : i32, now 3 : i32"):
        jxc.opt(module, module_pass(_set_partitions))
    declared = module_pass(changes=("mhlo.num_partitions",))(_set_partitions)
    assert "mhlo.num_partitions = 3" in write_text(jxc.opt(module, declared))


def test_annotations_are_invariants_of_later_passes(tmp_path):
    file = tmp_path / "rules.txt"
    file.write_text("mesh a=2\narg0 -> a")
    with pytest.raises(PassError, match=r"mhlo\.num_partitions was 2 : i32, now 3 : i32"):
        jxc.opt(PROGRAM, [f"annotate-sharding{{rules={file}}}", module_pass(_set_partitions)])
