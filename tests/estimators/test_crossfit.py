"""Cross-fitting: cost weights, continued fits and the binning of columns."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from ratewise.estimators._boosters import bin_columns
from ratewise.estimators._crossfit import cost_weights_at, fit_base_estimator
from ratewise.measures import Rates, get_measure


def boosting(**settings):
    return HistGradientBoostingClassifier(**({"max_iter": 15, "random_state": 0} | settings))


def test_cost_weights_are_those_of_amp_for_pseudo_linear_measures_and_the_dual_pair_for_concave_ones():
    rates = Rates(0.7, 0.9, 0.1)
    level = get_measure("f1").value(*rates)
    assert cost_weights_at(get_measure("f1"), rates).level == level
    assert cost_weights_at(get_measure("f1"), rates).row_ratio(0.1) == pytest.approx((2 - level) / level)
    pair = cost_weights_at(get_measure("gmean"), rates)
    assert np.isnan(pair.level)
    assert (pair.on_tpr, pair.on_tnr) == get_measure("gmean").slopes(0.7, 0.9)
    worse_tpr = cost_weights_at(get_measure("min"), rates)
    assert worse_tpr.on_tpr > 0.5 > worse_tpr.on_tnr > 0


@pytest.mark.parametrize(
    ("settings", "warm_start", "trees"),
    [
        ({"early_stopping": True, "n_iter_no_change": 15}, "auto", 30),
        ({"early_stopping": True, "n_iter_no_change": 15}, False, 15),
        ({"early_stopping": True, "n_iter_no_change": 1, "tol": 10.0}, "auto", 1),
        ({"early_stopping": False}, "auto", 15),
        ({"early_stopping": False}, True, 30),
    ],
)
def test_unfinished_boosting_continues_and_finished_boosting_starts_again(rings, settings, warm_start, trees):
    X, y = rings[0][:600], rings[1][:600]
    first = fit_base_estimator(boosting(**settings), X, y, None, {})
    before = first.decision_function(X)
    weights = 1.0 + y
    second = fit_base_estimator(boosting(**settings), X, y, weights, {}, previous=first, warm_start=warm_start)
    assert second.n_iter_ == trees
    np.testing.assert_array_equal(first.decision_function(X), before)


def test_columns_for_boosting_are_binned_and_missing_values_stay():
    rng = np.random.default_rng(4)
    X = rng.lognormal(size=(5_000, 3))
    X[:, 1] = rng.integers(0, 40, 5_000)
    X[rng.random((5_000, 3)) < 0.05] = np.nan
    X[0, 0] = np.inf
    binned = bin_columns(X, HistGradientBoostingClassifier())
    np.testing.assert_array_equal(np.isfinite(binned), np.isfinite(X))
    np.testing.assert_array_equal(binned[:, 1], X[:, 1])
    for column in (0, 2):
        finite = np.isfinite(X[:, column])
        assert 200 < np.unique(binned[finite, column]).size <= 255
        order = np.argsort(X[finite, column])
        assert (np.diff(binned[finite, column][order]) >= 0).all()
        means = np.unique(binned[finite, column])
        nearest = np.abs(X[finite, column][:, np.newaxis] - means).min(axis=1)
        np.testing.assert_allclose(np.abs(X[finite, column] - binned[finite, column]), nearest)
    assert bin_columns(X, LogisticRegression()) is X


def test_boosting_learns_nearly_the_same_from_binned_rows(rings):
    X, y = rings
    learner = boosting()
    binned = clone(learner).fit(bin_columns(X, learner), y)
    np.testing.assert_array_equal(binned.predict(X), binned.predict(bin_columns(X, learner)))
    raw = clone(learner).fit(X, y)
    assert (binned.predict(X) == raw.predict(X)).mean() > 0.995
