"""The result of a fit: what was compiled, the plan, and both as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.table import Table

from ...backend.targets import Target
from ...display.console import text_console
from ...errors import UsageError
from ...units import counted, show_bytes, show_seconds, text_width
from .changes import print_plan
from .donation import Donation
from .frontier import FitChoice
from .plan import FitPlan
from .request import CompiledVersion

_WIDTH = 80

_NEAR = 1.1
"""A measured peak that is more times the promised one is explained."""


@dataclass(frozen=True)
class MeasuredRun:
    """What a version needed when it ran on this machine.

    Attributes:
        needed: bytes of one device; None if the system does not count them.
        seconds: of a run, the median.
    """

    needed: int | None
    seconds: float


@dataclass(frozen=True)
class Trial:
    """One version of the program that was compiled.

    Attributes:
        name: for the table.
        needed: bytes of one device, by the compiler; 0 if it refused the program without a number.
        seconds: of a run: timed here, or estimated from the compiler's numbers; None for a refused
            program.
        assumed: whether a loop of unknown trip count is taken to run once in this time.
        choice: what is computed again; None for the program without a plan.
        largest: descriptions of the largest buffers at the peak.
        compile_seconds: of the target's compiler.
        measured: what it needed here; None if it was not measured.
        compiled: all that the compiler said.
    """

    name: str
    needed: int
    seconds: float | None
    choice: FitChoice | None = None
    largest: tuple[str, ...] = field(default=(), repr=False)
    compile_seconds: float = 0.0
    measured: MeasuredRun | None = None
    assumed: bool = False
    compiled: CompiledVersion | None = field(default=None, repr=False)

    @property
    def rematerialized(self) -> int:
        """How many instructions compute values again, which the compiler added to save memory."""
        return self.compiled.rematerialized if self.compiled else 0

    @property
    def timed_seconds(self) -> float | None:
        """Of a run on this machine, right after it was compiled; None if it did not run."""
        return self.compiled.timed_seconds if self.compiled else None

    @property
    def is_timed(self) -> bool:
        """Whether the time is that of a run on this machine."""
        return self.timed_seconds is not None

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`."""
        estimated = self.compiled.seconds if self.compiled and self.is_timed else self.seconds
        return {
            "name": self.name,
            "needed_bytes": self.needed,
            "estimated_seconds": estimated,
            "timed_seconds": self.timed_seconds,
            "compile_seconds": self.compile_seconds,
            "measured_bytes": self.measured.needed if self.measured else None,
            "measured_seconds": self.measured.seconds if self.measured else None,
        }


def trial_of(name: str, found: CompiledVersion) -> Trial:
    """The trial of a version that was compiled."""
    return Trial(
        name,
        found.needed,
        found.seconds if found.timed_seconds is None else found.timed_seconds,
        largest=found.largest,
        compile_seconds=found.compile_seconds,
        assumed=found.assumed,
        compiled=found,
    )


@dataclass(frozen=True)
class FitResult:
    """How a program fits into memory; `print` shows the table.

    Attributes:
        name: of the program.
        target: the hardware.
        budget: bytes of one device that the program may need.
        base: the program without a plan.
        trials: what was compiled besides, in order.
        chosen: the cheapest trial within the budget; None if none is.
        plan: its file; None if the program fits without a plan, or none fits.
        following: the next choice that needs less memory, and by how much; None if there is none.
        stopped: why the search ended early; empty if it did not.
        checked: how the plan was shown to keep the results.
        unsplit: why the batch cannot run in parts; empty if it can, or this was not tried.
        failed: versions that could not be compiled, and why: "2 parts: gpu:h100 refused ...".
        unmeasured: the versions that need more than the free memory of this machine, and so were
            not measured.
        donation: what donating arguments of the chosen or smallest version would free; None if
            that is little, or the program fits without a plan.
    """

    name: str
    target: Target
    budget: int
    base: Trial
    trials: tuple[Trial, ...] = ()
    chosen: Trial | None = None
    plan: FitPlan | None = None
    following: FitChoice | None = None
    stopped: str = ""
    checked: str = ""
    unsplit: str = ""
    failed: tuple[str, ...] = ()
    unmeasured: tuple[str, ...] = ()
    donation: Donation | None = None

    @property
    def fits(self) -> bool:
        """Whether the program fits, with the plan if it needs one."""
        return self.chosen is not None

    @property
    def has_file(self) -> bool:
        """Whether there is a plan to save."""
        return self.plan is not None

    @property
    def smallest(self) -> Trial:
        """The trial that needs least memory."""
        return min((self.base, *self.trials), key=lambda trial: trial.needed)

    def save(self, path: str | Path) -> None:
        """Write the plan to a file, to be used as a pipeline.

        Raises:
            UsageError: there is no plan, since the program fits without, or none was found.
        """
        if self.plan is None:
            why = "the program fits without one" if self.fits else "none fits the budget"
            raise UsageError(f"there is no plan to write to {path}: {why}")
        self.plan.save(path)

    def __str__(self) -> str:
        return as_text(self)

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`."""
        return {
            "program": self.name,
            "target": self.target.name,
            "budget_bytes": self.budget,
            "fits": self.fits,
            "without_plan": self.base.as_json(),
            "trials": [trial.as_json() for trial in self.trials],
            "chosen": self.chosen.as_json() if self.chosen else None,
            "plan": self.plan.as_json() if self.plan else None,
            "largest": list(self.smallest.largest),
            "checked": self.checked or None,
            "unsplit": self.unsplit or None,
            "donation": self.donation.as_json() if self.donation else None,
            "failed": list(self.failed),
            "unmeasured": list(self.unmeasured),
            "stopped": self.stopped or None,
        }


def as_text(result: FitResult) -> str:
    """The verdict, a table of the versions that were compiled, and the plan."""
    console = text_console(text_width(_WIDTH), soft_wrap=False)
    with console.capture() as captured:
        console.print(_verdict(result), markup=False)
        table = Table(box=None, pad_edge=False)
        table.add_column("version", overflow="fold")
        table.add_column("needs", justify="right", no_wrap=True)
        time = "time, measured" if result.base.is_timed else "time"
        table.add_column(time, justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        for trial in (result.base, *result.trials):
            table.add_row(*_row(result, trial))
        console.print(table)
        if any(trial.measured for trial in (result.base, *result.trials)):
            console.print(_measured(result))
        if result.plan:
            print_plan(console, result.plan)
        for line in _notes(result):
            console.print(line, markup=False)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _verdict(result: FitResult) -> str:
    where = f"{result.name} on {result.target.name}"
    budget = show_bytes(result.budget)
    if result.chosen is None:
        needed = show_bytes(result.smallest.needed)
        smallest = "the smallest version"
        if result.stopped:
            smallest += " that was compiled before the search ended early"
        return f"{where}: does not fit into {budget}; {smallest} needs {needed}"
    needed = show_bytes(result.chosen.needed)
    how = "with this plan" if result.plan else "without a plan"
    return f"{where}: fits {how}: {needed} of {budget}"


def _row(result: FitResult, trial: Trial) -> tuple[str, str, str, str]:
    seconds, base = trial.seconds, result.base.seconds
    change = ""
    if seconds is not None and base and trial is not result.base:
        change = f"{seconds / base - 1:+.1%}"
    marks = [change, "<- chosen" if trial is result.chosen and result.trials else ""]
    time = "refused" if seconds is None else show_seconds(seconds)
    return trial.name, show_bytes(trial.needed), time, "  ".join(filter(None, marks))


def _measured(result: FitResult) -> Table:
    """The promised and the measured numbers, and measured / promised."""
    title = "\nmeasured on this machine" + "; the fastest is chosen" * bool(result.plan)
    table = Table(box=None, pad_edge=False, title=title, title_justify="left")
    table.add_column("version", overflow="fold")
    for name in ("needs", "measured", "ratio", "time", "measured", "ratio"):
        table.add_column(name, justify="right", no_wrap=True)
    for trial in (result.base, *result.trials):
        if found := trial.measured:
            cells = [trial.name, show_bytes(trial.needed)]
            if found.needed is None:
                cells += ["not known", ""]
            else:
                cells += [show_bytes(found.needed), f"{found.needed / trial.needed:.2f}"]
            if trial.seconds is None:
                cells += ["refused", show_seconds(found.seconds), ""]
            else:
                cells += [show_seconds(trial.seconds), show_seconds(found.seconds)]
                cells.append(f"{found.seconds / trial.seconds:.2f}")
            table.add_row(*cells)
    return table


def _notes(result: FitResult) -> Iterator[str]:
    for trial in {id(each): each for each in (result.base, result.chosen) if each}.values():
        if trial.measured and (trial.measured.needed or 0) > _NEAR * trial.needed:
            uncounted = show_bytes((trial.measured.needed or 0) - trial.needed)
            yield f"{trial.name}: {uncounted} are in no buffer that XLA counts, but in libraries"
    if result.target.kind == "cpu" and not result.base.is_timed:
        yield "time: the roofline, a lower bound, since the program was not run"
    if result.unmeasured:
        names = ", ".join(result.unmeasured)
        yield f"not measured, since this machine has too little free memory: {names}"
    if count := result.base.rematerialized:
        again = counted(count, "instruction")
        yield f"no plan: the compiler added {again} that compute values again, to save memory"
    if result.plan:
        yield f"checked: {result.checked}"
    chosen, following = result.chosen, result.following
    if following and chosen and chosen.choice:
        less, more = chosen.choice.peak - following.peak, following.seconds - chosen.choice.seconds
        yield f"next: about {show_bytes(less)} less for {show_seconds(more)} more, by the model"
    if result.unsplit:
        yield f"the batch was not split: {result.unsplit}"
    if result.chosen is None:
        yield "what holds the rest:"
        for each in result.smallest.largest:
            yield f"  {each}"
    if result.donation:
        yield str(result.donation)
        if result.base.seconds and result.base.needed - result.donation.bytes <= result.budget:
            yield "then it may fit without a plan"
    for each in result.failed:
        yield f"not compiled: {each}"
    if result.stopped:
        yield f"the search ended early: {result.stopped}"
