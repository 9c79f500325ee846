"""Corrupt modules end in an error message, not a traceback; exit code 4 if native code crashes."""

import subprocess
import sys
from pathlib import Path

import pytest

from jxc.ir import make_context, read_module, write_bytecode

PROGRAM = """func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}"""
JXC = [sys.executable, "-c", "from jxc.cli import main; main()"]
CRASHING = Path(__file__).parent.parent.parent / "lit_tests/opt/Inputs/crashes_mlir.mlir"


def mutants():
    """Corrupt modules by name, the same in every run."""
    bytecode = write_bytecode(read_module(PROGRAM, make_context()))
    middle = len(bytecode) // 2
    return {
        "crashes MLIR": CRASHING.read_bytes(),
        "bytecode cut in half": bytecode[:middle],
        "bytecode with one bit flipped": bytes([*bytecode[:middle], bytecode[middle] ^ 4])
        + bytecode[middle + 1 :],
        "not UTF-8": PROGRAM.encode().replace(b"%x", b"%\xff"),
        "no function": b"module {}",
        "a declaration": b"func.func public @main(tensor<4xf32>) -> tensor<4xf32>",
        "a token": PROGRAM.replace("tensor<4xf32>", "!stablehlo.token").encode(),
        "a negative size": PROGRAM.replace("4x", "-4x").encode(),
        "a huge size": PROGRAM.replace("4x", "999999999999x").encode(),
    }


@pytest.mark.parametrize("name", mutants())
def test_corrupt_module_ends_in_an_error_message(name, tmp_path):
    file = tmp_path / "mutant.mlir"
    file.write_bytes(mutants()[name])
    for command in (
        ["verify", str(file), "-O1", "--draws=1"],
        ["reduce", str(file), "--check=true"],
    ):
        done = subprocess.run([*JXC, *command], capture_output=True, text=True)
        output = done.stdout + done.stderr
        is_crash = "native code crashed" in output
        assert done.returncode == 4 if is_crash else done.returncode in (0, 1, 2), output
        assert is_crash or name != "crashes MLIR"
        assert "Traceback" not in output and "jxc:" in output + "jxc:" * bool(done.stdout)


@pytest.mark.parametrize(
    "options",
    [
        ["opt", "-p", "cse"],
        ["compile"],
        ["report"],
        ["verify", "-O1"],
        ["reduce", "--check=true"],
    ],
)
def test_crash_of_native_code_exits_with_4_and_a_reproducer(options):
    done = subprocess.run([*JXC, *options, str(CRASHING)], capture_output=True, text=True)
    assert done.returncode == 4, done.stderr
    first, second = done.stderr.splitlines()[-2:]
    assert first.startswith("jxc: error: native code crashed (SIG")
    assert first.endswith(f"while reading {CRASHING}")
    assert second.startswith(f"  reproducer: jxc {options[0]} ")


def test_reproducer_of_an_xla_bisect_is_an_xla_bisect():
    command = [*JXC, "verify", "--xla-bisect", str(CRASHING)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr.endswith(".mlir --xla-bisect\n")
