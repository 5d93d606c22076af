"""The first pass over a stream: what is in it, and whether it can be learned from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import labels, sample_weights
from .encode import Encoder
from .errors import DataError
from .learn import Learner
from .rows import Place, Rows
from .source import Progress, Survey

_SORTED_SHARE = 0.1  # of the changes that mixed labels would show
_FEWEST_CHANGES = 10.0  # fewer may be chance
_SORTED_VARIANCE = 0.25  # of the labels, if blocks of rows account for so much of it
_BLOCK_ROWS = 1024


def take_survey(
    rows: Iterable[Rows],
    encoder: Encoder,
    target: str | None,
    weight: str | None,
    total_rows: int | None,
    progress: Progress | None,
) -> Survey:
    """Read everything once; teach the encoder, unless it has been taught."""
    learner = Learner(encoder)
    tally = LabelTally(target or "y")
    for part in rows:
        learner.add(part)
        if part.target is not None:
            tally.add(labels(part.target, tally.name, part.place), part.place)
        if part.weights is not None:
            sample_weights(part.weights, weight or "weight", part.place)
        if progress is not None:
            progress({"stage": "survey", "done_rows": learner.rows, "total_rows": total_rows})
    tally.check()
    if not encoder.fitted:
        learner.finish()
    counts = dict(sorted(tally.counts.items()))
    return Survey(learner.rows, counts, learner.missing, tally.sorted_by_label, dict(encoder.buckets))


class _Block(NamedTuple):
    """A stretch of rows, and how many of them have the first label."""

    rows: int = 0
    first: int = 0


class LabelTally:
    """Counts the labels as they go by, and how they are spread."""

    def __init__(self, name: str):
        self.name = name
        self.counts: dict[Any, int] = {}
        self._file = "the stream"
        self._rows = 0
        self._changes = 0
        self._last: Any = None
        self._block = _Block()
        self._blocked_rows = 0
        self._between = 0.0  # of all blocks: rows times the square of the share of the first label

    def add(self, values: NDArray[Any], place: Place) -> None:
        if values.size == 0:
            return
        self._file = place.file
        counted = 0
        for label in list(self.counts):
            counted += self._count(label, values)
        if counted < values.size:
            self._add_new(values, place)
        self._rows += values.size
        is_first = values == next(iter(self.counts))
        self._changes += int(np.count_nonzero(is_first[1:] != is_first[:-1]))
        if self._last is not None and self._last != bool(is_first[0]):
            self._changes += 1
        self._last = bool(is_first[-1])
        self._add_to_block(is_first)

    def _add_to_block(self, is_first: NDArray[np.bool_]) -> None:
        rows, first = self._block.rows + is_first.size, self._block.first + int(np.count_nonzero(is_first))
        self._block = _Block(rows, first)
        if rows >= _BLOCK_ROWS:
            self._between += first**2 / rows
            self._blocked_rows += rows
            self._block = _Block()

    def _count(self, label: Any, values: NDArray[Any]) -> int:
        count = int(np.count_nonzero(values == label))
        self.counts[label] += count
        return count

    def _add_new(self, values: NDArray[Any], place: Place) -> None:
        _, firsts = np.unique(values, return_index=True)
        for value in values[np.sort(firsts)]:  # in the order of the rows
            label = value.item() if isinstance(value, np.generic) else value
            if label in self.counts:
                continue
            if len(self.counts) == 2:
                first, second = self.counts
                offset = int(np.argmax(values == label))
                raise place.error(
                    f"a third label, {label!r}, after {first!r} and {second!r}. "
                    "From a stream two classes are learned: make the target two-valued first. (Rows in memory may "
                    "have more: MeasureClassifier.fit.)",
                    offset,
                    self.name,
                )
            self.counts[label] = int(np.count_nonzero(values == label))

    def check(self) -> None:
        """Both classes must be there, if there are labels."""
        if len(self.counts) == 1:
            label = next(iter(self.counts))
            raise DataError(
                f"{self._file}, column {self.name!r}: the target is {label!r} in all {self._rows:,} rows; "
                "two classes are needed to learn anything."
            )

    @property
    def sorted_by_label(self) -> bool:
        """Labels change far too seldom, or some stretches are nearly all of one class and others of the other."""
        if len(self.counts) < 2:
            return False
        share = next(iter(self.counts.values())) / self._rows
        variance = share * (1.0 - share)
        if self._changes < _SORTED_SHARE * 2.0 * self._rows * variance and self._few_changes_are_odd(variance):
            return True
        return self._between / max(self._blocked_rows, 1) - share**2 > _SORTED_VARIANCE * variance

    def _few_changes_are_odd(self, variance: float) -> bool:
        return 2.0 * self._rows * variance >= _FEWEST_CHANGES
