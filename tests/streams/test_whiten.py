"""Whitening makes all directions equally strong, and is undone in the user's coefficients."""

from __future__ import annotations

import numpy as np
import pytest

from ratewise.streams import Standardizer, Whitener


def correlated(n=3_000, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) * 10.0 ** np.arange(d) + np.arange(d)


def whitener_of(X, **settings):
    return Whitener(Standardizer(X.shape[1]).update(X), X, np.random.default_rng(0), **settings)


def whitened(X, **settings):
    return whitener_of(X, **settings).transform(X, np.arange(X.shape[0]), np.float64)


def test_whitened_columns_are_uncorrelated_and_of_unit_size():
    covariance = np.cov(whitened(correlated(), ridge=1e-9).T)
    np.testing.assert_allclose(covariance, np.eye(6), atol=0.01)


def test_models_come_back_to_the_users_units_and_go_there():
    X = correlated()
    units = whitener_of(X)
    rng = np.random.default_rng(1)
    weights, intercept = rng.standard_normal(6), 0.7
    coef, user_intercept = units.to_user_units(weights, intercept)
    rows = units.transform(X, np.arange(X.shape[0]), np.float64)
    np.testing.assert_allclose(X @ coef + user_intercept, rows @ weights + intercept, atol=1e-6)
    again, intercept_again = units.to_standard_units(coef, user_intercept)
    np.testing.assert_allclose(again, weights, atol=1e-8)
    assert intercept_again == pytest.approx(intercept)


def test_rows_come_in_the_order_asked_for():
    X = correlated(50)
    units = whitener_of(X)
    order = np.random.default_rng(0).permutation(50)[:20]
    straight = units.transform(X, np.arange(50), np.float64)
    np.testing.assert_allclose(units.transform(X, order, np.float64), straight[order])


def test_repeated_and_constant_columns_are_not_blown_up():
    X = correlated(500, 3)
    X = np.column_stack([X, X[:, 0], X[:, 0] + 1e-9 * X[:, 1], np.full(500, 7.0)])
    rows = whitened(X)
    assert np.isfinite(rows).all()
    assert np.abs(rows).max() < 100


def test_a_column_too_rare_for_the_sample_keeps_its_standardised_size():
    """One row in 60,000 differs; the sample of 20,000 rows most likely misses it."""
    X = np.random.default_rng(0).standard_normal((60_000, 2))
    X[:, 1] = 0.0
    X[123, 1] = 1.0
    rows = whitened(X.astype(np.float32))
    standard = Standardizer(2).update(X).transform(X, np.arange(60_000), np.float64)
    assert abs(rows[123, 1]) < 1.2 * abs(standard[123, 1])
