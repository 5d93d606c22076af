"""The runs in the diary of a fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Table = Mapping[str, NDArray[np.float64]]
Runs = Mapping[int, NDArray[np.intp]]

FEW_RUNS = 7  # more cannot be told apart, and are shown by their median


def checked_history(history: Mapping[str, Any], *needed: str) -> dict[str, NDArray[np.float64]]:
    """A history as equally long arrays, with the columns that are needed."""
    missing = [name for name in needed if name not in history]
    if missing:
        raise ValueError(f"The history has no column {missing[0]!r}; it has {', '.join(map(repr, history))}.")
    table = {name: np.asarray(column, dtype=np.float64) for name, column in history.items()}
    shapes = {name: column.shape for name, column in table.items()}
    if len(set(shapes.values())) != 1 or any(len(shape) != 1 for shape in shapes.values()):
        raise ValueError(f"The columns of a history must be equally long; they have the shapes {shapes}.")
    if next(iter(table.values())).size == 0:
        raise ValueError("The history is empty: there is nothing to draw.")
    return table


def split_runs(history: Table, wanted: Iterable[int] | None = None) -> dict[int, NDArray[np.intp]]:
    """The rows of each run, in the order they were written; a fit without runs is run 0."""
    numbers = history["run"] if "run" in history else np.zeros(next(iter(history.values())).size)
    known = {int(number): np.flatnonzero(numbers == number) for number in np.unique(numbers)}
    if wanted is None:
        return known
    wanted = list(wanted)
    if not wanted or any(number not in known for number in wanted):
        raise ValueError(f"runs={wanted} must name runs of the history, which has {min(known)} to {max(known)}.")
    return {number: known[number] for number in wanted}


def long_runs(runs: Runs) -> dict[int, NDArray[np.intp]]:
    """Those with a way to show: a start that is not sharpened is looked at once."""
    return {number: rows for number, rows in runs.items() if rows.size > 1}


def median_of_runs(
    passes: NDArray[np.float64], runs: Runs, *columns: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """The median of each column over runs, pass by pass, for passes that half of the runs have at least."""
    rows = np.concatenate(list(runs.values()))
    found, counts = np.unique(passes[rows], return_counts=True)
    met = [rows[passes[rows] == one] for one in found[counts >= 0.5 * len(runs)]]
    return [np.array([np.median(column[some]) for some in met]) for column in columns]


def seconds_in_run(history: Table, runs: Runs) -> NDArray[np.float64]:
    """Seconds since a run began, which is when the row before its first was written."""
    seconds = history["seconds"].copy()
    for rows in runs.values():
        first = rows[0]
        seconds[rows] -= history["seconds"][first - 1] if first > 0 else 0.0
    return seconds
