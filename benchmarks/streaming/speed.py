"""Rows a second of a whole fit, all passes counted, against reading the same windows and learning nothing.

The two take turns in one process. What other processes take of the machine is looked at meanwhile: the medians are
those of quiet rounds, in which that was little, if there were enough of them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ratewise import MeasureClassifier, open_stream

from . import tables

QUIET = 0.2  # cores
FEWEST_QUIET = 3
SHARES = {"Feather": 1.0, "Parquet, lz4": 1.0, "CSV": 0.25}  # of the rows


class Turn(NamedTuple):
    seconds: float
    cpu_seconds: float
    others: float
    """Cores that other processes took."""


def measure(folder: Path, rounds: int, millions: float, patience: float) -> dict[str, Any]:
    report: dict[str, Any] = {"columns": tables.COLUMNS, "cores": os.cpu_count()}
    print("million rows a second, all passes counted; medians")
    print(f"{'format':14s}{'rows':>12s}{'passes':>8s}{'fit':>8s}{'reading':>9s}{'share':>8s}   rounds, others")
    for name, (file, write) in tables.WRITERS.items():
        path, rows = folder / file, int(millions * 1e6 * SHARES[name])
        write(path, rows)
        passes = passes_of_a_fit(path)  # compiles, too
        turns = take_turns(path, passes, rounds, patience)
        report[name] = judged(rows, passes, turns)
        tell(name, report[name])
        path.unlink()
    return report


def fitted(path: Path, **how: Any) -> MeasureClassifier:
    return MeasureClassifier("f1", random_state=0).fit_stream(open_stream(path, target="label"), **how)


def passes_of_a_fit(path: Path) -> int:
    stages: dict[str, None] = {}
    fitted(path, progress=lambda told: stages.setdefault(told["stage"]))
    return len(stages)


def only_read(path: Path, passes: int) -> None:
    """The survey and the windows of the other passes, as a fit reads them."""
    stream = open_stream(path, target="label")
    stream.survey()
    for number in range(passes - 1):
        for window in stream.windows(np.random.default_rng([0, number])):
            assert window.labels is not None


def take_turns(path: Path, passes: int, rounds: int, patience: float) -> list[tuple[Turn, Turn]]:
    """Rounds of reading and fitting, until enough of them were quiet or patience is at its end."""
    turns: list[tuple[Turn, Turn]] = []
    began = time.monotonic()
    while len(turns) < rounds or (len(quiet(turns)) < rounds and time.monotonic() - began < patience):
        turns.append((timed(lambda: only_read(path, passes)), timed(lambda: fitted(path))))
    return turns


def quiet(turns: list[tuple[Turn, Turn]]) -> list[tuple[Turn, Turn]]:
    return [turn for turn in turns if max(one.others for one in turn) <= QUIET]


def judged(rows: int, passes: int, turns: list[tuple[Turn, Turn]]) -> dict[str, Any]:
    chosen = quiet(turns) if len(quiet(turns)) >= FEWEST_QUIET else turns
    medians = np.median(np.array(chosen), axis=0)
    (read, read_cpu, _), (fit, fit_cpu, _) = medians.tolist()
    return {
        "rows": rows,
        "passes": passes,
        "fit, rows a second": rows * passes / fit,
        "reading, rows a second": rows * passes / read,
        "share of reading": float(np.median([one.seconds / other.seconds for one, other in chosen])),
        "fit, processor seconds": fit_cpu,
        "reading, processor seconds": read_cpu,
        "rounds": len(chosen),
        "of them quiet": len(quiet(chosen)),
        "cores taken by others": float(np.max(np.array(chosen)[:, :, 2])),
    }


def tell(name: str, one: dict[str, Any]) -> None:
    speeds = [one[f"{what}, rows a second"] / 1e6 for what in ("fit", "reading")]
    print(f"{name:14s}{one['rows']:12,d}{one['passes']:8d}{speeds[0]:8.2f}{speeds[1]:9.2f}", end="")
    print(f"{one['share of reading']:8.0%}   {one['rounds']} ({one['of them quiet']} quiet),", end=" ")
    print(f"{one['cores taken by others']:.2f} cores", flush=True)


def timed(work: Callable[[], object]) -> Turn:
    busy, cpu, began = busy_seconds(), time.process_time(), time.perf_counter()
    work()
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    return Turn(seconds, cpu, max(busy_seconds() - busy - cpu, 0.0) / seconds)


def busy_seconds() -> float:
    """Of all cores together, since the system started; 0 where Linux' /proc is not to be had."""
    try:
        with open("/proc/stat") as file:
            spent = [int(field) for field in file.readline().split()[1:9]]
    except OSError:
        return 0.0
    return (sum(spent) - spent[3] - spent[4]) / os.sysconf("SC_CLK_TCK")
