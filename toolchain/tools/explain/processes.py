"""The logs of several processes side by side: what one compiled and another did not.

Each process of a job writes its log by `jxc explain --json log-%p.json`. In a job of
`jax.distributed` all processes should compile the same programs. One that compiles more makes the
others wait in their next collective.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...errors import UsageError
from ...files import from_json, read_json
from ...units import counted, show_seconds


@dataclass(frozen=True)
class _Row:
    called: str | None
    function: str
    times: int


@dataclass(frozen=True)
class _Reason:
    called: tuple[str, ...]
    sentence: str


@dataclass(frozen=True)
class _Log:
    """What `merged` shows of a file of `jxc explain --json`."""

    process: int
    compiled: int
    seconds: float
    rows: tuple[_Row, ...]
    reasons: tuple[_Reason, ...]


def read_logs(files: Iterable[str]) -> dict[int, _Log]:
    """The logs by the number of their process.

    Raises:
        UsageError: a file is no log of `jxc explain --json`, or two are of the same process.
    """
    logs: dict[int, _Log] = {}
    for file in files:
        try:
            log: _Log = from_json(_Log, read_json(file))
        except ValueError as error:
            raise UsageError(
                f"{file}: expected a file that `jxc explain --json log-%p.json` wrote: {error}"
            ) from None
        if log.process in logs:
            raise UsageError(
                f"{file}: expected one log for each process, found a second one of process "
                f"{log.process}. Was jax.distributed initialised in all of them?"
            )
        logs[log.process] = log
    return dict(sorted(logs.items()))


def merged(logs: Mapping[int, _Log]) -> str:
    """What each process compiled, and where they differ, as text."""
    lines = [f"jxc explain: {counted(len(logs), 'process')}", ""]
    for number, log in logs.items():
        count, seconds = counted(log.compiled, "program"), show_seconds(log.seconds)
        lines.append(f"process {number}: {count} compiled in {seconds}")
    lines += _section("Compiled more often in some processes", _uneven(logs))
    lines += _section("Compiled again", _reasons(logs))
    return "\n".join(lines) + "\n"


def _section(title: str, entries: Sequence[str]) -> list[str]:
    return ["", title, *(f"  {entry}" for entry in entries)] if entries else []


def _uneven(logs: Mapping[int, _Log]) -> list[str]:
    """The functions that are not compiled equally often in all processes."""
    times: dict[tuple[str, str], dict[int, int]] = defaultdict(lambda: dict.fromkeys(logs, 0))
    for number, log in logs.items():
        for row in log.rows:
            times[row.called or "", row.function][number] += row.times
    return [
        f"{called}: {function}: "
        + _by_value({n: counted(count, "program") for n, count in found.items()})
        for (called, function), found in sorted(times.items())
        if len(set(found.values())) > 1
    ]


def _reasons(logs: Mapping[int, _Log]) -> list[str]:
    """Each sentence on a recompilation, with the processes that have it."""
    having: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, log in logs.items():
        for each in log.reasons:
            having[next(iter(each.called), ""), each.sentence].append(number)
    return [
        f"{called}: {sentence} ({_processes(found, len(logs))})"
        for (called, sentence), found in having.items()
    ]


def _by_value(found: Mapping[int, str]) -> str:
    """Values with the processes that have them: "2 programs in processes 0, 1; 3 ..."."""
    having: dict[str, list[int]] = defaultdict(list)
    for number, value in found.items():
        having[value].append(number)
    return "; ".join(f"{value} in {_processes(n, len(found))}" for value, n in having.items())


def _processes(numbers: Sequence[int], count: int) -> str:
    if len(numbers) == count:
        return "all processes"
    return f"process{'es' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
