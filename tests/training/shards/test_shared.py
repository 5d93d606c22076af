"""Rows in memory, learned from by several threads side by side."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from ratewise import MeasureClassifier
from ratewise.training import config


@pytest.fixture(autouse=True)
def few_rows_are_shared(monkeypatch):
    monkeypatch.setattr(config, "SHARED_ROWS", 6_000)
    monkeypatch.setattr(config, "BATCH_ROWS", 1_000)


def fitted(X, y, n_jobs, measure="f1", groups=None, **options):
    return MeasureClassifier(measure, random_state=0, n_jobs=n_jobs, **options).fit(X, y, groups=groups)


def same_bits(one, other):
    return np.array_equal(one.coef_, other.coef_) and np.array_equal(one.intercept_, other.intercept_)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_the_model_does_not_depend_on_the_number_of_threads(rows, form):
    X, y = form(rows[0]), rows[1]
    two, three = (fitted(X, y, n_jobs) for n_jobs in (2, 3))
    assert same_bits(two, three)
    assert not same_bits(two, fitted(X, y, 1))  # three shares of these rows, not one


@pytest.mark.parametrize("measure", ["f1", "min", "gmean"])
@pytest.mark.parametrize("order", ["mixed", "sorted"])
def test_shares_are_drawn_at_random_and_learn_as_well_as_one_thread(rows, measure, order):
    X, y = rows
    if order == "sorted":
        placed = np.argsort(y, kind="stable")
        X, y = X[placed], y[placed]
    one, two = (fitted(X, y, n_jobs, measure) for n_jobs in (1, 2))
    assert two.score(X, y) == pytest.approx(one.score(X, y), abs=0.004)
    assert two.rates_.tpr == pytest.approx(one.rates_.tpr, abs=0.05)


def test_a_plain_algorithm_learns_as_well(rows):
    X, y = rows
    plain = fitted(X, y, 2, solver="stamp", sharpen=False)
    assert plain.score(X, y) == pytest.approx(fitted(X, y, 1, solver="stamp", sharpen=False).score(X, y), abs=0.01)


def test_fewer_rows_and_rows_in_groups_are_learned_from_as_by_one_thread(rows):
    X, y = rows
    assert same_bits(fitted(X[:5_000], y[:5_000], 2), fitted(X[:5_000], y[:5_000], 1))
    groups = np.arange(y.size) // 4
    assert same_bits(fitted(X, y, 2, groups=groups), fitted(X, y, 1, groups=groups))
