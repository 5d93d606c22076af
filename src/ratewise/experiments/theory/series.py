"""Measured points of the theory figure, and the file they are kept in."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._atomic import atomic_write

HEADINGS = ("panel", "series", "x", "y", "bound")


class Series(NamedTuple):
    """One curve of a panel."""

    panel: str
    name: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    bound: NDArray[np.float64]
    """What the theorem allows at each x; NaN where it states a slope only."""

    @property
    def slope(self) -> float:
        """Of a straight line through the points on logarithmic axes."""
        good = (self.x > 0) & (self.y > 0)
        return float(np.polyfit(np.log(self.x[good]), np.log(self.y[good]), 1)[0])


class Panel(Protocol):
    """One theorem, measured."""

    @property
    def name(self) -> str:
        """As in the file."""

    def measure(self, *, quick: bool) -> list[Series]:
        """Run what the theorem is about."""


class TheoryResults:
    """All series so far, in a file that is there whole at any time."""

    def __init__(self, path: Path):
        self._path = path
        self.series: list[Series] = []
        if path.exists():
            self._read()

    def _read(self) -> None:
        found: dict[tuple[str, str], list[list[float]]] = {}
        with self._path.open(newline="") as file:
            table = csv.reader(file)
            if tuple(next(table, ())) != HEADINGS:
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
        with atomic_write(self._path) as file:
            file.write("".join([",".join(HEADINGS) + "\n", *lines]).encode())
