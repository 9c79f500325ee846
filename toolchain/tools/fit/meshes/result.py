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
from ....units import show_bytes, show_seconds, text_width
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
    """

    sharded: Sharded
    compiled: CompiledVersion

    @property
    def needed(self) -> int:
        """Bytes of one device; 0 if the compiler refused the program without a number."""
        return self.compiled.needed

    @property
    def seconds(self) -> float:
        """The time of a step with communication; infinite if the compiler refused it."""
        return inf if self.compiled.seconds is None else self.compiled.seconds

    @property
    def rules(self) -> str:
        """The file for the pass `annotate-sharding`."""
        return self.sharded.rules

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`."""
        found, known = self.compiled, self.compiled.seconds is not None
        return {
            "name": summary(self.sharded.specs),
            "mesh": dict(self.sharded.mesh),
            "needed_bytes": self.needed,
            "estimated_seconds": self.seconds if known else None,
            "computation_seconds": found.computation_seconds,
            "exposed_seconds": found.waiting_seconds if known else None,
            "compile_seconds": found.compile_seconds,
        }


@dataclass(frozen=True)
class MeshFit:
    """The fastest shardings of a program that fit into memory; `print` shows the table.

    Attributes:
        lowered: the program.
        target: the hardware.
        budget: bytes of one device that the program may need.
        trials: what was compiled, in order.
        chosen: the fastest trial within the budget; None if none is.
        considered: how many shardings were predicted.
        stopped: why the search ended early; empty if it did not.
    """

    lowered: Lowered = field(repr=False)
    target: Target
    budget: int
    trials: tuple[MeshTrial, ...]
    chosen: MeshTrial | None
    considered: int
    stopped: str = ""

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
        return code_of(self.lowered, specs, sharded.mesh, is_reordered=is_reordered)

    def save(self, path: str | Path) -> None:
        """Write the rules to a file, for the pass `annotate-sharding`.

        Raises:
            UsageError: none fits.
        """
        if self.chosen is None:
            raise UsageError(f"there are no shardings to write to {path}: none fits the budget")
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
            "code": self.code or None,
            "largest": list(self.smallest.compiled.largest),
            "stopped": self.stopped or None,
        }


def _as_text(found: MeshFit) -> str:
    """The verdict, a table of what was compiled, and the code."""
    console = text_console(text_width(_WIDTH), soft_wrap=False)
    with console.capture() as captured:
        console.print(_verdict(found), markup=False)
        table = Table(box=None, pad_edge=False, expand=True)
        table.add_column("mesh", no_wrap=True)
        table.add_column("split over", overflow="fold", ratio=1)
        for name in ("needs", "computes", "waits", "step"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        for trial in sorted(found.trials, key=lambda each: each.seconds):
            table.add_row(*_row(found, trial))
        console.print(table)
        for line in _notes(found):
            console.print(line, markup=False, soft_wrap=True)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _verdict(found: MeshFit) -> str:
    where = f"{found.lowered.name} on {found.target.name}"
    budget = show_bytes(found.budget)
    if found.chosen is None:
        needed = show_bytes(found.smallest.needed)
        return f"{where}: no sharding fits into {budget}; the smallest needs {needed}"
    time = show_seconds(found.chosen.seconds)
    needed = show_bytes(found.chosen.needed)
    return f"{where}: {time} a step over {format_mesh(found.chosen.sharded.mesh)}, " + (
        f"{needed} of {budget}"
    )


def _row(found: MeshFit, trial: MeshTrial) -> tuple[str, ...]:
    known = trial.compiled.computation_seconds
    times: tuple[str, ...] = ("refused", "", "")
    if known is not None:
        times = tuple(map(show_seconds, (known, trial.compiled.waiting_seconds, trial.seconds)))
    mark = "<- chosen" if trial is found.chosen else ""
    split = summary(trial.sharded.specs)
    return format_mesh(trial.sharded.mesh), split, show_bytes(trial.needed), *times, mark


def _notes(found: MeshFit) -> Iterator[str]:
    yield f"{found.considered} shardings were considered, {len(found.trials)} were compiled"
    if found.chosen is None:
        yield "what holds the rest:"
        yield from (f"  {each}" for each in found.smallest.compiled.largest)
    elif found.code:
        yield f"\n{found.code.rstrip()}\n"
    if found.stopped:
        yield f"the search ended early: {found.stopped}"
