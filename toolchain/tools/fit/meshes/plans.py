"""Plans for shardings that need too much memory: values to compute again on each device.

Shardings that keep activations whole, such as data parallelism, often take the least time but the
most memory. The candidates of a search that are expected to be faster than the best that fits get
the search for a plan, the one first that is expected to be fastest with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from ....backend.lowered import Lowered
from ..choices import Choices
from ..request import CompiledVersion, FitRequest
from ..result import trial_of
from ..search import search_from
from .explore import Explorer, Sharded
from .result import MeshTrial

_MOST = 2
"""The most candidates that get a search for a plan."""

_NOT_COMPILED = 1.1
"""By how much the time of a candidate counts more that is predicted only: the least of many
predictions is on the low side."""

_MODELLED = 5
"""The most candidates whose plans are modelled."""


@dataclass(frozen=True)
class Prospect:
    """A candidate that does not fit, and what a plan for it is expected to reach.

    Attributes:
        sharded: the candidate.
        program: with its shardings.
        seconds: the expected time of a step with the cheapest plan that should fit.
    """

    sharded: Sharded
    program: Lowered
    seconds: float


@dataclass(frozen=True)
class Planner:
    """Searches for plans of candidates.

    Attributes:
        request: of the search over meshes.
        folder: for files of rules.
        explorer: predicts what candidates need without a plan.
    """

    request: FitRequest
    folder: Path
    explorer: Explorer

    def prospects(
        self, candidates: Iterable[Sharded], known: Mapping[str, CompiledVersion], best: float
    ) -> list[Prospect]:
        """The candidates of which a plan may be faster than the best that fits, fastest first.

        Args:
            candidates: those that do not fit, the fastest first.
            known: by rules, what the compiler said of those that it compiled.
            best: the time of the best that fits; infinite if none does.
        """
        found = list[Prospect]()
        for sharded in list(candidates)[:_MODELLED]:
            if found and perf_counter() > self.request.deadline:
                break
            compiled = known.get(sharded.rules)
            self.request.tell(f"choosing values to compute again over {sharded.place}")
            prospect = self._prospect(sharded, compiled)
            if prospect and prospect.seconds < best:
                found.append(prospect)
        return sorted(found, key=lambda each: each.seconds)[:_MOST]

    def _prospect(self, sharded: Sharded, compiled: CompiledVersion | None) -> Prospect | None:
        """What a plan for a candidate should reach; None if none is expected to fit."""
        seconds = _NOT_COMPILED * self.explorer.time(sharded)
        needed = self.explorer.needed(sharded)
        if compiled is not None:
            seconds, needed = compiled.seconds or seconds, compiled.needed or needed
        program = self.program(sharded)
        choices = Choices(program, self.request.target)
        fixed, first = choices.argument_bytes, choices.all[0]
        ratio = max(needed - fixed, 0) / max(first.peak, 1)
        fitting = [c for c in choices.all if fixed + ratio * c.peak <= self.request.budget]
        if not fitting:
            return None
        return Prospect(sharded, program, seconds + min(each.seconds for each in fitting))

    def program(self, sharded: Sharded) -> Lowered:
        """The program with the shardings of a candidate."""
        path = self.folder / "planned.rules"
        path.write_text(sharded.rules)
        made = self.request.after(f"annotate-sharding{{rules={path}}}")
        return replace(made, mesh=sharded.mesh)

    def plan(
        self, prospect: Prospect, known: CompiledVersion | None, deadline: float
    ) -> MeshTrial | None:
        """What was compiled of a candidate: with the best plan, or the one of the smallest peak.

        Args:
            prospect: the candidate.
            known: what the compiler said of it without a plan; the prediction counts if None.
            deadline: by `perf_counter`.
        """
        sharded = prospect.sharded
        asked = replace(self.request, lowered=prospect.program, deadline=deadline)
        without = known or CompiledVersion(round(self.explorer.needed(sharded)))
        found = search_from(asked, trial_of("no plan", without))
        trial = found.chosen or found.smallest
        if trial.choice is None or trial.compiled is None:
            return None
        plan = found.plan and found.plan.with_rules(sharded.rules)
        if plan and known is None:
            notes = {key: v for key, v in plan.made_for.items() if "without" not in key}
            plan = replace(plan, made_for=notes)
        return MeshTrial(sharded, trial.compiled, trial.name, plan, found.checked)
