"""Measure models under plain jax.jit, jxc's levels and Enzyme-JAX.

The metrics are run time, compile time and error. Each model runs in fresh processes, one after the
other. In each process, every contender compiles the same program, and all of them run in
alternation. Ratios are medians over rounds with bootstrapped 95% intervals.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from machine import circumstances
from models import MODELS, SIZES
from plot import draw
from report import not_installed_lines, run_table, summary_lines
from results import Result, gather, summarise
from results_file import write_results
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

HERE = Path(__file__).parent
QUICK_SECONDS = 3.0
SIZES_HELP = f"sizes of the models, separated by commas: some of {', '.join(SIZES)}"
CONTENDERS = ("plain", "O0", "O1", "O2", "O3", "enzyme")
LEVELS = ("O1", "O2", "O3", "enzyme")
USUAL_ONLY = ("O3", "enzyme")  # not measured at other sizes, unless --levels names O3


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--models", default="*", help="patterns separated by commas: 'keras-*,signal'")
    add("--sizes", type=sizes, default=["usual"], help=SIZES_HELP)
    add("--quick", action="store_true", help="fewer models and rounds")
    add(
        "--levels",
        help=f"contenders other than plain: {', '.join(CONTENDERS[1:])} (default: "
        f"{','.join(LEVELS)}; {' and '.join(USUAL_ONLY)} only for the usual size)",
    )
    add("--processes", type=int, default=2, help="fresh processes per model of the usual size")
    add("--rounds", type=int, default=40, help="maximum number of rounds per process")
    add("--seconds", type=float, default=8.0, help="approximate run time per process")
    add("--timeout", type=float, default=600.0, help="time limit of a process in seconds")
    add("--raw", type=Path, help="append the record of each process to this file, as JSON lines")
    add("--read", type=Path, help="run nothing; read the records that --raw wrote to this file")
    add("--json", action="store_true", help="print one object instead of tables")
    add("--history", type=Path, help="append one line of JSON to this file")
    add("--plot", type=Path, help="plot the ratios to FILE.svg or FILE.png")
    add("--results", type=Path, help="write the tables to this Markdown file")
    add("--list", action="store_true", help="print the names of the models and exit")
    given = parser.parse_args()
    given.left_out = ["enzyme"] if given.levels else USUAL_ONLY
    given.levels = given.levels.split(",") if given.levels else list(LEVELS)
    for level in given.levels:
        if level not in CONTENDERS[1:]:
            parser.error(f"--levels: expected some of {', '.join(CONTENDERS[1:])}, found {level!r}")
    given.names = chosen(given.models, given.sizes, quick=given.quick)
    if given.quick:
        given.seconds = min(given.seconds, QUICK_SECONDS)
    if not given.names:
        parser.error(f"--models: no model is called {given.models!r}; --list names them")
    return given


def sizes(text: str) -> list[str]:
    """The sizes in a list separated by commas.

    Raises:
        ArgumentTypeError: there is no such size.
    """
    found = text.split(",")
    if unknown := set(found) - set(SIZES):
        raise argparse.ArgumentTypeError(
            f"expected some of {', '.join(SIZES)}, found {unknown.pop()!r}"
        )
    return found


def chosen(patterns: str, of_sizes: Sequence[str], *, quick: bool) -> list[str]:
    """The names of the models of these sizes that match a pattern, with `quick` only quick ones.

    A pattern is compared with the name without a size, unless it has one: "signal@large".
    """
    wanted = patterns.split(",")
    return [
        name
        for name, model in MODELS.items()
        if (model.quick or not quick)
        and any(
            fnmatch(name, each)
            if "@" in each
            else model.size in of_sizes and fnmatch(name.partition("@")[0], each)
            for each in wanted
        )
    ]


def run_process(name: str, levels: list[str], rotation: int, given: argparse.Namespace) -> dict:
    """The record of a fresh process. If Enzyme-JAX crashes it, one without Enzyme-JAX runs."""
    records = _process(name, ["plain", *levels], rotation, given)
    if "enzyme" not in levels or not records.get("broken"):
        return records
    others = _process(name, ["plain", *(x for x in levels if x != "enzyme")], rotation, given)
    if not others.get("broken"):
        others["contenders"]["enzyme"] = {"failed": records["broken"]}
    return others


def _process(name: str, contenders: list[str], rotation: int, given: argparse.Namespace) -> dict:
    command = [
        sys.executable,
        "-W",
        "ignore",
        str(HERE / "worker.py"),
        name,
        f"--rotation={rotation}",
    ]
    command += [f"--contenders={','.join(contenders)}", f"--rounds={given.rounds}"]
    command += [f"--seconds={given.seconds}"]
    return {"model": name} | printed_record(command, {}, given.timeout)


def printed_record(
    command: Sequence[str], variables: Mapping[str, str], timeout: float
) -> dict[str, Any]:
    """The JSON object that a process prints last, or why there is none, as `broken`.

    Its environment is this one with `variables`. Plain `jax.jit` must not run passes, and Python
    keeps the byte code of the passes, as a user's does.
    """
    left_out = {"JXC_PIPELINE", "PYTHONDONTWRITEBYTECODE"}
    settings = {k: v for k, v in os.environ.items() if k not in left_out} | dict(variables)
    options: dict[str, Any] = {"capture_output": True, "text": True, "env": settings}
    try:
        done = subprocess.run(command, timeout=timeout, check=False, **options)
    except subprocess.TimeoutExpired:
        return {"broken": f"took more than {timeout:.0f} s"}
    if done.returncode:
        # The last line that is not indented, as notes on an error are.
        lines = [line for line in done.stderr.splitlines() if line and not line[0].isspace()]
        return {"broken": f"exit code {done.returncode}: {''.join(lines[-1:])}"[:300]}
    return json.loads(done.stdout.splitlines()[-1])


def run_all(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Run every process of every model: all models once, then those of the usual size again."""
    records: list[dict[str, Any]] = []
    failed: set[str] = set()  # models that failed are not tried again
    with shown_progress(len(given.names) * given.processes) as show:
        for rotation in range(given.processes):
            for name in given.names:
                show(name)
                is_usual = MODELS[name].size == "usual"
                if name in failed or (rotation and not is_usual):
                    continue
                levels = [x for x in given.levels if is_usual or x not in given.left_out]
                records.append(run_process(name, levels, rotation, given))
                if records[-1].get("skipped") or records[-1].get("broken"):
                    failed.add(name)
                write_raw(given.raw, records[-1])
    return records


def write_raw(file: Path | None, records: dict[str, Any]) -> None:
    """Append a line of JSON to the file, if there is one."""
    if file:
        with file.open("a") as lines:
            lines.write(json.dumps(records) + "\n")


def read_raw(file: Path, names: list[str]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The records of these models in a file of `--raw`, and the last machine description."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    about = [line["about"] for line in lines if "about" in line]
    return [line for line in lines if line.get("model") in names], about[-1]


@contextmanager
def shown_progress(total: int) -> Iterator[Any]:
    """A progress bar on stderr if that is a terminal; call it with the name of each step."""
    console = Console(stderr=True)
    columns = [TextColumn("{task.description:30}"), BarColumn(20), MofNCompleteColumn()]
    with Progress(
        *columns, TimeElapsedColumn(), console=console, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=total, completed=-1)
        yield lambda name: bar.update(task, advance=1, description=name)


def grouped(records: list[dict[str, Any]]) -> list[Result]:
    """One result per model, from the records of its processes."""
    by_model: dict[str, list[dict[str, Any]]] = {}
    for each in records:
        by_model.setdefault(each["model"], []).append(each)
    return [gather(name, MODELS[name].windows, each) for name, each in by_model.items()]


def as_json(results: list[Result], levels: list[str], about: dict[str, Any]) -> dict[str, Any]:
    """All results as one object for JSON."""
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
        records, about = read_raw(given.read, given.names)
    else:
        write_raw(given.raw, {"about": about})
        records = run_all(given)
    results = grouped(records)
    measured = {name for result in results for name in result.contenders if result.contender(name)}
    levels = [name for name in given.levels if name != "enzyme" or name in measured]
    if given.json:
        print(json.dumps(as_json(results, levels, about), indent=2))
    else:
        show(results, levels, about)
    write_files(results, levels, about, given)
    return int(any(_is_bad(result) for result in results))


def _is_bad(result: Result) -> bool:
    """Whether a process failed, or jxc fails on the model or gives a wrong result."""
    ours = (each for name, each in result.contenders.items() if name != "enzyme")
    return bool(result.broken) or any(each.verdict in ("WRONG", "failed") for each in ours)


def show(results: list[Result], levels: list[str], about: dict[str, Any]) -> None:
    """Print tables, as wide as the terminal, or with 80 columns into a file."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 80)
    if levels:
        console.print(run_table(results, levels))
    for line in summary_lines(results, levels) + not_installed_lines(about):
        console.print(line, style="bold red" if "WRONG" in line and ": 0 " not in line else "")


def write_files(
    results: list[Result], levels: list[str], about: dict[str, Any], given: argparse.Namespace
) -> None:
    """Write the files that the command line names."""
    if given.history:
        with given.history.open("a") as file:
            file.write(json.dumps(as_json(results, levels, about)) + "\n")
    if given.plot:
        drawn = [level for level in levels if level != "O1"] or levels
        usual = [result for result in results if result.size == "usual"] or results
        draw(usual, drawn, given.plot, f"{about['machine']}, jax {about['versions']['jax']}")
    if given.results:
        picture = os.path.relpath(given.plot, given.results.parent) if given.plot else ""
        write_results(given.results, results, levels, about, picture)


if __name__ == "__main__":
    sys.exit(main())
