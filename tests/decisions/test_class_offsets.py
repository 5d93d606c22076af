"""Many classes: the best offsets, and log odds to compare scores by."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratewise.decisions.calibrate import log_odds_line
from ratewise.decisions.class_offsets import ClassScores, best_offsets
from ratewise.measures import confusion_measure
from ratewise.solvers.maximize_classes import softmax


def problem(seed, n=60, n_classes=4):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    return ClassScores(rng.normal(size=(n, n_classes)), codes, rng.uniform(0.5, 2.0, n))


def value_at(offsets, rows, measure):
    return float(measure.value(rows.plus(offsets).table()))


@pytest.mark.parametrize("name", ["f1", "gmean", "min", "mcc", "macro-tpr-at-tnr-0.99", "quadratic-kappa"])
@pytest.mark.parametrize("seed", range(3))
def test_offsets_never_lower_the_measure(name, seed):
    rows = problem(seed, n=200)
    rows.scores[np.arange(200), rows.codes] += 1.0
    rows.scores[:, 0] += 1.5  # one class shouts
    measure = confusion_measure(name)
    assert value_at(best_offsets(rows, measure), rows, measure) > value_at(np.zeros(4), rows, measure) + 0.01


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_of_two_classes_no_offset_is_better(seed, tied):
    """Every offset can be tried."""
    rows = problem(seed, n=40, n_classes=2)
    rows.scores[:, 0] = 0.0
    rows.scores[:, 1] += rows.codes
    if tied:
        rows = rows._replace(scores=np.round(2.0 * rows.scores) / 2.0)
    measure = confusion_measure(["f1", "accuracy", "mcc", "gmean"][seed % 4])
    tried = [value_at(np.array([0.0, 1e-9 - one]), rows, measure) for one in rows.scores[:, 1]]
    offsets = best_offsets(rows, measure) - np.array([0.0, 1e-9])  # of rows that are tied, the rival wins
    assert value_at(offsets, rows, measure) > max(tried) - 1e-7


def test_of_many_rows_some_places_are_tried_and_the_offsets_are_nearly_the_best():
    rows = problem(5, n=3_000, n_classes=2)
    rows.scores[np.arange(3_000), rows.codes] += 1.0
    measure = confusion_measure("f1")
    leads = rows.scores[:, 0] - rows.scores[:, 1]
    best = max(value_at(np.array([0.0, one + 1e-9]), rows, measure) for one in leads)
    assert best - 0.002 < value_at(best_offsets(rows, measure), rows, measure) <= best + 1e-12


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


def test_shares_of_large_scores_are_finite():
    found = softmax(np.array([[1e4, -1e4], [1e4 - 1.0, 0.0]])).T
    np.testing.assert_allclose(found, [[1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))], [0.0, 1.0]], atol=1e-12)
