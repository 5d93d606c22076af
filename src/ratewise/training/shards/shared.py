"""Rows in memory, divided among threads, which take one pass of one run side by side."""

from __future__ import annotations

from typing import Any

from ...transforms import Transform
from .. import config
from ..folds import GivenFolds, equal_ranges
from ..memory import ArraySource
from ..source import TrainingRows
from .engine import LocalEngine
from .questions import ReadyRows, TakeSummaries
from .rows import ShardTrainingRows


class SharedSource(ArraySource):
    """Rows in memory that several threads learn from side by side, each from a share of them.

    The shares are random, with as many rows of each class in each. The number of rows alone determines the number
    of shares, and so the model does not depend on the threads. Rows in folds are not divided: there, threads learn
    different folds.
    """

    def transformed(
        self, transform: Transform, folds: int = 1, repeats: int = 1, row_limit: float | None = None
    ) -> TrainingRows:
        rows = int(self._X.shape[0])
        shares = max(rows // config.SHARED_ROWS, 2)
        if (
            folds > 1
            or rows < config.SHARED_ROWS
            or self._groups is not None
            or self._sensitive is not None
            or self._low_memory
        ):
            return super().transformed(transform, folds, repeats, row_limit)
        stored = self._stored(transform, GivenFolds())
        parts = [stored.part(mine) for mine in equal_ranges(rows, shares)]
        engine = LocalEngine.of_rows([ReadyRows(part) for part in parts], self._threads)
        return ShardTrainingRows(
            engine,
            engine.ask_each(TakeSummaries()),
            frozenset(range(shares)),
            row_limit,
            points=self.statistics().points,
            n_features=stored.n_features,
            seed=int(self._rng.integers(2**31 - 1)),
            report=self._report,
        )

    def _report(self, known: dict[str, Any]) -> None:
        if self._progress is not None:
            self._progress({"done_rows": 0, "total_rows": self._X.shape[0]} | known)
