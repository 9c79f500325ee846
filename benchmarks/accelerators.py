"""Compile models for TPU and GPU, without passes and at a level, and compare the estimates.

No hardware is needed. The time is the compiler's own estimate (TPU) or a roofline of the compiled
kernels (GPU). Both are deterministic, so each model is compiled once. With --rules, the level is
compared with itself with those rules switched on or off.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from accelerators_report import (
    Outcome,
    contender_lines,
    outcome,
    rule_lines,
    summary_lines,
    table,
)
from machine import circumstances
from run import SIZES_HELP, chosen, printed_record, read_raw, shown_progress, sizes, write_raw

from jxc.backend.targets import find_targets, require
from jxc.errors import JxcError

HERE = Path(__file__).parent
COMPILERS = ("libtpu", "jax-cuda13-plugin", "jax-cuda13-pjrt", "nvidia-cuda-nvcc")

METHOD = """\
Each model is lowered for the target, once without and once with jxc's passes. The target's compiler
compiles both for one absent device; nothing is run. On TPU, *time* is the sum of the compiler's
estimated cycles, multiplied by trip counts, at the device's clock. Kernels without an estimate
count with their roofline and are listed. The GPU compiler gives no estimates. There, *time* is the
roofline of each kernel, including its launch. A loop of unknown trip count counts as one iteration.
*Gain* is the time before divided by the time after. **Worse** is more than 1% more time, or a
memory peak that is more than 2% and 1 MiB higher. The summary lists peaks that grow by 2% but less
than 1 MiB."""


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--models", default="*", help="patterns separated by commas: 'keras-*,signal'")
    add("--sizes", type=sizes, default=["usual"], help=SIZES_HELP)
    add("--quick", action="store_true", help="fewer models")
    add(
        "--targets",
        default="tpu:v5e:2x2,gpu:h100",
        help="targets, see `jxc targets`",
    )
    add("--level", default="O2", help="the level to compare with plain")
    add("--rules", default="", help="compare the level with itself: --rules=-OFF,+ON")
    add(
        "--each-rule",
        action="store_true",
        help="also compile without each applied rule",
    )
    add("--timeout", type=float, default=900.0, help="time limit of a process in seconds")
    add("--raw", type=Path, help="append the record of each process to this file, as JSON lines")
    add("--read", type=Path, help="run nothing; read the records that --raw wrote to this file")
    add("--results", type=Path, help="write the tables to this Markdown file")
    given = parser.parse_args()
    given.names = chosen(given.models, given.sizes, quick=given.quick)
    if not given.names:
        parser.error(f"--models: no model is called {given.models!r}")
    try:
        found = find_targets(given.targets)
        for target in () if given.read else found:
            require(target)
    except JxcError as error:
        parser.error(str(error))
    given.runs = [Run(name, target.name) for target in found for name in given.names]
    return given


@dataclass(frozen=True)
class Run:
    """A model to compile for a target."""

    name: str
    target: str

    @property
    def about(self) -> dict[str, Any]:
        """The beginning of its record."""
        return {"model": self.name, "target": self.target}


def run_process(run: Run, given: argparse.Namespace) -> dict[str, Any]:
    """The record of a fresh process."""
    command = [sys.executable, "-W", "ignore", str(HERE / "accelerators_worker.py"), run.name]
    command += [f"--target={run.target}", f"--level={given.level}", f"--rules={given.rules}"]
    command += ["--each-rule"] * given.each_rule
    settings = {"JAX_PLATFORMS": "cpu", "JXC_RATES": "shipped"}
    return printed_record(command, settings, given.timeout) | run.about


def run_all(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Run every model for every target, one process after the other."""
    records: list[dict[str, Any]] = []
    with shown_progress(len(given.runs)) as show:
        for run in given.runs:
            show(f"{run.about['model']}, {run.target}")
            records.append(run_process(run, given))
            write_raw(given.raw, records[-1])
    return records


def latest(records: list[dict[str, Any]], given: argparse.Namespace) -> list[dict[str, Any]]:
    """The last record of each model and target, or a record that it was not run."""
    found = {(each["target"], each["model"]): each for each in records}
    return [
        found.get((run.target, run.about["model"]), run.about | {"skipped": "not run"})
        for run in given.runs
    ]


def commits_in(file: Path) -> str:
    """The commits of the records; models may have been run one by one."""
    lines = (json.loads(line) for line in file.read_text().splitlines())
    return ", ".join(dict.fromkeys(line["about"]["commit"] for line in lines if "about" in line))


def versions() -> str:
    """The installed compilers with their versions."""
    found = []
    for name in COMPILERS:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


def write_results(
    file: Path, about: dict[str, Any], compilers: str, found: dict[str, list[Outcome]]
) -> None:
    """Replace the file."""
    lines = [line for target, each in found.items() for line in summary_lines(target, each)]
    packages = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    parts = [
        "# Models on accelerators\n\nWritten by benchmarks/accelerators.py. Do not edit.",
        f"- {about['date']}, commit {about['commit']}, Python {about['python']}\n"
        f"- {compilers}\n- {packages}",
        METHOD,
        "## Summary\n\n" + "\n".join(f"- {line}" for line in lines),
    ]
    for target, each in found.items():
        parts += [f"## {target}", table(each), f"### Rules applied for {target}"]
        parts += [rule_lines(each)]
    file.write_text("\n\n".join(parts) + "\n")


def main() -> int:
    given = options()
    about = circumstances() | {"compilers": versions()}
    if given.read:
        records, about = read_raw(given.read, [run.about["model"] for run in given.runs])
        about = about | {"commit": commits_in(given.read)}
    else:
        write_raw(given.raw, {"about": about})
        records = run_all(given)
    records = latest(records, given)
    targets = dict.fromkeys(run.target for run in given.runs)
    found = {t: [outcome(x) for x in records if x["target"] == t] for t in targets}
    for target, each in found.items():
        print(*summary_lines(target, each), sep="\n")
    if lines := contender_lines(records):
        print(*lines, sep="\n")
    if given.results:
        write_results(given.results, about, about.get("compilers", ""), found)
    is_bad = any("broken" in each for each in records)
    return int(is_bad or any(x.losses for each in found.values() for x in each if not x.reason))


if __name__ == "__main__":
    sys.exit(main())
