"""Names of versions for the table: what each does, and in what those of the same name differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ...passes.rematerialize.selectors import Selector
from ...units import counted
from .frontier import FitChoice, Frontier
from .result import Trial

_MOST = 3
"""The ops that are named of a version."""


def name_of(choice: FitChoice, frontier: Frontier) -> str:
    """The name of a choice: "2 parts, 6 values again, in 16 segments"."""
    values = counted(len(frontier.members(choice.selectors)) + choice.loops.values, "value")
    found = {
        "kernels": choice.kernels,
        f"{choice.parts} parts": choice.parts > 1,
        f"{values} again": choice.selectors,
        _segments(choice.selectors): any(each.segments for each in choice.selectors),
        f"{choice.host.values} on the host": choice.host.selectors,
    }
    return ", ".join(name for name, applies in found.items() if applies)


def _segments(selectors: Iterable[Selector]) -> str:
    found = {(each.segments, each.levels) for each in selectors if each.segments}
    if len(found) != 1:
        return "in segments"
    (segments, levels), *_ = found
    return f"in {segments} {'nested ' if levels > 1 else ''}segments"


def with_own_names(trials: Sequence[Trial]) -> list[Trial]:
    """The trials, with what they differ in added to the names that several have."""
    alike: dict[str, list[int]] = defaultdict(list)
    for index, trial in enumerate(trials):
        alike[trial.name].append(index)
    found = list(trials)
    for name, indices in alike.items():
        if len(indices) > 1:
            texts = _differences([_selectors(trials[index]) for index in indices])
            for index, text in zip(indices, texts, strict=True):
                found[index] = replace(trials[index], name=f"{name} ({text})")
    return found


def _selectors(trial: Trial) -> list[Selector]:
    choice = trial.choice
    return [] if choice is None else [*choice.selectors, *choice.host.selectors]


def _differences(each: Sequence[Sequence[Selector]]) -> list[str]:
    """For each set of selectors, a text of those that not all have, which no other has."""
    common = set[Selector].intersection(*map(set, each))
    own = [[selector for selector in known if selector not in common] for known in each]
    for text in (_op, _op_and_line, _with_amount):
        found = [_shortened(dict.fromkeys(map(text, selectors))) for selectors in own]
        if len(set(found)) == len(found):
            return found
    return [f"{number} of {len(own)}" for number in range(1, len(own) + 1)]


def _op(selector: Selector) -> str:
    return selector.label.op


def _op_and_line(selector: Selector) -> str:
    return " ".join(filter(None, (selector.label.op, selector.label.place)))


def _with_amount(selector: Selector) -> str:
    every = f", 1 of {selector.keep_every} kept" if selector.keep_every else ""
    share = f" {selector.share:.0%}" if selector.share != 1 else ""
    return f"{_op_and_line(selector)}{share}{every}"


def _shortened(texts: Iterable[str]) -> str:
    first = [*texts]
    more = [f"{len(first) - _MOST} more"] if len(first) > _MOST else []
    return ", ".join([*first[:_MOST], *more]) or "no others"
