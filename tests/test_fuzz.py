"""A little of `scripts/fuzz.py`, from a fixed seed: small programs and spoiled inputs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / "scripts" / "fuzz.py"


def _fuzz(*arguments: str) -> str:
    done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_programs_keep_their_meaning() -> None:
    told = _fuzz("programs", "--count=100", "--ops=16", "--draws=1", "--few")
    assert "100 programs" in told
    assert "interpreter" in told


def test_spoiled_inputs_are_refused_in_a_sentence() -> None:
    told = _fuzz("inputs", "--count=300")
    assert "300 mutants" in told
    assert "refused" in told
    assert "accepted" in told
