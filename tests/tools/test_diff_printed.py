"""The text of `jxc diff`: counts add up, and many changes at one line stay short."""

from __future__ import annotations

import jax.numpy as jnp
from jaxlib.mlir import ir

import jxc
from jxc.ir import make_context, read_module
from jxc.tools.diff import ComparedProgram, DifferenceGroup, compare
from jxc.tools.diff.output import _rows, print_comparison


def module(text: str, context: ir.Context) -> ComparedProgram:
    return ComparedProgram("program", read_module(text.encode(), context, name="program.mlir"))


def test_ops_metric_counts_calls_followed() -> None:
    """A function that JAX outlines once and calls three times counts three times."""
    context = make_context()

    def one(x):
        return jnp.var(x) + jnp.var(x * 2) + jnp.var(x * 3)

    def other(x):
        return sum(((x * k - (x * k).mean()) ** 2).mean() for k in (1, 2, 3))

    texts = [jxc.lower(fn, jnp.ones(8)).as_text(debug_info=True) for fn in (one, other)]
    found = compare(*(module(text, context) for text in texts))
    (ops,) = found.metrics
    counts = {"fewer": 0, "more": 0}
    for group in found.difference.groups:
        if group.kind in counts:
            counts[group.kind] += group.count
    assert (ops.before, ops.after) == tuple(sum(each.values()) for each in found.difference.ops)
    assert ops.after - ops.before == counts["more"] - counts["fewer"] != 0


def test_rewired_op_prints_its_operands(capsys) -> None:
    text = """
    func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.sine %OPERAND : tensor<4xf32>
      %1 = stablehlo.subtract %0, %x : tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    """
    context = make_context()
    both = [module(text.replace("OPERAND", name), context) for name in "xy"]
    print_comparison(compare(*both), whole=False)
    assert "     1 changed stablehlo.sine: its operands\n" in capsys.readouterr().out


def test_rows_gather_changes_of_one_op_at_one_line() -> None:
    """One row for each op, even if groups of other ops are in between."""

    def changed(op: str, count: int, after: str) -> DifferenceGroup:
        return DifferenceGroup("changed", op, count, None, None, (("dimensions", "0", after),))

    groups = [
        changed(op, count, str(count))
        for count in (9, 7, 5, 3)
        for op in ("stablehlo.reduce", "stablehlo.concatenate")
    ]
    rows = [(count, str(said)) for count, said in _rows(groups)]
    assert rows == [
        ("24", "changed stablehlo.reduce: such as dimensions 0 → 9"),
        ("24", "changed stablehlo.concatenate: such as dimensions 0 → 9"),
    ]


def test_rows_do_not_print_backend_configurations() -> None:
    before, after = (f'{{"fusion_config":{{"kind":"{name}"}}}}' for name in ("ynn", "triton"))
    changes = (("kind", "kCustom", "kInput"), ("backend_config", before, after))
    ((_, said),) = _rows([DifferenceGroup("changed", "fusion", 1, None, None, changes)])
    assert str(said) == "changed fusion: kind kCustom → kInput; backend_config"
