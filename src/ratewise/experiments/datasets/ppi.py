"""Interactions of yeast proteins (Qi and others, 2006): 240,249 pairs, 1.19% positive. No copy could be had."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .base import Problem, as_rows, files_in, from_npz, missing

_NOT_KNOWN = -100.0


class PPI:
    """``dipsPosPair.feature`` and ``dipsRandpairSub23w.feature`` as their authors publish them.

    A pair of proteins a line, numbers with commas between them, the label last; -100 stands for what is not known,
    and becomes the mean of what is.
    """

    name = "ppi"
    title = "PPI"
    where_to_get = (
        "Get dipsPosPair.feature and dipsRandpairSub23w.feature, the physical interactions of "
        "www.cs.cmu.edu/~qyj/papers_sulp/proteins05_pages/features-download.html, and put both into the folder."
    )

    def load(self, folder: Path | None) -> Problem:
        arrays = from_npz(folder, self.name)
        if arrays is not None:
            return Problem(self.name, as_rows(arrays["X"]), arrays["y"] == 1)
        paths = files_in(folder, "dipsPosPair.feature", "dipsRandpairSub23w.feature")
        if paths is None:
            raise missing(self)
        pairs, others = (np.loadtxt(path, delimiter=",", dtype=np.float64, ndmin=2) for path in paths)
        positive = np.repeat([True, False], [pairs.shape[0], others.shape[0]])
        return Problem(self.name, as_rows(_filled(np.concatenate([pairs, others])[:, :-1])), positive)


def _filled(X: NDArray[np.float64]) -> NDArray[np.float64]:
    known = np.not_equal(X, _NOT_KNOWN)
    mean = np.where(known, X, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    filled: NDArray[np.float64] = np.where(known, X, mean)
    return filled
