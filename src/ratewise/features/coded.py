"""Rows coded in a basis, then perhaps whitened: the transform in which a fit with a basis learns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..transforms import Standardizer, Whitener, sample_size
from .splines import Basis

_CODED_BYTES = 1 << 24  # at once: enough for the compiled loop to be worthwhile


class CodedColumns:
    """The columns of a basis as a transform of the user's rows; models of it are expressed in named columns."""

    unit_scale = True

    def __init__(self, basis: Basis, whitener: Whitener | None = None):
        self.basis, self._whitener = basis, whitener

    @classmethod
    def of(cls, basis: Basis, X: Any, rng: np.random.Generator, *, whiten: bool) -> CodedColumns:
        """Return the columns of a basis, whitened by the covariance of some of these rows if ``whiten``."""
        if not whiten:
            return cls(basis)
        drawn = rng.choice(X.shape[0], min(X.shape[0], sample_size(basis.width)), replace=False)
        return cls.whitened(basis, X, drawn)

    @classmethod
    def whitened(cls, basis: Basis, X: Any, drawn: NDArray[np.signedinteger[Any]]) -> CodedColumns:
        """Return the columns of a basis, whitened by the covariance of the rows that were drawn."""
        coded = basis.code(X, drawn)
        covariance = (coded.T @ coded).astype(np.float64) / drawn.size
        return cls(basis, Whitener(Standardizer(basis.width, active=False), covariance))

    @property
    def width(self) -> int:
        return self.basis.width

    @property
    def scale(self) -> NDArray[np.float64]:
        return self.basis.scale

    @property
    def centre(self) -> NDArray[np.float64]:
        return self.basis.centre

    def transform(self, X: Any, order: NDArray[np.signedinteger[Any]], dtype: Any, threads: int = 1) -> Any:
        if self._whitener is None:
            return self.basis.code(X, order, dtype)
        out = np.empty((order.size, self.width), dtype=dtype)
        rows = max(_CODED_BYTES // (4 * self.width), 64)
        for start in range(0, order.size, rows):
            coded = self.basis.code(X, order[start : start + rows])
            self._whitener.fill(coded, np.arange(coded.shape[0]), out[start : start + rows], threads)
        return out

    def inverse_coef(self, weights: NDArray[Any], intercept: float) -> tuple[NDArray[np.float64], float]:
        if self._whitener is not None:
            weights, intercept = self._whitener.inverse_coef(weights, intercept)
        return self.basis.inverse_coef(weights, intercept)

    def transform_coef(self, coef: NDArray[Any], intercept: float) -> tuple[NDArray[np.float64], float]:
        weights, intercept = self.basis.transform_coef(coef, intercept)
        if self._whitener is not None:
            weights, intercept = self._whitener.transform_coef(weights, intercept)
        return weights, intercept
