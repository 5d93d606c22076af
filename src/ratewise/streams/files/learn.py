"""What an encoder has to know of the data: means, vocabularies, and which columns are no good."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .columns import CATEGORY, categories, numbers
from .encode import BUCKETS, LARGEST_VOCABULARY, Encoder
from .fill import infinite_number
from .rows import Place, Rows

_MOST_VALUES = 10_000
_LONGEST_MEAN_LENGTH = 64.0
_BLOCK_ROWS = 2048


class Learner:
    """Watches rows go by and teaches an encoder."""

    def __init__(self, encoder: Encoder):
        self.encoder = encoder
        self.rows = 0
        self._columns = encoder.columns if encoder.named else []
        self._sums = np.zeros(encoder.means.size)
        self._missing = np.zeros(encoder.means.size, dtype=np.int64)
        self._values = {name: _Values(name) for name in encoder.categories}
        self.width = encoder.n_columns

    def add(self, rows: Rows) -> None:
        """Take in more rows."""
        self.rows += rows.size
        if isinstance(rows.features, dict):
            self._add_columns(rows)
        elif self.encoder.sparse_input:
            self.width = max(self.width, rows.features.shape[1])
        else:
            self._add_matrix(np.asarray(rows.features), rows.place)

    def _add_columns(self, rows: Rows) -> None:
        for j, name in enumerate(self._columns):
            column = rows.features[name]
            if self.encoder.kind(name) == CATEGORY:
                self._values[name].add(*categories(column, name, rows.place), rows.place)
                continue
            values = numbers(column, name, rows.place)
            total = float(values.sum(dtype=np.float64))
            if not np.isfinite(total):
                total, self._missing[j] = self._without_missing(values, j, name, rows.place)
            self._sums[j] += total

    def _without_missing(self, values: NDArray[Any], j: int, name: str, place: Place) -> tuple[float, int]:
        with np.errstate(over="ignore"):
            infinite = np.flatnonzero(np.isinf(values.astype(np.float32)))
        if infinite.size:
            raise infinite_number(values[infinite[0]], name, int(infinite[0]), place)
        missing = int(np.isnan(values).sum())
        return float(np.nansum(values, dtype=np.float64)), int(self._missing[j]) + missing

    def _add_matrix(self, X: NDArray[Any], place: Place) -> None:
        if X.shape[1] != self._sums.size:
            raise place.error(f"{X.shape[1]:,} columns, where {self._sums.size:,} are expected.")
        for start in range(0, X.shape[0], _BLOCK_ROWS):
            block = X[start : start + _BLOCK_ROWS]
            sums = block.sum(axis=0, dtype=np.float64)
            for j in map(int, np.flatnonzero(~np.isfinite(sums))):
                name = self.encoder.columns[j]
                sums[j], self._missing[j] = self._without_missing(block[:, j], j, name, place.shifted(start))
            self._sums += sums

    def finish(self) -> None:
        """Tell the encoder."""
        encoder = self.encoder
        if encoder.elastic:
            encoder.n_columns = self.width
        self.update_means()
        for values in self._values.values():
            values.teach(encoder)
        encoder.fitted = True

    def update_means(self) -> None:
        """Give the encoder the means of all that was seen; 0 for a column of which no number was."""
        self.encoder.means = self._sums / np.maximum(self.rows - self._missing, 1)

    @property
    def missing(self) -> dict[str, int]:
        """How many numbers are missing in each column that misses some."""
        names = self.encoder.columns if self._missing.any() else []
        return {names[j]: int(self._missing[j]) for j in np.flatnonzero(self._missing)}


class _Values:
    """The different values of one column."""

    def __init__(self, name: str):
        self.name = name
        self._seen: set[str] = set()
        self._some_missing = False
        self._length = 0
        self._count = 0

    def add(self, codes: NDArray[np.int64], values: list[str], place: Place) -> None:
        present = np.bincount(codes + 1, minlength=len(values) + 1)
        self._some_missing = self._some_missing or bool(present[0])
        used = [(value, int(count)) for value, count in zip(values, present[1:], strict=True) if count]
        self._length += sum(len(value) * count for value, count in used)
        self._count += sum(count for _, count in used)
        self._seen.update(value for value, _ in used)
        if self._length > _LONGEST_MEAN_LENGTH * max(self._count, 1):
            raise place.error(
                "it holds long text, which cannot be a feature. Turn it into numbers first, "
                "or leave it out with features=.",
                column=self.name,
            )
        if len(self._seen) > _MOST_VALUES:
            raise place.error(
                f"it holds more than {_MOST_VALUES:,} different texts, too many for a category. Turn it into "
                "numbers first, or leave it out with features=.",
                column=self.name,
            )

    def teach(self, encoder: Encoder) -> None:
        if len(self._seen) > LARGEST_VOCABULARY:
            encoder.buckets[self.name] = BUCKETS
        else:
            encoder.vocabularies[self.name] = sorted(self._seen)
        if self._some_missing and self.name not in encoder.missing_levels:
            encoder.missing_levels.append(self.name)
