"""Which choices `jxc fit` compiles, and in which order."""

import itertools
from types import SimpleNamespace

import pytest

from jxc.tools.fit import candidates
from jxc.tools.fit.frontier import FitChoice
from jxc.tools.fit.result import Trial


def candidates_of(choices, base, budget, *, seconds):
    """The candidates of a search without parts alone, values on the host and kernels."""
    groups = dict.fromkeys(("in_parts_alone", "hosted", "with_kernels"), ())
    found = SimpleNamespace(all=choices, argument_bytes=0, whole_seconds=seconds, **groups)
    return candidates.Candidates(found, base, budget)


@pytest.mark.parametrize(("budget", "fits"), [(100, True), (70, False)])
def test_search_tries_choices_beside_the_smallest_if_nothing_fits(budget, fits):
    """The compiler needs least for choices in the middle, which the model does not expect."""
    choices = [FitChoice((), peak=1000 - i, seconds=float(i)) for i in range(64)]
    tries = candidates_of(choices, Trial("no plan", 2000, 1.0), budget, seconds=100.0)
    for number in itertools.chain.from_iterable(tries.rounds()):
        needed = 95 + abs(number - 40)
        tries.trials[number] = Trial("", needed, 1.0, choice=choices[number])
    assert (tries.best is not None) == fits
    assert len(tries.trials) <= 1 + candidates._MOST_NEAR * fits


def test_first_round_has_a_smaller_choice_that_narrows_the_search():
    """The compiler needs 10 bytes more than the model expects."""
    choices = [FitChoice((), peak=1000 - i, seconds=float(i)) for i in range(64)]
    tries = candidates_of(choices, Trial("no plan", 1000, 1.0), 970, seconds=10.0)
    rounds = []
    for numbers in tries.rounds():
        rounds.append(numbers)
        for number in numbers:
            choice = choices[number]
            tries.trials[number] = Trial("", choice.peak + 10, number, choice=choice)
    assert rounds[0] == [30, 46] and rounds[-1] == []  # 46 is slower than 40: 63 would be too
    assert tries.best.needed == 970 and len(rounds) <= 6
