"""What was measured, as rows of CSV files, so that nothing is computed twice."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .library import write_whole

HEADINGS = ("data", "measure", "method", "split", "cpu_seconds", "test_value", "setting")
THEORY_HEADINGS = ("panel", "series", "x", "y", "bound")


class Key(NamedTuple):
    """One run of one method."""

    data: str
    measure: str
    method: str
    split: int


class Curve(NamedTuple):
    """The test values of the models of one run, and the CPU seconds each took, in increasing order."""

    seconds: NDArray[np.float64]
    values: NDArray[np.float64]
    setting: str = ""

    @property
    def last(self) -> float:
        """The value the run ended with."""
        return float(self.values[-1])

    def at(self, seconds: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the value of the latest model at each of these times; NaN before the first."""
        latest = np.searchsorted(self.seconds, seconds, side="right") - 1
        found: NDArray[np.float64] = np.where(latest >= 0, self.values[np.maximum(latest, 0)], np.nan)
        return found

    def settled_at(self, level: float) -> float:
        """Return the seconds from which on every model is at this level; infinite if the last is not.

        A model on the way may be better by luck than those after it, and one could not know to stop there.
        """
        below = np.flatnonzero(self.values < level)
        first = below[-1] + 1 if below.size else 0
        return float(self.seconds[first]) if first < self.seconds.size else np.inf


class Results:
    """All runs so far, in a file that is complete at any time."""

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
        write_whole(self._path, "".join([",".join(HEADINGS) + "\n", *self._lines]))

    def _keep(self, key: Key, curve: Curve) -> None:
        self._curves[key] = curve
        first = ",".join(map(str, key))
        self._lines += [
            f"{first},{seconds:.6g},{value:.6g},{curve.setting}\n"
            for seconds, value in zip(curve.seconds, curve.values, strict=True)
        ]

    def curves(self, data: str, measure: str, method: str) -> list[Curve]:
        """Return the runs of a method, in the order of the splits."""
        wanted = (data, measure, method)
        return [self._curves[key] for key in sorted(key for key in self._curves if key[:3] == wanted)]

    def methods(self, data: str, measure: str) -> list[str]:
        """Return the methods with runs, in the order they were made."""
        return list(dict.fromkeys(key.method for key in self._curves if key[:2] == (data, measure)))

    def data_sets(self, measure: str) -> list[str]:
        return list(dict.fromkeys(key.data for key in self._curves if key.measure == measure))


def _rounded(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([float(f"{number:.6g}") for number in numbers])


def mean_curve(
    curves: Sequence[Curve], points: int = 200
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return seconds, mean and standard deviation over splits, from when all have a model to the last end."""
    begin = max(curve.seconds[0] for curve in curves)
    end = max(max(curve.seconds[-1] for curve in curves), begin)
    seconds = np.geomspace(begin, end, points) if end > begin else np.array([begin])
    seconds[0], seconds[-1] = begin, end  # rounding must not put the first before its model
    values = np.array([curve.at(seconds) for curve in curves])
    return seconds, values.mean(axis=0), values.std(axis=0)


class Series(NamedTuple):
    """One curve of a panel of the theory figure."""

    panel: str
    name: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    bound: NDArray[np.float64]
    """What the theorem allows at each x; NaN where it states a slope only."""

    @property
    def slope(self) -> float:
        """The slope of a straight line through the points on logarithmic axes."""
        good = (self.x > 0) & (self.y > 0)
        return float(np.polyfit(np.log(self.x[good]), np.log(self.y[good]), 1)[0])


class TheoryResults:
    """All series so far, in a file that is complete at any time."""

    def __init__(self, path: Path):
        self._path = path
        self.series: list[Series] = []
        if path.exists():
            self._read()

    def _read(self) -> None:
        found: dict[tuple[str, str], list[list[float]]] = {}
        with self._path.open(newline="") as file:
            table = csv.reader(file)
            if tuple(next(table, ())) != THEORY_HEADINGS:
                raise ValueError(f"{self._path}: not a table of theory results. Move it away.")
            for panel, name, *numbers in table:
                found.setdefault((panel, name), []).append([float(number) for number in numbers])
        self.series = [Series(*key, *np.array(rows).T) for key, rows in found.items()]

    def of(self, panel: str) -> list[Series]:
        return [series for series in self.series if series.panel == panel]

    def add(self, series: list[Series]) -> None:
        self.series += series
        lines = [
            f"{one.panel},{one.name},{x:.8g},{y:.8g},{bound:.8g}\n"
            for one in self.series
            for x, y, bound in zip(one.x, one.y, one.bound, strict=True)
        ]
        write_whole(self._path, "".join([",".join(THEORY_HEADINGS) + "\n", *lines]))
