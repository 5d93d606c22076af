"""The loop of a stream against slow and plain numpy."""

import numpy as np
import pytest
from scipy import sparse

from ratewise import kernels

LEARNERS = np.array([[1, 0.5, 0, 0], [0.5 ** (1 / 20), 1, 1, 0], [1, 0, 0, 0], [1, 0.3, 0, 0.05]])


def nothing_learned(n_features):
    n = len(LEARNERS)
    return (
        np.zeros((3, n_features)),
        np.zeros((n, kernels.COLUMN_FACTS, n_features)),
        np.zeros((n, kernels.FACTS)),
    )


def slowly(X, signs, decay, exponent, step):
    """One learner, each formula as the docstring tells it; its averaged model, of standardized columns."""
    n_features = X.shape[1]
    ages = lambda i: decay ** np.arange(i, -1, -1.0)  # noqa: E731
    weights, mean_weights, squared = np.zeros((3, n_features))
    b = mean_b = squared_b = 0.0
    for i in range(len(X)):
        of_rows, so_far = ages(i), X[: i + 1]
        centre = of_rows @ so_far / of_rows.sum()
        variance = of_rows @ (so_far - centre) ** 2 / of_rows.sum()
        spread = np.sqrt(np.maximum(variance, 0.01 * so_far.var(axis=0)))
        z = np.where(spread > 1e-12, (X[i] - centre) / np.where(spread > 0, spread, 1.0), 0.0)
        z = np.clip(z, -8.0, 8.0)
        share = (of_rows @ (signs[: i + 1] > 0) + 1.0) / (of_rows.sum() + 2.0)
        ratio = 0.5 / (share if signs[i] > 0 else 1.0 - share)
        push = ratio**exponent * (1.0 / (1.0 + np.exp(-(weights @ z + b))) - (signs[i] > 0))
        squared, squared_b = decay * squared + (push * z) ** 2, decay * squared_b + push**2
        weights = weights - push * z * (step or 0.5 / np.sqrt(squared + 0.1))
        b -= push * (step or 0.5 / np.sqrt(squared_b + 0.1))
        newest = 1.0 if step else min(1.0, 8.0 / of_rows.sum())
        mean_weights, mean_b = mean_weights + newest * (weights - mean_weights), mean_b + newest * (b - mean_b)
    return [*mean_weights, mean_b]


def made_up(n_rows=120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3)) * (1.0, 5.0, 0.1) + (0.0, 100.0, 0.0)
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n_rows) > 0.8, 1.0, -1.0)


def test_dense_rows_are_learned_from_as_in_plain_numpy():
    X, signs = made_up()
    overall, columns, facts = nothing_learned(3)
    kernels.learn_live_dense(X, signs, overall, columns, facts, LEARNERS, 0.0, True)
    for own, state, (decay, exponent, _, step) in zip(columns, facts, LEARNERS, strict=True):
        assert [*own[4], state[5]] == pytest.approx(slowly(X, signs, decay, exponent, step), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("standardize", [True, False])
def test_sparse_rows_tell_the_classes_apart_and_empty_rows_do_no_harm(standardize):
    rng = np.random.default_rng(1)
    X = (rng.random((2_000, 30)) < 0.1).astype(float)
    signs = np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)
    X[::50] = 0.0
    signs[::50] = -1.0
    rows = sparse.csr_matrix(X)
    overall, columns, facts = nothing_learned(30)
    kernels.learn_live_sparse(
        (rows.data, rows.indices, rows.indptr), signs, overall, columns, facts, LEARNERS, 0.0, standardize
    )
    assert np.isfinite(columns).all()
    for own, state in zip(columns, facts, strict=True):
        scores = X @ own[4] + state[5]
        assert scores[signs > 0].mean() > scores[signs < 0].mean() + 1.0


def test_a_long_stretch_of_negatives_is_believed_no_more_than_its_length_warrants():
    X = np.random.default_rng(2).normal(size=(20_000, 3))
    overall, columns, facts = nothing_learned(3)
    kernels.learn_live_dense(X, -np.ones(len(X)), overall, columns, facts, LEARNERS, 0.0, True)
    assert (X @ columns[1, 4] + facts[1, 5]).min() > -np.log(20_000) - 2.0
