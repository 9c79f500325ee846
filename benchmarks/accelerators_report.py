"""Summaries and tables of the estimates of accelerators' compilers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from intervals import geometric_mean

WORSE_SECONDS = 1.01
"""A ratio of estimated times above this is a loss. Estimates have no noise."""

WORSE_PEAK = 1.02
"""The same for peak memory, which also depends on how buffers are packed."""

SMALL_PEAK = 2**20
"""A growth of the peak below this many bytes is not a loss: devices have 16 GiB or more."""


@dataclass(frozen=True)
class Outcome:
    """The estimates of one model for one target, before and after the passes.

    Attributes:
        before: metrics by name, see `accelerators_worker.metrics`; empty if there are none.
        after: the same after the passes.
        reason: why there are no metrics; empty if there are.
    """

    model: str
    target: str
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    reason: str = ""

    @property
    def gain(self) -> float:
        """Estimated seconds before divided by those after; above 1 is better."""
        return self.before["seconds"] / self.after["seconds"] if self.after["seconds"] else 1.0

    @property
    def losses(self) -> list[str]:
        """The metrics that got worse by more than their threshold, as text."""
        found = []
        if 1 / self.gain > WORSE_SECONDS:
            found.append(f"estimated time {1 / self.gain:.3f}x")
        if self._grew and self.growth >= SMALL_PEAK:
            found.append(f"peak memory {self.after['peak'] / max(self.before['peak'], 1):.3f}x")
        return found

    @property
    def growth(self) -> int:
        """The increase of peak memory in bytes."""
        return self.after["peak"] - self.before["peak"]

    @property
    def grew_little(self) -> bool:
        """Whether the peak grew by a ratio that is a loss, but by fewer than `SMALL_PEAK` bytes."""
        return self._grew and self.growth < SMALL_PEAK

    @property
    def _grew(self) -> bool:
        return self.after["peak"] > WORSE_PEAK * max(self.before["peak"], 1)


def name_of(level: str, changes: Sequence[str]) -> str:
    """The name of a contender: "plain", "O2", "O2 -rule +rule"."""
    return " ".join(["plain" if level == "O0" else level, *changes])


def outcome(record: dict[str, Any]) -> Outcome:
    """The outcome in the record of one process."""
    about = (record["model"], record["target"])
    if reason := record.get("skipped") or record.get("broken"):
        return Outcome(*about, reason=reason)
    before, after = record["contenders"][:2]
    for each in (before, after):
        if "failed" in each:
            return Outcome(*about, reason=f"{each['name']}: {each['failed']}")
    return Outcome(*about, before, after)


def by_gain(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes with metrics, largest gain first."""
    return sorted((each for each in outcomes if not each.reason), key=lambda each: -each.gain)


def summary_lines(target: str, outcomes: Sequence[Outcome]) -> list[str]:
    """Summary lines over all models of a target, losses first."""
    ran = by_gain(outcomes)
    worse = [(each, each.losses) for each in reversed(ran) if each.losses]
    lines = [f"{target}: {len(worse)} of {len(ran)} models are worse"]
    lines += [f"{target}: WORSE: {each.model}: {', '.join(what)}" for each, what in worse]
    lines += [
        f"{target}: {each.model}: peak memory grows by {each.growth / 2**10:.0f} KiB, which "
        "does not count as worse"
        for each in ran
        if each.grew_little
    ]
    if ran:
        gains = geometric_mean([each.gain for each in ran])
        peaks = geometric_mean([max(x.before["peak"], 1) / max(x.after["peak"], 1) for x in ran])
        lines.append(
            f"{target}: estimated time {gains:.3f}x better over {len(ran)} models, peak memory "
            f"{peaks:.3f}x (geometric means)"
        )
        better = [each for each in ran if each.gain > WORSE_SECONDS]
        best = ", ".join(f"{each.model} {each.gain:.2f}" for each in better[:5])
        lines.append(f"{target}: {len(better)} models gain more than 1%: {best or 'none'}")
    lines += [
        f"{target}: no result: {each.model}: {each.reason}" for each in outcomes if each.reason
    ]
    return lines


def table(outcomes: Sequence[Outcome]) -> str:
    """The Markdown table of one target, with cycles if its compiler estimates them."""
    ran = by_gain(outcomes)
    is_estimated = any(each.before["cycles"] for each in ran)
    own = ["kcycles", "without estimate"] if is_estimated else ["kernels", "MB moved"]
    first = ["model", "time, us", "gain", *own, "temporaries, MiB", "peak, MiB", "ops", "XLA, s"]
    rows = [[*first, "passes, ms", ""], ["---", *["---:"] * (len(first)), "---"]]
    rows += [_row(each, is_estimated) for each in ran]
    return markdown(rows)


def _row(each: Outcome, is_estimated: bool) -> list[str]:
    pair = _Pair(each.before, each.after)
    own = [pair("cycles", 1e-3), _opcodes(each.after)]
    if not is_estimated:
        own = [pair("kernels"), pair("bytes", 1e-6)]
    return [
        each.model,
        pair("seconds", 1e6),
        f"{each.gain:.3f}",
        *own,
        pair("temporaries", 2**-20),
        pair("peak", 2**-20),
        pair("ops"),
        pair("xla_seconds"),
        f"{1e3 * each.after['passes_seconds']:.0f}",
        "**worse**" if each.losses else "",
    ]


@dataclass(frozen=True)
class _Pair:
    before: dict[str, Any]
    after: dict[str, Any]

    def __call__(self, name: str, factor: float = 1.0) -> str:
        """A metric before and after; a single number if both print the same."""
        texts = [_number(factor * each[name]) for each in (self.before, self.after)]
        return texts[0] if texts[0] == texts[1] else " -> ".join(texts)


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def _opcodes(metrics: dict[str, Any]) -> str:
    """The opcodes without an estimate, most frequent first."""
    found = Counter(metrics["without_estimate"]).most_common(3)
    return ", ".join(f"{count:.0f} {opcode}" for opcode, count in found)


def rule_lines(outcomes: Sequence[Outcome]) -> str:
    """A Markdown table of the applied rules: number of models and of rewrites."""
    hits, models = Counter[str](), Counter[str]()
    for each in outcomes:
        rules = each.after.get("rules", {})
        hits.update(rules)
        models.update(dict.fromkeys(rules, 1))
    rows = [["rule", "models", "rewrites"], ["---", "---:", "---:"]]
    rows += [[name, str(count), str(hits[name])] for name, count in models.most_common()]
    return markdown(rows)


def contender_lines(record: Sequence[dict[str, Any]]) -> list[str]:
    """Each further contender relative to the second: the effect of switching rules."""
    lines = []
    for each in record:
        _, base, *others = each.get("contenders", [{}, {}])
        for other in others if "seconds" in base else ():
            if "seconds" not in other:
                lines.append(
                    f"{each['model']}, {each['target']}: {other['name']}: {other['failed']}"
                )
                continue
            time, peak = other["seconds"] / base["seconds"], other["peak"] / max(base["peak"], 1)
            if abs(time - 1) > 0.001 or abs(peak - 1) > 0.001:
                lines.append(
                    f"{each['model']}, {each['target']}: {other['name']}: time {time:.3f}x, peak "
                    f"{peak:.3f}x that of {base['name']}"
                )
    return lines


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a Markdown table."""
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def cells_of_line(line: str) -> list[str]:
    """The cells of a line that `markdown` wrote; one empty cell for a line of something else."""
    if not line.startswith("|"):
        return [""]
    return [each.strip() for each in line.strip("|").split(" | ")]
