"""The estimator of times: its numbers are consistent, and it says when they decide nothing."""

import numpy as np
import pytest

from jxc.backend.timing import show_milliseconds, time_ratio


def test_time_ratio_is_the_quotient_of_the_printed_medians():
    before, after = [3.0, 3.6, 9.0, 3.1, 3.3], [0.48, 0.5, 0.7, 0.45, 1.9]
    found = time_ratio(before, after)
    assert found.ratio == pytest.approx(3.3 / 0.5) and found.low <= found.ratio <= found.high
    assert show_milliseconds([s / 1e3 for s in before]).startswith("3.3 ms (")
    assert f"{found}".startswith("too noisy for one number, 95 % interval ")


def test_time_ratio_prints_a_steady_ratio_with_its_interval():
    found = time_ratio([2.0, 2.02, 1.98, 2.01, 1.99], [1.0, 1.01, 0.99, 1.0, 1.0])
    assert not found.is_wide and str(found) == "2.00, 95 % interval 1.99 to 2.01"


def test_time_ratio_is_undecided_around_one_unless_narrow():
    random = np.random.default_rng(0)
    noisy = random.normal(1, 0.2, (2, 10))
    assert time_ratio(*noisy).is_undecided
    assert str(time_ratio(*noisy)).startswith("too noisy to tell, 95 % interval ")
    steady = random.normal(1, 0.01, (2, 20))
    assert time_ratio(*steady).is_alike and not time_ratio(*steady).is_undecided
