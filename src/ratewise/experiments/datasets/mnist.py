"""Handwritten digits, the eights against the rest: 70,000 rows, 784 columns, 9.8% positive."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .base import Problem, as_rows, fetched, from_npz


class MNIST:
    """``mnist.npz``, or OpenML's mnist_784. The paper does not say which digit it took; eights are hardest."""

    name = "mnist"
    title = "MNIST, eights"
    where_to_get = "sklearn.datasets.fetch_openml('mnist_784', version=1) gets it where there is a network."

    def load(self, folder: Path | None) -> Problem:
        arrays = from_npz(folder, self.name)
        if arrays is None:
            from sklearn.datasets import fetch_openml

            X, y = fetched(
                self,
                lambda: fetch_openml("mnist_784", version=1, return_X_y=True, as_frame=False, n_retries=1),
            )
            arrays = {"X": X, "y": np.asarray(y, dtype=np.int64)}
        return Problem(self.name, as_rows(arrays["X"]), arrays["y"] == 8)
