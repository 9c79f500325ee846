"""Compile programs that need much memory, in the variants that a user writes by hand.

    PYTHONPATH=benchmarks python -m fit.run [--target tpu:v5e] [--only PATTERN] [--out FILE]

Each variant is compiled in a process of its own, with a time limit; on the CPU one process runs all
variants of a program in alternation. Rows that the output file or FIT.md has are not measured
again, so that an interrupted run goes on; `--again` measures them anew. `fit.report` writes the
table.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from machine import circumstances

from fit.programs import PROGRAMS, Program
from fit.records import Record, key_of, read_records, read_table
from fit.worker import EQUAL, FITTED, fastest_by_hand
from jxc.backend.targets import Target, find_target, require
from jxc.errors import JxcError


def label_of(target: Target) -> str:
    """A target in keys; on the CPU with the version of jax, on which `jax.checkpoint` depends."""
    return f"{target.name}, jax {metadata.version('jax')}" if target.kind == "cpu" else target.name


def run_worker(
    program: str, variants: list[str], target: Target, budget: int, timeout: float
) -> Iterator[Record]:
    """The records of variants; those without one after a crash or the time limit say why.

    Args:
        program, variants: names.
        target: the hardware.
        budget: bytes for a plan; 0 for all memory.
        timeout: seconds.
    """
    command = [sys.executable, "-W", "ignore", "-m", "fit.worker", program, ",".join(variants)]
    command += [f"--target={target.name}", f"--budget={budget}"]
    settings = {"PYTHONPATH": os.pathsep.join(sys.path), "JAX_PLATFORMS": "cpu"}
    settings |= {"JXC_RATES": "shipped", "KERAS_BACKEND": "jax"}
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={k: v for k, v in os.environ.items() if k != "JXC_PIPELINE"} | settings,
        start_new_session=True,
    )
    try:
        printed, errors = process.communicate(timeout=timeout)
        lines = [line for line in errors.splitlines() if line and not line[0].isspace()]
        why = f"exit code {process.returncode}: {''.join(lines[-1:])}"[:300]
    except subprocess.TimeoutExpired:
        why = f"took more than {timeout:.0f} s"
    finally:
        if process.poll() is None:  # with the compiler, which the worker started
            os.killpg(process.pid, signal.SIGKILL)
    if why.startswith("took"):
        printed, _ = process.communicate()
    found = {each["variant"]: each for each in map(json.loads, printed.splitlines())}
    for variant in variants:
        yield {"key": key_of(program, variant, label_of(target))} | found.get(
            variant, {"failed": why}
        )


def todo(given: argparse.Namespace, target: Target) -> Iterator[tuple[str, list[str], int]]:
    """Each process to start: a program, its variants, and the budget; 0 for all memory."""
    known = {} if given.again else read_table(given.results) | read_records(given.out)
    for program in PROGRAMS.values():
        if not fnmatch.fnmatch(program.name, given.only):
            continue
        names = [*program.variants, FITTED, EQUAL]
        rows = [each for each in names if fnmatch.fnmatch(each, given.variant)]
        due = [each for each in rows if key_of(program.name, each, label_of(target)) not in known]
        if target.kind == "cpu":
            yield from [(program.name, rows, given.budget)] if due else []
            continue
        yield from ((program.name, [each], given.budget) for each in due if each != EQUAL)
        if EQUAL in due and (budget := _equal_budget(program, target, given)):
            yield program.name, [EQUAL], budget


def _equal_budget(program: Program, target: Target, given: argparse.Namespace) -> int:
    """The peak of the fastest variant by hand that fits; 0 if none does, or none was measured."""
    records, label = read_table(given.results) | read_records(given.out), label_of(target)
    keys = {each: key_of(program.name, each, label) for each in program.variants}
    rows = {name: records[key] for name, key in keys.items() if key in records}
    fastest = fastest_by_hand(rows, target.device.memory_bytes)
    return int(rows[fastest]["peak"]) if fastest else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--target", default="tpu:v5e", help="one of `jxc targets`: tpu:v5e, gpu:h100, cpu")
    add("--only", default="*", metavar="PATTERN", help="programs whose name matches")
    add("--variant", default="*", metavar="PATTERN", help="variants whose name matches")
    add("--again", action="store_true", help="also measure what the file has")
    add("--budget", type=int, default=0, metavar="BYTES", help="for the fitted plan; 0: all memory")
    add("--timeout", type=float, default=900.0, help="time limit of a process in seconds")
    add("--out", type=Path, default=Path("build/fit.jsonl"), metavar="FILE")
    add("--results", type=Path, default=Path("benchmarks/FIT.md"), metavar="FILE")
    given = parser.parse_args()
    try:
        target = find_target(given.target)
        require(target)
    except JxcError as error:
        parser.error(str(error))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    about = circumstances()
    with given.out.open("a") as file:
        for program, variants, budget in todo(given, target):
            for record in run_worker(program, variants, target, budget, given.timeout):
                record |= {"commit": about["commit"], "jax": about["versions"]["jax"]}
                file.write(json.dumps(record) + "\n")
                file.flush()
                print(_shown(record), flush=True)
    return 0


def _shown(record: Record) -> str:
    if why := record.get("failed"):
        return f"{record['key']}: {why}"
    text = f"{record['key']}: {record['peak'] / 2**30:.3f} GiB"
    text += "" if record.get("fits", True) else ", does not fit"
    text += f", {1e3 * record['seconds']:.4g} ms" if "seconds" in record else ""
    return f"{text}, compiled in {record['compile_seconds']:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
