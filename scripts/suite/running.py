"""Runs a file of JAX's tests in processes of its own, until each test has an outcome.

The record of a run is a file of JSON lines that the plugin `jax_suite_recorder` writes. A process
that dies or hangs is recorded as the outcome of the test that ran, and another process goes on
with the tests after it. So a record is also where an interrupted run is resumed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any

PIPELINES = {
    "plain": "",
    "O1": "O1",
    "O2": "O2",
    "list": "inline{default-pipeline=},symbol-dce,O2",  # a list rewrites tiny programs too
}
FAILURES = ("failed", "crashed", "timed out")

_processes: set[subprocess.Popen[bytes]] = set()
_stopping = threading.Event()


class Stopped(Exception):
    """The runs of this process end."""


def stop() -> None:
    """End all runs; a test that is running has no outcome then."""
    _stopping.set()
    for process in list(_processes):
        _kill(process)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a test: "passed", "skipped", or one of FAILURES with a message."""

    name: str
    outcome: str
    message: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Run:
    """A file of tests under a pipeline.

    Attributes:
        checkout: of JAX's repository.
        file: the name of the file in `tests/`, without `.py`.
        pipeline: a name in PIPELINES.
        record: where the outcomes are kept.
        bytecode: where Python keeps compiled files, so that none are written into the checkout.
        cases: how many cases JAX generates for each test.
        share: the percentage of the tests to run.
        seconds: the time limit of a test.
    """

    checkout: Path
    file: str
    pipeline: str
    record: Path
    bytecode: Path
    cases: int
    share: int = 100
    seconds: float = 600.0


@dataclass
class Record:
    """What a record file holds.

    Attributes:
        outcomes: of the tests that have one, by name.
        running: the test that started and has no outcome yet; empty if there is none.
        warnings: the warnings of jxc, by test.
        is_complete: whether each test of the run has an outcome.
    """

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    running: str = ""
    warnings: dict[str, str] = field(default_factory=dict)
    is_complete: bool = False

    def failures(self) -> dict[str, Outcome]:
        """The tests that failed, crashed, timed out, or made jxc warn."""
        warned = {
            name: Outcome(name or "<session>", "failed", f"warning: {message}")
            for name, message in self.warnings.items()
        }
        return warned | {n: o for n, o in self.outcomes.items() if o.outcome in FAILURES}

    def to_compare(self) -> dict[str, Outcome]:
        """The tests that did not pass, which plain JAX has to fail or to skip as well."""
        skipped = {n: o for n, o in self.outcomes.items() if o.outcome == "skipped"}
        return skipped | self.failures()


def read_record(path: Path) -> Record:
    """Read a record; an empty one if there is no such file."""
    record = Record()
    for event in _events(path):
        if "start" in event:
            record.running = event["start"]
        elif "test" in event:
            rest = {key: value for key, value in event.items() if key != "test"}
            record.outcomes[event["test"]] = Outcome(event["test"], **rest)
            record.running = ""
        elif "warning" in event:
            record.warnings[event["warning"]] = event["message"]
        elif "end" in event:
            record.is_complete = True
    return record


def _events(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:  # the last line of a process that was killed
            continue


def complete(run: Run, only: set[str] | None = None) -> Record:
    """Run what has no outcome yet, in new processes after each crash; all tests, or some.

    Raises:
        Stopped: `stop` was called.
    """
    run.record.parent.mkdir(parents=True, exist_ok=True)
    record = read_record(run.record)
    is_complete = record.is_complete if only is None else only <= set(record.outcomes)
    while not is_complete:
        last = _process(run, set(record.outcomes), only)
        if _stopping.is_set():
            raise Stopped
        if last is not None:
            _append(run.record, last)
        record = read_record(run.record)
        # Without a test that ran, another process would die at the same place.
        is_complete = last is None or last.name.startswith("<")
    if not record.is_complete and only is None:
        with run.record.open("a", encoding="utf-8") as out:
            out.write('{"end": true}\n')
    return record


def _append(path: Path, last: Outcome) -> None:
    event = {"test": last.name, "outcome": last.outcome, "message": last.message}
    with path.open("a", encoding="utf-8") as out:
        out.write("\n" + json.dumps(event) + "\n")  # after what may be half a line


def _process(run: Run, skip: set[str], only: set[str] | None) -> Outcome | None:
    """Run one process; what ended it early: the outcome of a test, or of "<exit>"."""
    request = {
        "log": str(run.record.resolve()),
        "skip": sorted(skip),
        "only": None if only is None else sorted(only),
        "share": run.share,
    }
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "request.json")
        told.write_text(json.dumps(request))
        with Path(folder, "stderr").open("w+b") as errors:
            process = subprocess.Popen(
                _command(run),
                cwd=folder,
                env=_environment(run, told),
                stdout=errors,
                stderr=errors,
                start_new_session=True,  # so that its children end with it
            )
            _processes.add(process)
            try:
                is_late = _wait(process, run)
            finally:
                _kill(process)
                _processes.remove(process)
            errors.seek(0)
            output = errors.read().decode(errors="replace")
    return _ending(run, process.returncode, is_late, output)


def _command(run: Run) -> list[str]:
    """Of pytest on the file. `-P` keeps the folder `jax` of the checkout out of the path."""
    file = run.checkout.resolve() / "tests" / f"{run.file}.py"
    options = ["-q", "--tb=short", "-p", "no:cacheprovider", "-p", "jax_suite_recorder"]
    return [sys.executable, "-P", "-m", "pytest", *options, str(file)]


def _environment(run: Run, request: Path) -> dict[str, str]:
    """The environment of the process: without settings of jxc, except for the pipeline."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("JXC_")}
    added = {
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")])
        ),
        "PYTHONPYCACHEPREFIX": str(run.bytecode.resolve()),
        "JAX_PLATFORMS": "cpu",
        "JAX_NUM_GENERATED_CASES": str(run.cases),
        "JAX_SUITE_REQUEST": str(request),
    }
    if pipeline := PIPELINES[run.pipeline]:
        added |= {"JXC_PIPELINE": pipeline, "JXC_STRICT": "1"}
    return ours | added


def _wait(process: subprocess.Popen[bytes], run: Run) -> bool:
    """Wait for the process; whether one test, or what is before and after, took too long."""
    size, since = -1, monotonic()
    while process.poll() is None and not _stopping.is_set():
        now = run.record.stat().st_size if run.record.exists() else 0
        if now != size:
            size, since = now, monotonic()
        if monotonic() - since > run.seconds:
            process.send_signal(signal.SIGABRT)  # faulthandler prints the stack
            sleep(2)
            return True
        sleep(0.2)
    return False


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the process and its children."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _ending(run: Run, code: int, is_late: bool, output: str) -> Outcome | None:
    record = read_record(run.record)
    name = record.running or "<exit>"
    if is_late:
        return Outcome(name, "timed out", f"after {run.seconds:.0f} s, {_stack(output)}")
    if code < 0:
        return Outcome(name, "crashed", f"{signal.Signals(-code).name}, {_stack(output)}")
    if record.running or not (record.is_complete or code in (0, 1, 2, 5)):
        return Outcome(name, "crashed", f"exit code {code}, {_shown(output)}")
    return None


def _shown(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return (lines or ["no output"])[-1][:300]


def _stack(output: str) -> str:
    """The innermost Python frame that faulthandler printed."""
    frames = [line.strip() for line in output.splitlines() if line.startswith('  File "')]
    return frames[0] if frames else _shown(output)
