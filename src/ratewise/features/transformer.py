"""SplineBasis: curves and pairs as a scikit-learn transformer."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from ..transforms import Standardizer, scalable_moments
from .pairs import MOST_SCREENED_COLUMNS, all_pairs
from .splines import Basis, fit_basis

_MOST_PAIRS = 20_000


class SplineBasis(TransformerMixin, BaseEstimator):
    """Expand columns into curves, and products of two columns, for a linear model.

    A column becomes itself, hinges at inner quantiles of its distinct values and, if values are missing, an
    indicator. A linear model of these columns is a piecewise linear curve per column: :meth:`inverse_coef`
    expresses it in the user's units. Values more than 20 deviations from the mean count as 20; up to there, curves
    continue in a straight line.

    Parameters
    ----------
    n_knots : int, default=8
        The largest number of knots per column. A column with two values has none.
    hinge_deviation : float, default=0.3
        The standard deviation of hinges; that of the columns themselves is 1. The smaller it is, the more a
        penalty straightens curves.
    pairs : bool, default=False
        Whether to add the product of every two columns.

    Attributes
    ----------
    basis_ : Basis
        Knots and moments, as plain arrays.
    n_features_in_ : int
    feature_names_in_ : array of str, of a table

    Examples
    --------
    >>> import numpy as np
    >>> from ratewise.features import SplineBasis
    >>> X = np.arange(12.0).reshape(-1, 1)
    >>> basis = SplineBasis(n_knots=2).fit(X)
    >>> basis.get_feature_names_out(["age"]).tolist()
    ['age', 'age > 3.667', 'age > 7.333']
    >>> basis.transform(X).shape
    (12, 3)
    """

    def __init__(self, n_knots: int = 8, *, hinge_deviation: float = 0.3, pairs: bool = False):
        self.n_knots = n_knots
        self.hinge_deviation = hinge_deviation
        self.pairs = pairs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute knots and moments from the rows of X; y is not used."""
        self.check()
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
        moments = scalable_moments(X, getattr(self, "feature_names_in_", None))
        self.basis_ = self._basis_of(X, moments)
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the columns of the basis, with mean 0: X, indicators of missing values, hinges and products."""
        check_is_fitted(self)
        X = validate_data(
            self, X, reset=False, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", order="C"
        )
        coded: NDArray[np.float32] = self.basis_.code(X)
        return coded

    def inverse_coef(self, coef: Any, intercept: float = 0.0) -> tuple[NDArray[np.float64], float]:
        """Convert a linear model of the transformed columns into the same model of the named columns.

        "age" is then the slope left of the first knot, in the units of age; "age > 30" the change of the slope at
        30.
        """
        check_is_fitted(self)
        return self.basis_.inverse_coef(np.ravel(coef), float(np.ravel(intercept)[0]))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return names such as "age", "age is missing", "age > 30" and "age * income"."""
        check_is_fitted(self)
        return np.array(self.basis_.names(_check_feature_names_in(self, input_features)), dtype=object)

    def _basis_of(self, X: NDArray[Any], moments: Standardizer) -> Basis:
        """Return the basis of these rows, given the moments of their columns."""
        pairs = None
        if self.pairs:
            number = X.shape[1] * (X.shape[1] - 1) // 2
            if number > _MOST_PAIRS:
                raise ValueError(
                    f"X has {X.shape[1]} columns, which make {number:,} pairs: more than {_MOST_PAIRS:,} take too "
                    "much memory. Leave out columns, or use MeasureClassifier(basis='pairs') with at most "
                    f"{MOST_SCREENED_COLUMNS:,} columns: it keeps the best."
                )
            pairs = all_pairs(np.arange(X.shape[1]))
        return fit_basis(
            np.asarray(X, dtype=np.float64),
            moments.centre,
            moments.scale,
            n_knots=int(self.n_knots),
            hinge_deviation=float(self.hinge_deviation),
            pairs=pairs,
        )

    def check(self) -> None:
        """Raise an error for invalid parameters."""
        if not isinstance(self.n_knots, Integral) or isinstance(self.n_knots, bool) or self.n_knots < 0:
            raise ValueError(f"n_knots must be a whole number of 0 or more; got {self.n_knots!r}.")
        if not isinstance(self.hinge_deviation, Real) or not 0 < float(self.hinge_deviation) < np.inf:
            raise ValueError(f"hinge_deviation must be a finite number above 0; got {self.hinge_deviation!r}.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
