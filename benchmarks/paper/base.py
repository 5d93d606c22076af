"""The parts of the harness: data sets, methods and figures, and what they exchange."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratewise.measures import Measure

from .results import Results, TheoryResults

Progress = Callable[[dict[str, Any]], None]
"""Takes the stage, and how many runs of how many are done."""

Record = Callable[[float, NDArray[np.float64], float], None]
"""Takes the CPU seconds so far, and the coefficients and the intercept a method would end with now.

Called with the method's clock stopped. The model's value on test rows is computed later."""

VALIDATION_FRACTION = 0.2
"""The share of the training rows that parameters and thresholds are tuned on."""


class MissingData(ValueError):
    """The rows of a data set cannot be found; the message says where to get them."""


class Problem(NamedTuple):
    """Rows, and whether each is positive."""

    name: str
    X: NDArray[np.float32]
    positive: NDArray[np.bool_]
    block: NDArray[Any] | None = None
    """Rows with the same number depend on one another and stay together."""

    def splits(self, number: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield random training and test rows, 70/30: with equal shares of positives, or by whole blocks."""
        from sklearn.model_selection import GroupShuffleSplit, StratifiedShuffleSplit

        kind = StratifiedShuffleSplit if self.block is None else GroupShuffleSplit
        yield from kind(number, test_size=0.3, random_state=0).split(self.X, self.positive, self.block)


class DataSet(ABC):
    """One source of rows: ``NAME.npz`` with arrays X, y and perhaps block, or the files of its publisher."""

    name: str
    """As in the results."""
    title: str
    """As over a panel."""
    where_to_get: str
    """A sentence for those who do not have it."""
    positive_label: int = 1

    def load(self, folder: Path | None) -> Problem:
        """Return the rows; raise :class:`MissingData` where they cannot be found."""
        path = None if folder is None else folder / f"{self.name}.npz"
        if path is None or not path.exists():
            return self.load_published(folder)
        with np.load(path, allow_pickle=False) as arrays:
            found = {key: arrays[key] for key in arrays.files}
        if "X" not in found or "y" not in found:
            raise ValueError(
                f"{path}: an array X of rows and an array y of labels are needed; it holds {list(found)}."
            )
        return self.problem(found["X"], found["y"], found.get("block"))

    @abstractmethod
    def load_published(self, folder: Path | None) -> Problem:
        """Return the rows from the files of the publisher in the folder, or from scikit-learn's fetchers."""

    def problem(self, X: Any, labels: Any, block: NDArray[Any] | None = None) -> Problem:
        return Problem(self.name, np.ascontiguousarray(X, dtype=np.float32), labels == self.positive_label, block)

    def missing(self, more: str = "") -> MissingData:
        return MissingData(f"{self.name}: not in the folder of --data{more}. {self.where_to_get}")

    def fetched(self, fetch: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Return the X and y of a fetcher of scikit-learn."""
        try:
            return fetch(*args, return_X_y=True, n_retries=1, **options)
        except (OSError, ValueError) as error:  # no network, or the server has it no more
            raise self.missing(f" (scikit-learn could not fetch it: {error})") from error


def files_in(folder: Path | None, *names: str) -> list[Path] | None:
    """Return these files of the folder; None unless all are there."""
    paths = [] if folder is None else [folder / name for name in names]
    return paths if paths and all(path.exists() for path in paths) else None


class Task(NamedTuple):
    """What a method has to learn."""

    measure: Measure
    X: NDArray[np.float32]
    positive: NDArray[np.bool_]
    seed: int
    seconds_allowed: float | None = None
    """For methods that would not end by themselves; the paper allowed SVMPerf 50 times SPADE's or STAMP's time."""


class Method(ABC):
    """One way to learn a linear classifier.

    Parameters are tuned off the clock, on a validation part of the training rows: the paper's times too are those
    of a run whose parameters are known.
    """

    name: str
    """As in the results and under a figure."""
    colour: ClassVar[str]
    """Of its curve."""

    def suits(self, measure: Measure) -> bool:
        """Return whether the paper's comparison has this method for this measure."""
        return True

    @abstractmethod
    def run(self, task: Task, record: Record) -> str:
        """Learn, record models on the way and the last one, and return the tuned parameters as text."""


class Reproduction(NamedTuple):
    """One run of the harness: its settings, what was measured so far, and notes for the reader."""

    results: Results
    theory: TheoryResults
    data: Path | None
    splits: int
    quick: bool
    progress: Progress
    notes: list[str]
    """Such as data sets that could not be found."""


class Figure(ABC):
    """One picture of the report."""

    name: str
    """On the command line, and of its files."""
    caption: str

    @abstractmethod
    def measure(self, reproduction: Reproduction) -> None:
        """Make the runs that it shows and that are not among the results yet."""

    @abstractmethod
    def draw(self, reproduction: Reproduction) -> Any:
        """Return a matplotlib figure; None if nothing of it was measured."""

    def blank(self, rows: int, columns: int, width: float, height: float) -> tuple[Any, list[Any]]:
        """Return a matplotlib figure of so many panels, and its axes."""
        try:
            from matplotlib.figure import Figure as Canvas
        except ModuleNotFoundError:
            raise ImportError('Figures need matplotlib: pip install "ratewise[plots]"') from None
        canvas = Canvas(figsize=(width * columns, height * rows), layout="constrained")
        axes = list(canvas.subplots(rows, columns, squeeze=False).ravel())
        for panel in axes:
            panel.grid(True, color="#dddddd", linewidth=0.6)
            panel.spines[["top", "right"]].set_visible(False)
            panel.tick_params(labelsize=8)
        return canvas, axes
