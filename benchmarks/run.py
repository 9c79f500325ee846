"""Models under plain jax.jit, jxc's levels and Enzyme-JAX: run times, compile times, errors.

Each model runs in fresh processes, one after the other; in each, every contender compiles the same
program and all run in turn. Ratios are medians of rounds, with bootstrapped 95% intervals.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from machine import circumstances
from models import MODELS
from plot import draw
from report import not_installed_lines, run_table, summary_lines
from results import Result, gather, summarise
from results_file import write_results
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

HERE = Path(__file__).parent
QUICK_SECONDS = 3.0
CONTENDERS = ("plain", "O0", "O1", "O2", "O3", "enzyme")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--models", default="*", help="patterns, after commas: 'keras-*,signal'")
    add("--quick", action="store_true", help="some models of each family, fewer rounds")
    add("--levels", default="O1,O2,enzyme", help=f"beside plain, of {', '.join(CONTENDERS[1:])}")
    add("--processes", type=int, default=2, help="fresh ones for each model")
    add("--rounds", type=int, default=40, help="at most, in each process")
    add("--seconds", type=float, default=8.0, help="of running in each process, about")
    add("--timeout", type=float, default=600.0, help="seconds that a process may take")
    add("--raw", type=Path, help="append here what each process told, as JSON lines")
    add("--read", type=Path, help="run nothing: put together what --raw kept in this file")
    add("--json", action="store_true", help="print one object instead of tables")
    add("--history", type=Path, help="append one line of JSON to this file")
    add("--plot", type=Path, help="draw the ratios: FILE.svg or FILE.png")
    add("--results", type=Path, help="write tables and circumstances to this Markdown file")
    add("--list", action="store_true", help="name the models and stop")
    given = parser.parse_args()
    given.levels = given.levels.split(",")
    for level in given.levels:
        if level not in CONTENDERS[1:]:
            parser.error(f"--levels: expected some of {', '.join(CONTENDERS[1:])}, found {level!r}")
    given.names = chosen(given.models, quick=given.quick)
    if given.quick:
        given.seconds = min(given.seconds, QUICK_SECONDS)
    if not given.names:
        parser.error(f"--models: no model is called {given.models!r}; --list names them")
    return given


def chosen(patterns: str, *, quick: bool) -> list[str]:
    """The models that match some pattern, and are quick where that is asked for."""
    wanted = patterns.split(",")
    return [
        name
        for name, model in MODELS.items()
        if any(fnmatch(name, each) for each in wanted) and (model.quick or not quick)
    ]


def run_process(name: str, levels: list[str], turn: int, given: argparse.Namespace) -> dict:
    """What a fresh process tells about a model; where it dies by Enzyme-JAX, one without that."""
    told = _process(name, ["plain", *levels], turn, given)
    if "enzyme" not in levels or not told.get("broken"):
        return told
    others = _process(name, ["plain", *(x for x in levels if x != "enzyme")], turn, given)
    if not others.get("broken"):
        others["contenders"]["enzyme"] = {"failed": told["broken"]}
    return others


def _process(name: str, contenders: list[str], turn: int, given: argparse.Namespace) -> dict:
    command = [sys.executable, "-W", "ignore", str(HERE / "worker.py"), name, f"--turn={turn}"]
    command += [f"--contenders={','.join(contenders)}", f"--rounds={given.rounds}"]
    command += [f"--seconds={given.seconds}"]
    settings = {k: v for k, v in os.environ.items() if k != "JXC_PIPELINE"}  # plain is plain
    options: dict[str, Any] = {"capture_output": True, "text": True, "env": settings}
    try:
        done = subprocess.run(command, timeout=given.timeout, check=False, **options)
    except subprocess.TimeoutExpired:
        return {"model": name, "broken": f"took more than {given.timeout:.0f} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return {"model": name, "broken": f"exit code {done.returncode}: {last}"[:300]}
    return json.loads(done.stdout.splitlines()[-1])


def run_all(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Every process of every model: all models once, then all again."""
    told: list[dict[str, Any]] = []
    idle: set[str] = set()  # what one process could not run, the next need not try
    with shown_progress(len(given.names) * given.processes) as show:
        for turn in range(given.processes):
            for name in given.names:
                show(name)
                if name in idle:
                    continue
                told.append(run_process(name, given.levels, turn, given))
                if told[-1].get("skipped") or told[-1].get("broken"):
                    idle.add(name)
                write_raw(given.raw, told[-1])
    return told


def write_raw(file: Path | None, told: dict[str, Any]) -> None:
    """Keep a line of JSON, where that is asked for."""
    if file:
        with file.open("a") as lines:
            lines.write(json.dumps(told) + "\n")


def read_raw(file: Path, names: list[str]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What `--raw` kept: what each process told of these models, and the last circumstances."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    about = [line["about"] for line in lines if "about" in line]
    return [line for line in lines if line.get("model") in names], about[-1]


@contextmanager
def shown_progress(total: int) -> Iterator[Any]:
    """A bar on stderr, where that is a terminal; called with what begins."""
    console = Console(stderr=True)
    columns = [TextColumn("{task.description:30}"), BarColumn(20), MofNCompleteColumn()]
    with Progress(
        *columns, TimeElapsedColumn(), console=console, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=total, completed=-1)
        yield lambda name: bar.update(task, advance=1, description=name)


def grouped(told: list[dict[str, Any]]) -> list[Result]:
    """One result per model, from what all of its processes told."""
    by_model: dict[str, list[dict[str, Any]]] = {}
    for each in told:
        by_model.setdefault(each["model"], []).append(each)
    return [gather(name, MODELS[name].windows, each) for name, each in by_model.items()]


def record(results: list[Result], levels: list[str], about: dict[str, Any]) -> dict[str, Any]:
    """Everything, as one object for JSON."""
    return {
        "schema_version": 1,
        **about,
        "summary": {level: asdict(summarise(results, level)) for level in levels},
        "models": [asdict(result) for result in results],
    }


def main() -> int:
    given = options()
    if given.list:
        print("\n".join(given.names))
        return 0
    about = circumstances()
    if given.read:
        told, about = read_raw(given.read, given.names)
    else:
        write_raw(given.raw, {"about": about})
        told = run_all(given)
    results = grouped(told)
    levels = [name for name in given.levels if any(r.contender(name) for r in results)]
    if given.json:
        print(json.dumps(record(results, levels, about), indent=2))
    else:
        show(results, levels, about)
    write_files(results, levels, about, given)
    return int(any(_is_bad(result) for result in results))


def _is_bad(result: Result) -> bool:
    """Whether a process died, or jxc fails on the model or makes it wrong."""
    ours = (each for name, each in result.contenders.items() if name != "enzyme")
    return bool(result.broken) or any(each.verdict in ("WRONG", "failed") for each in ours)


def show(results: list[Result], levels: list[str], about: dict[str, Any]) -> None:
    """Tables on the terminal, as wide as it is, or 80 columns into a file."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 80)
    if levels:
        console.print(run_table(results, levels))
    for line in summary_lines(results, levels) + not_installed_lines(about):
        console.print(line, style="bold red" if "WRONG" in line and ": 0 " not in line else "")


def write_files(
    results: list[Result], levels: list[str], about: dict[str, Any], given: argparse.Namespace
) -> None:
    """The files that the command line asks for."""
    if given.history:
        with given.history.open("a") as file:
            file.write(json.dumps(record(results, levels, about)) + "\n")
    if given.plot:
        drawn = [level for level in levels if level != "O1"] or levels
        draw(results, drawn, given.plot, f"{about['machine']}, jax {about['versions']['jax']}")
    if given.results:
        picture = os.path.relpath(given.plot, given.results.parent) if given.plot else ""
        write_results(given.results, results, levels, about, picture)


if __name__ == "__main__":
    sys.exit(main())
