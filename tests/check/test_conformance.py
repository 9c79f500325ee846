"""Programs with expected outputs: reading them, comparing, and the summary of a run."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import AddOp, SineOp

import jxc
from jxc.check.conformance import program_files, run_programs
from jxc.check.conformance_program import OutputCheck, read_program, ulps_apart
from jxc.check.inputs import CannotRun
from jxc.ir import write_text
from jxc.pipeline import make_pipeline

ROOT = Path(__file__).parent.parent.parent
PROGRAMS = Path(__file__).parent / "programs"
SUITE = ROOT.parent / "shared" / "conformance"
STEP = 4  # every fourth program of the suite: ten seconds
LEVELS = {level: make_pipeline(level) for level in ("O1", "O2")}


@jxc.rule(jxc.exact)
def wrong_sum(op: AddOp) -> ir.Value | None:
    """x + y -> x - y: wrong."""
    return stablehlo.subtract(op.lhs, op.rhs)


@jxc.rule(jxc.exact)
def not_compilable(op: SineOp) -> ir.Value | None:
    """sin x -> a custom call that does not exist."""
    return stablehlo.custom_call([op.result.type], [op.operand], "nobody_has_this")


def test_programs_of_this_repository_pass_at_every_level():
    summary = run_programs(program_files(PROGRAMS), LEVELS)
    assert summary.holds, str(summary)
    assert all(summary.counts(level)["passed"] == 3 for level in ("O0", "O1", "O2")), str(summary)


def test_no_level_breaks_the_stablehlo_suite(capsys):
    if not SUITE.is_dir():
        reason = f"no folder {SUITE}: only the programs of {PROGRAMS} were run"
        with capsys.disabled():
            print(f"\n{reason}")
        pytest.skip(reason)
    summary = run_programs(program_files(SUITE)[::STEP], LEVELS)
    assert summary.holds, str(summary)
    assert summary.counts("O0")["passed"] >= 0.9 * len(summary.outcomes), str(summary)


def read(name):
    return read_program((PROGRAMS / name).read_bytes(), name)


def test_read_program_makes_inputs_arguments():
    program = read("close_f32.mlir")
    assert "@main(%arg0: tensor<4xf32>) -> tensor<4xf32>" in write_text(program.module)
    assert "@inputs" not in write_text(program.module)
    assert "@expected" not in write_text(program.module)
    np.testing.assert_array_equal(program.inputs[0], np.float32([0, 0.5, -1, np.inf]))
    assert program.checks == [OutputCheck("close")]


def test_read_program_without_inputs_makes_constants_arguments():
    program = read("almost_eq_no_inputs.mlir")
    assert "stablehlo.constant" not in write_text(program.module)
    assert [array.dtype for array in program.inputs] == [np.complex64, ml_dtypes.bfloat16]
    assert program.checks == [
        OutputCheck("almost_eq", tolerance=0.02),
        OutputCheck("close", low=1, high=1),
    ]


def test_regressions_are_wrong_results_and_errors_after_a_pass():
    pipelines = {"wrong": make_pipeline(wrong_sum), "stuck": make_pipeline(not_compilable)}
    summary = run_programs(program_files(PROGRAMS), pipelines)
    regressions_by_name = {(name, level): outcome for name, level, outcome in summary.regressions}
    assert set(regressions_by_name) == {
        ("almost_eq_no_inputs.mlir", "wrong"),
        ("close_f32.mlir", "stuck"),
    }
    assert regressions_by_name["close_f32.mlir", "stuck"].status == "error"
    assert (
        "cannot be run after the pipeline" in regressions_by_name["close_f32.mlir", "stuck"].reason
    )
    assert "2 broken by passes" in str(summary)


def test_exception_of_a_pass_is_a_regression():
    @jxc.rule(jxc.exact)
    def raising(op: SineOp) -> ir.Value | None:
        """sin x -> an exception."""
        raise ValueError("trouble")

    summary = run_programs([PROGRAMS / "close_f32.mlir"], {"raising": make_pipeline(raising)})
    [(_, _, outcome)] = summary.regressions
    assert outcome.status == "error"
    assert "ValueError: trouble" in outcome.reason


@pytest.mark.parametrize(
    "dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2]
)
def test_ulps_apart_counts_floats_between(dtype):
    tiny = ml_dtypes.finfo(dtype).smallest_subnormal
    a = np.array([1, -1, 0, tiny, np.nan, np.inf, np.inf, -0.0], dtype)
    b = np.array([1 + ml_dtypes.finfo(dtype).eps, -1, tiny, -tiny, np.nan, np.inf, 1, 0], dtype)
    far = np.iinfo(np.uint64).max
    assert ulps_apart(a, b).tolist() == [1, 0, 1, 2, 0, 0, far, 0]
    assert ulps_apart(a, b, signed_zeros=True).tolist() == [1, 0, 1, 2, 0, 0, far, 1]


@pytest.mark.parametrize(
    ("check", "found", "holds"),
    [
        (OutputCheck("eq"), [1.0, np.nan], True),
        (OutputCheck("eq"), [np.nextafter(np.float32(1), np.float32(2)), np.nan], False),
        (OutputCheck("close"), [1 + 3 * 2**-23, np.nan], True),
        (OutputCheck("close"), [1 + 4 * 2**-23, np.nan], False),
        (OutputCheck("close"), [1.0, 0.0], False),
        (OutputCheck("close", low=1), [1.0, np.nan], False),
        (OutputCheck("almost_eq"), [1.0009, np.nan], True),
        (OutputCheck("almost_eq"), [1.0011, np.nan], False),
        (OutputCheck("almost_eq", tolerance=0.1), [1.05, np.nan], True),
        (OutputCheck("almost_eq"), [np.inf, np.nan], False),
    ],
)
def test_complaint_by_kind_of_check(check, found, holds):
    expected = np.float32([1.0, np.nan])
    assert (check.complaint(expected, np.float32(found)) is None) == holds


def test_complaint_of_complex_numbers_and_integers():
    assert OutputCheck("eq").complaint(np.complex64([1 + 2j]), np.complex64([1 + 3j]))
    assert (
        OutputCheck("almost_eq").complaint(np.complex64(1 + 2j), np.complex64(1 + 2.0001j)) is None
    )
    assert OutputCheck("close").complaint(np.int32([1, 2]), np.int32([1, 3])) == (
        "element [1]: expected 2, found 3 (1 of 2 elements, 0 to 3 ulps allowed)"
    )


def test_read_program_rejects_a_program_without_checks():
    with pytest.raises(CannotRun, match="nothing to check"):
        read_program(b"func.func public @main() { return }", "empty.mlir")
