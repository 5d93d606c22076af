"""MeasureMaximizer on rows in the order of time: shuffled folds, and a warning where something drifts."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TimeSeriesSplit

from ratewise import MeasureMaximizer


def campaign(rows, seed=0):
    """A bank's campaign: the season tells the answers well, and later months have many more of them."""
    rng = np.random.default_rng(seed)
    time = np.sort(rng.random(rows))
    season = 4.0 * np.cos(3 * np.pi * time) + 0.3 * rng.standard_normal(rows)
    X = np.column_stack([season, 10 * time + 0.02 * rng.standard_normal(rows), rng.standard_normal((rows, 2))])
    log_odds = -3.2 + 3.5 * (time > 0.7) + 0.9 * X[:, 2] + 0.5 * X[:, 3]
    return X, rng.random(rows) < 1 / (1 + np.exp(-log_odds))


def steady(rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 3))
    return X, X[:, 0] + rng.standard_normal(rows) > 1


def fitted(X, y, cv=None, groups=None):
    return MeasureMaximizer(LogisticRegression(), "f1", rounds=1, cv=cv).fit(X, y, groups=groups)


@pytest.mark.filterwarnings("ignore:The rows look ordered")
@pytest.mark.parametrize("grouped", [False, True])
def test_rows_in_the_order_of_time_give_the_model_that_shuffled_rows_give(grouped):
    X, y = campaign(4_000)
    drawn = np.random.default_rng(1).permutation(y.size)
    test, train = np.sort(drawn[:1_000]), np.sort(drawn[1_000:])
    days = np.arange(y.size) // 5
    values = []
    for rows in (train, np.random.default_rng(2).permutation(train)):
        boosting = HistGradientBoostingClassifier(max_iter=40, random_state=0)
        model = MeasureMaximizer(boosting, "f1").fit(X[rows], y[rows], groups=days[rows] if grouped else None)
        values.append(model.score(X[test], y[test]))
    assert values[0] == pytest.approx(values[1], abs=0.03)
    assert values[0] > 0.6


def test_drifting_labels_are_warned_of_and_time_series_split_is_named():
    X, y = campaign(3_000)
    with pytest.warns(UserWarning, match=r"share of positives goes from 0\.0\d+ in .*cv=TimeSeriesSplit\(\)"):
        fitted(X, y)


@pytest.mark.parametrize(
    "as_table",
    [
        np.asarray,
        lambda X: pd.DataFrame(X, columns=["a", "b", "c"]),
        lambda X: pl.DataFrame(X, schema=["a", "b", "c"]),
    ],
)
def test_a_drifting_column_is_named(as_table):
    X, y = steady(3_000)
    X[:, 1] += 0.001 * np.arange(3_000)
    with pytest.warns(UserWarning, match=r"values of column (1|'b') drift from the first row to the last"):
        fitted(as_table(X), y)


def sorted_by_label():
    X, y = steady(3_000)
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


def sorted_by_many_classes():
    X, _ = steady(3_000)
    classes = np.sort(np.random.default_rng(0).integers(0, 10, 3_000))
    return X + classes[:, np.newaxis], classes == 7


def walks():
    """Two hundred columns of noise and heavy tails, and few positives."""
    rng = np.random.default_rng(3)
    return rng.standard_cauchy((2_000, 200)), rng.random(2_000) < 0.02


@pytest.mark.parametrize("made", [lambda: steady(20_000), sorted_by_label, sorted_by_many_classes, walks])
def test_steady_rows_and_rows_sorted_by_label_are_not_warned_of(made):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.filterwarnings("ignore", module="sklearn")
        MeasureMaximizer(HistGradientBoostingClassifier(max_iter=2), "f1", cv=2).fit(*made())


def test_time_series_split_is_quiet_and_its_rates_are_of_later_rows():
    X, y = campaign(3_000)
    model = fitted(X, y, cv=TimeSeriesSplit(4))
    later = y[3_000 // 5 :]
    assert model.rates_.prevalence == pytest.approx(later.mean(), abs=1e-9)
    assert model.predict(X).shape == y.shape


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e200])
def test_columns_of_any_size_are_not_taken_to_drift_unless_they_do(size):
    X, y = steady(2_000)
    boosting = HistGradientBoostingClassifier(max_iter=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MeasureMaximizer(boosting, "f1", stack=False, cv=2).fit(X * size, y)


def test_a_column_with_gaps_that_drifts_is_named():
    X, y = steady(2_000)
    X[:, 1] += 0.01 * np.arange(y.size)
    X[::7, 1] = np.nan
    boosting = HistGradientBoostingClassifier(max_iter=5, random_state=0)
    with pytest.warns(UserWarning, match="the values of column 1 drift"):
        MeasureMaximizer(boosting, "f1", stack=False, cv=2).fit(X, y)
