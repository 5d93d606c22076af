"""The paper's data sets, and two that stand in for those that cannot be had. To add one: a file and its line."""

from __future__ import annotations

from .base import Cut, DataSet, MissingData, Problem
from .covtype import Covtype
from .creditcard import CreditCard
from .ijcnn1 import IJCNN1
from .kddcup08 import KDDCup08
from .mnist import MNIST
from .ppi import PPI
from .protein_homo import ProteinHomology

DATA_SETS: list[DataSet] = [
    IJCNN1(),
    KDDCup08(),
    CreditCard(),
    PPI(),
    ProteinHomology(),
    Covtype(),
    MNIST(),
    Cut(Covtype(), 50_000),
]


def get_data_set(name: str) -> DataSet:
    """A data set by its name."""
    for data_set in DATA_SETS:
        if data_set.name == name:
            return data_set
    raise ValueError(f"There is no data set {name!r}. Known: {', '.join(one.name for one in DATA_SETS)}.")


__all__ = ["DATA_SETS", "Cut", "DataSet", "MissingData", "Problem", "get_data_set"]
