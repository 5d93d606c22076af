"""Rows of a shard after they were read and checked, and error messages that say where the rows are."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Names = tuple[Hashable, ...]


class ReadRows(NamedTuple):
    """A matrix, with the labels and the weights (or None) of its rows, and the names (or None) of its columns."""

    X: Any
    labels: NDArray[Any]
    weights: NDArray[np.float64] | None
    names: Names | None = None

    def in_order(self, names: Names | None) -> ReadRows:
        """Return the rows with their named columns in this order."""
        if names is None or self.names is None or self.names == names:
            return self
        place = {name: number for number, name in enumerate(self.names)}
        return self._replace(X=self.X[:, [place[name] for name in names]].copy(order="C"), names=names)

    @property
    def nbytes(self) -> int:
        own = sum(array.nbytes for array in (self.labels, self.weights) if array is not None)
        return own + bytes_of(self.X)


def bytes_of(X: Any) -> int:
    if sparse.issparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    if hasattr(X, "memory_usage"):  # pandas
        return int(X.memory_usage(deep=False).sum())
    return int(X.nbytes)


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Add the place of the rows to error messages."""
    try:
        yield
    except (TypeError, ValueError) as error:
        error.args = (f"{where}: {error}",)
        raise


def require_same_names(found: Names | None, wanted: Names | None, whose: str) -> None:
    """Refuse columns whose names differ from the expected names; another order is accepted."""
    if found == wanted:
        return
    if found is None or wanted is None or set(found) != set(wanted):
        raise ValueError(
            f"its columns are {_listed(found)}, but those of {whose} are {_listed(wanted)}: give every partition "
            "columns of the same names."
        )


def _listed(names: Names | None) -> str:
    if names is None:
        return "without names"
    shown = ", ".join(map(repr, names[:8]))
    return f"{shown} and {len(names) - 8} more" if len(names) > 8 else shown
