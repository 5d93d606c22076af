"""Raw columns as a matrix of numbers, the same way for every file and for the model's whole life."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .columns import CATEGORY, NUMBER

LARGEST_VOCABULARY = 256
BUCKETS = 256
WIDEST_DENSE = 300


class Encoder:
    """How raw columns become the columns of a float32 matrix.

    A number stays a number; its column's mean stands in where it is missing. A boolean becomes 0 or 1. A
    category becomes one column a value (``colour=red``), at most 256 of them: a column with more values is
    hashed into 256 buckets. A value that was not there when the encoder was learned gives zeros.

    All it holds are lists, dicts and numpy arrays.

    Parameters
    ----------
    columns : list of str or int
        The names of the raw columns, or the number of columns of a matrix without names.
    kinds : dict, default all numbers
        ``number``, ``boolean`` or ``category`` by name.
    sparse_input : bool
        The columns come as a sparse matrix.
    elastic : bool
        Sparse rows may come with fewer columns, or with more, which are left out: svmlight files do not say how
        many columns there are.
    """

    def __init__(
        self,
        columns: list[str] | int,
        kinds: dict[str, str] | None = None,
        sparse_input: bool = False,
        elastic: bool = False,
    ):
        self.named = not isinstance(columns, int)
        self.n_columns = columns if isinstance(columns, int) else len(columns)
        self._names = [] if isinstance(columns, int) else list(columns)
        self.kinds = {} if kinds is None else {name: kind for name, kind in kinds.items() if kind != NUMBER}
        self.sparse_input = sparse_input
        self.elastic = elastic
        self.zero_based: bool | None = None  # svmlight: the first column is called 0, not 1
        self.vocabularies: dict[str, list[str]] = {}
        self.buckets: dict[str, int] = {}
        self.missing_levels: list[str] = []
        self.means: NDArray[np.float64] = np.zeros(0 if sparse_input else self.n_columns)
        self.fitted = False

    @property
    def columns(self) -> list[str]:
        """The names of the raw columns, in order."""
        return self._names if self.named else [f"x{i}" for i in range(self.n_columns)]

    def kind(self, name: str) -> str:
        return self.kinds.get(name, NUMBER)

    @property
    def trivial(self) -> bool:
        """Every column is a number, so that the matrix is the columns themselves."""
        return not self.kinds

    @property
    def categories(self) -> list[str]:
        return [name for name, kind in self.kinds.items() if kind == CATEGORY]

    def width(self, name: str) -> int:
        """How many columns of the matrix a raw column takes."""
        if self.kind(name) != CATEGORY:
            return 1
        return self.buckets.get(name, len(self.vocabularies.get(name, ()))) + (name in self.missing_levels)

    @property
    def n_features(self) -> int:
        """The number of columns of the matrix."""
        return self.n_columns + sum(self.width(name) - 1 for name in self.categories)

    @property
    def sparse(self) -> bool:
        """The matrix is CSR."""
        return self.sparse_input or (bool(self.categories) and self.n_features > WIDEST_DENSE)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the matrix' columns."""
        if not self.categories:
            return tuple(self.columns)
        return tuple(title for name in self.columns for title in self._titles(name))

    def _titles(self, name: str) -> list[str]:
        if self.kind(name) != CATEGORY:
            return [name]
        if name in self.buckets:
            titles = [f"{name}#{bucket}" for bucket in range(self.buckets[name])]
        else:
            titles = [f"{name}={value}" for value in self.vocabularies.get(name, ())]
        return titles + ([f"{name} is missing"] if name in self.missing_levels else [])

    def transform(self, table: Any) -> Any:
        """The float32 matrix of raw columns: a table (Arrow, pandas, polars, a dict of arrays) or a matrix."""
        from ..formats.batches import batch_rows
        from .fill import Filler

        filler = Filler(self)
        parts = [filler.matrix(rows.features, rows.size, rows.place) for rows in batch_rows(table, "the table")]
        if self.sparse:
            return sparse.vstack(parts, format="csr", dtype=np.float32)
        return np.concatenate(parts or [np.empty((0, self.n_features), dtype=np.float32)])
