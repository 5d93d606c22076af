"""Many classes: the macro average and its gradient, the best offsets, and log odds to compare scores by."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from ratewise.measures import FunctionMeasure, get_measure, measure_names
from ratewise.solvers.calibrate import log_odds_line
from ratewise.solvers.multiclass import (
    ClassRates,
    best_offsets,
    logistic_pull,
    macro_pull,
    soft_counts,
    softmax,
)

SMOOTH = [name for name in measure_names() if get_measure(name).smooth]


def problem(seed, n=60, n_classes=4):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    return rng.normal(size=(n, n_classes)), codes, rng.uniform(0.5, 2.0, n)


def soft_value(scores, codes, weights, measure):
    shares = softmax(scores.copy())
    return ClassRates.of_counts(*soft_counts(shares, codes, weights)).value(measure)


def finite_differences(function, at, step=1e-6):
    gradient = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[place] += step
        down[place] -= step
        gradient[place] = (function(up) - function(down)) / (2 * step)
    return gradient


OWN = FunctionMeasure(lambda tpr, tnr: tpr * tnr if tpr > 0 else 0.0)  # for numbers only


@pytest.mark.parametrize("measure", [*map(get_measure, SMOOTH), OWN], ids=[*SMOOTH, "a function of one's own"])
def test_the_pull_is_the_gradient_of_the_soft_macro_average(measure):
    scores, codes, weights = problem(0, n=12, n_classes=3)
    shares = softmax(scores.copy())
    rates = ClassRates.of_counts(*soft_counts(shares, codes, weights))
    pull = macro_pull(measure, rates, shares, codes, weights) / weights.sum()
    expected = finite_differences(lambda at: soft_value(at, codes, weights, measure), scores)
    np.testing.assert_allclose(pull, expected, atol=2e-7)


def test_the_logistic_pull_is_the_gradient_of_the_log_likelihood():
    scores, codes, weights = problem(2, n=10, n_classes=3)

    def likelihood(at):
        return float(weights @ np.log(softmax(at.copy())[np.arange(codes.size), codes]))

    pull = logistic_pull(softmax(scores.copy()), codes, weights)
    np.testing.assert_allclose(pull, finite_differences(likelihood, scores), atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 6))
def test_the_macro_average_of_f1_is_scikit_learns(seed, n_classes):
    scores, codes, weights = problem(seed, n_classes=n_classes)
    called = scores.argmax(axis=1)
    ours = ClassRates.of_predictions(codes, called, weights, n_classes).value(get_measure("f1"))
    assert ours == pytest.approx(f1_score(codes, called, sample_weight=weights, average="macro"))


@pytest.mark.parametrize("name", ["f1", "gmean", "min", "mcc", "tpr-at-tnr-0.99"])
@pytest.mark.parametrize("seed", range(3))
def test_offsets_never_lower_the_macro_average(name, seed):
    scores, codes, weights = problem(seed, n=200)
    scores[np.arange(200), codes] += 1.0
    scores[:, 0] += 1.5  # one class shouts
    measure = get_measure(name)

    def value(offsets):
        return ClassRates.of_predictions(codes, (scores + offsets).argmax(axis=1), weights, 4).value(measure)

    assert value(best_offsets(scores, codes, weights, measure)) > value(np.zeros(4)) + 0.01


def test_an_offset_is_drawn_where_no_other_is_better():
    """Two classes and few rows, so that every offset can be tried."""
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=40)
    scores = np.column_stack([np.zeros(40), codes + 1.3 * rng.normal(size=40)])
    weights, measure = np.ones(40), get_measure("jaccard")

    def value(offset):
        called = (scores + np.array([0.0, offset])).argmax(axis=1)
        return ClassRates.of_predictions(codes, called, weights, 2).value(measure)

    offsets = best_offsets(scores, codes, weights, measure)
    assert value(offsets[1] - offsets[0]) == pytest.approx(max(value(-one - 1e-9) for one in scores[:, 1]))


def test_the_line_of_log_odds_is_that_of_the_model_that_made_the_labels():
    rng = np.random.default_rng(0)
    scores = 3.0 * rng.normal(size=40_000) + 1.0
    signs = np.where(rng.random(40_000) < 1.0 / (1.0 + np.exp(-(0.7 * scores - 0.4))), 1.0, -1.0)
    slope, constant = log_odds_line(scores, signs)
    assert slope == pytest.approx(0.7, abs=0.03)
    assert constant == pytest.approx(-0.4, abs=0.05)


@pytest.mark.parametrize("scores", [np.zeros(10), np.linspace(-1.0, 1.0, 10), -np.linspace(-1.0, 1.0, 10)])
def test_the_line_of_log_odds_is_finite_and_never_falls_where_scores_tell_nothing_or_all(scores):
    slope, constant = log_odds_line(scores, np.where(np.arange(10) < 5, -1.0, 1.0))
    assert np.isfinite([slope, constant]).all()
    assert slope >= 0.0
