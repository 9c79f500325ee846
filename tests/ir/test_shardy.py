"""Shardy's passes in a child process: what crashes them does not crash this process."""

from __future__ import annotations

import pytest
from jaxlib.mlir import ir

import jxc
from jxc.errors import JxcError
from jxc.ir import functions, make_context, read_module, shardy
from jxc.ir.propagation import argument_shardings
from jxc.ir.shardy import _Client, _written, run_shardy

PROPAGATE = "builtin.module(sdy-propagation-pipeline)"
SPLIT = """module {
  sdy.mesh @mesh = <["a"=2]>
  func.func @NAME(%x: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>})
      -> tensor<2xf32> {
    %c = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %0 = stablehlo.add %x, %c : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}"""


def parsed(name):
    return read_module(SPLIT.replace("NAME", name), make_context())


def test_run_shardy_returns_a_copy_with_shardings():
    module = parsed("main")
    before = str(module)
    found = run_shardy(module.operation, PROPAGATE)
    main = functions(found)["main"]
    assert 'sdy.sharding = #sdy.sharding<@mesh, [{"a"' in str(main.attributes["res_attrs"])
    assert len(argument_shardings(main)) == 1
    assert str(module) == before


RECURSIVE = """module {
  sdy.mesh @mesh = <["a"=2]>
  func.func @main(%x: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>})
      -> tensor<2xf32> {
    %0 = func.call @main(%x) : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}"""


def test_client_survives_crashes_and_gives_up_after_three():
    client = _Client()
    valid = _written(parsed("main").operation)
    crashing = _written(read_module(RECURSIVE, make_context()).operation)
    for crashes in (1, 2, 3):
        assert client.run(valid, PROPAGATE)[0] == "done"
        assert client.run(crashing, PROPAGATE) == ("failed", "died: SIGSEGV")
        assert client._crashes == crashes
    assert client.run(valid, PROPAGATE) == ("failed", "they crashed 3 times in this process")


def test_redundant_constraints_of_a_program_that_crashes_shardy_is_an_error():
    text = RECURSIVE.replace("module {", "module attributes {mhlo.num_partitions = 2 : i32} {")
    constraint = '%1 = sdy.sharding_constraint %0 <@mesh, [{"a"}]> : tensor<2xf32>\n    return %1 :'
    module = read_module(text.replace("return %0 :", constraint), make_context())
    with pytest.raises(JxcError, match="failed on this program: died: SIGSEGV"):
        jxc.opt(module, "redundant-constraints")


def test_invalid_module_is_an_answer_and_no_crash():
    client = _Client()
    assert client.run(b"ML\xefRnothing", PROPAGATE)[0] == "failed"
    assert client._crashes == 0


@pytest.mark.parametrize(
    "constant",
    [
        "dense<[1.0, 2.0]> : tensor<2xf32>",
        "dense<[true, false]> : tensor<2xi1>",
        "dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>",
        "dense<[1, 2]> : tensor<2xui4>",
        "dense<[1.0, 2.0]> : tensor<2xf8E5M2>",
        "dense_resource<weights> : tensor<2xf32>",
    ],
)
def test_large_constants_of_each_type_are_sent_with_their_type(constant, monkeypatch):
    monkeypatch.setattr(shardy, "_MOST_ELEMENTS", 1)
    kind = constant.partition(" : ")[2]
    context = make_context()
    text = (
        f"func.func @main() -> {kind} {{ %c = stablehlo.constant {constant} return %c : {kind} }}"
    )
    module = read_module(text, context)
    sent = ir.Module.parse(_written(module.operation), context)
    assert str(functions(sent)["main"].attributes["function_type"]).endswith(kind)
    assert ("[true" in str(sent)) == ("i1" in kind) and "[1.0" not in str(sent)
