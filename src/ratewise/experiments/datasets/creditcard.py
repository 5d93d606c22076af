"""Frauds among card payments: 284,807 rows, 30 columns, 0.17% positive. Stands in for KDD Cup 2008."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .base import Problem, as_rows, fetched, files_in, from_npz


class CreditCard:
    """``creditcard.npz``, Kaggle's ``creditcard.csv``, or OpenML's creditcard."""

    name = "creditcard"
    title = "Creditcard (for KDD08)"
    where_to_get = (
        "Get creditcard.csv from www.kaggle.com/datasets/mlg-ulb/creditcardfraud and put it into the folder; "
        "sklearn.datasets.fetch_openml('creditcard', version=1) gets it where there is a network."
    )

    def load(self, folder: Path | None) -> Problem:
        arrays = from_npz(folder, self.name)
        if arrays is not None:
            return Problem(self.name, as_rows(arrays["X"]), arrays["y"] == 1)
        paths = files_in(folder, "creditcard.csv")
        if paths is not None:
            table = np.loadtxt(paths[0], delimiter=",", skiprows=1, quotechar='"', dtype=np.float64)
            return Problem(self.name, as_rows(table[:, :-1]), table[:, -1] == 1)
        from sklearn.datasets import fetch_openml

        X, y = fetched(
            self,
            lambda: fetch_openml("creditcard", version=1, return_X_y=True, as_frame=False, n_retries=1),
        )
        return Problem(self.name, as_rows(X), np.char.strip(np.asarray(y, dtype=str), "'") == "1")
