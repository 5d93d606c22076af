"""The default fit needs no tuning: not for scale, not for rarity, not for text."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from ratewise import MeasureClassifier
from ratewise.measures import get_measure
from ratewise.solvers import Sharpen, Spade


def raw_columns(rng):
    """Columns from 1e-6 to 1e9 in size, with offsets a thousand times their spread."""
    X = rng.standard_normal((12_000, 6))
    positive = X @ [1, -1, 0.5, 0, 0, 0.3] + rng.standard_normal(12_000) > 2.5
    return X * 10.0 ** np.array([-6, -3, 0, 3, 6, 9]) + 1_000 * 10.0 ** np.array([-6, -3, 0, 3, 6, 9]), positive


def one_in_a_thousand(rng):
    X = rng.standard_normal((60_000, 8))
    return X, X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(60_000) > 4.45


def one_hot(rng):
    levels = rng.integers(0, 30, (5_000, 3))
    X = np.concatenate([np.eye(30)[levels[:, k]] for k in range(3)], axis=1)
    return X, (levels[:, 0] < 3) & (levels[:, 1] < 20)


def text(rng):
    """Word counts with a long tail: 8,000 columns, 40 words per row; twenty words speak for the positives."""
    n, d = 1_500, 8_000
    popularity = 1.0 / np.arange(1, d + 1)
    positive = rng.random(n) < 0.1
    words = rng.choice(d, (n, 40), p=popularity / popularity.sum())
    words[positive, :4] = rng.integers(100, 120, (positive.sum(), 4))
    X = sparse.csr_matrix((np.ones(n * 40), words.reshape(-1), np.arange(0, n * 40 + 1, 40)), shape=(n, d))
    X.sum_duplicates()
    return X, positive


def far_outliers(rng):
    X = rng.standard_normal((5_000, 5))
    positive = X[:, 0] + 0.5 * rng.standard_normal(5_000) > 1.8
    X[:20] *= 1e4
    return X, positive


@pytest.mark.parametrize(
    "name", ["f1", *(pytest.param(name, marks=pytest.mark.slow) for name in ("gmean", "min"))]
)
@pytest.mark.parametrize(
    "make", [raw_columns, one_in_a_thousand, one_hot, pytest.param(text, marks=pytest.mark.slow), far_outliers]
)
def test_the_default_fit_holds_its_own_against_logistic_regression(make, name):
    X, y = make(np.random.default_rng(0))
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
    classifier = MeasureClassifier(name, random_state=0).fit(X_train, y_train)
    assert np.isfinite(classifier.coef_).all()
    centre, scale = 0.0, 1.0
    if not sparse.issparse(X):
        centre, scale = X_train.mean(axis=0), np.where(X_train.std(axis=0) > 0, X_train.std(axis=0), 1.0)
        X_train, X_test_scaled = (X_train - centre) / scale, (X_test - centre) / scale
    else:
        X_test_scaled = X_test
    rival = LogisticRegression(max_iter=2_000, class_weight=None if name == "f1" else "balanced")
    rival_value = get_measure(name).score(y_test, rival.fit(X_train, y_train).predict(X_test_scaled))
    assert classifier.score(X_test, y_test) > rival_value - 0.03


@pytest.mark.slow
def test_a_plain_function_of_the_rates_is_a_measure():
    X, y = one_hot(np.random.default_rng(0))

    def mostly_specific(tpr, tnr):
        return tpr if tnr > 0.99 else tnr - 1.0

    classifier = MeasureClassifier(mostly_specific, random_state=0).fit(X, y)
    predicted = classifier.predict(X)
    assert 1 - predicted[~y].mean() > 0.98
    assert predicted[y].mean() > 0.8
    assert classifier.score(X, y) == mostly_specific(predicted[y].mean(), 1 - predicted[~y].mean())


def test_sharpening_can_be_set_up_by_hand_or_left_out():
    X, y = far_outliers(np.random.default_rng(0))
    by_hand = MeasureClassifier("f1", sharpen=Sharpen(passes=2), random_state=0).fit(X, y)
    assert not any("sharpened 4" in stage for stage in by_hand.stages_)
    plain = MeasureClassifier("f1", sharpen=False, random_state=0).fit(X, y)
    assert plain.stages_ == ()


def test_threshold_zero_cannot_be_had_with_sharpening():
    X, y = one_hot(np.random.default_rng(0))
    assert MeasureClassifier("f1", threshold="zero").fit(X, y).stages_ == ()
    with pytest.raises(ValueError, match="threshold='zero' needs sharpen=False"):
        MeasureClassifier("f1", threshold="zero", sharpen=True).fit(X, y)


@pytest.mark.parametrize("fraction", [0, -0.1, 0.6, "half", None])
def test_the_validation_fraction_must_be_a_share(fraction):
    X, y = one_hot(np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"validation_fraction must be 'auto' or above 0 and at most 0\.5"):
        MeasureClassifier("f1", validation_fraction=fraction).fit(X, y)


@pytest.mark.parametrize("sharpen", ["auto", False])
def test_columns_too_large_to_compute_with_are_refused_rather_than_fitted(sharpen):
    X = np.random.default_rng(0).standard_normal((300, 2)) * 1e38
    with pytest.raises(ValueError, match="beyond the range of float32"), np.errstate(all="ignore"):
        MeasureClassifier("gmean", standardize=False, sharpen=sharpen).fit(X, X[:, 0] > 1e38)
    classifier = MeasureClassifier("gmean", sharpen=sharpen).fit(X, X[:, 0] > 1e38)
    assert classifier.score(X, X[:, 0] > 1e38) > 0.9


def test_plain_steps_far_too_long_are_shortened_until_the_model_is_finite():
    X, y = far_outliers(np.random.default_rng(0))
    with np.errstate(all="ignore"):
        classifier = MeasureClassifier("gmean", solver=Spade(step=1e37, passes=2), sharpen=False).fit(X, y)
    assert np.isfinite(classifier.coef_).all()
