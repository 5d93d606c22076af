"""The paper's protocol: every method on the same random splits, timed in CPU seconds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratewise.measures import Measure, get_measure

from .base import DataSet, Method, Problem, Progress, Task
from .library import best_threshold
from .methods import METHODS, PAPERS_OWN
from .results import Curve, Key, Results

TIME_FACTOR = 50.0
"""How many times SPADE's or STAMP's CPU seconds SVMPerf is allowed."""

_WARM_UP_ROWS = 2000


class Run(NamedTuple):
    """One cell of the comparison: a method, on one split, for one measure."""

    data_set: DataSet
    measure: str
    method: Method
    split: int

    @property
    def key(self) -> Key:
        return Key(self.data_set.name, self.measure, self.method.name, self.split)


def runs_of(data_set: DataSet, measures: Iterable[str], splits: int) -> list[Run]:
    """Return all runs on a data set; of a split and a measure, the paper's own method first."""
    return [
        Run(data_set, measure, method, split)
        for split in range(splits)
        for measure in measures
        for method in METHODS
        if method.suits(get_measure(measure))
    ]


def make_runs(
    data_set: DataSet,
    runs: list[Run],
    results: Results,
    folder: Path | None,
    splits: int,
    progress: Progress,
) -> None:
    """Make the runs on one data set that are not among the results yet."""
    missing = [run for run in runs if run.key not in results]
    if not missing:
        return
    progress({"stage": f"reading {data_set.name}", "done": len(runs) - len(missing), "total": len(runs)})
    problem = data_set.load(folder)
    warm: set[tuple[str, str]] = set()
    for split, (train, test) in enumerate(problem.splits(splits)):
        runs_left = [run for run in missing if run.split == split]
        if not runs_left:
            continue
        rows = _Split(problem, train, test)
        for run in runs_left:
            done = sum(one.key in results for one in runs)
            progress(
                {"stage": f"{data_set.name} {run.measure} {run.method.name}", "done": done, "total": len(runs)}
            )
            if (run.measure, run.method.name) not in warm:
                rows.warm_up(run)
                warm.add((run.measure, run.method.name))
            results.add(run.key, rows.timed(run, _seconds_allowed(run, results)))


def _seconds_allowed(run: Run, results: Results) -> float | None:
    for ours in PAPERS_OWN:
        key = run.key._replace(method=ours.name)
        if key in results:
            return TIME_FACTOR * float(results[key].seconds[-1])
    return None


class _Split:
    """One split of a problem: training rows and test rows."""

    def __init__(self, problem: Problem, train: NDArray[np.intp], test: NDArray[np.intp]):
        self._X, self._positive = problem.X[train], problem.positive[train]
        self._test_X, self._test_positive = problem.X[test], problem.positive[test]
        np.ones_like(self._X)  # memory is slow when first touched: the method that came first would pay for it

    def warm_up(self, run: Run) -> None:
        """Compile all that a run calls, or read it from the disk, so that none of it is timed."""
        measure = get_measure(run.measure)
        sample = _of_both_classes(self._positive, _WARM_UP_ROWS)
        task = Task(measure, self._X[sample], self._positive[sample], 0, seconds_allowed=0.2)
        run.method.run(task, lambda *model: None)
        rng = np.random.default_rng(0)  # many scores take another path than few
        many = rng.standard_normal(40_000, dtype=np.float32)
        best_threshold(many, np.sign(many + rng.standard_normal(40_000, dtype=np.float32)), measure)

    def timed(self, run: Run, seconds_allowed: float | None) -> Curve:
        """Make a run, and return the test values of its models."""
        models: list[tuple[float, NDArray[np.float64], float]] = []
        task = Task(get_measure(run.measure), self._X, self._positive, run.split, seconds_allowed)
        setting = run.method.run(task, lambda *model: models.append(model))
        seconds = np.array([seconds for seconds, _, _ in models])
        order = np.argsort(seconds, kind="stable")  # a slow threshold may put one model after the next
        values = self._test_values(task.measure, [models[k][1:] for k in order])
        return Curve(seconds[order], values, setting)

    def _test_values(
        self, measure: Measure, models: list[tuple[NDArray[np.float64], float]]
    ) -> NDArray[np.float64]:
        """Return the measure of each model on the test rows."""
        coefs = np.array([coef for coef, _ in models]).T
        intercepts = np.array([intercept for _, intercept in models])
        correct = np.zeros((2, len(models)))
        for rows, truth in zip(
            np.array_split(self._test_X, 20), np.array_split(self._test_positive, 20), strict=True
        ):
            predicted = rows.astype(np.float64) @ coefs + intercepts > 0
            correct += [predicted[truth].sum(axis=0), (~predicted[~truth]).sum(axis=0)]
        positives = int(self._test_positive.sum())
        negatives = self._test_positive.size - positives
        values: NDArray[np.float64] = np.asarray(
            measure.value(correct[0] / positives, correct[1] / negatives, positives / self._test_positive.size)
        )
        return values


def _of_both_classes(positive: NDArray[np.bool_], rows: int) -> NDArray[np.intp]:
    """Return some rows, a fifth of them positive if there are so many."""
    return np.concatenate([np.flatnonzero(positive)[: rows // 5], np.flatnonzero(~positive)[: rows - rows // 5]])
