"""`jxc verify` and `jxc reduce` on corrupt modules: a sentence, never a signal or a traceback."""

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
    """Corrupt modules by name, the same at every run."""
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
def test_corrupt_module_ends_in_a_sentence(name, tmp_path):
    file = tmp_path / "mutant.mlir"
    file.write_bytes(mutants()[name])
    for command in (
        ["verify", str(file), "-O1", "--draws=1"],
        ["reduce", str(file), "--check=true"],
    ):
        done = subprocess.run([*JXC, *command], capture_output=True, text=True)
        told = done.stdout + done.stderr
        assert done.returncode in (0, 1, 2), told
        assert "Traceback" not in told and "jxc:" in told + "jxc:" * bool(done.stdout)
