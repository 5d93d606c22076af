"""What a data set is, and what its loaders share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class MissingData(ValueError):
    """The rows of a data set are nowhere to be found; the message says where to get them."""


class Problem(NamedTuple):
    """Rows, and whether each is positive."""

    name: str
    X: NDArray[np.float32]
    positive: NDArray[np.bool_]
    block: NDArray[Any] | None = None
    """Rows with the same number depend on one another and stay together."""

    def splits(self, number: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Random training and test rows, 70/30: with equal shares of positives, or by whole blocks."""
        from sklearn.model_selection import GroupShuffleSplit, StratifiedShuffleSplit

        if self.block is None:
            splitter = StratifiedShuffleSplit(number, test_size=0.3, random_state=0)
            yield from splitter.split(self.X, self.positive)
        else:
            by_block = GroupShuffleSplit(number, test_size=0.3, random_state=0)
            yield from by_block.split(self.X, self.positive, self.block)


class DataSet(Protocol):
    """One source of rows. ``load`` raises :class:`MissingData` where they cannot be had."""

    @property
    def name(self) -> str:
        """As in the results."""

    @property
    def title(self) -> str:
        """As over a panel."""

    @property
    def where_to_get(self) -> str:
        """A sentence for those who do not have it."""

    def load(self, folder: Path | None) -> Problem:
        """The rows, from the folder of data or from scikit-learn's fetchers."""


class Cut:
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


def from_npz(folder: Path | None, name: str) -> dict[str, NDArray[Any]] | None:
    """The arrays of ``NAME.npz`` in the folder; None if it is not there."""
    path = None if folder is None else folder / f"{name}.npz"
    if path is None or not path.exists():
        return None
    with np.load(path, allow_pickle=False) as arrays:
        found = {key: arrays[key] for key in arrays.files}
    if "X" not in found or "y" not in found:
        raise ValueError(
            f"{path}: an array X of rows and an array y of labels are needed; it holds {list(found)}."
        )
    return found


def files_in(folder: Path | None, *names: str) -> list[Path] | None:
    """These files of the folder; None unless all are there."""
    if folder is None:
        return None
    paths = [folder / name for name in names]
    return paths if all(path.exists() for path in paths) else None


def fetched(data_set: DataSet, fetch: Callable[[], Any]) -> Any:
    """What scikit-learn's fetcher brings; where it cannot, the reason to give up."""
    try:
        return fetch()
    except (OSError, ValueError) as error:  # no network, or the server has it no more
        raise missing(data_set, f" (scikit-learn could not fetch it: {error})") from error


def missing(data_set: DataSet, more: str = "") -> MissingData:
    return MissingData(f"{data_set.name}: not in the folder of --data{more}. {data_set.where_to_get}")


def as_rows(X: Any) -> NDArray[np.float32]:
    return np.ascontiguousarray(X, dtype=np.float32)
