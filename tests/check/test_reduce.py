"""`reduce_module`: its results on large modules, its candidates, and how it ends."""

import os
import random
import signal
import subprocess
import sys
import time
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import RsqrtOp, SubtractOp

import jxc
from jxc.check.edit import add_argument, body, entry, set_outputs, terminator
from jxc.check.reduce import NotFailing, module_text, reduce_module, search
from jxc.check.reduce.counterexample import find_counterexample
from jxc.check.verify import verify_pipeline
from jxc.ir import count_ops, make_context, read_module, walk, write_text
from jxc.ir.build import splat
from jxc.ir.module import ops_of
from jxc.ir.values import is_float
from scripts.fuzzing.program import random_program

from ..passes.corpus import attention, layer_norm, lowered_text

CONTEXT = make_context()


@jxc.rule(jxc.exact)
def subtract_of_same(op: SubtractOp) -> ir.Value | None:
    """x - x -> 0: wrong for NaN and infinities."""
    return splat(0, op.result.type) if op.lhs == op.rhs and is_float(op.result) else None


@jxc.rule(jxc.exact)
def rsqrt_as_sqrt(op: RsqrtOp) -> ir.Value | None:
    """1 / sqrt x -> sqrt x: wrong except for 1."""
    return stablehlo.sqrt(op.operand)


def large_program():
    """A random module of more than 500 ops that contains exp(-x - -x)."""
    modules = (read_module(random_program(str(n), 900), CONTEXT) for n in range(100))
    module = next(m for m in modules if count_ops(m) > 500)
    function = entry(module)
    ops = ops_of(body(function))
    with CONTEXT, ir.Location.unknown():
        x = add_argument(function, ir.RankedTensorType.get((3, 4), ir.F32Type.get()))
        with ir.InsertionPoint(ops[len(ops) // 2]):
            negated = stablehlo.negate(x)
            difference = stablehlo.exponential(stablehlo.subtract(negated, negated))
        outputs = len(terminator(body(function)).operands)
        set_outputs(function, range(outputs), [difference])
    assert module.operation.verify()
    return module


def test_reduce_large_program_to_the_ops_that_a_wrong_rule_breaks():
    module = large_program()
    [verdict] = verify_pipeline(module, subtract_of_same)
    found = find_counterexample(module, subtract_of_same, verdict)
    assert found.reduction.before.ops > 500
    assert found.reduction.after.ops <= 2
    difference = found.verdict.report.difference
    assert any(not np.isfinite(array).all() for array in difference.inputs)


def block(params, x):
    scale, bias, w, up, down = params
    q, k, v = jnp.moveaxis((layer_norm(x, scale, bias) @ w).reshape(2, 6, 3, 2, 4), 2, 0)
    x = x + attention(q, k, v).reshape(x.shape)
    return x + jax.nn.gelu(layer_norm(x, scale, bias) @ up) @ down


def step(params, x):
    def loss(params):
        y = x
        for each in params:
            y = block(each, y)
        return jnp.mean((y - x) ** 2)

    return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(params))


def test_reduce_transformer_training_step_to_one_op():
    shapes = (8,), (8,), (8, 24), (8, 16), (16, 8)
    params = [[jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes]] * 2
    module = jxc.lower(step, params, jax.ShapeDtypeStruct((2, 6, 8), np.float32)).module
    [verdict] = verify_pipeline(module, rsqrt_as_sqrt, seeds=1)
    found = find_counterexample(module, rsqrt_as_sqrt, verdict, seeds=1)
    assert found.reduction.before.ops > 500
    assert found.reduction.after.ops == 1
    assert found.verdict.report.difference is not None


@pytest.mark.parametrize("seed", range(8))
def test_reduce_candidates_are_valid_and_accepted_ones_no_larger(seed):
    module = read_module(random_program(f"reduce {seed}", 120), CONTEXT)
    given = write_text(module)
    names = sorted({op.operation.name for op in walk(module.operation)})
    wanted = set(random.Random(seed).sample(names, 2))
    candidates_tried, sizes = [], []

    def still_fails(candidate):
        assert candidate.operation.verify()
        text = module_text(candidate)
        candidates_tried.append(text)
        again = read_module(text, make_context())
        return wanted <= {op.operation.name for op in walk(again.operation)}

    def progress(reduction):
        sizes.append(reduction.after)

    reduction = reduce_module(module, still_fails, progress=progress)
    assert reduction.ended == "done"
    assert still_fails(reduction.module)
    assert all(after <= before for before, after in pairwise(sizes))
    assert reduction.after == sizes[-1] <= reduction.before == sizes[0]
    assert len(candidates_tried) - 1 == len(set(candidates_tried)) == reduction.candidates
    assert write_text(module) == given


PROGRAMS = (
    "argmax",
    "grad_convolve",
    "grad_cross_entropy",
    "grad_max_pool",
    "grad_scan",
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_reduce_to_a_single_small_op_of_each_kind(name):
    module = read_module(lowered_text(name), CONTEXT)
    kinds = {op.operation.name for op in walk(module.operation)}
    kinds = {k for k in kinds if k.startswith("stablehlo.")} - {"stablehlo.return"}
    for kind in kinds:
        reduction = reduce_module(module, lambda m, kind=kind: f"{kind} " in generic(m))
        assert reduction.after.ops <= 2, (kind, write_text(reduction.module))
        assert reduction.after.elements <= 16, (kind, write_text(reduction.module))


def generic(module):
    return write_text(module, generic=True).replace('"', " ")


ALIASED = """
func.func public @main(%x: tensor<2xf32> {tf.aliasing_output = 1 : i32}) ->
    (tensor<2xf32> {jax.result_info = "a"}, tensor<2xf32> {jax.result_info = "b"}) {
  %0 = stablehlo.sine %x : tensor<2xf32>
  %1 = stablehlo.cosine %x : tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}"""


def test_reduce_renumbers_aliasing_when_outputs_are_removed():
    def still_fails(module):
        text = write_text(module)
        return "stablehlo.cosine" in text and "tf.aliasing_output" in text and '"b"' in text

    text = write_text(reduce_module(read_module(ALIASED, CONTEXT), still_fails).module)
    assert "tf.aliasing_output = 0" in text
    assert "sine %" not in text.replace("cosine", "")


def test_reduce_rejects_a_module_that_does_not_fail():
    with pytest.raises(NotFailing, match="as given, it does not"):
        reduce_module(read_module(ALIASED, CONTEXT), lambda module: False)


def test_reduce_at_the_time_limit_returns_the_smallest_so_far(monkeypatch):
    candidates_tried = []

    def one_per_second(module):
        candidates_tried.append(module)
        return True

    monkeypatch.setattr(search, "monotonic", lambda: len(candidates_tried))
    reduction = reduce_module(large_program(), one_per_second, seconds=3.5)
    assert reduction.ended == "time"
    assert reduction.candidates == 4
    assert reduction.after < reduction.before


def test_reduce_when_interrupted_returns_the_smallest_so_far():
    candidates_tried = []

    def interrupted(module):
        candidates_tried.append(module)
        if len(candidates_tried) == 4:
            raise KeyboardInterrupt
        return True

    reduction = reduce_module(large_program(), interrupted)
    assert reduction.ended == "interrupted"
    assert reduction.after < reduction.before


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_reduce_command_on_ctrl_c_writes_the_smallest_so_far(tmp_path):
    (tmp_path / "in.mlir").write_text(lowered_text("layer_norm"))
    out = tmp_path / "out.mlir"
    command = ["reduce", str(tmp_path / "in.mlir"), "--check", "sleep 0.3; false", "-o", str(out)]
    # Children of a shell ignore SIGINT if it started the suite in the background.
    restore_handler = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    jxc_main = [sys.executable, "-c", restore_handler + "from jxc.cli import main; main()"]
    child = subprocess.Popen(
        [*jxc_main, *command], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while not out.exists() and child.poll() is None:
        time.sleep(0.02)
    os.killpg(child.pid, signal.SIGINT)
    error_text = child.communicate(timeout=30)[1]
    assert child.returncode == 130
    assert error_text.endswith(" s, interrupted\n")
    assert read_module(out.read_bytes(), make_context()).operation.verify()
