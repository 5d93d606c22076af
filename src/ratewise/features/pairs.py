"""Select products of two columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize
from scipy.special import expit

from .splines import FAR, NEAR, Basis

FEW_COLUMNS = 25
"""The largest number of columns of which all products are used."""

MOST_PAIRS = 100
"""The number of products that a screen keeps."""

MOST_SCREENED_COLUMNS = 3_000
"""A screen holds several numbers for every pair at once: half a gigabyte for this number of columns."""

_SCREENED_ROWS = 30_000  # (covtype-5 with three seeds: F1 .515 to .525; with 10,000 rows .480 to .510)
_PERMUTATIONS = 2
_PENALTY = 1.0  # of the curves whose residuals are screened, in rows


def all_pairs(columns: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return all pairs of some columns, as two arrays."""
    first, second = np.triu_indices(columns.size, 1)
    return columns[first], columns[second]


def screened_pairs(
    X: NDArray[Any],
    signed_weights: NDArray[Any],
    splines: Basis,
    rng: np.random.Generator,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the pairs whose product explains what curves do not explain, the best first.

    This is a score test: curves are fitted to the labels, and each product is compared with their residuals. A
    pair is kept if its score is above that of every pair with permuted residuals, so that noise is kept about once
    in three screens.
    """
    chosen = _some_of_each_class(signed_weights, rng)
    X, signed_weights = X[chosen], signed_weights[chosen]
    residuals = _residuals(splines.code(X), signed_weights)
    z = (X - splines.centre) / splines.spread
    near = np.clip(np.where(np.isnan(z), 0.0, np.clip(z, -FAR, FAR)), -NEAR, NEAR).astype(np.float32)
    first, second = np.triu_indices(near.shape[1], 1)
    by_chance = max(
        _gains(near, rng.permutation(residuals))[first, second].max(initial=0.0) for _ in range(_PERMUTATIONS)
    )
    gains = _gains(near, residuals)[first, second]
    best = np.argsort(-gains, kind="stable")[:MOST_PAIRS]
    best = best[gains[best] > by_chance]
    return first[best], second[best]


def require_few_enough(n_columns: int) -> None:
    """Raise an error for more columns than a screen of pairs can handle."""
    if n_columns > MOST_SCREENED_COLUMNS:
        pairs = n_columns * (n_columns - 1) // 2
        raise ValueError(
            f"X has {n_columns:,} columns, which make {pairs:,} pairs: more than fit in memory. basis='pairs' is "
            f"for at most {MOST_SCREENED_COLUMNS:,} columns: use basis='splines', or leave columns out."
        )


def _some_of_each_class(signed_weights: NDArray[Any], rng: np.random.Generator) -> NDArray[np.intp]:
    """Return some rows, up to half of them of the rarer class: slopes of logistic regression stay the same."""
    classes = [np.flatnonzero(signed_weights > 0), np.flatnonzero(signed_weights < 0)]
    rarer = min(min(mine.size for mine in classes), _SCREENED_ROWS // 2)
    drawn = [
        mine if mine.size <= _SCREENED_ROWS - rarer else rng.choice(mine, _SCREENED_ROWS - rarer, replace=False)
        for mine in classes
    ]
    return np.sort(np.concatenate(drawn))


def _gains(near: NDArray[np.float32], residuals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each pair of columns, the squared score of its product divided by its variance."""
    narrow = residuals.astype(np.float32)
    sums = near.T @ (near * narrow[:, np.newaxis])
    squares = near * near
    variances = squares.T @ (squares * (narrow * narrow)[:, np.newaxis])
    return np.asarray(np.square(sums, dtype=np.float64) / np.maximum(variances, 1e-12))


def _residuals(coded: NDArray[np.float32], signed_weights: NDArray[Any]) -> NDArray[np.float64]:
    """Return the weighted residuals of penalized logistic regression, with a root weight for the rarer class."""
    positive = signed_weights > 0
    weights = np.abs(signed_weights).astype(np.float64)
    share = min(max(float(weights[positive].sum() / weights.sum()), 1e-9), 1.0 - 1e-9)
    weights *= np.where(positive, np.sqrt((1.0 - share) / share), 1.0)
    weights /= weights.mean()
    target = positive.astype(np.float64)

    def loss(model: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = coded @ model[:-1].astype(np.float32) + model[-1]
        pull = weights * (expit(scores) - target)
        value = weights @ np.logaddexp(0.0, np.where(positive, -scores, scores))
        slopes = np.append(coded.T @ pull.astype(np.float32) + _PENALTY * model[:-1], pull.sum())
        return value + 0.5 * _PENALTY * float(model[:-1] @ model[:-1]), slopes

    found = optimize.minimize(
        loss, np.zeros(coded.shape[1] + 1), jac=True, method="L-BFGS-B", options={"maxiter": 40}
    )
    scores = coded @ found.x[:-1].astype(np.float32) + found.x[-1]
    residuals: NDArray[np.float64] = weights * (target - expit(scores))
    return residuals
