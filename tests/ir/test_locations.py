"""Locations of inlined ops have the form from which XLA keeps a path and a Python line."""

import jax
import jax.numpy as jnp
import pytest
from jaxlib.mlir import ir

import jxc
from jxc.hlo import parse_hlo
from jxc.ir import make_context, read_module, walk
from jxc.ir.locations import name_file, op_in_scope, scope_of
from jxc.pipeline.native import run_native

X = jnp.ones((8, 8))

TEXT = """
func.func public @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @outer(%x) : (tensor<f32>) -> tensor<f32> loc("jit(f)/jit(outer)"("f"("f.py":1:2)))
  return %0 : tensor<f32>
}
func.func private @outer(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @inner(%x) : (tensor<f32>) -> tensor<f32> loc("jit(inner)")
  return %0 : tensor<f32>
}
func.func private @inner(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.sine %x : tensor<f32> loc("sin"("inner"("g.py":3:4)))
  %1 = stablehlo.cosine %0 : tensor<f32> loc("cos")
  %2 = stablehlo.negate %1 : tensor<f32> loc(unknown)
  return %2 : tensor<f32>
}
"""


def test_inlined_ops_have_name_stack_and_frames_of_caller_and_callee():
    module = read_module(TEXT, make_context())
    run_native("inline{default-pipeline=},symbol-dce", module)
    found = {op.operation.name: op.location for op in walk(module.operation)}
    assert {name: at.name_str for name, at in found.items() if isinstance(at, ir.NameLoc)} == {
        "stablehlo.sine": "jit(f)/jit(outer)/jit(inner)/sin",
        "stablehlo.cosine": "jit(f)/jit(outer)/jit(inner)/cos",
        "stablehlo.negate": "jit(f)/jit(outer)/jit(inner)",
    }
    inside, called = '"inner"("g.py":3:4)', '"f"("f.py":1:2)'
    assert str(found["stablehlo.sine"].child_loc) == f"loc(callsite({inside} at {called}))"
    assert str(found["stablehlo.cosine"].child_loc) == f"loc({called})"
    assert str(found["stablehlo.negate"].child_loc) == f"loc({called})"


def test_xla_keeps_frames_of_a_jitted_function_and_its_caller():
    @jax.jit
    def inner(x):
        return jnp.tanh(x) * 2

    def f(x):
        return inner(jnp.sort(x))

    hlo = parse_hlo(jxc.lower(f, X).opt("O1").compile("").as_text())
    found = {
        each.op_name: each.place
        for computation in hlo.computations.values()
        for each in computation.instructions
        if each.opcode in ("tanh", "sort")
    }
    assert {name: place and place.function.split(".")[-1] for name, place in found.items()} == {
        "jit(f)/jit(inner)/tanh": "inner",
        "jit(f)/jit(sort)/sort": "f",
    }


CALLS = """
func.func public @main() {
  call @f() : () -> ()
  call @f() : () -> () loc("g.py":1:1)
  return
}
func.func private @f()
"""


def test_name_file_names_the_file_of_a_text_in_memory():
    module = read_module(CALLS, make_context())
    name_file(module, "f.mlir")
    lines = [str(op.location) for op in walk(module.operation) if op.operation.name == "func.call"]
    assert lines == ['loc("f.mlir":3:3)', 'loc("g.py":1:1)']


PATHS = {
    "jit(step)/jvp(conv1_bn)/jit(_var)/div": "conv1_bn",
    "jit(step)/transpose(jvp(conv1_bn))/mul": "gradient of conv1_bn",
    "jit(f)/jvp(Net)/Block_0/Dense_1/dot_general": "Block_0/Dense_1",
    "jit(f)/transpose(jvp(Net))/jvp(Net)/checkpoint/rematted_computation/Block_0/Norm_0/mul": (
        "gradient of Block_0/Norm_0"
    ),
    "jit(f)/vmap(jvp(a/b))/sin": "a/b",
    "jit(f)/jvp(Net)/Block_0/add;jit(f)": "Net/Block_0",
    "jit(f)/jvp()/while/body/closed_call/dot_general": "",
    "jit(f)/jvp()/while/body/eval_jaxpr/dot_general": "",  # jax 0.12
    "jit(f)/cond/branch_1_fun/custom_jvp_call/sin": "",
    "jit(f)/jit(relu)/max": "",
    "reduce_sum": "",
    "weights[3]": "",
    "": "",
}


@pytest.mark.parametrize("path", PATHS)
def test_scope_of(path: str) -> None:
    assert scope_of(path) == PATHS[path]


@pytest.mark.parametrize(
    ("path", "phrase"),
    [
        ("jit(step)/jvp(conv1)/add", "add in conv1"),
        ("copy of jit(step)/transpose(jvp(conv1))/add", "copy of add in gradient of conv1"),
        ("copy of params['w']", "copy of params['w']"),
        ("jit(f)/jvp()/while/body/sin", "sin"),
        ("", ""),
    ],
)
def test_op_in_scope(path: str, phrase: str) -> None:
    assert op_in_scope(path) == phrase
