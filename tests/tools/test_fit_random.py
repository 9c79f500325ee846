"""Random training steps under plans: the results of plain JAX."""

import pytest

from scripts.fuzzing.plans import run

MAXIMA = range(5472, 5473)
"""A step whose gradient compares values with their maximum, to the last bit."""


@pytest.mark.parametrize("seeds", [range(4), range(4, 8), range(8, 12), MAXIMA], ids=str)
def test_random_plans_keep_the_results(seeds):
    """`scripts/fuzz.py plans` runs more."""
    tally = run(seeds)
    assert not tally.finds, str(tally)
    assert tally.programs == len(seeds) and tally.plans >= len(seeds), str(tally)
