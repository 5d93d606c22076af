"""Scores of many classes, and the offsets with which the highest score gives the best measure."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..counts import Counts
from .search import BY_LABELS, LabelledRows, OfTables, moved_class_by_class


class ClassScores(NamedTuple):
    """Scores of rows, a column per class, with the class and the weight of each row."""

    scores: NDArray[np.floating[Any]]
    codes: NDArray[np.intp]
    weights: NDArray[Any]

    def plus(self, offsets: NDArray[np.float64]) -> ClassScores:
        return self._replace(scores=self.scores + offsets)

    def centred(self) -> ClassScores:
        """Return scores less the mean of each row, which does not affect the decision."""
        return self._replace(scores=self.scores - self.scores.mean(axis=1, keepdims=True))

    def first(self, rows: int) -> ClassScores:
        return ClassScores(self.scores[:rows], self.codes[:rows], self.weights[:rows])

    def counts(self) -> Counts:
        """Count the rows where the highest score wins."""
        return Counts.of_labels(
            self.codes, self.scores.argmax(axis=1), self.weights, n_classes=self.scores.shape[1]
        )

    def table(self) -> NDArray[np.float64]:
        """Return C[true, predicted], where the highest score wins."""
        found: NDArray[np.float64] = self.counts().weights
        return found

    def points(self) -> NDArray[np.float64]:
        """Return the effective number of rows of each class."""
        return np.asarray(self.counts().effective_points())


def best_offsets(rows: ClassScores, measure: OfTables, *, rounds: int = BY_LABELS.rounds) -> NDArray[np.float64]:
    """Return the offsets on each class's score with the best value of the measure on these rows."""
    counted = LabelledRows.of(rows.codes, rows.weights, rows.scores.shape[1], measure)
    scores = np.array(rows.scores, dtype=np.float64)
    return moved_class_by_class(counted, scores, BY_LABELS._replace(rounds=rounds))
