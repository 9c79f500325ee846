"""`jxc test --update`: CHECK lines that capture names, pass, and fail when the output changes."""

import io
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser, pattern_for_opts

from jxc.cli.test import test_command as update_command
from jxc.errors import JxcError, UsageError
from jxc.ir import make_context, read_module, write_text
from jxc.testing.check_lines import NOTE, check_blocks

MODULE = """\
module @jit_f attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> (tensor<f32>) {
    %cst = stablehlo.constant dense<[[1, 2]]> : tensor<1x2xi32>
    %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>
    %1 = stablehlo.reduce(%0 init: %cst) across dimensions = [0] : tensor<f32>
     reducer(%arg2: tensor<f32>, %arg3: tensor<f32>)  {
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }
    %3:2 = stablehlo.while(%iterArg = %1, %iterArg_0 = %cst) : tensor<f32>
    return %3#1 : tensor<f32>
  }
  func.func private @helper(%arg0: tensor<f32>) -> tensor<f32> {
    return %arg0 : tensor<f32>
  }
}
"""


def checks(text):
    return "\n".join(line for block in check_blocks(text) for line in block.lines)


def matches(text, directives):
    options = Options("checks", input_file="text")
    parser = Parser(options, io.StringIO(directives), *pattern_for_opts(options))
    matcher = Matcher(options, FInput("text", text), parser)
    matcher.stderr = io.StringIO()
    return matcher.run() == 0


def test_lines_capture_each_value_by_its_op():
    assert checks(MODULE).splitlines()[1:8] == [
        "CHECK-LABEL: func.func public @main(",
        "CHECK-SAME: %[[ARG0:[^ :]*]]: tensor<4xf32>, %[[ARG1:[^ :]*]]: tensor<4xf32>) -> "
        "(tensor<f32>) {",
        r"CHECK-NEXT:   %[[CONSTANT:.*]] = stablehlo.constant dense<{{\[\[}}1, 2]]> : "
        "tensor<1x2xi32>",
        "CHECK-NEXT:   %[[ADD:.*]] = stablehlo.add %[[ARG0]], %[[ARG1]] : tensor<4xf32>",
        "CHECK-NEXT:   %[[REDUCE:.*]] = stablehlo.reduce(%[[ADD]] init: %[[CONSTANT]]) across "
        "dimensions = [0] : tensor<f32>",
        "CHECK-NEXT:    reducer(%[[ARG2:[^ :]*]]: tensor<f32>, %[[ARG3:[^ :]*]]: tensor<f32>)  {",
        "CHECK-NEXT:     %[[ADD_1:.*]] = stablehlo.add %[[ARG2]], %[[ARG3]] : tensor<f32>",
    ]


def test_lines_match_other_names_of_the_same_values():
    renamed = re.sub(r"%(\d)", r"%v\1", MODULE).replace("%arg", "%x").replace("%cst", "%c_7")
    assert renamed != MODULE
    assert matches(MODULE, checks(MODULE))
    assert matches(renamed, checks(MODULE))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("add %arg0, %arg1", "add %arg1, %arg0"),
        ("stablehlo.add %arg2", "stablehlo.multiply %arg2"),
        ("return %3#1", "return %3#0"),
        ("[[1, 2]]", "[[1, 3]]"),
        ("num_partitions = 1", "num_partitions = 2"),
        ("(%arg0: tensor<f32>)", "(%arg0: tensor<f32>, %arg1: tensor<f32>)"),
        ("    %3:2 =", "    %9 = stablehlo.constant dense<0>\n    %3:2 ="),
        ("\n    %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>", ""),
        ("    return %arg0", "    %5 = stablehlo.abs %arg0\n    return %5"),
        ("  }\n}\n", "  }\n  func.func private @other() {\n  }\n}\n"),
    ],
)
def test_lines_fail_when_the_output_changes(old, new):
    changed = MODULE.replace(old, new)
    assert changed != MODULE
    assert not matches(changed, checks(MODULE))


def test_text_without_functions_is_checked_line_by_line():
    text = "10% of {{x}}\n\nlast line\n"
    assert checks(text).splitlines()[1:] == ["CHECK-EMPTY:", "CHECK-NEXT: last line"]
    assert matches(text, checks(text))
    assert not matches(text.replace("{{x}}", "{x}"), checks(text))


PASSES = Path(__file__).parent.parent.parent / "lit_tests/passes"
CASES = sorted(each for each in PASSES.glob("*/*.mlir") if each.parent.name != "Inputs")[::12]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_lines_of_a_module_match_it_and_not_a_module_with_an_op_less(case):
    longest = max(case.read_bytes().split(b"// -----"), key=len)
    text = write_text(read_module(longest, make_context()))
    lines = text.splitlines(keepends=True)
    first = next(
        number for number, line in enumerate(lines) if line.lstrip().startswith(("%", "return"))
    )
    assert matches(text, checks(text))
    assert not matches("".join(lines[:first] + lines[first + 1 :]), checks(text))


# Files

CASE = """\
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  %1 = stablehlo.negate %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// The sum is kept.
func.func @f_not(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def update(*arguments):
    result = CliRunner().invoke(update_command, ["--update", *map(str, arguments)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def run(path):
    """The exit code of `jxc test`, which prints from another process."""
    return CliRunner().invoke(update_command, [str(path)]).exit_code


def test_update_writes_a_case_that_passes_and_a_second_time_changes_nothing(tmp_path):
    case = tmp_path / "case.mlir"
    case.write_text(CASE)
    update("-p", "negate-of-negate", case)
    written = case.read_text()
    lines = written.splitlines()
    assert lines[0] == f"// {NOTE}"
    assert lines[1] == "// RUN: jxc opt -p negate-of-negate %s | filecheck %s"
    comment = lines.index("// The sum is kept.")
    assert lines[comment + 1] == "// CHECK-LABEL: func.func @f_not("
    assert run(case) == 0
    update(tmp_path)
    assert case.read_text() == written


def test_updated_case_fails_when_the_pass_does_something_else(tmp_path):
    case = tmp_path / "case.mlir"
    case.write_text(CASE)
    update("-p", "negate-of-negate", case)
    case.write_text(case.read_text().replace("-p negate-of-negate", "-p cse"))
    assert run(case) == 1


def test_update_of_an_output_that_differs_from_run_to_run_is_refused(tmp_path):
    case = tmp_path / "case.py"
    text = "# RUN: python3 %s | filecheck %s\nimport time\n\nprint(time.perf_counter_ns())\n"
    case.write_text(text)
    with pytest.raises(JxcError, match="does its output differ from run to run"):
        update(case)
    assert case.read_text() == text


def test_update_of_two_prefixes_and_of_a_python_case(tmp_path):
    case = tmp_path / "case.py"
    text = """\
# RUN: jxc lower %s:f 'f32[4]' > %t
# RUN: filecheck %s --input-file=%t --check-prefix=BEFORE
# RUN: jxc opt -O1 %t | filecheck %s


def f(x):
    return -(-x)
"""
    case.write_text(text)
    update(case)
    before, _, after = case.read_text().partition("# CHECK")
    assert (before.count("stablehlo.negate"), after.count("stablehlo.negate")) == (2, 0)
    assert run(case) == 0


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("// RUN: jxc opt %s | filecheck %s\n// CHECK: x\n" + CASE, UsageError, "written by hand"),
        (CASE, UsageError, "case.mlir: it has no RUN line; -p PIPELINE writes one"),
        ("// RUN: jxc opt %s\n" + CASE, UsageError, "no RUN line ends with"),
        ("// RUN: jxc opt -p nothing %s | filecheck %s\n" + CASE, JxcError, "pass or level"),
        (
            "// RUN: jxc opt %s | filecheck %s\n// RUN: jxc opt -O1 %s | filecheck %s\n" + CASE,
            UsageError,
            "give each a prefix",
        ),
    ],
)
def test_update_that_is_impossible_changes_nothing(tmp_path, text, error, message):
    case = tmp_path / "case.mlir"
    case.write_text(text)
    with pytest.raises(error, match=message):
        update(case)
    assert case.read_text() == text
