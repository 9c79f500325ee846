"""Install the packages of the models: every `bench` extra of pyproject.toml.

    python benchmarks/install.py

The script installs all extras at once. If that fails, it installs them one by one and stores pip's
error for each extra that failed. `run.py` prints these errors with the models that it skips.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
REASONS = Path(sys.prefix) / "bench-not-installed.json"


def bench_extras(pyproject: Path) -> list[str]:
    """The names of the extras that the models need."""
    project = tomllib.loads(pyproject.read_text())["project"]
    return [name for name in project["optional-dependencies"] if name.startswith("bench")]


def install(extras: list[str]) -> str:
    """Install extras together with jxc. Return pip's error, or an empty string."""
    wanted = f"{ROOT}[{','.join(extras)}]"
    command = [sys.executable, "-m", "pip", "install", "-q", "-e", wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return _reason(done.stderr) if done.returncode else ""


def _reason(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.startswith("ERROR")]
    return (lines or [stderr.strip()[-200:] or "pip failed without a message"])[-1]


def main() -> int:
    extras = bench_extras(ROOT / "pyproject.toml")
    failed: dict[str, str] = {}
    if install(extras):
        reasons = {extra: install([extra]) for extra in extras}
        failed = {extra: reason for extra, reason in reasons.items() if reason}
    REASONS.write_text(json.dumps(failed, indent=2))
    for extra, reason in failed.items():
        print(f"not installed: {extra}: {reason}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
