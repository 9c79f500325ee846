"""What the processes of one model told, put together; and figures over all models."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from intervals import Interval, geometric_mean, median_interval

SLOWER = 0.97
"""A ratio whose whole interval lies below this is a loss: the noise of a pair of equals is less."""

EQUAL = Interval(1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Contender:
    """One contender on one model; seconds and bytes are medians over processes.

    Attributes:
        failed: why there are no figures; empty where there are.
        ratio: plain's seconds over this one's, by rounds: above 1 is faster.
        compile_ratio: passes and XLA over XLA's compilation of plain.
        error: the largest relative difference from plain's results.
        sensitivity: the same of plain itself when its inputs move by one ulp.
        agrees: whether the error is rounding, by that measure, and NaNs lie where they did.
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

    @property
    def total(self) -> float:
        """Seconds from the function to the executable."""
        return self.lower + self.passes + self.xla

    @property
    def verdict(self) -> str:
        """WRONG, failed, slower, or nothing."""
        if self.failed:
            return "failed"
        if not self.agrees:
            return "WRONG"
        return "slower" if self.ratio.high < SLOWER else ""


@dataclass(frozen=True)
class Result:
    """One model.

    Attributes:
        windows: whether it holds depthwise or grouped convolutions or pooling.
        skipped: why it was not run; empty where it was.
        broken: how its process died; empty where none did.
        contenders: by name, "plain" among them.
        against: the seconds of "enzyme" over those of "O2", where both ran.
        processes: how many told of it.
    """

    model: str
    windows: bool = False
    skipped: str = ""
    broken: str = ""
    contenders: dict[str, Contender] = field(default_factory=dict)
    against: Interval | None = None
    processes: int = 0

    def contender(self, name: str) -> Contender | None:
        """One that has figures."""
        found = self.contenders.get(name)
        return found if found and not found.failed else None


def gather(model: str, windows: bool, told: Sequence[dict[str, Any]]) -> Result:
    """One model's result from the objects that its processes printed."""
    for each in told:
        if each.get("skipped") or each.get("broken"):
            return Result(model, windows, each.get("skipped", ""), each.get("broken", ""))
    runs = [each["contenders"] for each in told]
    names = list(dict.fromkeys(["plain", *(name for run in runs for name in run)]))
    contenders = {name: _contender(name, runs) for name in names}
    against = None
    if all(name in contenders and not contenders[name].failed for name in ("O2", "enzyme")):
        against = _ratio("enzyme", "O2", runs)
    return Result(model, windows, contenders=contenders, against=against, processes=len(told))


def _contender(name: str, runs: list[dict[str, Any]]) -> Contender:
    mine = [run.get(name, {"failed": "was not run"}) for run in runs]
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
    )


def _median(figures: Iterable[Sequence[float]]) -> float:
    """Over all processes and rounds."""
    return statistics.median(figure for each in figures for figure in each)


def _compile_ratios(mine: dict[str, Any], plain: dict[str, Any]) -> list[float]:
    rounds = zip(mine["passes"], mine["xla"], plain["xla"], strict=True)
    return [(passes + ours) / theirs for passes, ours, theirs in rounds]


def _ratio(slow: str, fast: str, runs: list[dict[str, Any]]) -> Interval:
    """How often one fits into the other, round by round."""
    pairs = [zip(run[slow]["seconds"], run[fast]["seconds"], strict=True) for run in runs]
    return median_interval([[s / f for s, f in each] for each in pairs])


@dataclass(frozen=True)
class Summary:
    """One contender over all models that it ran; means are geometric.

    Attributes:
        ratio: of run times against plain.
        windows: the same over the models with depthwise or grouped convolutions or pooling.
        compile_mean: of compile times against plain.
        worst: the model whose compile time grew most, and by how much.
        slower: models whose interval lies below `SLOWER`.
        wrong: models whose results differ by more than rounding.
        failed: models without figures, and why.
    """

    models: int
    ratio: float
    windows: float
    compile_mean: float
    worst: tuple[str, float]
    slower: list[str]
    wrong: list[str]
    failed: dict[str, str]


def summarise(results: Sequence[Result], name: str) -> Summary:
    """One contender's figures over all models."""
    found = [(r, c) for r in results if (c := r.contender(name))]
    compiled = {result.model: contender.compile_ratio for result, contender in found}
    return Summary(
        models=len(found),
        ratio=geometric_mean(c.ratio.median for _, c in found),
        windows=geometric_mean(c.ratio.median for r, c in found if r.windows),
        compile_mean=geometric_mean(compiled.values()),
        worst=max(compiled.items(), key=lambda item: item[1], default=("", 0.0)),
        slower=[r.model for r, c in found if c.verdict == "slower"],
        wrong=[r.model for r, c in found if c.verdict == "WRONG"],
        failed={r.model: c.failed for r in results if (c := r.contenders.get(name)) and c.failed},
    )
