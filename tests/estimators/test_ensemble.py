"""The threshold of out-of-fold scores and votes."""

from __future__ import annotations

import numpy as np
import pytest

from ratewise.estimators._ensemble import choose_threshold
from ratewise.measures import get_measure
from ratewise.solvers import best_threshold, rates_at


def chosen_threshold(neutral, scores, signed_weights, measure):
    rarer = min(np.count_nonzero(signed_weights > 0), np.count_nonzero(signed_weights < 0))
    return choose_threshold(neutral, scores, signed_weights, measure, rarer)


def some_scores(seed, positives=40, negatives=4000):
    rng = np.random.default_rng(seed)
    scores = np.concatenate([rng.normal(2.0, 1.5, positives), rng.normal(0.0, 1.0, negatives)])
    return scores, np.repeat([1.0, -1.0], [positives, negatives])


@pytest.mark.parametrize("name", ["f1", "gmean"])
def test_the_threshold_varies_less_than_the_exact_best_one_and_does_better_on_other_rows(name):
    measure = get_measure(name)
    draws = [some_scores(seed) for seed in range(20)]
    others = some_scores(999, positives=10_000, negatives=1_000_000)
    smoothed = [chosen_threshold(0.5, *draw, measure).threshold for draw in draws]
    exact = [best_threshold(*draw, measure).threshold for draw in draws]
    assert np.std(smoothed) < 0.9 * np.std(exact)
    on_others = [np.mean([measure.value(*rates_at(*others, cut)) for cut in cuts]) for cuts in (smoothed, exact)]
    assert on_others[0] > on_others[1]


def test_the_threshold_is_neutral_if_none_does_better():
    scores = np.array([0.2, 0.3, 0.95, 0.1, 0.6, 0.7, 0.9])
    signed_weights = np.array([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0, 1.0])  # one of each class is out of reach
    chosen = chosen_threshold(0.5, scores, signed_weights, get_measure("gmean"))
    assert 0.3 <= chosen.threshold < 0.6
    assert chosen.value == pytest.approx(np.sqrt(3 / 4 * 2 / 3))


def test_the_threshold_is_not_set_between_two_good_regions_where_it_does_badly():
    scores = np.array([0.1, 0.2, 0.55, 0.9, 0.45, 0.7])
    signed_weights = np.array([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0])  # as good at 0.3 as at 0.6, but not between
    chosen = chosen_threshold(0.5, scores, signed_weights, get_measure("gmean"))
    assert chosen.value == pytest.approx(np.sqrt(2 / 3))


@pytest.mark.parametrize("name", ["f1", "gmean", "min"])
def test_the_threshold_is_close_to_the_exact_best_one_with_many_rows(name):
    measure = get_measure(name)
    scores, signed_weights = some_scores(0, positives=50_000, negatives=200_000)
    best = best_threshold(scores, signed_weights, measure)
    chosen = chosen_threshold(0.0, scores, signed_weights, measure)
    assert chosen.threshold == pytest.approx(best.threshold, abs=0.1)
    assert best.value - 1e-3 < chosen.value <= best.value


def test_the_threshold_separates_separable_scores():
    scores, signed_weights = np.array([-1.0, -0.5, 0.2, 0.4]), np.array([-1.0, -1.0, 1.0, 1.0])
    chosen = chosen_threshold(0.0, scores, signed_weights, get_measure("f1"))
    assert -0.5 <= chosen.threshold < 0.2
    assert chosen.value == 1.0
