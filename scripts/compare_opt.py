"""Run the flags that `jxc opt` and another build of mlir-opt share on both, and compare.

    pip install iree-base-compiler     # in an environment of its own
    scripts/compare_opt.py --other PATH/bin/iree-opt

Prints a row for each flag: what was compared, and whether it is the same. Exits with 1 if a row
says "different". docs/opt.md holds the result.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MODULE = """module @step {
  func.func public @main(%x: tensor<4xf32> loc("left")) -> tensor<4xf32> {
    %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %0 = arith.addf %x, %c : tensor<4xf32> loc("sum")
    %1 = arith.addf %x, %c : tensor<4xf32>
    %2 = arith.mulf %0, %1 : tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
"""
STABLEHLO = """func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  %1 = stablehlo.add %x, %x : tensor<4xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""
SPLIT = "func.func @a() {\n  return\n}\n// -----\nfunc.func @b() {\n  return\n}\n"
EXPECTED = """func.func @a(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@below {{use of undeclared SSA value name}}
  return %y : tensor<f32>
}
"""
WRONG = EXPECTED.replace("undeclared", "another")
PARTLY = EXPECTED.replace("  // expected-error@below {{use of undeclared SSA value name}}\n", "")
UNKNOWN = '"other.op"() : () -> ()\n'
PIPELINE = "--pass-pipeline=builtin.module(cse,canonicalize)"


@dataclass(frozen=True)
class Result:
    """What one tool did: exit code, standard output and error, and the folder that it ran in."""

    code: int
    out: str
    err: str
    folder: Path


@dataclass(frozen=True)
class Case:
    """A comparison of one flag.

    Attributes:
        flag: as in the table.
        arguments: of both tools.
        what: what is compared, in words.
        view: what is compared, from a result.
        module: the input.
    """

    flag: str
    arguments: tuple[str, ...]
    what: str
    view: Callable[[Result], object]
    module: str = MODULE


def text(result: Result) -> object:
    """The exit code and the lines of the module without blank ones."""
    return result.code, [line for line in result.out.splitlines() if line.strip()]


def code(result: Result) -> object:
    return result.code


def dumps(result: Result) -> object:
    """The exit code; which dumps there are, in order, and the IR in each."""
    header = re.compile(
        r"IR Dump (Before|After) (?:\w+( Failed)?: )?([\w-]+)(?:\{.*\})?( Failed)?.* //----- //"
    )
    parts = header.split(result.err)[1:]
    return result.code, [
        (when, name, bool(a or b), _lines(body))
        for when, a, name, b, body in zip(*(parts[n::5] for n in range(5)), strict=True)
    ]


def _lines(body: str) -> list[str]:
    """The lines of a module in a dump: up to the brace that closes it."""
    lines = [line for line in body.splitlines() if line.strip() and not line.startswith("// ---")]
    return lines[: lines.index("}") + 1] if "}" in lines else lines


def messages(result: Result) -> object:
    """The exit code and the lines `file:line:col: error: ...`."""
    return result.code, sorted(re.findall(r"^\S+:\d+:\d+: error: .*", result.err, re.MULTILINE))


def files(result: Result) -> object:
    """The files below the folder `tree`, and the IR in each."""
    folder = result.folder / "tree"
    return {
        str(file.relative_to(folder)): _lines(file.read_text())
        for file in sorted(folder.rglob("*.mlir"))
    }


def printed_pipeline(result: Result) -> object:
    found = re.search(r"builtin\.module\(.*\)", result.err, re.DOTALL)
    return found and re.sub(r"\s+|\{[^}]*\}", "", found[0])


CASES = [
    Case("FILE", (), "the module", text),
    Case("--pass-pipeline", (PIPELINE,), "the module", text),
    Case("--pass-pipeline", (PIPELINE,), "the module, of StableHLO", text, STABLEHLO),
    Case("--dump-pass-pipeline", (PIPELINE, "--dump-pass-pipeline"), "passes", printed_pipeline),
    Case("--split-input-file", ("--split-input-file",), "the modules", text, SPLIT),
    Case("--allow-unregistered-dialect", ("--allow-unregistered-dialect",), "the module", text,
         UNKNOWN),
    Case("--allow-unregistered-dialect", (), "without it: the exit code is not 0",
         lambda result: result.code != 0, UNKNOWN),
    Case("--verify-each", (PIPELINE, "--verify-each"), "the module", text),
    Case("--verify-diagnostics", ("--verify-diagnostics",), "as expected", messages, EXPECTED),
    Case("--verify-diagnostics", ("--verify-diagnostics",), "messages, wrong", messages, WRONG),
    Case("--verify-diagnostics", ("--verify-diagnostics",), "messages, missing", messages, PARTLY),
    Case("--verify-diagnostics=only-expected", ("--verify-diagnostics=only-expected",),
         "messages, missing", messages, PARTLY),
    Case("--mlir-print-op-generic", ("--mlir-print-op-generic",), "the module", text),
    Case("--mlir-print-debuginfo", ("--mlir-print-debuginfo",), "the module", text),
    Case("--mlir-print-local-scope", ("--mlir-print-debuginfo", "--mlir-print-local-scope"),
         "the module", text),
    Case("--mlir-use-nameloc-as-prefix", ("--mlir-use-nameloc-as-prefix",), "the module", text),
    Case("--mlir-elide-elementsattrs-if-larger", ("--mlir-elide-elementsattrs-if-larger=2",),
         "the module", text),
    *(
        Case(f"--mlir-print-ir-{flag}", (PIPELINE, f"--mlir-print-ir-{flag}"), "the dumps", dumps)
        for flag in ("before=canonicalize", "after=cse", "before-all", "after-all")
    ),
    Case("--mlir-print-ir-after-change",
         (PIPELINE, "--mlir-print-ir-after-all", "--mlir-print-ir-after-change"),
         "the dumps", dumps),
    Case("--mlir-print-ir-tree-dir",
         (PIPELINE, "--mlir-print-ir-after-all", "--mlir-print-ir-tree-dir=tree"), "files", files),
    Case("--mlir-timing", (PIPELINE, "--mlir-timing"), "there is a total",
         lambda result: "Total" in result.err),
    Case("--mlir-pass-statistics", (PIPELINE, "--mlir-pass-statistics"), "the title",
         lambda result: "Pass statistics report" in result.err),
]  # fmt: skip


def run(tool: str, case: Case, *more: str) -> Result:
    """The result of a tool in a new folder, which holds the input as `in.mlir`."""
    folder = Path(tempfile.mkdtemp(prefix="compare-opt-"))
    (folder / "in.mlir").write_text(case.module)
    command = [*tool.split(), "in.mlir", *case.arguments, *more]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    return Result(done.returncode, done.stdout, done.stderr, folder)


def exchanged(ours: str, other: str) -> list[tuple[str, str, bool]]:
    """Files that one tool writes and the other reads: bytecode, and reproducers of mlir-opt."""
    expected = run(ours, Case("", (PIPELINE,), "", text)).out.split()
    bytecode = (PIPELINE, "--emit-bytecode", "-o", "out.mlirbc")
    reproducer = (PIPELINE, "--mlir-generate-reproducer=r.mlir")
    rows = []
    for flag, what, writer, reader, arguments, read in (
        ("--emit-bytecode", "jxc's file is read", ours, other, bytecode, ["out.mlirbc"]),
        ("--emit-bytecode", "the other's file is read", other, ours, bytecode, ["out.mlirbc"]),
        ("--run-reproducer", "the other's file is run", other, ours, reproducer,
         ["--run-reproducer", "r.mlir"]),
    ):  # fmt: skip
        folder = run(writer, Case("", arguments, "", text)).folder
        found = subprocess.run([*reader.split(), *read], cwd=folder, capture_output=True)
        rows.append((flag, what, found.stdout.decode().split() == expected))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--other", required=True, metavar="PATH", help="iree-opt or mlir-opt")
    parser.add_argument("--jxc", default=f"{Path(sys.executable).parent / 'jxc'} opt")
    parser.add_argument("--verbose", action="store_true", help="print both sides of a difference")
    given = parser.parse_args()
    rows = []
    for case in CASES:
        ours, theirs = (case.view(run(tool, case)) for tool in (given.jxc, given.other))
        rows.append((case.flag, case.what, ours == theirs))
        if given.verbose and ours != theirs:
            print(f"{case.flag}:\n  jxc   {ours}\n  other {theirs}", file=sys.stderr)
    rows += exchanged(given.jxc, given.other)
    for flag, what, same in rows:
        print(f"| `{flag}` | {what} | {'same' if same else 'different'} |")
    same_count = sum(same for *_, same in rows)
    print(f"\n{same_count} of {len(rows)} are the same")
    return 0 if same_count == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
