"""Modules that are nested deeper than Python calls, and deeper than MLIR can parse."""

from __future__ import annotations

import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc
from jxc.errors import JxcError
from jxc.ir import make_context, nesting, read_module, walk, write_bytecode
from jxc.ir.module import nesting_of

FLOAT = "tensor<f32>"


def nested_loops(depth: int) -> str:
    lines = [f"func.func @main(%x: {FLOAT}) -> {FLOAT} {{", "%c = stablehlo.constant dense<2.0>"]
    lines[-1] += f" : {FLOAT}"
    inner = "%x"
    for level in range(depth):
        lines.append(
            f"%r{level} = stablehlo.while(%a{level} = {inner}) : {FLOAT} cond {{ "
            f"%p{level} = stablehlo.compare LT, %a{level}, %c : ({FLOAT}, {FLOAT}) -> tensor<i1> "
            f"stablehlo.return %p{level} : tensor<i1> }} do {{"
        )
        inner = f"%a{level}"
    lines.append(f"%s = stablehlo.add {inner}, %c : {FLOAT}")
    values = ["%s", *(f"%r{level}" for level in reversed(range(depth)))]
    lines += [f"stablehlo.return {value} : {FLOAT} }}" for value in values[:-1]]
    return "\n".join([*lines, f"return {values[-1]} : {FLOAT} }}"])


def nested_branches(depth: int, op: str) -> str:
    kind = "tensor<i1>" if op == "if" else "tensor<i32>"
    lines = [f"func.func @main(%x: {FLOAT}, %p: {kind}) -> {FLOAT} {{"]
    lines += [f'%r{level} = "stablehlo.{op}"(%p) ({{' for level in range(depth)]
    lines.append(f"%s = stablehlo.add %x, %x : {FLOAT}")
    values = ["%s", *(f"%r{level}" for level in reversed(range(depth)))]
    end = f"}}, {{ stablehlo.return %x : {FLOAT} }}) : ({kind}) -> {FLOAT}"
    lines += [f"stablehlo.return {value} : {FLOAT} {end}" for value in values[:-1]]
    return "\n".join([*lines, f"return {values[-1]} : {FLOAT} }}"])


def nested_calls(depth: int) -> str:
    function = f"func.func {{}} @{{}}(%x: {FLOAT}) -> {FLOAT} {{{{ {{}} return %y : {FLOAT} }}}}"
    call = f"%y = call @{{}}(%x) : ({FLOAT}) -> {FLOAT}"
    lines = [function.format("public", "main", call.format("f1"))]
    for level in range(1, depth):
        lines.append(function.format("private", f"f{level}", call.format(f"f{level + 1}")))
    last = f"%y = stablehlo.sine %x : {FLOAT}"
    return "\n".join([*lines, function.format("private", f"f{depth}", last)])


PROGRAMS = {
    "while": nested_loops,
    "if": lambda depth: nested_branches(depth, "if"),
    "case": lambda depth: nested_branches(depth, "case"),
}


@pytest.fixture(autouse=True)
def usual_limit():
    """Restore Python's recursion limit, which reading a deep module raises."""
    limit = sys.getrecursionlimit()
    yield
    sys.setrecursionlimit(limit)


@pytest.mark.parametrize("name", PROGRAMS)
def test_passes_run_on_the_deepest_modules(name):
    text = PROGRAMS[name](nesting.MOST_NESTED)
    optimised = jxc.opt(text, "O2")
    assert nesting_of(optimised.operation) > 1
    assert optimised.operation.verify()


def test_calls_may_be_nested_deeper_than_python_calls():
    optimised = jxc.opt(nested_calls(sys.getrecursionlimit() + 100), "O2")
    names = [op.operation.name for op in walk(optimised.operation)]
    assert names == ["func.func", "stablehlo.sine", "func.return"]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("times", [1, 20])
def test_deeper_modules_are_rejected_in_a_sentence(name, times):
    """20 times as deep as allowed, MLIR's parser crashes."""
    text = PROGRAMS[name](times * nesting.MOST_NESTED + 1)
    with pytest.raises(JxcError, match=r"nested (1001|more than 1000) deep; .* up to 1000\."):
        read_module(text, make_context(), name="deep.mlir")


def test_bytecode_is_checked_too(monkeypatch):
    code = write_bytecode(read_module(nested_loops(3), make_context()))
    monkeypatch.setattr(nesting, "MOST_NESTED", 2)
    with pytest.raises(JxcError, match="nested 3 deep"):
        read_module(code, make_context())


def test_braces_in_strings_and_comments_are_not_levels():
    braces = "{" * (2 * nesting.MOST_NESTED)
    text = (
        f'// {braces}\nmodule attributes {{x.a = "\\"{braces}"}} {{ func.func @f() {{ return }} }}'
    )
    read_module(text, make_context())


def test_programs_that_are_nested_too_deep_run_without_passes(monkeypatch):
    def loop(x):
        return jax.lax.fori_loop(0, 3, lambda _, x: jnp.sin(x), x)

    monkeypatch.setattr(nesting, "MOST_NESTED", 0)
    with jxc.use("O2"), pytest.warns(UserWarning, match="nested 1 deep") as caught:
        found = jax.jit(loop)(jnp.ones(9))
    assert len([each for each in caught if re.search("nested", str(each.message))]) == 1
    assert found[0] == pytest.approx(np.sin(np.sin(np.sin(1))))
