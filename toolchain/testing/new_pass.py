"""A new rule, pass or replacement in a project of the user, with a lit case and a pytest test.

The files lie side by side, so that `jxc test` and pytest find them with no configuration. Each
template does something, so that its tests pass as they are and show what to change.
"""

from __future__ import annotations

import importlib.util
import keyword
import re
import sys
from pathlib import Path

from ..errors import UsageError

KINDS = ("rule", "pass", "replacement")


def write_new_pass(name: str, kind: str = "rule", folder: str | Path = ".") -> list[Path]:
    """Write `NAME.py`, `NAME.mlir` and `test_NAME.py`.

    Args:
        name: in kebab-case or as a Python name, such as "my-rule".
        kind: "rule", "pass" or "replacement".
        folder: where to write; it is created.

    Returns:
        The files.

    Raises:
        UsageError: the name is not one of a Python module, is taken, or a file exists.
    """
    python, spelled = name.replace("-", "_"), name.replace("_", "-")
    _check_name(python, spelled)
    code, case, test = _TEMPLATES[kind]
    texts = {f"{python}.py": code, f"{python}.mlir": case, f"test_{python}.py": test}
    paths = [Path(folder, file) for file in texts]
    if existing := [path for path in paths if path.exists()]:
        raise UsageError(f"{existing[0]} exists; nothing was written")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for path, text in zip(paths, texts.values(), strict=True):
            path.write_text(text.replace("MY_NAME", python).replace("MY-NAME", spelled).lstrip())
    except OSError as error:
        raise UsageError(f"{error.filename}: cannot write: {error.strerror}") from None
    return paths


def _check_name(python: str, spelled: str) -> None:
    """Refuse names that would not work, or would hide another module, pass or rule."""
    if not re.fullmatch(r"[a-z]\w*", python) or keyword.iskeyword(python):
        raise UsageError(f"{spelled!r}: expected a name such as my-rule: letters, digits, hyphens")
    if python in sys.stdlib_module_names or importlib.util.find_spec(python) is not None:
        raise UsageError(f"{spelled!r}: {python}.py would hide the installed module {python}")
    from ..pipeline import LEVELS, Library
    from ..pipeline.native import NATIVE_PASSES

    if spelled in {*Library().names(), *NATIVE_PASSES, *LEVELS}:
        raise UsageError(f"{spelled!r}: there is a pass or rule of this name")


_RUN = "// RUN: jxc opt --load-pass %S/MY_NAME.py -p MY-NAME %s | filecheck %s\n"

_RULE = '''
"""A rule for jxc."""

import jxc
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.ir import Value
from jxc.ir import is_splat


@jxc.rule(jxc.exact)
def MY_NAME(op: stablehlo.MulOp) -> Value | None:
    """x * 2 -> x + x, for every type: both are the same number, rounded once."""
    if is_splat(op.rhs, 2):
        return stablehlo.add(op.lhs, op.lhs)
    return None
'''

_RULE_CASE = f"""
{_RUN}
// CHECK-LABEL: func.func @MY_NAME(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[SUM:.*]] = stablehlo.add %[[X]], %[[X]] : tensor<4xf32>
// CHECK-NEXT: return %[[SUM]]
func.func @MY_NAME(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %two = stablehlo.constant dense<2.0> : tensor<4xf32>
  %0 = stablehlo.multiply %x, %two : tensor<4xf32>
  return %0 : tensor<4xf32>
}}

// Another factor stays.
// CHECK-LABEL: func.func @MY_NAME_not_of_three(
// CHECK: stablehlo.multiply
func.func @MY_NAME_not_of_three(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %three = stablehlo.constant dense<3.0> : tensor<4xf32>
  %0 = stablehlo.multiply %x, %three : tensor<4xf32>
  return %0 : tensor<4xf32>
}}
"""

_PASS = '''
"""A pass for jxc."""

import jxc
from jaxlib.mlir.dialects.stablehlo import ReverseOp
from jaxlib.mlir.ir import Operation
from jxc.ir import is_used, walk


@jxc.module_pass
def MY_NAME(module: Operation) -> None:
    """Remove pairs of reversals along the same dimensions."""
    found = [op for op in walk(module) if isinstance(op, ReverseOp)]
    for op in reversed(found):  # users first
        inner = op.operand.owner
        if isinstance(inner, ReverseOp) and inner.dimensions == op.dimensions:
            op.result.replace_all_uses_with(inner.operand)
        if not is_used(op.result):
            op.operation.erase()
'''

_PASS_CASE = f"""
{_RUN}
// CHECK-LABEL: func.func @MY_NAME(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: return %[[X]]
func.func @MY_NAME(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = stablehlo.reverse %x, dims = [0] : tensor<4xf32>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<4xf32>
  return %1 : tensor<4xf32>
}}

// One reversal stays.
// CHECK-LABEL: func.func @MY_NAME_not_of_one(
// CHECK: stablehlo.reverse
func.func @MY_NAME_not_of_one(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = stablehlo.reverse %x, dims = [0] : tensor<4xf32>
  return %0 : tensor<4xf32>
}}
"""

_REPLACEMENT = '''
"""A replacement for jxc."""

import jax.numpy as jnp
import jxc


@jxc.replacement(jxc.reassociates, x="f32[n]")
def MY_NAME(x):
    """sum(x * x) -> x . x, a sum in another order."""
    return jnp.sum(x * x)


@MY_NAME.by
def product(x):
    return jnp.dot(x, x)
'''

_REPLACEMENT_CASE = f"""
{_RUN.replace("-p MY-NAME", "-p MY-NAME,inline")}
// CHECK-LABEL: func.func @MY_NAME(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>)
// CHECK: stablehlo.dot_general %[[X]], %[[X]]
func.func @MY_NAME(%x: tensor<4xf32>) -> tensor<f32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.multiply %x, %x : tensor<4xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}}

// A product of two values stays.
// CHECK-LABEL: func.func @MY_NAME_not_of_two(
// CHECK: stablehlo.reduce
func.func @MY_NAME_not_of_two(
    %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<f32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.multiply %x, %y : tensor<4xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}}
"""

_TEST = '''
"""Tests of MY-NAME on functions; MY_NAME.mlir has those on modules."""

NUMPYimport jxc
LAX
from MY_NAME import MY_NAME


def program(x):
    return PROGRAM


def test_MY_NAME_applies():
    text = jxc.lower(program, "f32[4]").opt(MY_NAME).as_text()
    assert "BEFORE" not in text


def test_MY_NAME_keeps_the_result():
    verdict = jxc.verify(program, "f32[4]", pipeline=MY_NAME)
    assert verdict.agrees, verdict
'''


def _test(program: str, before: str, *, numpy: str = "", lax: str = "") -> str:
    text = _TEST.replace("PROGRAM", program).replace("BEFORE", before)
    return text.replace("NUMPY", numpy).replace("LAX", f"{lax}\n" if lax else "")


_TEMPLATES = {
    "rule": (_RULE, _RULE_CASE, _test("x * 2", "stablehlo.multiply")),
    "pass": (
        _PASS,
        _PASS_CASE,
        _test("lax.rev(lax.rev(x, [0]), [0])", "stablehlo.reverse", lax="from jax import lax"),
    ),
    "replacement": (
        _REPLACEMENT,
        _REPLACEMENT_CASE,
        _test("jnp.sum(x * x)", "stablehlo.multiply", numpy="import jax.numpy as jnp\n"),
    ),
}
