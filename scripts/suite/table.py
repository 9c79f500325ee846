"""The table of a run of JAX's tests, and the differences from plain JAX with their reasons."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path

from .running import FAILURES, Outcome, Record

REASONS = Path(__file__).parent / "explained.toml"


@dataclass(frozen=True)
class Reason:
    """Why tests fail under a pipeline and are not faults.

    Attributes:
        tests: a pattern of names of tests, such as `tests/pjit_test.py::PJitTest::test_cache*`.
        reason: why.
        message: what the message of the failure must contain.
    """

    tests: str
    reason: str
    message: str = ""

    def explains(self, failure: Outcome) -> bool:
        """Whether it is the reason of a failure."""
        return fnmatch(failure.name, self.tests) and self.message in failure.message


def read_reasons(path: Path = REASONS) -> list[Reason]:
    """The reasons that a file lists."""
    return [Reason(**each) for each in tomllib.loads(path.read_text()).get("difference", [])]


@dataclass(frozen=True)
class Compared:
    """A file of tests under a pipeline, compared with plain JAX.

    Attributes:
        plain: the outcomes without a pipeline of what did not pass with it.
    """

    file: str
    pipeline: str
    record: Record
    plain: Mapping[str, Outcome]

    def shared(self) -> dict[str, Outcome]:
        """The failures that plain JAX has too."""
        return {n: o for n, o in self.record.failures().items() if self._fails_plainly(n)}

    def differences(self) -> dict[str, Outcome]:
        """The failures that plain JAX does not have, and the skipped tests that it runs."""
        return {
            name: replace(found, message=found.message or "skipped; plain JAX runs it")
            for name, found in self.record.to_compare().items()
            if not (self._is_skipped_plainly(name, found) or self._fails_plainly(name))
        }

    def _fails_plainly(self, name: str) -> bool:
        return name in self.plain and self.plain[name].outcome in FAILURES

    def _is_skipped_plainly(self, name: str, found: Outcome) -> bool:
        return found.outcome == "skipped" and self.plain.get(name, found).outcome == "skipped"

    def row(self) -> str:
        """The row of the table."""
        counts = Counter(each.outcome for each in self.record.outcomes.values())
        seconds = sum(each.seconds for each in self.record.outcomes.values())
        failures = self.record.failures()
        failed = len(failures) - counts["crashed"]
        warned = sum(self.record.outcomes[n].outcome == "passed" for n in failures if n)
        return _ROW.format(
            self.file,
            self.pipeline,
            counts["passed"] - warned,
            failed,
            counts["crashed"],
            counts["skipped"],
            len(self.shared()),
            f"{seconds:.0f}",
        )


_ROW = "{:<32.32} {:<8} {:>6} {:>6} {:>7} {:>7} {:>5} {:>6}"
_HEAD = _ROW.format(
    "file", "pipeline", "passed", "failed", "crashed", "skipped", "plain", "test s"
).replace("test s", "     s")


def table(compared: Iterable[Compared], reasons: Iterable[Reason]) -> tuple[str, int]:
    """The table with the differences below it, and how many differences have no reason."""
    rows, found, explained = [_HEAD], [], Counter[Reason]()
    for each in compared:
        rows.append(each.row())
        for failure in each.differences().values():
            reason = next((r for r in reasons if r.explains(failure)), None)
            if reason is None:
                found.append(f"{each.pipeline}: {failure.name}\n    {failure.message}")
            else:
                explained[reason] += 1
    lines = [*rows, "", "plain: failures that JAX has without jxc too; not counted below"]
    if explained:
        lines += ["", f"{_differences(explained.total())} with a reason ({REASONS.name}):"]
        lines += [f"{n} of {r.tests}\n    {r.reason}" for r, n in explained.items()]
    lines += ["", f"{_differences(len(found))} without a reason" + ":" * bool(found), *found]
    return "\n".join(lines), len(found)


def _differences(count: int) -> str:
    return f"{count} difference{'s' * (count != 1)}"


def to_compare(records: Iterable[Record]) -> set[str]:
    """The tests that did not pass in one of the records."""
    return {name or "<session>" for record in records for name in record.to_compare()}
