"""The maximizer for many classes whose steps use all rows, and the functions of the rows that it needs."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from ..measures import ConfusionMeasure
from .requests import ClimbMeasure, MaximizeLikelihood
from .state import LinearModels


class RowsAtOnce(Protocol):
    """Functions of a model of many classes over all rows, wherever they lie.

    ``model`` has a row per column; its last row has the intercepts. Each function returns a value and its
    gradient, with row weights that sum to 1.
    """

    def likelihood(self, model: NDArray[Any], class_weights: NDArray[np.float64]) -> tuple[float, NDArray[Any]]:
        """Return the weighted log likelihood."""

    def soft_value(self, model: NDArray[Any], measure: ConfusionMeasure) -> tuple[float, NDArray[Any]]:
        """Return the measure with softmax shares in place of predictions."""


def maximize_classes(request: MaximizeLikelihood | ClimbMeasure, rows: RowsAtOnce) -> LinearModels:
    """Return the models after steps of L-BFGS, each on all rows."""
    first = np.vstack([request.start.weights.T, request.start.intercepts])
    penalties = np.full(first.shape, request.l2)
    penalties[-1] = 0.0
    measure = None if isinstance(request, MaximizeLikelihood) else request.measure.softened

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        model = flat.reshape(first.shape)
        given = model.astype(np.float32)
        if isinstance(request, MaximizeLikelihood):
            value, gradient = rows.likelihood(given, request.class_weights)
        else:
            assert measure is not None
            value, gradient = rows.soft_value(given, measure)
        descent = penalties * model - gradient
        return 0.5 * float((penalties * model * model).sum()) - value, descent.ravel()

    steps, tolerance = request.steps, request.tolerance
    options = {"maxiter": steps, "gtol": tolerance, "ftol": 1e-2 * tolerance}
    found = optimize.minimize(loss, first.ravel(), jac=True, method="L-BFGS-B", options=options).x
    model = found.reshape(first.shape)
    return LinearModels(model[:-1].T.copy(), model[-1].copy())


class ClassObjective:
    """Objective functions of rows in one matrix.

    Parameters
    ----------
    X : matrix
        The rows, with an entry of 1 at the end of each.
    codes, weights : array
        The class of each row, and its weight.
    """

    def __init__(self, X: Any, codes: NDArray[np.intp], weights: NDArray[Any], n_classes: int):
        self._transposed, self._codes, self._weights = X.T, codes, weights.astype(np.float32)
        self._places, self.total = np.arange(codes.size), float(weights.sum())
        shape = (codes.size, n_classes)
        own_class = sparse.csr_matrix((self._weights, codes, np.arange(codes.size + 1)), shape=shape)
        self._by_class = own_class.T.tocsr()

    def likelihood(self, model: NDArray[Any], class_weights: NDArray[np.float64]) -> tuple[float, NDArray[Any]]:
        value, gradient = self.likelihood_sums(model, class_weights)
        return value / self.total, gradient / self.total

    def soft_value(self, model: NDArray[Any], measure: ConfusionMeasure) -> tuple[float, NDArray[Any]]:
        shares = self.shares(model)
        table = self.table(shares) / self.total
        return float(measure.value(table)), self.rise(shares, measure.gains(table)) / self.total

    def shares(self, model: NDArray[Any]) -> NDArray[Any]:
        """Return the softmax shares of all rows, a row per class.

        numpy sums long rows several times as fast as many short ones.
        """
        return softmax(np.ascontiguousarray(model.T @ self._transposed))

    def likelihood_sums(
        self, model: NDArray[Any], class_weights: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the likelihood and its gradient, added up over the rows."""
        shares, weights = self.shares(model), self._weights * class_weights.astype(np.float32)[self._codes]
        own = shares[self._codes, self._places]
        value = float(weights @ np.log(np.maximum(own, 1e-30)))
        shares[self._codes, self._places] -= 1.0
        shares *= -weights
        return value, np.asarray(self._transposed @ shares.T, dtype=np.float64)

    def table(self, shares: NDArray[Any]) -> NDArray[np.float64]:
        """Return C[true, predicted] of softmax shares."""
        return np.asarray(self._by_class @ shares.T, dtype=np.float64)

    def rise(self, shares: NDArray[Any], gains: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gradient of the shares' gains, added up over the rows; the shares are overwritten."""
        of_rows = np.take(gains.T.astype(np.float32), self._codes, axis=1)
        of_rows -= (shares * of_rows).sum(axis=0)
        shares *= of_rows
        shares *= self._weights
        return np.asarray(self._transposed @ shares.T, dtype=np.float64)


def softmax(scores: NDArray[Any]) -> NDArray[Any]:
    """Turn scores, a row per class, into the share of each class, in place."""
    scores -= scores.max(axis=0)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=0)
    return scores
