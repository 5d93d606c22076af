"""Streams: rows that do not have to fit in memory, surveyed once and read window by window."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._errors import DataError, Place, need_pyarrow
from .._input_checks import LARGEST_UNPACKED
from ..features.columns import check_wanted
from ..features.kinds import TEXT
from ..features.learn import EncoderFit
from .columns import labels, sample_weights
from .encoded import DiskCacheWarning, DiskStore, MemoryStore, NoRoomError, RowEncoder, Store
from .formats import Opened, Reader, Rows
from .kept import RowKeeper
from .prefetch import Prefetched
from .rare_labels import mistyped_as
from .shuffle import WINDOW_BYTES, Mixer, Window, WindowMaker, take_size

_SORTED_SHARE = 0.1  # share of the label changes in mixed rows
_FEWEST_CHANGES = 10.0  # fewer may be chance
_SORTED_VARIANCE = 0.25  # share of the labels' variance that is between blocks of rows
_BLOCK_ROWS = 1024
_MOST_RAW_COLUMNS = 4096
_MOST_CLASSES, _COUNTED_ONE_BY_ONE = 10_000, 8
_MOST_CLASSES_KEPT = 127
_MOST_ROWS, _FEWEST_ROWS = 1 << 18, 1 << 10  # of a window

Progress = Callable[[dict[str, Any]], object]


class FileSurvey(NamedTuple):
    """The results of the first pass over a stream.

    Examples
    --------
    >>> import numpy as np
    >>> from ratewise import open_stream
    >>> stream = open_stream([(np.zeros((3, 2)), np.array([0, 1, 1]))])
    >>> stream.survey().label_counts
    {0: 1, 1: 2}
    """

    rows: int
    label_counts: dict[Any, int]
    missing: dict[str, int]
    """How many numbers are missing, for each column with missing numbers; the column's mean replaces them."""
    sorted_by_label: bool
    """Whether neighboring rows have the same label far more often than by chance."""
    hashed: dict[str, int]
    """Columns with more values than the vocabulary can contain, and the number of their hash buckets."""
    categories: dict[str, int] = {}  # noqa: RUF012 - as all of a tuple, never changed
    """Columns of text, and the number of matrix columns that each became."""


class Stream:
    """Rows of files or batches that do not have to fit in memory, read window by window; see ``open_stream``.

    ``target`` and ``weight`` are the names of the target and the weights in messages.

    Examples
    --------
    >>> import numpy as np
    >>> from ratewise import open_stream
    >>> stream = open_stream([(np.zeros((3, 2)), np.array([0, 1, 1]))])
    >>> sum(window.X.shape[0] for window in stream.windows())
    3
    """

    def __init__(self, opened: Opened, weight: str | None, window_rows: int | None, kept: Sequence[str] = ()):
        if window_rows is not None and window_rows < 1:
            raise ValueError(f"window_rows must be at least 1; it is {window_rows}.")
        self.encoder = opened.encoder
        self.target = None if opened.target is None else str(opened.target)
        self.weight = weight
        self.kept = tuple(kept)
        """Columns that each window has unchanged."""
        self._readers = opened.readers
        self._window_rows = window_rows
        self._rows_counted: int | None = None
        self._surveyed_files: dict[str, tuple[int, int]] = {}
        self._used_up = False
        self._decoded: list[Reader] | None = None  # the rows that the survey has kept
        self._encoded: list[Reader] | None = None
        self._store: Store | None = None  # of the encoded rows
        self._keep_bytes = 0.0

    def want(self, columns: Mapping[str, str] | None) -> None:
        """Set the kinds of columns, as with ``columns`` of ``open_stream``."""
        if columns:
            if self.encoder.fitted or not self.encoder.named:
                raise ValueError("columns= is of named columns of a stream whose encoder is not fitted yet.")
            wanted = self.encoder.wanted | check_wanted(
                columns, self.encoder.columns, Place(self._readers[0].name)
            )
            self.encoder.wanted = wanted

    def leave_gaps(self, wanted: bool) -> None:
        """Set whether missing numbers are NaN in the windows, instead of the mean of their column."""
        self.encoder = self.encoder.leaving_gaps(wanted)

    @property
    def repeatable(self) -> bool:
        """Whether the stream can be read more than once."""
        return all(reader.repeatable for reader in self._readers)

    @property
    def n_rows(self) -> int | None:
        """The number of rows, if it is known without reading or has been counted."""
        if self._rows_counted is not None:
            return self._rows_counted
        sizes = [size for reader in self._readers for size in reader.sizes]
        return None if None in sizes else sum(filter(None, sizes))

    @property
    def n_unlabelled(self) -> int:
        """How many rows were left out in the last pass because they have no label."""
        return sum(sum(getattr(reader, "unlabelled", {}).values()) for reader in self._readers)

    @property
    def files(self) -> list[str]:
        """The files that the rows are read from, in order; none for batches."""
        arrays = [name for name in (self.target, self.weight) if name is not None and name.endswith(".npy")]
        names = [reader.name for reader in self._readers] + arrays
        return [os.path.abspath(name) for name in names if os.path.isfile(name)]

    @property
    def sparse(self) -> bool:
        """Whether windows contain CSR matrices."""
        return self.encoder.sparse

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of a window's columns."""
        return self.encoder.feature_names

    @property
    def window_rows(self) -> int:
        """The number of rows per window, except for the last of a pass; by default about 32 MB of rows."""
        if self._window_rows is not None:
            return self._window_rows
        if self.encoder.sparse_input:
            return _MOST_ROWS  # the length of rows is not known: these windows are cut by their entries
        return int(np.clip(WINDOW_BYTES // max(self.encoder.row_bytes, 1), _FEWEST_ROWS, _MOST_ROWS))

    def windows(self, rng: np.random.Generator | None = None, skip: int = 0) -> Iterator[Window]:
        """Return one pass over the rows, read ahead in a thread.

        Parameters
        ----------
        rng : numpy Generator, optional
            With it, files and pieces of files are read in random order, several at a time, so that a window has
            rows from different places. The same state of the generator gives the same windows, bit for bit.
            Without it, rows come in order. skip : int How many windows of the pass to skip: those that an earlier
            run, which is now resumed, has processed.
        """
        self._prepare()
        return Prefetched(self._one_pass(rng, skip))

    def passes(self, orders: Iterable[tuple[np.random.Generator | None, int]]) -> Prefetched[Window | None]:
        """Return one pass after another, each given by the arguments of ``windows``, with None at the end of each.

        The thread does not wait between two passes: it already reads the first windows of the next pass.
        """
        self._prepare()
        return Prefetched(window for order in orders for window in chain(self._one_pass(*order), [None]))

    def _prepare(self) -> None:
        if self.repeatable and not self.encoder.fitted and (self.encoder.kinds or self.encoder.elastic):
            self.survey()  # a width learned from the first window would exclude later columns
        self._use_up()

    def _one_pass(self, rng: np.random.Generator | None, skip: int) -> Iterator[Window]:
        readers, known = self._encoded or self._decoded or self._readers, self.n_rows
        mixer = Mixer.over(readers, rng, self.window_rows)
        room = self.window_rows if known is None else max(min(self.window_rows, known), 1)
        maker = WindowMaker(mixer, self.encoder, room, self.target, self.weight, encoded=self._encoded is not None)
        return self._watched(maker.windows(skip))

    def _watched(self, windows: Iterator[Window]) -> Iterator[Window]:
        """Refuse, at the end of a pass, files that have changed since the survey."""
        yield from windows
        for path, stamp in self._surveyed_files.items():
            if _stamp(path) != stamp:
                raise DataError(f"{path}: the file has changed while it was read. Start again.")

    def survey(self, progress: Progress | None = None, keep_bytes: float = 0) -> FileSurvey:
        """Read everything once: count rows, labels and missing numbers, and fit the encoder if it is not fitted.

        ``progress`` is called with a dict of stage, done_rows and total_rows. Decoded rows of files that take at
        most ``keep_bytes`` of memory are kept for later passes, until ``release`` is called.
        """
        self._use_up()
        self.release()
        self._keep_bytes = keep_bytes
        self._surveyed_files = {path: _stamp(path) for path in self.files}
        learner, counter = self._read_once(progress)
        while self.repeatable and not self.encoder.fitted and (texts := learner.mixed):
            for kinds in (self.encoder.kinds, *(reader.kinds for reader in self._readers)):
                kinds.update(dict.fromkeys(texts, TEXT))
            learner, counter = self._read_once(progress)
        counter.check()
        if learner.rows == 0:
            raise DataError(f"{self._readers[0].name}: there are no rows.")
        if not self.encoder.fitted:
            learner.finish()
        self._rows_counted = learner.rows
        counts = dict(sorted(counter.counts.items()))
        widths = {codec.name: codec.width for codec in self.encoder.codecs if codec.sparse}
        return FileSurvey(learner.rows, counts, learner.missing, counter.sorted_by_label, {}, widths)

    def keep_encoded(self, classes: NDArray[Any], folder: str | None = None) -> None:
        """Keep encoded rows of these classes for later passes: in memory, or in a file of a folder.

        In memory they may take as much as the rows that the survey keeps. The windows of later passes are the
        same.
        """
        readers, self._decoded = self._decoded or self._readers, None
        if not all(reader.decodes for reader in self._readers) or classes.size > _MOST_CLASSES_KEPT:
            return
        known = 0 if self.encoder.sparse_input else (self.n_rows or 0) * (self.encoder.row_bytes + 1)
        batch_rows = take_size(self.window_rows, 1)
        encode = RowEncoder(self.encoder, classes, self.target or "y", self.weight or "weight", batch_rows)
        if known <= self._keep_bytes:
            with contextlib.suppress(NoRoomError):
                self._encoded_in(MemoryStore(self._keep_bytes), readers, encode)
                return
        if folder is None or self.kept:
            return
        try:
            self._encoded_in(DiskStore(folder), self._readers, encode)
        except NoRoomError as error:
            warnings.warn(
                f"The rows are not kept in {folder}, and the files are read in every pass: {error}.",
                DiskCacheWarning,
                stacklevel=4,
            )

    def _encoded_in(self, store: Store, readers: Sequence[Reader], encode: RowEncoder) -> None:
        self._encoded = store.readers(readers, encode)
        self._store = store

    def release(self) -> None:
        """Discard all kept rows: later passes read the files."""
        self._decoded = self._encoded = None
        if self._store is not None:
            self._store.close()
            self._store = None

    def _read_once(self, progress: Progress | None) -> tuple[EncoderFit, _LabelCounter]:
        learner, counter, n_rows = EncoderFit(self.encoder), _LabelCounter(self.target or "y"), self.n_rows
        batch_rows = take_size(self.window_rows, 1)
        keeper = RowKeeper(self._readers, self._keep_bytes)
        in_order = (
            (number, piece, part)
            for number, reader in enumerate(self._readers)
            for piece in range(len(reader.sizes))
            for part in reader.read(piece, batch_rows)
        )
        with Prefetched(in_order, ahead=4) as parts:
            for number, piece, part in parts:
                keeper.add(number, piece, part)
                learner.add(part.features, part.size, part.place)
                if part.target is not None:
                    counter.add(labels(part.target, counter.name, part.place), part.place)
                if part.weights is not None:
                    sample_weights(part.weights, self.weight or "weight", part.place)
                if progress is not None:
                    progress({"stage": "survey", "done_rows": learner.rows, "total_rows": n_rows})
        self._decoded = keeper.readers()
        return learner, counter

    def raw_windows(self, rng: np.random.Generator | None = None) -> Iterator[tuple[Any, str]]:
        """Return one pass over the raw columns and the target: an Arrow table per window, and its first file.

        With a generator, a window has rows from different places, and they are shuffled. Sparse rows become dense
        columns, at most 4096.
        """
        if self.encoder.elastic and not self.encoder.fitted:
            self.survey()  # the width of an svmlight file needs all its rows
        width = self.encoder.n_columns
        if self.encoder.sparse_input and width > _MOST_RAW_COLUMNS:
            raise DataError(
                f"{self._readers[0].name}: sparse rows of {width:,} columns. A table of them would be mostly "
                "zeros; leave them as they are."
            )
        return Prefetched(self._raw_pass(rng))

    def _raw_pass(self, rng: np.random.Generator | None) -> Iterator[tuple[Any, str]]:
        wanted = self.window_rows
        if self.encoder.sparse_input:
            wanted = max(WINDOW_BYTES // (4 * max(self.encoder.n_columns, 1)), 1024)
        mixer = Mixer.over(self._readers, rng, wanted)
        while rows := list(mixer.take_all(wanted)):
            pa = need_pyarrow("files to convert them")
            table = pa.concat_tables([self._arrow_table(part) for part in rows], promote_options="permissive")
            if rng is not None:
                table = table.take(pa.array(rng.permutation(table.num_rows)))
            yield table, rows[0].place.file

    def _arrow_table(self, rows: Rows) -> Any:
        if isinstance(rows.features, dict):
            columns = dict(rows.features)
        else:
            X = rows.features.toarray() if sparse.issparse(rows.features) else np.asarray(rows.features)
            missing = self.encoder.n_columns - X.shape[1]
            if missing > 0:  # svmlight rows are as wide as their last entry
                X = np.pad(X, ((0, 0), (0, missing)))
            columns = {name: X[:, j] for j, name in enumerate(self.encoder.columns)}
        if rows.target is not None:
            columns[self.target or "y"] = rows.target
        if rows.weights is not None:
            columns[self.weight or "weight"] = rows.weights
        pa = need_pyarrow("files to convert them")
        for name, column in columns.items():
            if isinstance(column, np.ndarray):
                columns[name] = pa.array(np.ascontiguousarray(column))
            elif pa.types.is_dictionary(column.type):  # each part has its own; a Feather file takes one
                texts = column.dictionary
                if len(column) * texts.nbytes > LARGEST_UNPACKED * max(len(texts), 1):
                    problem = "its texts are so long that they cannot be written out. Leave it out with features=."
                    raise rows.place.error(problem, column=name)
                columns[name] = column.cast(column.type.value_type)
        return pa.table(columns)

    def _use_up(self) -> None:
        if self._used_up and not self.repeatable:
            raise ValueError(
                f"{self._readers[0].name} can be read once only, and has been. To read it again, give a list of "
                "batches, or a function that returns a new iterator of them."
            )
        self._used_up = True


def _stamp(path: str) -> tuple[int, int]:
    """Return the size of a file and when it was changed."""
    about = os.stat(path)
    return about.st_size, about.st_mtime_ns


class _LabelCounter:
    """A counter of the labels of rows in order, and of their distribution over blocks of rows."""

    def __init__(self, name: str):
        self.name = name
        self.counts: dict[Any, int] = {}
        self._firsts: dict[Any, tuple[Place, int]] = {}  # where labels are first, from the third on
        self._file = "the stream"
        self._rows = self._changes = 0
        self._last: bool | None = None
        self._block_rows = self._block_first = 0  # rows of the block so far, and those with the first label
        self._blocked_rows = 0
        self._between = 0.0  # over all blocks: rows times the square of the share of the first label

    def add(self, values: NDArray[Any], place: Place) -> None:
        if values.size == 0:
            return
        self._file = place.file
        few = len(self.counts) <= _COUNTED_ONE_BY_ONE  # to sort the labels would take longer
        known = {label: int(np.count_nonzero(values == label)) for label in self.counts} if few else {}
        for label, count in known.items():
            self.counts[label] += count
        if sum(known.values()) < values.size:
            self._add_others(values, known, place)
        self._rows += values.size
        is_first = values == next(iter(self.counts))
        self._changes += int(np.count_nonzero(is_first[1:] != is_first[:-1]))
        self._changes += self._last is not None and self._last != bool(is_first[0])
        self._last = bool(is_first[-1])
        self._block_rows += is_first.size
        self._block_first += int(np.count_nonzero(is_first))
        if self._block_rows >= _BLOCK_ROWS:
            self._between += self._block_first**2 / self._block_rows
            self._blocked_rows += self._block_rows
            self._block_rows = self._block_first = 0

    def _add_others(self, values: NDArray[Any], known: dict[Any, int], place: Place) -> None:
        _, firsts, numbers = np.unique(values, return_index=True, return_counts=True)
        for place_of_first in np.argsort(firsts):  # in the order of the rows
            value = values[firsts[place_of_first]]
            label = value.item() if isinstance(value, np.generic) else value
            if label in known:
                continue
            fraction = isinstance(label, float) and not label.is_integer()
            number = len(self.counts)
            if label not in self.counts and (number == _MOST_CLASSES or (number >= 2 and fraction)):
                first, second, *_ = self.counts
                what = "fractions" if fraction else f"more than {_MOST_CLASSES:,} different ones"
                raise place.error(
                    f"labels such as {first!r}, {second!r} and {label!r} are not classes: there are {what} among "
                    "them. Is this the column to predict?",
                    int(firsts[place_of_first]),
                    self.name,
                )
            if label not in self.counts and number >= 2:
                self._firsts[label] = place, int(firsts[place_of_first])
            self.counts[label] = self.counts.get(label, 0) + int(numbers[place_of_first])

    def check(self) -> None:
        """Check that both classes occur, if there are labels, and that no third class has a single row."""
        if len(self.counts) == 1:
            label = next(iter(self.counts))
            raise DataError(
                f"{self._file}, column {self.name!r}: the target is {label!r} in all {self._rows:,} rows; "
                "two classes are needed to learn anything."
            )
        for label, (place, row) in self._firsts.items():
            if self.counts[label] == 1:
                raise place.error(
                    f"the label {label!r} has 1 row of {self._rows:,}: {mistyped_as(label, self.counts)} To learn "
                    "a class and to validate takes 2 rows or more: correct the label, or leave the row out.",
                    row,
                    self.name,
                )

    @property
    def sorted_by_label(self) -> bool:
        """Return whether rows are sorted: labels change too rarely, or most blocks have almost only one class."""
        if len(self.counts) < 2:
            return False
        share = next(iter(self.counts.values())) / self._rows
        variance = share * (1.0 - share)
        expected_changes = 2.0 * self._rows * variance
        if self._changes < _SORTED_SHARE * expected_changes and expected_changes >= _FEWEST_CHANGES:
            return True
        return self._between / max(self._blocked_rows, 1) - share**2 > _SORTED_VARIANCE * variance
