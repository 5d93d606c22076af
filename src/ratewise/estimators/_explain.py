"""Contributions of each column to the score of a linear model, or of a model of curves and pairs.

A term is one of the user's columns, with everything derived from it, or a pair of columns. Contributions are
relative to the means of the columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import _check_feature_names_in

from ..features.codecs import Ignored
from ..features.splines import Basis
from ..solvers.state import LinearModels
from ._positive import PositiveClass

_ROWS_AT_ONCE = 4096

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Explanation:
    """The contributions of the columns to the scores of some rows.

    Attributes
    ----------
    names : list of str
        The names of columns, then of pairs: "age", "age * income".
    contributions : array of shape (n_rows, n_names), or (n_rows, n_names, n_classes)
        What each adds to the score of the positive class; with more than two classes, or labels, to the score of
        each. CSR for sparse rows.
    base : float, or array of shape (n_classes,)
        The score of a row without any contribution.
    """

    names: list[str]
    contributions: Any
    base: Any

    @property
    def scores(self) -> Floats:
        """The scores: base plus all contributions of each row; above 0 if the positive class is predicted."""
        return np.asarray(self.contributions.sum(axis=1) + self.base, dtype=np.float64)

    def largest(self, row: int = 0, number: int = 10) -> list[tuple[str, float]]:
        """Return the contributions to a row that are furthest from 0, with their names; for two classes."""
        if np.ndim(self.base):
            raise ValueError("largest is for two classes: contributions[row, :, k] are those to class k.")
        mine = self.contributions[[row]]
        values = np.ravel(mine.toarray() if sparse.issparse(mine) else mine)
        found = np.argsort(-np.abs(values), kind="stable")[:number]
        return [(self.names[place], float(values[place])) for place in found]

    def __repr__(self) -> str:
        rows, terms = self.contributions.shape[:2]
        return f"<Contributions of {terms:,} columns and pairs to the scores of {rows:,} rows>"


@dataclass(frozen=True, eq=False)
class Terms:
    """A fitted linear model as a sum of terms. Its *parts* are coded columns, or the user's minus their means."""

    names: list[str]
    n_columns: int
    """The first terms are the user's columns; the others are pairs of columns."""
    pairs: list[tuple[int, int]]
    """The columns of each pair."""
    of_column: Places
    """The term of each column of the matrix."""
    of_part: Places
    """The term of each part."""
    weights: Floats
    """Of each part, a row per model."""
    base: Floats
    """A number per model."""
    basis: Basis | None
    centre: Floats

    @classmethod
    def of(cls, classifier: Any) -> Terms:
        """Return the terms of a fitted classifier; with two classes, the terms of the positive class's score."""
        basis = getattr(classifier, "basis_", None)
        coef, intercept = np.asarray(classifier.coef_), np.asarray(classifier.intercept_)
        if classifier.classes_.size == 2 and not classifier.multilabel_:
            sign = PositiveClass.of_model(classifier).sign
            coef, intercept = sign * coef, sign * intercept
        columns, of_column = _columns_of(classifier, coef.shape[1] if basis is None else basis.n_columns)
        names = list(columns)
        if basis is None:
            mean = getattr(classifier, "feature_mean_", None)
            centre = np.zeros(coef.shape[1]) if mean is None else mean
            return cls(names, len(names), [], of_column, of_column, coef, intercept + coef @ centre, None, centre)
        coded = LinearModels(coef, intercept).mapped(basis.transform_coef)
        ends = np.sort(of_column[np.column_stack([basis.products.first, basis.products.second])], axis=1)
        different = ends[:, 0] != ends[:, 1]
        pairs, of_pair = np.unique(ends[different], axis=0, return_inverse=True)
        of_product = ends[:, 0].copy()  # a product of two parts of one column (a date) belongs to that column
        of_product[different] = len(names) + of_pair.ravel()
        parts = [of_column, of_column[basis.missing.column], of_column[basis.hinges.column], of_product]
        return cls(
            [*names, *(f"{columns[a]} * {columns[b]}" for a, b in pairs)],
            len(names),
            [(int(a), int(b)) for a, b in pairs],
            of_column,
            np.concatenate(parts),
            *coded,
            basis,
            basis.centre,
        )

    def parts(self, rows: Any) -> Any:
        """Return the parts of rows of the matrix."""
        if sparse.issparse(rows) and (self.basis is not None or self.centre.any()):
            rows = rows.toarray()
        if self.basis is not None:
            return self.basis.code(rows, None, np.float64)
        return rows if sparse.issparse(rows) else rows - self.centre

    def explanation(self, X: Any) -> Explanation:
        """Return the contributions for the rows of a checked matrix."""
        starts = range(0, max(X.shape[0], 1), _ROWS_AT_ONCE)
        size = self.of_part.size
        found: list[Any] = []
        for weights in self.weights:
            add = sparse.csr_array((weights, (np.arange(size), self.of_part)), shape=(size, len(self.names)))
            blocks = [self.parts(X[start : start + _ROWS_AT_ONCE]) @ add for start in starts]
            if not sparse.issparse(blocks[0]):
                found.append(np.concatenate(blocks))
            else:
                joined = sparse.vstack(blocks, format="csr")
                found.append(joined if len(self.names) == size else joined.toarray())
        if len(found) == 1:
            return Explanation(self.names, found[0], float(self.base[0]))
        dense = [one.toarray() if sparse.issparse(one) else one for one in found]
        return Explanation(self.names, np.stack(dense, axis=-1), self.base)


def _columns_of(classifier: Any, width: int) -> tuple[list[str], Places]:
    """Return the names of the user's columns, and for each column of the matrix the column it comes from."""
    encoder = getattr(classifier, "encoder_", None)
    if encoder is not None and encoder.codecs:
        codecs = [codec for codec in encoder.codecs if not isinstance(codec, Ignored)]
        widths = [codec.width for codec in codecs]
        return [codec.name for codec in codecs], np.repeat(np.arange(len(codecs)), widths)
    if encoder is not None:
        return list(map(str, encoder.columns)), np.arange(width)
    return list(map(str, _check_feature_names_in(classifier, None))), np.arange(width)
