"""Results as rows of a CSV file, kept so that nothing is computed twice."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._atomic import atomic_write

HEADINGS = ("data", "measure", "method", "split", "cpu_seconds", "test_value", "setting")


class Key(NamedTuple):
    """One run of one method."""

    data: str
    measure: str
    method: str
    split: int


class Curve(NamedTuple):
    """The test values of the models of one run, and the CPU seconds each took; ever later."""

    seconds: NDArray[np.float64]
    values: NDArray[np.float64]
    setting: str = ""

    @property
    def last(self) -> float:
        """What the run ended with."""
        return float(self.values[-1])

    def at(self, seconds: NDArray[np.float64]) -> NDArray[np.float64]:
        """The value of the latest model at each of these times; NaN before the first."""
        latest = np.searchsorted(self.seconds, seconds, side="right") - 1
        found: NDArray[np.float64] = np.where(latest >= 0, self.values[np.maximum(latest, 0)], np.nan)
        return found

    def settled_at(self, level: float) -> float:
        """The seconds from which on every model is at this level; infinite if the last is not.

        A model on the way may be better by luck than those after it; nobody would know to stop there.
        """
        below = np.flatnonzero(self.values < level)
        first = below[-1] + 1 if below.size else 0
        return float(self.seconds[first]) if first < self.seconds.size else np.inf


class Results:
    """All runs so far, in a file that is there whole at any time."""

    def __init__(self, path: Path):
        self._path = path
        self._curves: dict[Key, Curve] = {}
        self._lines: list[str] = []
        if path.exists():
            self._read()

    def _read(self) -> None:
        rows: dict[Key, list[tuple[float, float]]] = {}
        settings: dict[Key, str] = {}
        with self._path.open(newline="") as file:
            table = csv.reader(file)
            if tuple(next(table, ())) != HEADINGS:
                raise ValueError(
                    f"{self._path}: not a table of results, whose headings are {', '.join(HEADINGS)}. Move it "
                    "away or choose another folder."
                )
            for number, row in enumerate(table, 2):
                try:
                    data, measure, method, split, seconds, value, setting = row
                    key = Key(data, measure, method, int(split))
                    rows.setdefault(key, []).append((float(seconds), float(value)))
                except ValueError:
                    raise ValueError(f"{self._path}, line {number}: cannot be read as a result: {row}.") from None
                settings[key] = setting
        for key, found in rows.items():
            seconds_and_values = np.array(found)
            self._keep(key, Curve(seconds_and_values[:, 0], seconds_and_values[:, 1], settings[key]))

    def __contains__(self, key: Key) -> bool:
        return key in self._curves

    def __getitem__(self, key: Key) -> Curve:
        return self._curves[key]

    def add(self, key: Key, curve: Curve) -> None:
        """Keep a run, in memory and in the file, with the same digits in both."""
        self._keep(key, Curve(_rounded(curve.seconds), _rounded(curve.values), curve.setting))
        with atomic_write(self._path) as file:
            file.write("".join([",".join(HEADINGS) + "\n", *self._lines]).encode())

    def _keep(self, key: Key, curve: Curve) -> None:
        self._curves[key] = curve
        first = ",".join(map(str, key))
        self._lines += [
            f"{first},{seconds:.6g},{value:.6g},{curve.setting}\n"
            for seconds, value in zip(curve.seconds, curve.values, strict=True)
        ]

    def curves(self, data: str, measure: str, method: str) -> list[Curve]:
        """The runs of a method, in the order of the splits."""
        wanted = (data, measure, method)
        return [self._curves[key] for key in sorted(key for key in self._curves if key[:3] == wanted)]

    def methods(self, data: str, measure: str) -> list[str]:
        """The methods with runs, in the order they were made."""
        return list(dict.fromkeys(key.method for key in self._curves if key[:2] == (data, measure)))

    def data_sets(self, measure: str) -> list[str]:
        return list(dict.fromkeys(key.data for key in self._curves if key.measure == measure))


def _rounded(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([float(f"{number:.6g}") for number in numbers])


def mean_curve(
    curves: Sequence[Curve], points: int = 200
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Seconds, mean and standard deviation over splits, from when all have a model until the last one ends."""
    begin = max(curve.seconds[0] for curve in curves)
    end = max(max(curve.seconds[-1] for curve in curves), begin)
    seconds = np.geomspace(begin, end, points) if end > begin else np.array([begin])
    seconds[0], seconds[-1] = begin, end  # rounding must not put the first before its model
    values = np.array([curve.at(seconds) for curve in curves])
    return seconds, values.mean(axis=0), values.std(axis=0)
