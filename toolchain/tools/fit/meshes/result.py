"""The result of a search over meshes: what was compiled, the rules, and code for `jax.jit`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

from rich.table import Table

from ....backend.lowered import Lowered
from ....backend.targets import Target
from ....display.console import text_console
from ....errors import UsageError
from ....ir.shardings import format_mesh
from ....pipeline.plans import PLAN_SUFFIX
from ....units import show_bytes, show_seconds, text_width
from ..changes import print_plan
from ..plan import FitPlan
from ..request import CompiledVersion
from .code import code_of
from .explore import Sharded
from .shardings import summary

_WIDTH = 80


@dataclass(frozen=True)
class MeshTrial:
    """Shardings that were compiled.

    Attributes:
        sharded: the shardings.
        compiled: what the compiler said of them.
        again: what is done besides, such as "8 values again"; empty for shardings alone.
        plan: the file that has both; None for shardings alone, and if it does not fit.
        checked: how the plan was shown to keep the results.
    """

    sharded: Sharded
    compiled: CompiledVersion
    again: str = ""
    plan: FitPlan | None = None
    checked: str = ""

    @property
    def needed(self) -> int:
        """Bytes of one device; 0 if the compiler refused the program without a number."""
        return self.compiled.needed

    @property
    def seconds(self) -> float:
        """The time of a step with communication; infinite if the compiler refused it."""
        return inf if self.compiled.seconds is None else self.compiled.seconds

    @property
    def name(self) -> str:
        """What is split over what, and what is computed again."""
        return "; ".join(filter(None, [summary(self.sharded.specs), self.again]))

    @property
    def rules(self) -> str:
        """The file for the pass `annotate-sharding`."""
        return self.sharded.rules

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`."""
        found, known = self.compiled, self.compiled.seconds is not None
        return {
            "name": self.name,
            "mesh": dict(self.sharded.mesh),
            "needed_bytes": self.needed,
            "estimated_seconds": self.seconds if known else None,
            "computation_seconds": found.computation_seconds,
            "exposed_seconds": found.waiting_seconds if known else None,
            "compile_seconds": found.compile_seconds,
        }


@dataclass(frozen=True)
class MeshFit:
    """The fastest shardings of a program that fit into memory, with a plan if it is faster.

    `print` shows the table.

    Attributes:
        lowered: the program.
        target: the hardware.
        budget: bytes of one device that the program may need.
        pipeline: the passes that run after those of the plan, as text.
        trials: what was compiled, in order.
        chosen: the fastest trial within the budget; None if none is.
        considered: how many shardings were predicted.
        stopped: why the search ended early; empty if it did not.
        file: the name of the plan's file in the code.
    """

    lowered: Lowered = field(repr=False)
    target: Target
    budget: int
    pipeline: str
    trials: tuple[MeshTrial, ...]
    chosen: MeshTrial | None
    considered: int
    stopped: str = ""
    file: str = "plan.toml"

    @property
    def fits(self) -> bool:
        """Whether a trial fits."""
        return self.chosen is not None

    @property
    def has_file(self) -> bool:
        """Whether there are shardings to save."""
        return self.fits

    @property
    def smallest(self) -> MeshTrial:
        """The trial that needs least memory."""
        return min(self.trials, key=lambda trial: trial.needed)

    @property
    def code(self) -> str:
        """The mesh, `in_shardings` and `out_shardings` in Python; empty if none fits.

        The code uses the arguments of the program, as the tuple `arguments`.
        """
        if self.chosen is None:
            return ""
        sharded = self.chosen.sharded
        specs = {at: spec for group, spec in sharded.specs.items() for at in group.members}
        is_reordered = bool(self.chosen.compiled.order)
        file = self.file if self.chosen.plan else ""
        return code_of(self.lowered, specs, sharded.mesh, is_reordered=is_reordered, plan=file)

    @property
    def plan(self) -> FitPlan | None:
        """The shardings and the values to compute again, as a pipeline; None if none fits."""
        if self.chosen is None:
            return None
        if self.chosen.plan is not None:
            return self.chosen.plan
        made_for: dict[str, str | int | float] = {
            "program": self.lowered.name,
            "target": self.target.name,
            "budget_bytes": self.budget,
            "needed_bytes": self.chosen.needed,
        }
        return FitPlan(self.pipeline, (), made_for).with_rules(self.chosen.rules)

    def save(self, path: str | Path) -> None:
        """Write a plan to a file of the suffix `.toml`, or else rules for `annotate-sharding`.

        Raises:
            UsageError: none fits, or the shardings fit only with a plan, which rules do not have.
        """
        if self.chosen is None or self.plan is None:
            raise UsageError(f"there are no shardings to write to {path}: none fits the budget")
        if Path(path).suffix == PLAN_SUFFIX:
            self.plan.save(path)
        elif self.chosen.plan is not None:
            raise UsageError(
                f"{path}: these shardings fit with {self.chosen.again} only: write them to a file "
                f"that ends in {PLAN_SUFFIX}"
            )
        else:
            Path(path).write_text(self.chosen.rules)

    def __str__(self) -> str:
        return _as_text(self)

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`."""
        return {
            "program": self.lowered.name,
            "target": self.target.name,
            "budget_bytes": self.budget,
            "fits": self.fits,
            "considered": self.considered,
            "trials": [trial.as_json() for trial in self.trials],
            "chosen": self.chosen.as_json() if self.chosen else None,
            "rules": self.chosen.rules if self.chosen else None,
            "plan": self.plan.as_json() if self.plan else None,
            "checked": self.chosen.checked or None if self.chosen else None,
            "code": self.code or None,
            "largest": list(self.smallest.compiled.largest),
            "stopped": self.stopped or None,
        }


def _as_text(found: MeshFit) -> str:
    """The verdict, a table of what was compiled, and the code."""
    console = text_console(text_width(_WIDTH), soft_wrap=False)
    with console.capture() as captured:
        console.print(_verdict(found), markup=False, soft_wrap=True)
        table = Table(box=None, pad_edge=False, expand=True)
        table.add_column("mesh", no_wrap=True)
        table.add_column("split over", overflow="fold", ratio=1)
        for name in ("needs", "computes", "waits", "step"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        for trial in sorted(found.trials, key=lambda each: each.seconds):
            table.add_row(*_row(found, trial))
        console.print(table)
        if plan := found.chosen and found.chosen.plan:
            print_plan(console, plan)
        for line in _notes(found):
            console.print(line, markup=False, soft_wrap=True)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _verdict(found: MeshFit) -> str:
    where = f"{found.lowered.name} on {found.target.name}"
    budget = show_bytes(found.budget)
    if found.chosen is None:
        needed = show_bytes(found.smallest.needed)
        smallest = "the smallest"
        if found.stopped:
            smallest += " that was compiled before the search ended early"
        return f"{where}: no sharding fits into {budget}; {smallest} needs {needed}"
    time = show_seconds(found.chosen.seconds)
    needed = show_bytes(found.chosen.needed)
    again = f" with {found.chosen.again}" if found.chosen.again else ""
    mesh = format_mesh(found.chosen.sharded.mesh)
    return f"{where}: {time} a step over {mesh}{again}, {needed} of {budget}"


def _row(found: MeshFit, trial: MeshTrial) -> tuple[str, ...]:
    known = trial.compiled.computation_seconds
    times: tuple[str, ...] = ("refused", "", "")
    if known is not None:
        times = tuple(map(show_seconds, (known, trial.compiled.waiting_seconds, trial.seconds)))
    mark = "<- chosen" if trial is found.chosen else ""
    return format_mesh(trial.sharded.mesh), trial.name, show_bytes(trial.needed), *times, mark


def _notes(found: MeshFit) -> Iterator[str]:
    alone = sum(not trial.again for trial in found.trials)
    yield f"{found.considered} shardings were considered, {alone} were compiled"
    if found.chosen is None:
        yield "what holds the rest:"
        yield from (f"  {each}" for each in found.smallest.compiled.largest)
    elif found.chosen.plan:
        yield f"checked: {found.chosen.checked}"
        yield _without_plan(found, found.chosen)
    if found.code:
        yield f"\n{found.code.rstrip()}\n"
    if found.stopped:
        yield f"the search ended early: {found.stopped}"


def _without_plan(found: MeshFit, chosen: MeshTrial) -> str:
    """What the best shardings that fit by themselves take."""
    alone = [t.seconds for t in found.trials if not t.again and t.needed <= found.budget]
    if not alone:
        return "no sharding that was compiled fits without a plan"
    best = min(alone)
    change = f"{chosen.seconds / best - 1:+.1%}"
    return f"the best shardings without a plan take {show_seconds(best)}; with it: {change}"
