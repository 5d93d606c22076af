"""Protein homology, KDD Cup 2004: 145,751 rows, 74 columns, 0.89% positive. Stands in for PPI."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .base import Problem, as_rows, files_in, from_npz, missing


class ProteinHomology:
    """``protein_homo.npz``, or the cup's own ``bio_train.dat``: block, number, class and 74 columns.

    Rows of one block are about one protein, so that splits are by block.
    """

    name = "protein_homo"
    title = "Protein homology (for PPI)"
    where_to_get = (
        "Get bio_train.dat (data_kddcup04.tar.gz) from www.kdd.org/kdd-cup/view/kdd-cup-2004/Data and put it "
        "into the folder."
    )

    def load(self, folder: Path | None) -> Problem:
        arrays = from_npz(folder, self.name)
        if arrays is not None:
            return Problem(self.name, as_rows(arrays["X"]), arrays["y"] == 1, arrays.get("block"))
        paths = files_in(folder, "bio_train.dat")
        if paths is None:
            raise missing(self)
        table = np.loadtxt(paths[0], dtype=np.float64)
        return Problem(self.name, as_rows(table[:, 3:]), table[:, 2] == 1, table[:, 0].astype(np.int64))
