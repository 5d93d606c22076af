"""Learn an encoder from rows: the rules decide from summaries of all columns once all rows have been read."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._errors import ColumnWarning, DataError, Place
from .codecs import Boolean, Ignored, Number
from .columns import decide, summary_for, wishes
from .encode import Encoder
from .kinds import cannot_be_a_feature, kind_of, say
from .summaries import ColumnSummary, NumberStats, check_not_infinite

Part = tuple[dict[str, Any], int, Place]
"""Columns by name, the number of rows, and the place of the rows."""
MOST_COLUMNS = 1 << 26
"""A model, and every fit, has several numbers for every column: with more columns they would take gigabytes."""
_PLENTY_OF_COLUMNS, _COLUMNS_PER_ENTRY = 1 << 21, 100
_BLOCK_ROWS = 2048
_SAMPLED_ROWS, _SAMPLED_VALUES = 64, 1 << 18
_ROUNDING_NOTICED = 1e-3  # of the deviation
_FAR = 0.5  # deviations from 0: such a column is centered in a CSR matrix, because no later step centers it


def are_too_few(entries: int, n_columns: int) -> bool:
    """Return whether sparse rows have so few entries that their number of columns must be a mistake."""
    return n_columns > max(_PLENTY_OF_COLUMNS, _COLUMNS_PER_ENTRY * entries)


def too_wide(name: str, n_columns: int) -> str:
    """Return the message for more columns than a model can have."""
    return (
        f"{name}: {n_columns:,} columns, where at most {MOST_COLUMNS:,} are possible. Hash them into fewer first, "
        "for instance with sklearn.feature_extraction.FeatureHasher."
    )


class EncoderFit:
    """Learns an encoder from rows. Fits to parts of the rows can be merged."""

    def __init__(self, encoder: Encoder):
        self.encoder = encoder
        self.rows = 0
        self.columns: dict[str, ColumnSummary] = {}
        self._matrix: _MatrixSums | None = None
        self.width = encoder.n_columns
        self._entries = 0  # the number of entries in sparse rows
        self._place = Place("the rows")

    def add(self, features: Any, rows: int, place: Place) -> None:
        """Add rows: named columns, a dense matrix or a sparse matrix."""
        self.rows += rows
        if isinstance(features, dict):
            self._add_columns(features, place)
        elif self.encoder.sparse_input:
            self._entries += int(features.nnz)
            if features.shape[1] >= self.width:
                self.width, self._place = int(features.shape[1]), place
        else:
            if self._matrix is None:
                self._matrix = _MatrixSums(self.encoder.columns)
            self._matrix.add(np.asarray(features), place)

    def _add_columns(self, features: dict[str, Any], place: Place) -> None:
        if not self.columns:
            self._place = Place(place.file)
            wanted, style = self.encoder.wanted, self.encoder.style
            self.columns = {
                name: summary_for(name, self.encoder.kind(name), wanted.get(name), style)
                for name in self.encoder.used
            }
        for name, summary in self.columns.items():
            summary.add(features[name], place)

    @property
    def mixed(self) -> list[str]:
        """The columns that were numbers at first and text later: rows must be read again, with these as text."""
        return [name for name, summary in self.columns.items() if summary.mixed]

    def merge(self, other: EncoderFit) -> None:
        """Add the result of another fit of the same columns to other rows."""
        self.rows += other.rows
        if not self.columns:
            self.columns, self._place = other.columns, other._place
            return
        for name, summary in other.columns.items():
            self.columns[name].merge(summary)

    def finish(self) -> None:
        """Complete the encoder, and warn about columns that are left out."""
        encoder = self.encoder
        if encoder.elastic:
            self._check_width()
            encoder.n_columns = self.width
        if self._matrix is not None:
            encoder.means, encoder.wide = self._matrix.means(self.rows), self._matrix.is_far()
        if self.columns:
            self._decide()
        encoder.fitted = True

    def _decide(self) -> None:
        encoder, wanted = self.encoder, self.encoder.wanted
        codecs = []
        for name in encoder.columns:
            summary = self.columns.get(name)
            ignored = Ignored(name, "as asked")
            codecs.append(ignored if summary is None else decide(summary, wanted.get(name), self._place))
        left_out = [codec for codec in codecs if isinstance(codec, Ignored) and codec.warn]
        if all(isinstance(codec, Ignored) for codec in codecs):
            problem = "; ".join(f"{codec.name!r} ({codec.why})" for codec in left_out[:5])
            raise DataError(
                f"{self._place.file}: there is no column to learn from: {problem or 'all are left out'}."
            )
        for codec in codecs:
            if isinstance(codec, Number):
                stats = self._numbers_of(codec.name)
                encoder.wide = encoder.wide or stats.is_far
                if abs(codec.mean) > _FAR * stats.deviation and stats.low < stats.high:
                    codec.centre = codec.mean
        encoder.codecs = codecs
        if left_out:
            _warn_of_ignored(left_out)
        lenient = [codec for codec in codecs if getattr(codec, "lenient", False) and codec.name not in wanted]
        if lenient:
            _warn_of_strange(lenient)

    def _numbers_of(self, name: str) -> NumberStats:
        summary = self.columns[name]
        return summary.numbers if summary.numbers.rows else summary.texts.numbers

    def update_means(self) -> None:
        """Set the encoder's means to those of all rows so far; 0 for a column without numbers."""
        if self._matrix is not None:
            self.encoder.means = self._matrix.means(self.rows)
        for codec in self.encoder.codecs:
            if isinstance(codec, (Number, Boolean)) and self.columns[codec.name].numbers.rows:
                codec.mean = self.columns[codec.name].numbers.mean

    @property
    def missing(self) -> dict[str, int]:
        """The number of missing numbers or dates in each column that has some."""
        if self._matrix is not None:
            return self._matrix.missing()
        kinds = {codec.name: codec.kind for codec in self.encoder.codecs}
        told = {name: kinds[name] for name in self.columns if kinds.get(name) in ("number", "boolean", "date")}
        unread = {name: self.columns[name].unread(kind) for name, kind in told.items()}
        return {name: count for name, count in unread.items() if count}

    def _check_width(self) -> None:
        """Raise an error for a width that probably comes from one wrong index."""
        if self.width > MOST_COLUMNS:
            raise DataError(too_wide(self._place.file, self.width))
        if are_too_few(self._entries, self.width):
            raise self._place.error(
                f"the largest index makes {self.width:,} columns, for {self._entries:,} numbers in all rows. If "
                f"it is meant so, say features={self.width}."
            )


def _warn_of_ignored(left_out: list[Ignored]) -> None:
    """Warn about columns that were left out, and explain how to use them."""
    named = "; ".join(f"{codec.name!r} ({codec.why})" for codec in left_out[:5])
    more = f"; and {len(left_out) - 5:,} more" if len(left_out) > 5 else ""
    name = left_out[0].name
    warnings.warn(
        f"Left out: {named}{more}. Nothing can be learned from values that do not recur. To use one anyway: "
        f"{say(name, 'category')}. To leave it out without this warning: {say(name, 'ignore')}.",
        ColumnWarning,
        stacklevel=2,
    )


def _warn_of_strange(codecs: list[Any]) -> None:
    """Warn about values that count as missing because nearly all others are numbers or dates."""
    named = "; ".join(f"{codec.name!r} ({codec.why})" for codec in codecs[:5])
    warnings.warn(
        f"Some values count as missing: {named}. To take such a column for categories: "
        f"{say(codecs[0].name, 'category')}.",
        ColumnWarning,
        stacklevel=2,
    )


def feature_kind(dtype: Any, name: str, place: Place, wanted: str | None = None) -> str:
    """Return the kind of a column that is used as a feature, or raise an error for its type."""
    kind = kind_of(dtype)
    if kind not in ("number", "boolean", "category", "date or time", "text") and wanted != "ignore":
        raise place.error(cannot_be_a_feature(name, kind), column=name)
    return kind


def learn_encoder(parts: list[Part], wanted: Mapping[str, str] | None) -> Encoder:
    """Return the encoder of a table in memory, given as parts that hold its columns."""
    columns, _, place = parts[0]
    types = {name: getattr(column, "type", None) or column.dtype for name, column in columns.items()}
    said = wishes(wanted)
    kinds = {name: feature_kind(dtype, name, Place(place.file), said.get(name)) for name, dtype in types.items()}
    learner = EncoderFit(Encoder(list(kinds), kinds, wanted=wanted))
    for part in parts:
        learner.add(*part)
    if learner.rows == 0:
        raise DataError(f"{place.file}: there are no rows.")
    learner.finish()
    return learner.encoder


class _MatrixSums:
    """The column sums of dense rows without gaps, the number of missing numbers, and a sample of values."""

    def __init__(self, names: list[str]):
        self._names = names
        self._sums = np.zeros(len(names))
        self._missing = np.zeros(len(names), dtype=np.int64)
        self._parts = 0
        self._samples: dict[int, list[NDArray[np.float64]]] = {}  # columns that float32 does not hold exactly

    def add(self, X: NDArray[Any], place: Place) -> None:
        if X.shape[1] != self._sums.size:
            raise place.error(f"{X.shape[1]:,} columns, where {self._sums.size:,} are expected.")
        if X.dtype.kind not in "biuf":
            raise place.error(f"a matrix of numbers is needed, and its type is {X.dtype}.")
        self._parts += 1
        self._sample(X)
        for start in range(0, X.shape[0], _BLOCK_ROWS):
            block = X[start : start + _BLOCK_ROWS]
            with np.errstate(over="ignore", invalid="ignore"):
                sums = block.sum(axis=0, dtype=np.float64)
            for j in map(int, np.flatnonzero(~np.isfinite(sums))):
                with np.errstate(over="ignore"):
                    rounded = block[:, j].astype(np.float32)
                check_not_infinite(block[:, j], rounded, self._names[j], place.shifted(start))
                self._missing[j] += np.isnan(block[:, j]).sum()
                sums[j] = float(np.nansum(block[:, j], dtype=np.float64))
            self._sums += sums

    def _sample(self, X: NDArray[Any]) -> None:
        """Keep some values that float32 may round, from parts number 1, 2, 4, 8 and so on."""
        rounds = X.dtype.itemsize > (4 if X.dtype.kind == "f" else 2)
        if not X.size or not rounds or self._parts & (self._parts - 1):
            return
        step = -(-X.shape[0] // max(min(_SAMPLED_ROWS, _SAMPLED_VALUES // X.shape[1]), 8))
        for j in range(X.shape[1]):
            self._samples.setdefault(j, []).append(X[::step, j].astype(np.float64))

    def is_far(self) -> bool:
        """Return whether a column lies too far from 0 for float32, by a sample of its values."""
        for parts in self._samples.values():
            values = np.concatenate(parts)
            values = values[np.isfinite(values)]
            if values.size == 0 or values.min() == values.max():
                continue
            with np.errstate(over="ignore"):
                moved = float(np.abs(values - values.astype(np.float32)).max())
            if moved > _ROUNDING_NOTICED * float(values.std()):
                return True
        return False

    def means(self, rows: int) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self._sums / np.maximum(rows - self._missing, 1)
        return found

    def missing(self) -> dict[str, int]:
        return {self._names[j]: int(self._missing[j]) for j in np.flatnonzero(self._missing)}
