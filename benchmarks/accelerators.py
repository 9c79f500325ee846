"""Models as the compilers for TPU and GPU see them, without and with the passes of a level.

No hardware is needed: time is the compiler's own estimate (TPU), or a roofline of the kernels that
it makes (GPU). Figures do not vary from run to run, so each model is compiled once. With --rules
the level is compared with itself, those rules switched on or off.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
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
from run import chosen, read_raw, shown_progress, write_raw

from jxc.backend.targets import find_targets, require
from jxc.errors import JxcError

HERE = Path(__file__).parent
COMPILERS = ("libtpu", "jax-cuda13-plugin", "jax-cuda13-pjrt", "nvidia-cuda-nvcc")

METHOD = """\
Each model is lowered for the target, once as JAX does it and once more through our passes, and both
are compiled by the target's own compiler for one device, which is not there: nothing ran. On TPU
*time* is the sum of the compiler's estimated cycles, each times how often it runs, at the device's
clock; what carries no estimate counts with its roofline, and is named. On GPU, whose compiler
estimates nothing, *time* is the roofline of each kernel and 1.5 us for starting it. A loop of
unknown length counts as one turn, before and after. *Gain* is time before over time after.
**Worse** is more than 1% more time, or more than 2% and 1 MiB more memory at the peak; where the
peak grows by 2% but fewer bytes, the summary says so."""


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--models", default="*", help="patterns, after commas: 'keras-*,signal'")
    add("--quick", action="store_true", help="some models of each family")
    add("--targets", default="tpu:v5e:2x2,gpu:h100", help="as `jxc targets` has them")
    add("--level", default="O2", help="the passes to run")
    add("--rules", default="", help="compare the level with itself: --rules=-OFF,+ON")
    add("--each-rule", action="store_true", help="also without each rule that fired, in turn")
    add("--timeout", type=float, default=900.0, help="seconds that a process may take")
    add("--raw", type=Path, help="append here what each process told, as JSON lines")
    add("--read", type=Path, help="run nothing: put together what --raw kept in this file")
    add("--results", type=Path, help="write tables and circumstances to this Markdown file")
    given = parser.parse_args()
    given.names = chosen(given.models, quick=given.quick)
    if not given.names:
        parser.error(f"--models: no model is called {given.models!r}")
    try:
        found = find_targets(given.targets)
        for target in () if given.read else found:
            require(target)
    except JxcError as error:
        parser.error(str(error))
    given.targets = [target.name for target in found]
    return given


def run_process(name: str, target: str, given: argparse.Namespace) -> dict[str, Any]:
    """What a fresh process tells about a model on a target."""
    about = {"model": name, "target": target}
    command = [sys.executable, "-W", "ignore", str(HERE / "accelerators_worker.py"), name]
    command += [f"--target={target}", f"--level={given.level}", f"--rules={given.rules}"]
    command += ["--each-rule"] * given.each_rule
    settings = {k: v for k, v in os.environ.items() if k != "JXC_PIPELINE"}
    settings |= {"JAX_PLATFORMS": "cpu", "JXC_RATES": "shipped"}
    try:
        done = subprocess.run(
            command,
            timeout=given.timeout,
            check=False,
            capture_output=True,
            text=True,
            env=settings,
        )
    except subprocess.TimeoutExpired:
        return about | {"broken": f"took more than {given.timeout:.0f} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return about | {"broken": f"exit code {done.returncode}: {last}"[:300]}
    return json.loads(done.stdout.splitlines()[-1])


def run_all(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Every model for every target, one process after the other."""
    told: list[dict[str, Any]] = []
    with shown_progress(len(given.names) * len(given.targets)) as show:
        for name in given.names:
            for target in given.targets:
                show(f"{name}, {target}")
                told.append(run_process(name, target, given))
                write_raw(given.raw, told[-1])
    return told


def latest(told: list[dict[str, Any]], given: argparse.Namespace) -> list[dict[str, Any]]:
    """Of each model and target what was told last; that it was not run where nothing was."""
    found = {(each["target"], each["model"]): each for each in told}
    return [
        found.get((target, name), {"model": name, "target": target, "skipped": "not run"})
        for target in given.targets
        for name in given.names
    ]


def commits_in(file: Path) -> str:
    """Of which commits there are figures: models may have been run one by one."""
    lines = (json.loads(line) for line in file.read_text().splitlines())
    return ", ".join(dict.fromkeys(line["about"]["commit"] for line in lines if "about" in line))


def versions() -> str:
    """The compilers that are installed."""
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
    """Write the whole file anew."""
    lines = [line for target, each in found.items() for line in summary_lines(target, each)]
    packages = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    parts = [
        "# Models on accelerators\n\nWritten by benchmarks/accelerators.py; not by hand.",
        f"- {about['date']}, commit {about['commit']}, Python {about['python']}\n"
        f"- {compilers}\n- {packages}",
        METHOD,
        "## Summary\n\n" + "\n".join(f"- {line}" for line in lines),
    ]
    for target, each in found.items():
        parts += [f"## {target}", table(each), f"### Rules that fired for {target}"]
        parts += [rule_lines(each)]
    file.write_text("\n\n".join(parts) + "\n")


def main() -> int:
    given = options()
    about = circumstances() | {"compilers": versions()}
    if given.read:
        told, about = read_raw(given.read, given.names)
        about = about | {"commit": commits_in(given.read)}
    else:
        write_raw(given.raw, {"about": about})
        told = run_all(given)
    told = latest(told, given)
    found = {t: [outcome(x) for x in told if x["target"] == t] for t in given.targets}
    for target, each in found.items():
        print(*summary_lines(target, each), sep="\n")
    if lines := contender_lines(told):
        print(*lines, sep="\n")
    if given.results:
        write_results(given.results, about, about.get("compilers", ""), found)
    is_bad = any("broken" in each for each in told)
    return int(is_bad or any(x.losses for each in found.values() for x in each if not x.reason))


if __name__ == "__main__":
    sys.exit(main())
