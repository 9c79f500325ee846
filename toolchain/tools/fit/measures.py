"""The lines of a plan: what each of its measures frees and costs by the model."""

from __future__ import annotations

from collections.abc import Iterable

from ...passes.rematerialize.selectors import Selector
from .frontier import FitChoice, Frontier
from .loops import LoopChoice
from .plan import Measure


def bare_measures(choice: FitChoice) -> list[Measure]:
    """The lines of a plan without amounts."""
    again = [Measure(each, 0, 0, 0.0) for each in choice.selectors]
    return again + [Measure(each, 0, 0, 0.0, "offload") for each in choice.host.selectors]


def measures_of(frontier: Frontier, choice: FitChoice) -> list[Measure]:
    """The lines of a plan: what each frees and costs. Their sums are those of the choice."""
    forth = _in_turn(frontier, choice.straight)
    back = _in_turn(frontier, choice.straight[::-1])
    found = []
    for each in choice.straight:
        freed, added = (
            (one + other) / 2 for one, other in zip(forth[each], back[each], strict=True)
        )
        found.append(Measure(each, len(frontier.members([each])), round(freed), added))
    found += _of_loops(choice.loops, "rematerialize") + _of_loops(choice.host, "offload")
    return sorted(found, key=lambda measure: -measure.bytes)


def _in_turn(
    frontier: Frontier, selectors: Iterable[Selector]
) -> dict[Selector, tuple[int, float]]:
    """For each selector, the bytes and the seconds that it adds to those before it.

    Of two values that must both be computed again to free bytes, the later one frees them all.
    """
    before, known = frontier.simulated(()), dict[Selector, tuple[int, float]]()
    for each in selectors:
        now = frontier.simulated((*before.selectors, each))
        known[each] = before.peak - now.peak, now.seconds - before.seconds
        before = now
    return known


def _of_loops(choice: LoopChoice, section: str) -> list[Measure]:
    amounts = zip(choice.selectors, choice.shares, strict=True)
    return [
        Measure(each, values, freed, added, section) for each, (freed, added, values) in amounts
    ]
