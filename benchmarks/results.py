"""Combine the measurements of a model's processes, and summarize over all models."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from intervals import Interval, geometric_mean, median_interval

SLOWER = 0.97
"""A ratio whose whole interval is below this counts as slower. Equal programs stay above it."""

EQUAL = Interval(1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Contender:
    """The measurements of one contender on one model. Seconds are medians over processes.

    Attributes:
        failed: why there are no measurements; empty if there are.
        ratio: plain seconds divided by this contender's, per round; above 1 is faster.
        compile_ratio: seconds of passes and XLA divided by XLA's seconds for plain.
        error: the largest relative difference from the results of plain.
        sensitivity: the same for plain when its inputs change by one ulp.
        agrees: whether the error is rounding by that measure, with NaNs at the same positions.
        tuning: seconds that O3 took to find its candidate.
        choice: the candidate of O3; several where processes chose differently.
    """

    failed: str = ""
    ops: int = 0
    lower: float = 0.0
    passes: float = 0.0
    xla: float = 0.0
    run: float = 0.0
    temporaries: int = 0
    ratio: Interval = EQUAL
    compile_ratio: float = 1.0
    error: float = 0.0
    sensitivity: float = 0.0
    agrees: bool = True
    rules: dict[str, int] = field(default_factory=dict)
    tuning: float = 0.0
    choice: str = ""

    @property
    def total(self) -> float:
        """Seconds from the Python function to the executable."""
        return self.lower + self.passes + self.xla

    @property
    def verdict(self) -> str:
        """WRONG, failed, slower, or an empty string."""
        if self.failed:
            return "" if self is NOT_RUN else "failed"
        if not self.agrees:
            return "WRONG"
        return "slower" if self.ratio.high < SLOWER else ""


NOT_RUN = Contender("not run")
"""A contender that was not asked for, as O3 at other sizes than the usual one."""


@dataclass(frozen=True)
class Result:
    """The measurements of all contenders on one model.

    Attributes:
        windows: whether it holds depthwise or grouped convolutions or pooling.
        skipped: why it was not run; empty if it was.
        broken: how its process failed; empty if none did.
        contenders: the contenders by name, including "plain".
        against: seconds of "enzyme" divided by those of "O2", if both ran.
        processes: the number of processes that measured it.
    """

    model: str
    windows: bool = False
    skipped: str = ""
    broken: str = ""
    contenders: dict[str, Contender] = field(default_factory=dict)
    against: Interval | None = None
    processes: int = 0

    @property
    def size(self) -> str:
        """One of `models.SIZES`."""
        return self.model.partition("@")[2] or "usual"

    def contender(self, name: str) -> Contender | None:
        """The contender of this name, if it was measured."""
        found = self.contenders.get(name)
        return found if found and not found.failed else None


def gather(model: str, windows: bool, records: Sequence[dict[str, Any]]) -> Result:
    """Combine the objects that a model's processes printed."""
    for each in records:
        if each.get("skipped") or each.get("broken"):
            return Result(model, windows, each.get("skipped", ""), each.get("broken", ""))
    runs = [each["contenders"] for each in records]
    names = list(dict.fromkeys(["plain", *(name for run in runs for name in run)]))
    contenders = {name: _contender(name, [x for x in runs if name in x]) for name in names}
    against = None
    if all(name in contenders and not contenders[name].failed for name in ("O2", "enzyme")):
        against = _ratio("enzyme", "O2", [x for x in runs if "enzyme" in x and "O2" in x])
    return Result(model, windows, contenders=contenders, against=against, processes=len(records))


def _contender(name: str, runs: list[dict[str, Any]]) -> Contender:
    mine = [run[name] for run in runs]
    if failed := next((each["failed"] for each in mine if each.get("failed")), ""):
        return Contender(failed)
    return Contender(
        ops=mine[0]["ops"],
        **{key: _median(each[key] for each in mine) for key in ("lower", "passes", "xla")},
        run=_median(each["seconds"] for each in mine),
        temporaries=mine[0]["temporaries"],
        ratio=_ratio("plain", name, runs),
        compile_ratio=_median(
            _compile_ratios(each, run["plain"]) for each, run in zip(mine, runs, strict=True)
        ),
        error=max(each.get("error", 0.0) for each in mine),
        sensitivity=min(each.get("sensitivity", 0.0) for each in mine),
        agrees=all(each.get("agrees", True) for each in mine),
        rules=mine[0]["rules"],
        tuning=statistics.median(each.get("tuning", 0.0) for each in mine),
        choice=", ".join(dict.fromkeys(each["choice"] for each in mine if "choice" in each)),
    )


def _median(samples: Iterable[Sequence[float]]) -> float:
    """The median over all processes and rounds."""
    return statistics.median(sample for each in samples for sample in each)


def _compile_ratios(mine: dict[str, Any], plain: dict[str, Any]) -> list[float]:
    rounds = zip(mine["passes"], mine["xla"], plain["xla"], strict=True)
    return [(passes + ours) / theirs for passes, ours, theirs in rounds]


def _ratio(slow: str, fast: str, runs: list[dict[str, Any]]) -> Interval:
    """The ratio of the seconds of two contenders, per round."""
    pairs = [zip(run[slow]["seconds"], run[fast]["seconds"], strict=True) for run in runs]
    return median_interval([[s / f for s, f in each] for each in pairs])


@dataclass(frozen=True)
class Summary:
    """One contender over all models that it ran. Means are geometric.

    Attributes:
        ratio: the mean speed-up over plain.
        windows: the same for models with depthwise or grouped convolutions or pooling.
        compile_mean: the mean ratio of compile times to plain.
        worst: the model with the largest compile-time ratio, and that ratio.
        passes: the median over the models of the seconds of passes divided by plain's XLA seconds.
        slower: models whose interval is below `SLOWER`.
        wrong: models whose results differ by more than rounding.
        failed: models without measurements, and why.
    """

    models: int
    ratio: float
    windows: float
    compile_mean: float
    worst: tuple[str, float]
    passes: float
    slower: list[str]
    wrong: list[str]
    failed: dict[str, str]


def summarise(results: Sequence[Result], name: str) -> Summary:
    """The summary of one contender over all models."""
    found = [(r, c) for r in results if (c := r.contender(name))]
    compiled = {result.model: contender.compile_ratio for result, contender in found}
    return Summary(
        models=len(found),
        ratio=geometric_mean(c.ratio.median for _, c in found),
        windows=geometric_mean(c.ratio.median for r, c in found if r.windows),
        compile_mean=geometric_mean(compiled.values()),
        worst=max(compiled.items(), key=lambda item: item[1], default=("", 0.0)),
        passes=statistics.median([c.passes / r.contenders["plain"].xla for r, c in found] or [0.0]),
        slower=[r.model for r, c in found if c.verdict == "slower"],
        wrong=[r.model for r, c in found if c.verdict == "WRONG"],
        failed={r.model: c.failed for r in results if (c := r.contenders.get(name)) and c.failed},
    )
