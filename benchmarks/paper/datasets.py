"""The paper's data sets, and two in place of those that have no public copy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .base import DataSet, Problem, files_in


class IJCNN1(DataSet):
    """The IJCNN 2001 challenge, as LIBSVM's two files: 141,691 rows, 22 columns, 9.6% positive."""

    name = "ijcnn1"
    title = "IJCNN1"
    where_to_get = (
        "Get ijcnn1.bz2 and ijcnn1.t.bz2 from www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html "
        "and put both into the folder."
    )

    def load_published(self, folder: Path | None) -> Problem:
        paths = files_in(folder, "ijcnn1.bz2", "ijcnn1.t.bz2") or files_in(folder, "ijcnn1", "ijcnn1.t")
        if paths is None:
            raise self.missing()
        from sklearn.datasets import load_svmlight_files

        X1, y1, X2, y2 = load_svmlight_files(paths, n_features=22)
        return self.problem(np.vstack([X1.toarray(), X2.toarray()]), np.concatenate([y1, y2]))


class KDDCup08(DataSet):
    """Breast cancer, KDD Cup 2008: 102,294 rows, 117 columns, 0.61% positive. There is no public copy.

    Features.txt has a row of 117 numbers for each candidate region; Info.txt has, for the same regions, the label
    (1 malignant, -1 not) in its first column and the patient in its fifth. Rows of one patient stay together.
    """

    name = "kddcup08"
    title = "KDD08"
    where_to_get = (
        "Siemens gave out Features.txt and Info.txt at www.kddcup2008.com to those who registered (see "
        "www.kdd.org/kdd-cup/view/kdd-cup-2008); put both into the folder."
    )

    def load_published(self, folder: Path | None) -> Problem:
        paths = files_in(folder, "Features.txt", "Info.txt")
        if paths is None:
            raise self.missing()
        features, about = (np.loadtxt(path, dtype=np.float64, ndmin=2) for path in paths)
        if features.shape[0] != about.shape[0]:
            raise ValueError(
                f"{paths[0]} has {features.shape[0]} rows and {paths[1]} has {about.shape[0]}: they must be of "
                "the same regions."
            )
        return self.problem(features, about[:, 0], about[:, 4].astype(np.int64))


class CreditCard(DataSet):
    """Frauds among card payments, in place of KDD Cup 2008: 284,807 rows, 30 columns, 0.17% positive."""

    name = "creditcard"
    title = "Creditcard (for KDD08)"
    where_to_get = (
        "Get creditcard.csv from www.kaggle.com/datasets/mlg-ulb/creditcardfraud and put it into the folder; "
        "sklearn.datasets.fetch_openml('creditcard', version=1) gets it where there is a network."
    )

    def load_published(self, folder: Path | None) -> Problem:
        paths = files_in(folder, "creditcard.csv")
        if paths is not None:
            table = np.loadtxt(paths[0], delimiter=",", skiprows=1, quotechar='"', dtype=np.float64)
            return self.problem(table[:, :-1], table[:, -1])
        from sklearn.datasets import fetch_openml

        X, y = self.fetched(fetch_openml, "creditcard", version=1, as_frame=False)
        return self.problem(X, np.char.strip(np.asarray(y, dtype=str), "'").astype(np.int64))


class PPI(DataSet):
    """Interactions of yeast proteins (Qi et al., 2006): 240,249 pairs, 1.19% positive. There is no public copy.

    Each line is a pair of proteins, numbers with commas between them, the label last. Unknown values are -100 and
    become the mean of the known ones.
    """

    name = "ppi"
    title = "PPI"
    where_to_get = (
        "Get dipsPosPair.feature and dipsRandpairSub23w.feature, the physical interactions of "
        "www.cs.cmu.edu/~qyj/papers_sulp/proteins05_pages/features-download.html, and put both into the folder."
    )

    def load_published(self, folder: Path | None) -> Problem:
        paths = files_in(folder, "dipsPosPair.feature", "dipsRandpairSub23w.feature")
        if paths is None:
            raise self.missing()
        pairs, others = (np.loadtxt(path, delimiter=",", dtype=np.float64, ndmin=2) for path in paths)
        labels = np.repeat([1, 0], [pairs.shape[0], others.shape[0]])
        return self.problem(_imputed(np.concatenate([pairs, others])[:, :-1]), labels)


def _imputed(X: NDArray[np.float64], unknown: float = -100.0) -> NDArray[np.float64]:
    known = np.not_equal(X, unknown)
    mean = np.where(known, X, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    imputed: NDArray[np.float64] = np.where(known, X, mean)
    return imputed


class ProteinHomology(DataSet):
    """Protein homology, KDD Cup 2004, in place of PPI: 145,751 rows, 74 columns, 0.89% positive.

    bio_train.dat has block, number, class and 74 columns. Rows of one block are about one protein and stay
    together.
    """

    name = "protein_homo"
    title = "Protein homology (for PPI)"
    where_to_get = (
        "Get bio_train.dat (data_kddcup04.tar.gz) from www.kdd.org/kdd-cup/view/kdd-cup-2004/Data and put it "
        "into the folder."
    )

    def load_published(self, folder: Path | None) -> Problem:
        paths = files_in(folder, "bio_train.dat")
        if paths is None:
            raise self.missing()
        table = np.loadtxt(paths[0], dtype=np.float64)
        return self.problem(table[:, 3:], table[:, 2], table[:, 0].astype(np.int64))


class Covtype(DataSet):
    """Forest cover types, class 5 against the rest: 581,012 rows, 54 columns, 1.63% positive."""

    name = "covtype"
    title = "Covtype, class 5"
    where_to_get = "sklearn.datasets.fetch_covtype() gets it where there is a network."
    positive_label = 5

    def load_published(self, folder: Path | None) -> Problem:
        from sklearn.datasets import fetch_covtype

        return self.problem(*self.fetched(fetch_covtype))


class MNIST(DataSet):
    """Handwritten digits, the eights against the rest: 70,000 rows, 784 columns, 9.8% positive.

    The paper does not say which digit it took; eights are hardest.
    """

    name = "mnist"
    title = "MNIST, eights"
    where_to_get = "sklearn.datasets.fetch_openml('mnist_784', version=1) gets it where there is a network."
    positive_label = 8

    def load_published(self, folder: Path | None) -> Problem:
        from sklearn.datasets import fetch_openml

        X, y = self.fetched(fetch_openml, "mnist_784", version=1, as_frame=False)
        return self.problem(X, np.asarray(y, dtype=np.int64))


class Subsample(DataSet):
    """A random part of another data set, with its share of positives, for quick runs."""

    def __init__(self, whole: DataSet, rows: int):
        self._whole = whole
        self._rows = rows
        self.name = f"{whole.name}-{rows // 1000}k"
        self.title = f"{whole.title}, {rows:,} rows"
        self.where_to_get = whole.where_to_get

    def load(self, folder: Path | None) -> Problem:
        from sklearn.model_selection import StratifiedShuffleSplit

        problem = self._whole.load(folder)
        if problem.positive.size <= self._rows:
            return problem._replace(name=self.name)
        splitter = StratifiedShuffleSplit(1, train_size=self._rows, random_state=0)
        kept = np.sort(next(splitter.split(problem.X, problem.positive))[0])
        block = None if problem.block is None else problem.block[kept]
        return Problem(self.name, problem.X[kept], problem.positive[kept], block)

    load_published = load


DATA_SETS: list[DataSet] = [
    IJCNN1(),
    KDDCup08(),
    CreditCard(),
    PPI(),
    ProteinHomology(),
    Covtype(),
    MNIST(),
    Subsample(Covtype(), 50_000),
]


def get_data_set(name: str) -> DataSet:
    """Return a data set by its name."""
    for data_set in DATA_SETS:
        if data_set.name == name:
            return data_set
    raise ValueError(f"There is no data set {name!r}. Known: {', '.join(one.name for one in DATA_SETS)}.")
