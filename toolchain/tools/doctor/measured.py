"""Findings beside a profile of `jxc profile --json`: ordered by the measured time of their lines.

An estimate of what a finding costs is at most the measured time of its line.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...source import SourceLine
from .finding import Finding
from .run import DoctorResult


class MeasuredLines:
    """The seconds of each line in a profile.

    Args:
        profile: the object of `jxc profile --json`.
        program: the module whose runs are counted, such as "jit_step".

    Attributes:
        runs: how often the program ran; 0 if the profile does not have it.
    """

    def __init__(self, profile: Mapping[str, Any], program: str) -> None:
        self._by_line: Counter[tuple[str, int, str]] = Counter()
        self._by_text: Counter[tuple[str, str]] = Counter()
        for row in profile["by"]["line"]:
            if line := row["line"]:
                file, text = os.path.realpath(line["file"]), line["text"]
                self._by_line[file, line["line"], text] += row["seconds"]
                self._by_text[file, text] += row["seconds"]
        named = (each for each in profile["programs"] if _bare(each["name"]) == program)
        self.runs = sum(each["runs"] for each in named)
        self.running = float(profile["running_seconds"])

    def seconds_of(self, place: SourceLine | None) -> float | None:
        """The seconds of a line, also if it has moved in its file since; None without a line."""
        if place is None:
            return None
        file = os.path.realpath(place.file)
        exact = self._by_line[file, place.line, place.text]
        return float(exact or (self._by_text[file, place.text] if place.text else 0.0))

    def applied_to(self, finding: Finding) -> Finding:
        """The finding with the measured time of its line, which bounds its estimated cost."""
        seconds = self.seconds_of(finding.place)
        cost = finding.cost
        if seconds is not None and self.runs and cost.seconds is not None:
            bound = seconds / self.runs
            if cost.seconds > bound:
                how = f"{cost.how}, but at most the measured time of the line".lstrip(", ")
                cost = replace(cost, seconds=bound, how=how)
        return replace(finding, cost=cost, measured=self._about(seconds), measured_seconds=seconds)

    def _about(self, seconds: float | None) -> str:
        from ...units import counted, show_seconds

        if not self.runs:
            return "the program did not run in the profile"
        if seconds is None:
            return "not known, because the finding has no line"
        if not seconds:
            return "the line takes no time when the program runs"
        share = f"{100 * seconds / self.running:.2g}% of the running time" if self.running else ""
        return f"{show_seconds(seconds)} in {counted(self.runs, 'run')}, {share}"


def _bare(name: str) -> str:
    return name.partition("(")[0]


def with_profile(result: DoctorResult, profile: Mapping[str, Any]) -> DoctorResult:
    """The findings with measured times, those on the slowest lines first."""
    lines = MeasuredLines(profile, result.program)
    found = sorted(map(lines.applied_to, result), key=lambda each: -(each.measured_seconds or 0.0))
    return DoctorResult(
        found,
        program=result.program,
        target=result.target,
        silenced=result.silenced,
        ran=result.ran,
        skipped=result.skipped,
    )
