"""`verify_xla` finds bugs of XLA and names the responsible XLA pass."""

from __future__ import annotations

import numpy as np
import pytest

from jxc.check.inputs import CannotRun
from jxc.check.run import run_xla
from jxc.check.xla_bisect import guilty_pass, imported, passes_run, verify_xla
from jxc.ir import make_context, read_module

LEADING_ZEROS = """func.func public @main(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<-1> : tensor<4xi32>
  %n = stablehlo.count_leading_zeros %c : tensor<4xi32>
  %r = stablehlo.add %x, %n : tensor<4xi32>
  return %r : tensor<4xi32>
}"""
UNSIGNED_INDEX = """func.func public @main(%x: tensor<256xi32>) -> tensor<1xi32> {
  %i = stablehlo.constant dense<200> : tensor<ui8>
  %r = stablehlo.dynamic_slice %x, %i, sizes = [1]
      : (tensor<256xi32>, tensor<ui8>) -> tensor<1xi32>
  return %r : tensor<1xi32>
}"""


def _module(text):
    return read_module(text, make_context())


def test_verify_xla_names_the_wrong_pass():
    """XLA folds the leading zeros of -1 to -32; at run time it computes 0."""
    module, zeros = _module(LEADING_ZEROS), np.zeros(4, np.int32)
    if run_xla(module, [zeros])[0].tolist() == [0] * 4:
        pytest.skip("this jaxlib folds count_leading_zeros correctly")
    [verdict] = verify_xla(module, seeds=1)
    assert verdict.disable in passes_run(module, [zeros]), str(verdict)
    options = {"xla_disable_hlo_passes": verdict.disable}
    assert run_xla(module, [zeros], options)[0].tolist() == [0] * 4
    assert f"right with xla_disable_hlo_passes={verdict.disable}" in str(verdict)


def test_verify_xla_names_the_importer():
    """The importer reads a constant ui8 index as signed, before any pass."""
    module = _module(UNSIGNED_INDEX)
    if "[200:201]" in str(imported(module)):
        pytest.skip("this jaxlib imports unsigned indices correctly")
    [verdict] = verify_xla(module, seeds=1)
    assert verdict.disable is None and "importer of StableHLO" in (verdict.culprit or "")


def test_passes_run_reads_the_dump_of_xla():
    module = _module(LEADING_ZEROS)
    assert "constant_folding" in passes_run(module, [np.zeros(4, np.int32)])


def test_bisection_returns_the_first_wrong_pass():
    def is_right_with(options):
        if options["xla_disable_hlo_passes"] == "b":
            raise CannotRun("cannot do without b")
        return options["xla_disable_hlo_passes"] in ("c", "d")

    assert guilty_pass(["a", "b", "c", "d"], is_right_with) == "c"
    assert guilty_pass(["a", "b"], is_right_with) is None
