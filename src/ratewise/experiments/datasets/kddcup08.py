"""Breast cancer, KDD Cup 2008: 102,294 rows, 117 columns, 0.61% positive. No public copy could be had."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .base import Problem, as_rows, files_in, from_npz, missing


class KDDCup08:
    """``Features.txt`` and ``Info.txt`` as Siemens gave them out.

    Features.txt has a row of 117 numbers for each candidate region; Info.txt has, for the same regions, the label
    (1 malignant, -1 not) in its first column and the patient in its fifth. Rows of one patient stay together.
    """

    name = "kddcup08"
    title = "KDD08"
    where_to_get = (
        "Siemens gave out Features.txt and Info.txt at www.kddcup2008.com to those who registered (see "
        "www.kdd.org/kdd-cup/view/kdd-cup-2008); put both into the folder."
    )

    def load(self, folder: Path | None) -> Problem:
        arrays = from_npz(folder, self.name)
        if arrays is not None:
            return Problem(self.name, as_rows(arrays["X"]), arrays["y"] == 1, arrays.get("block"))
        paths = files_in(folder, "Features.txt", "Info.txt")
        if paths is None:
            raise missing(self)
        features, about = (np.loadtxt(path, dtype=np.float64, ndmin=2) for path in paths)
        if features.shape[0] != about.shape[0]:
            raise ValueError(
                f"{paths[0]} has {features.shape[0]} rows and {paths[1]} has {about.shape[0]}: they must be of "
                "the same regions."
            )
        return Problem(self.name, as_rows(features), about[:, 0] == 1, about[:, 4].astype(np.int64))
