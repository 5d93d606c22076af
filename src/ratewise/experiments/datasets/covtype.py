"""Forest cover types, class 5 against the rest: 581,012 rows, 54 columns, 1.63% positive."""

from __future__ import annotations

from pathlib import Path

from .base import Problem, as_rows, fetched, from_npz


class Covtype:
    """``covtype.npz``, or scikit-learn's ``fetch_covtype``."""

    name = "covtype"
    title = "Covtype, class 5"
    where_to_get = "sklearn.datasets.fetch_covtype() gets it where there is a network."

    def load(self, folder: Path | None) -> Problem:
        arrays = from_npz(folder, self.name)
        if arrays is None:
            from sklearn.datasets import fetch_covtype

            X, y = fetched(self, lambda: fetch_covtype(return_X_y=True, n_retries=1))
            arrays = {"X": X, "y": y}
        return Problem(self.name, as_rows(arrays["X"]), arrays["y"] == 5)
