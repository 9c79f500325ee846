"""Medians with intervals: their coverage, and invalid input."""

import math

import numpy as np
import pytest
from intervals import geometric_mean, median_interval


def test_interval_contains_the_true_median_in_95_percent_of_cases():
    random = np.random.default_rng(7)
    draws = [[random.lognormal(0.5, 0.3, 40), random.lognormal(0.5, 0.3, 40)] for _ in range(150)]
    found = [median_interval(groups, resamples=200) for groups in draws]
    held = sum(each.low <= math.exp(0.5) <= each.high for each in found)
    assert held >= 0.9 * len(found)
    assert all(each.low <= each.median <= each.high for each in found)


def test_interval_spans_processes_that_disagree():
    apart = median_interval([[1.0] * 20, [1.5] * 20])
    assert (apart.low, apart.high) == (1.0, 1.5)


def test_interval_depends_on_processes_more_than_on_rounds():
    random = np.random.default_rng(1)
    shifts = [0.9, 1.0, 1.1]
    by_process = [shift + random.normal(0, 0.001, 50) for shift in shifts]
    as_one = [np.concatenate(by_process)]
    wide, narrow = median_interval(by_process), median_interval(as_one)
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_interval_of_equal_samples_has_no_width():
    same = median_interval([[2.0, 2.0, 2.0]])
    assert (same.low, same.median, same.high) == (2.0, 2.0, 2.0)


@pytest.mark.parametrize("groups", [[], [[]], [[1.0], []]])
def test_interval_rejects_empty_groups(groups):
    with pytest.raises(ValueError, match="expected measurements from each process"):
        median_interval(groups)


def test_geometric_mean_of_a_ratio_and_its_inverse_is_one():
    assert geometric_mean([4.0, 0.25]) == pytest.approx(1.0)
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert math.isnan(geometric_mean([]))
