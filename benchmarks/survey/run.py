"""Survey JAX's public functions: `make survey`.

    PYTHONPATH=benchmarks python -m survey.run [--quick] [--part I/N] [--only PATTERN] [--out FILE]

Without options every function runs forward, its gradient, and under `jax.vmap`, at three sizes, and
forward in other element types. Rows that the output file has are not measured again, so that a run
that was interrupted goes on. `--again changed` measures the rows for which O2 now makes another
program, `--again slower` those in which O2 seems slower than plain.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from survey.cases import PROGRAMS, TYPED, Case, surveyed

CHUNK = 60  # cases of one process
SECONDS = 120.0  # for one case
SLOWER = 0.97  # ratios below it are a loss
_MODES = (("forward", "usual"), ("gradient", "usual"), ("vmap", "vmap"))
_SIZES = (("forward", "tiny"), ("forward", "large"), ("gradient", "large"))


def rows(cases: Sequence[Case], quick: bool) -> Iterator[Case]:
    """All rows in their order: what says most comes first."""
    for mode, size in _MODES if quick else _MODES + _SIZES:
        if not (quick and mode == "vmap"):
            chosen = cases if mode == "forward" else [c for c in cases if c.module != PROGRAMS]
            yield from (replace(case, mode=mode, size=size) for case in chosen)
    if not quick:
        for name in ("bf16", "f64", "i32", "c64"):
            yield from (replace(each, type=name) for each in cases if each.module in TYPED)


def measure(
    todo: list[Case], seen: dict[str, str], known: dict[str, str]
) -> Iterator[dict[str, Any]]:
    """The records of all rows; a process that crashes or hangs costs one row."""
    while todo:
        chunk = todo[:CHUNK]
        done = 0
        for record in _by_one_process(chunk, seen, known):
            yield record
            done += 1
        if done < len(chunk):
            why = f"crashed, or took more than {SECONDS:.0f} seconds"
            yield {"key": chunk[done].key, "failed": why}
            done += 1
        todo = todo[done:]


def _by_one_process(
    chunk: list[Case], seen: dict[str, str], known: dict[str, str]
) -> Iterator[dict[str, Any]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "survey.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "JAX_PLATFORMS": "cpu"},
    )
    assert process.stdin and process.stdout
    given = {"cases": [asdict(each) for each in chunk], "seen": seen, "known": known}
    process.stdin.write(json.dumps(given))
    process.stdin.close()
    lines: queue.Queue[str | None] = queue.Queue()

    def read(stream: Any = process.stdout) -> None:
        for line in stream:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    try:
        for _ in chunk:
            line = lines.get(timeout=SECONDS)
            if line is None:
                return
            record = json.loads(line)
            if "program" in record:
                seen.setdefault(record["program"], record["key"])
            yield record
    except queue.Empty:
        return
    finally:
        process.kill()
        process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="forward and gradient, usual size")
    parser.add_argument("--part", default="1/1", metavar="I/N", help="each N-th row, from the I-th")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="rows whose key matches")
    parser.add_argument("--again", choices=("changed", "slower", "all"), help="known rows")
    parser.add_argument("--out", type=Path, default=Path("build/survey.jsonl"), metavar="FILE")
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    cases, skipped = surveyed()
    wanted = [row for row in rows(cases, given.quick) if fnmatch.fnmatch(row.key, given.only)]
    wanted = wanted[part - 1 :: parts]
    known = read_records(given.out)
    todo = [row for row in wanted if _is_due(known.get(row.key), given.again)]
    optimised = {}
    if given.again == "changed":
        optimised = {key: r["optimised"] for key, r in known.items() if "optimised" in r}
    print(f"{len(wanted)} rows, {len(todo)} to measure; {len(skipped)} functions skipped")
    seen = {r["program"]: key for key, r in known.items() if "program" in r and "same" not in r}
    given.out.parent.mkdir(parents=True, exist_ok=True)
    with given.out.open("a") as file:
        for count, record in enumerate(measure(todo, seen, optimised), 1):
            if not record.get("unchanged"):
                file.write(json.dumps(record) + "\n")
                file.flush()
            print(f"{count}/{len(todo)} {_shown(record)}", flush=True)
    return 0


def read_records(file: Path) -> dict[str, dict[str, Any]]:
    """The records of a file by key; none if it does not exist."""
    lines = file.read_text().splitlines() if file.exists() else []
    return {record["key"]: record for record in map(json.loads, lines)}


def _is_due(record: dict[str, Any] | None, again: str | None) -> bool:
    if record is None or again == "all":
        return True
    is_slower = record.get("ratio", [1.0])[0] < SLOWER
    return (again == "slower" and is_slower) or (again == "changed" and "seconds" in record)


def _shown(record: dict[str, Any]) -> str:
    if found := record.get("failed") or record.get("same"):
        return f"{record['key']}: {found}"
    if record.get("unchanged"):
        return f"{record['key']}: as before"
    ratio = record.get("ratio")
    return f"{record['key']}: " + (f"{ratio[0]:.2f}" if ratio else "unchanged")


if __name__ == "__main__":
    sys.exit(main())
