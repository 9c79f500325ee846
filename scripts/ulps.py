"""Measure the errors of elementary functions, as XLA has them and as `passes/elementary` does.

Functions of one argument run on all 2^32 f32, those of two on special values of each against a
selection of the other and on random pairs; XLA's own on one of 16. The truth is numpy's in float64.
A denormal argument may count as zero and a denormal result be flushed, as XLA:CPU does. What is
found goes to `passes/elementary/bounds.json`, by version of jaxlib. Minutes for each function.
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
    """Write what was found of one function; the rest of the file stays."""
    known = json.loads(BOUNDS.read_text()) if BOUNDS.exists() else {}
    known.setdefault(version("jaxlib"), {})[name] = found
    BOUNDS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


def main() -> int:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("functions", nargs="*", help=f"of {', '.join(FUNCTIONS)}; all without any")
    names = parser.parse_args().functions or list(FUNCTIONS)
    if unknown := sorted(set(names) - set(FUNCTIONS)):
        parser.error(f"no function {unknown[0]!r}: expected {', '.join(FUNCTIONS)}")
    for name in names:
        found = measure(FUNCTIONS[name], lambda text, of=name: _tell(f"{of}: {text}"))
        record(name, found)
        _tell("")
        print(name, json.dumps(found))
    return 0


def _tell(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text:100}", end="", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
