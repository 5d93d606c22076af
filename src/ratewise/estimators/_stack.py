"""The stack: boosting and an additive model, fitted to the same folds and combined by out-of-fold scores.

Boosting finds interactions. Penalized logistic regressions, on the columns and on curves of them, need far fewer
rows to learn the effect of each single column. A logistic regression on the out-of-fold log odds weights them all.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from .._errors import DataError
from ..features.encode import Encoder
from ..features.learn import learn_encoder
from ..features.splines import Basis, BasisSettings
from ..features.tables import is_table, parts_of
from ..training import config
from ..training.bases import basis_of_rows
from ..transforms import Standardizer, with_means

_PENALTY_C = 1.0
_MOST_ROWS = 20_000  # of each class: these determine the curves, and boosting takes longer with more
_NEWTON_COLUMNS = 128  # with more columns the Gram matrix of the rows costs more than L-BFGS
_ITERATIONS = 30
_MOST_COLUMNS = 1_000
"""Of dense rows. (More are pixels or spectra: curves of single columns tell little, at more cost than trees.)"""
_BLOCK_ROWS = 1 << 14
_MOST_CODED_VALUES = 1 << 24
_FAR_ODDS = 15.0

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


class Join(NamedTuple):
    """The log odds of a stack: a constant plus weighted log odds of its parts."""

    constant: float
    of_additive: Floats
    """A weight per column of the additive model's log odds."""
    of_boosting: float

    @classmethod
    def fitted(cls, additive: Floats, boosting: Floats, signed_weights: Floats) -> Join:
        """Return the regression on out-of-fold log odds; a part whose weight would be negative is left out."""
        columns = np.column_stack([additive, limited(boosting)])
        shares, constant = np.zeros(columns.shape[1]), 0.0
        kept = np.arange(shares.size)
        while kept.size:
            found, constant = _regression(columns[:, kept], signed_weights)
            if (found >= 0.0).all():
                shares[kept] = found
                break
            kept = kept[found > 0.0]
        return cls(constant, shares[:-1], float(shares[-1]))

    def scores(self, additive: Floats, boosting: Floats) -> Floats:
        """Return the combined log odds of rows."""
        return np.asarray(self.constant + additive @ self.of_additive + self.of_boosting * limited(boosting))


class AdditiveModel(NamedTuple):
    """Logistic regressions on the columns, and on curves of them; of sparse rows on the columns only."""

    encoder: Encoder | None
    """The encoder of a table; None if the rows are numbers."""
    basis: Basis | None
    """None for sparse rows."""
    coef: Floats
    """A column per regression, of coded columns."""
    intercept: Floats

    def log_odds(self, X: Any) -> Floats:
        """Return the log odds of the positive class by each regression, limited to a range."""
        return self.of_numbers(self._numbers(X))

    def coded(self, X: Any) -> Any:
        """Return the columns that the regressions use."""
        return _coded(self._numbers(X), self.basis)

    def _numbers(self, X: Any) -> Any:
        found = _as_numbers(X, self.encoder)
        if found is None:
            raise ValueError("X is not a table of numbers, as the rows of the fit were.")
        return found

    def of_numbers(self, X: Any) -> Floats:
        """Return the log odds of rows that are numbers already."""
        starts = range(0, max(X.shape[0], 1), _BLOCK_ROWS)
        coded = (_coded(X[start : start + _BLOCK_ROWS], self.basis) for start in starts)
        return limited(np.concatenate([rows @ self.coef for rows in coded]) + self.intercept)

    def of_coded(self, coded: Any) -> Floats:
        """Return the log odds of rows that are coded already."""
        return limited(coded @ self.coef + self.intercept)

    @classmethod
    def joined(cls, models: Sequence[AdditiveModel]) -> AdditiveModel:
        """Return one model with the regressions of several models that code rows in the same way."""
        coef = np.concatenate([one.coef for one in models], axis=1)
        return models[0]._replace(coef=coef, intercept=np.concatenate([one.intercept for one in models]))


@dataclass(frozen=True)
class AdditiveRows:
    """The training set of an additive model, coded without the labels."""

    X: Any
    encoder: Encoder | None
    basis: Basis | None
    scale: Floats
    """The divisors of columns of sparse rows during training."""
    signed_weights: Floats
    """The weight of each row, negative for the negative class."""

    @classmethod
    def of(cls, X: Any, positive: NDArray[np.bool_], sample_weight: Floats | None) -> Self:
        """Return the rows as numbers with their basis, or raise a ValueError that says why X cannot be used."""
        weights = np.ones(positive.size) if sample_weight is None else sample_weight
        signed = np.where(positive, weights, -weights)
        encoder = _encoder_of(X)
        X = _as_numbers(X, encoder)
        if X is None or X.shape[0] != positive.size or X.ndim != 2 or X.shape[1] == 0:
            raise ValueError("is not a table of numbers")
        dense = not sparse.issparse(X)
        if dense and X.shape[1] > _MOST_COLUMNS:
            raise ValueError(f"has {X.shape[1]:,} columns, where curves pay up to {_MOST_COLUMNS:,}")
        if np.isinf(X if dense else X.data).any():
            raise ValueError("holds infinity")
        filled = with_means(X) if dense else X
        with np.errstate(all="ignore"):
            moments = Standardizer(X.shape[1]).update(filled)
        if not np.isfinite(moments.squares).all():
            raise ValueError("has values too large to be squared")
        basis = None
        if dense:
            rng = np.random.default_rng(0)
            few = positive.size < config.FEW_ROWS  # (with fewer points a stronger penalty costs .001 here)
            asked = BasisSettings(hinge_deviation=config.HINGE_DEVIATION if few else None)
            basis = basis_of_rows(asked, X, signed, moments, positive.size, rng)
        return cls(X, encoder, basis, np.asarray(moments.scale), signed)

    @cached_property
    def _all_coded(self) -> Any:
        """All rows in the basis, for all folds; None if they would take much memory."""
        if self.basis is None or self.X.shape[0] * self.basis.width > _MOST_CODED_VALUES:
            return None
        return _coded(self.X, self.basis)

    def _coded_rows(self, rows: Places) -> Any:
        return _coded(self.X[rows], self.basis) if self._all_coded is None else self._all_coded[rows]

    def fit(self, rows: Places) -> AdditiveModel:
        """Return the model of these rows, or of a sample of them if a class has many rows."""
        drawn, weights = _sample_of_each_class(rows, self.signed_weights[rows])
        if self.basis is None:
            coef, intercept = _regression(self.X[drawn] @ sparse.diags_array(1.0 / self.scale), weights)
            return AdditiveModel(self.encoder, None, (coef / self.scale)[:, np.newaxis], np.array([intercept]))
        coded, straight = self._coded_rows(drawn), self.basis.n_columns + self.basis.missing.column.size
        found = [_regression(coded[:, :width], weights) for width in sorted({straight, coded.shape[1]})]
        coef = np.column_stack([np.pad(one, (0, coded.shape[1] - one.size)) for one, _ in found])
        return AdditiveModel(self.encoder, self.basis, coef, np.array([intercept for _, intercept in found]))

    def log_odds(self, model: AdditiveModel, rows: Places) -> Floats:
        """Return the log odds of some of the rows by each regression."""
        return (
            model.of_numbers(self.X[rows]) if self._all_coded is None else model.of_coded(self._coded_rows(rows))
        )


def _sample_of_each_class(rows: Places, signed_weights: Floats) -> tuple[Places, Floats]:
    """Return a limited number of rows of each class, spread evenly, and weights that replace the others."""
    places, weights = [], []
    for own in (np.flatnonzero(signed_weights > 0), np.flatnonzero(signed_weights < 0)):
        some = own[:: -(-own.size // _MOST_ROWS) or 1]
        total = np.abs(signed_weights[own]).sum()
        places.append(some)
        weights.append(signed_weights[some] * (total / max(np.abs(signed_weights[some]).sum(), 1e-300)))
    return rows[np.concatenate(places)], np.concatenate(weights)


def _regression(coded: Any, signed_weights: Floats) -> tuple[Floats, float]:
    solver = "newton-cholesky" if coded.shape[1] <= _NEWTON_COLUMNS and not sparse.issparse(coded) else "lbfgs"
    model = LogisticRegression(C=_PENALTY_C, solver=solver, max_iter=_ITERATIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about iterations: no exact optimum is needed
        model.fit(coded, signed_weights > 0, np.abs(signed_weights))
    return model.coef_[0], float(model.intercept_[0])


def _coded(X: Any, basis: Basis | None) -> Any:
    if basis is None:
        return X
    return basis.code(X, None, np.float64 if basis.width <= _NEWTON_COLUMNS else np.float32)


def limited(log_odds: Floats) -> Floats:
    """Return log odds, limited to a range."""
    return np.clip(log_odds, -_FAR_ODDS, _FAR_ODDS)


def _encoder_of(X: Any) -> Encoder | None:
    """Return the encoder of a table; None for an array, a sparse matrix or a table of numbers."""
    if not is_table(X) or _numbers_of_table(X) is not None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about columns without information: boosting still has them
            return learn_encoder(list(parts_of(X, "X")), None)
    except (DataError, ImportError, TypeError) as error:
        raise ValueError(f"cannot be encoded ({error})") from error


def _as_numbers(X: Any, encoder: Encoder | None) -> Any:
    """Return rows as an array of floats, C-contiguous, or as a CSR matrix; None if they are not numbers."""
    if encoder is not None:
        found = encoder.transform(X, "X")
        return found if sparse.issparse(found) else np.ascontiguousarray(found)
    if sparse.issparse(X):
        return sparse.csr_array(X, dtype=np.float64)
    found = _numbers_of_table(X) if is_table(X) else np.asarray(X)
    if found is None or found.dtype.kind not in "fiub":
        return None
    return np.ascontiguousarray(found, dtype=np.float32 if found.dtype == np.float32 else np.float64)


def _numbers_of_table(X: Any) -> NDArray[Any] | None:
    """Return a table of numbers as an array; None for other tables."""
    if hasattr(X, "iloc"):
        if not all(getattr(one, "kind", "O") in "fiub" for one in X.dtypes):
            return None
        return np.asarray(X.to_numpy(dtype=np.float64, na_value=np.nan))
    columns = [np.asarray(X[name]) for name in getattr(X, "column_names", getattr(X, "columns", ()))]
    if not columns or not all(one.dtype.kind in "fiub" for one in columns):
        return None
    return np.column_stack(columns).astype(np.float64)
