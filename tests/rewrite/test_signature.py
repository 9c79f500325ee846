"""Signatures: ops in equal surroundings are priced once, others are told apart."""

from __future__ import annotations

from unittest.mock import patch

from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import make_context, read_module, walk
from jxc.pipeline import make_pipeline, run_pipeline
from jxc.rewrite import PassContext, gate
from jxc.rewrite.signature import signature_of

LAYER = """
  %d{n} = stablehlo.dot_general %x{m}, %w, contracting_dims = [1] x [0] : (tensor<{rows}x64xf32>, tensor<64x64xf32>) -> tensor<{rows}x64xf32>
  %y{n} = stablehlo.sine %d{n} : tensor<{rows}x64xf32>
  %x{n} = stablehlo.dot_general %y{n}, %w, contracting_dims = [1] x [0] : (tensor<{rows}x64xf32>, tensor<64x64xf32>) -> tensor<{rows}x64xf32>
"""  # noqa: E501


def _layers(count: int, rows: int = 1000):
    body = "".join(LAYER.format(n=n + 1, m=n, rows=rows) for n in range(count))
    kind = f"tensor<{rows}x64xf32>"
    text = f"func.func @main(%x0: {kind}, %w: tensor<64x64xf32>) -> {kind} {{{body}"
    return read_module(f"{text}return %x{count} : {kind}\n}}", make_context())


def _signatures(module) -> list[object]:
    return [
        signature_of(op)
        for op in walk(module.operation)
        if op.operation.name == hlo.SineOp.OPERATION_NAME
    ]


def _judged(module) -> tuple[int, str]:
    """How often rewrites were priced, and the module after the pass."""
    with patch.object(gate, "judge", side_effect=gate.judge) as judge:
        run_pipeline(module, make_pipeline("elementary"), PassContext("cpu"))
    return judge.call_count, str(module)


def test_equal_layers_are_priced_once():
    few, many = _judged(_layers(4)), _judged(_layers(12))
    assert few[0] == many[0] >= 1
    assert "stablehlo.sine" not in few[1] + many[1]


def test_what_was_not_worth_it_is_not_built_again():
    assert _judged(_layers(4, rows=17))[0] == _judged(_layers(12, rows=17))[0] >= 1
    assert _judged(_layers(3, rows=17))[1].count("stablehlo.sine") == 3


def test_remembered_prices_choose_as_prices_do():
    with patch.object(gate.Gate, "signature", return_value=None):
        priced = _judged(_layers(6))
    assert priced[0] > _judged(_layers(6))[0]
    assert priced[1] == _judged(_layers(6))[1]


def test_signatures_tell_surroundings_apart():
    found = _signatures(_layers(12))
    assert found[6] == found[7]
    assert len({found[0], found[1], found[6]}) == 3


def test_ops_without_operands_or_results_have_a_signature():
    text = """func.func @main(%x: tensor<1100xf32>) -> (tensor<1100xf32>, tensor<4xi32>) {
      %y = stablehlo.sine %x : tensor<1100xf32>
      %n = stablehlo.create_token : !stablehlo.token
      %i = stablehlo.iota dim = 0 : tensor<4xi32>
      return %y, %i : tensor<1100xf32>, tensor<4xi32>
    }"""
    module = read_module(text, make_context())
    run_pipeline(module, make_pipeline("elementary"), PassContext("cpu"))
    with patch.object(gate, "_types", side_effect=gate._types) as types:
        made = gate.Gate(PassContext("cpu"), is_guarded=False)
        made._asked.add(())
        for op in walk(module.operation):
            made.signature(op)
    assert types.call_count > 3
