"""The IJCNN 2001 challenge: 141,691 rows, 22 columns, 9.6% positive."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .base import Problem, as_rows, files_in, from_npz, missing


class IJCNN1:
    """``ijcnn1.npz``, or LIBSVM's own two files."""

    name = "ijcnn1"
    title = "IJCNN1"
    where_to_get = (
        "Get ijcnn1.bz2 and ijcnn1.t.bz2 from www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html "
        "and put both into the folder."
    )

    def load(self, folder: Path | None) -> Problem:
        arrays = from_npz(folder, self.name)
        if arrays is not None:
            return Problem(self.name, as_rows(arrays["X"]), arrays["y"] == 1)
        paths = files_in(folder, "ijcnn1.bz2", "ijcnn1.t.bz2") or files_in(folder, "ijcnn1", "ijcnn1.t")
        if paths is None:
            raise missing(self)
        from sklearn.datasets import load_svmlight_files

        X1, y1, X2, y2 = load_svmlight_files(paths, n_features=22)
        return Problem(self.name, as_rows(np.vstack([X1.toarray(), X2.toarray()])), np.concatenate([y1, y2]) == 1)
