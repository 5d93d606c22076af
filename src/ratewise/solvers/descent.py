"""Linear models of many classes, learned together in batches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure
from ..streams import Batch, LabelledRows
from .macro import ClassRates, logistic_pull, macro_pull, soft_counts, softmax

_BATCH = 256
_FEWEST_BATCHES = 4
_LARGEST_STEP = 0.2
_MEMORY = (0.9, 0.999)
_REMEMBERED_BATCHES = 50


class ManyModel(NamedTuple):
    """The scores of all classes are ``rows @ weights.T + intercepts``, in the units of the rows learned from."""

    weights: NDArray[np.float64]
    intercepts: NDArray[np.float64]

    def called(self, rows: LabelledRows) -> NDArray[np.intp]:
        """The class with the highest score in every row."""
        found: NDArray[np.intp] = rows.scores(*self).argmax(axis=1)
        return found


Pull = Callable[[NDArray[Any], Batch], NDArray[Any]]


class Descent:
    """Steps along the gradient of some average over rows, batch by batch, each number at its own pace.

    The steps are Adam's; they fall in a straight line to nothing at the end of a stage. What a stage learns is the
    mean of the models of its last pass.

    Parameters
    ----------
    rows : LabelledRows
    model : ManyModel
        Where to begin.
    l2 : float
        Strength of the penalty on the weights.
    rng : numpy Generator
        The order of the batches.
    """

    def __init__(self, rows: LabelledRows, model: ManyModel, l2: float, rng: np.random.Generator):
        self.rows = rows
        self.batch_rows = batch_rows(rows)
        self._l2 = np.float32(l2)
        self._rng = rng
        self._step = min(_LARGEST_STEP, rows.leverage() ** -0.8)
        # Columns down, classes across; the last row holds the intercepts.
        self._theta = np.vstack([model.weights.T, model.intercepts]).astype(np.float32)

    def stage(self, passes: int, pull: Pull) -> Iterator[tuple[int, ManyModel]]:
        """The mean model of each of so many passes."""
        theta = self._theta
        slow, fast = np.zeros_like(theta), np.zeros_like(theta)
        steps_in_all = passes * max(round(self.rows.n_points / self.batch_rows), 1)
        done = 0
        for number in range(1, passes + 1):
            total, counted = np.zeros(theta.shape), 0
            for batch in self.rows.batches(self.batch_rows, self._rng):
                gradient = self._gradient(batch, pull)
                done += 1
                slow += (1.0 - _MEMORY[0]) * (gradient - slow)
                fast += (1.0 - _MEMORY[1]) * (gradient * gradient - fast)
                share_left = max(1.0 - done / (steps_in_all + 1), 0.02)
                size = self._step * share_left * math.sqrt(1.0 - _MEMORY[1] ** done) / (1.0 - _MEMORY[0] ** done)
                theta += np.float32(size) * slow / (np.sqrt(fast) + np.float32(1e-8))
                total += theta
                counted += 1
            mean = total / counted
            yield number, ManyModel(mean[:-1].T.copy(), mean[-1].copy())

    def _gradient(self, batch: Batch, pull: Pull) -> NDArray[np.float32]:
        theta = self._theta
        scores = np.asarray(batch.X @ theta[:-1]) + theta[-1]
        pulls = pull(softmax(scores), batch)
        gradient = np.empty_like(theta)
        gradient[:-1] = batch.X.T @ pulls
        gradient[-1] = pulls.sum(axis=0)
        gradient /= max(float(batch.weights.sum()), 1e-30)
        gradient[:-1] -= self._l2 * theta[:-1]
        return gradient


def for_the_likelihood(shares: NDArray[Any], batch: Batch) -> NDArray[Any]:
    """The pull of multinomial logistic regression."""
    return logistic_pull(shares, batch.codes, batch.weights)


class ForTheMeasure:
    """The pull of the macro average, at the soft rates of the last batches.

    Parameters
    ----------
    measure : Measure
    rows : LabelledRows
    model : ManyModel
        The rates begin with its own.
    """

    def __init__(self, measure: Measure, rows: LabelledRows, model: ManyModel):
        self._measure = measure
        totals = rows.class_weights()
        self._prevalence = totals / totals.sum()
        counts = soft_counts(softmax(rows.scores(*model)), rows.codes, rows.weights)
        remembered = max(min(_REMEMBERED_BATCHES, rows.n_points // batch_rows(rows)), _FEWEST_BATCHES)
        self._keep = 1.0 - 1.0 / remembered
        self._counts = np.array(counts) * (remembered * batch_rows(rows) / rows.n_points)

    def __call__(self, shares: NDArray[Any], batch: Batch) -> NDArray[Any]:
        self._counts *= self._keep
        self._counts += soft_counts(shares, batch.codes, batch.weights)
        met = ClassRates.of_counts(*self._counts)
        rates = met._replace(prevalence=self._prevalence)
        return macro_pull(self._measure, rates, shares, batch.codes, batch.weights)


def batch_rows(rows: LabelledRows) -> int:
    """Rows of a batch: as many as make a step worth its while, which are more where rows are wide but empty."""
    values_a_row = max(rows.n_values / rows.n_points, 1.0)
    wanted = max(_BATCH, int(rows.n_features / values_a_row))
    return max(min(wanted, rows.n_points // _FEWEST_BATCHES), 1)
