"""The lines of a plan: what each of its measures frees and costs by the model."""

from __future__ import annotations

from .frontier import FitChoice, Frontier
from .loops import LoopChoice
from .plan import Measure
from .simulate import simulate


def bare_measures(choice: FitChoice) -> list[Measure]:
    """The lines of a plan without amounts."""
    again = [Measure(each, 0, 0, 0.0) for each in choice.selectors]
    return again + [Measure(each, 0, 0, 0.0, "offload") for each in choice.host.selectors]


def measures_of(frontier: Frontier, choice: FitChoice) -> list[Measure]:
    """The lines of a plan: what each frees and costs, given the others."""
    whole = simulate(frontier.timeline, frontier.members(choice.selectors))
    found = []
    runs = frontier.peak.runs
    for each in choice.straight:
        others = [other for other in choice.straight if other != each]
        without = simulate(frontier.timeline, frontier.members(others))
        values = len(frontier.members([each]))
        freed, added = without.peak - whole.peak, runs * (whole.seconds - without.seconds)
        found.append(Measure(each, values, freed, added))
    found += _shared(choice.loops, "rematerialize") + _shared(choice.host, "offload")
    return sorted(found, key=lambda measure: -measure.bytes)


def _shared(choice: LoopChoice, section: str) -> list[Measure]:
    """One line for each selector of loops, which share what the choice frees and costs."""
    count = len(choice.selectors)
    return [
        Measure(each, 1, round(choice.bytes / count), choice.seconds / count, section)
        for each in choice.selectors
    ]
