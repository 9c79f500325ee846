"""Measure the errors of elementary functions: XLA's own, and those of `passes/elementary`.

Functions of one argument run on all 2^32 values of f32. Functions of two arguments run on special
values of each with a selection of the other, and on random pairs. XLA's own functions run on every
16th argument. The reference is numpy's result in float64. Denormal arguments and results may be
flushed to zero, as on XLA:CPU. The results are written to `passes/elementary/bounds.json`, by
version of jaxlib. Each function takes minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from bounds.functions import FUNCTIONS  # noqa: E402
from bounds.measure import measure  # noqa: E402

BOUNDS = ROOT / "passes" / "elementary" / "bounds.json"


def record(name: str, found: dict[str, object]) -> None:
    """Replace the entry of one function in the file."""
    known = json.loads(BOUNDS.read_text()) if BOUNDS.exists() else {}
    known.setdefault(version("jaxlib"), {})[name] = found
    BOUNDS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("functions", nargs="*", help=f"of {', '.join(FUNCTIONS)}; all without any")
    names = parser.parse_args().functions or list(FUNCTIONS)
    if unknown := sorted(set(names) - set(FUNCTIONS)):
        parser.error(f"no function {unknown[0]!r}: expected {', '.join(FUNCTIONS)}")
    for name in names:
        found = measure(FUNCTIONS[name], lambda text, of=name: _show_progress(f"{of}: {text}"))
        record(name, found)
        _show_progress("")
        print(name, json.dumps(found))
    return 0


def _show_progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text:100}", end="", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
