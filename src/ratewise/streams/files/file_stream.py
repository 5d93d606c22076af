"""A stream over files or batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from .encode import Encoder
from .errors import DataError
from .prefetch import Prefetched
from .rows import Reader
from .shuffle import Mixer, in_order, lanes_at_once, piece_order, take_size
from .source import Progress, Survey, Window
from .survey import take_survey
from .windows import WindowMaker, default_window_rows


class FileStream:
    """Rows that need not fit in memory, read window by window. Made by ``open_stream``.

    Parameters
    ----------
    readers : list of Reader
    encoder : Encoder
    target, weight : str or None
        What the target and the weights are called in messages.
    window_rows : int or None
    """

    def __init__(
        self,
        readers: Sequence[Reader],
        encoder: Encoder,
        *,
        target: str | None = None,
        weight: str | None = None,
        window_rows: int | None = None,
    ):
        if window_rows is not None and window_rows < 1:
            raise ValueError(f"window_rows must be at least 1; it is {window_rows}.")
        self.encoder = encoder
        self.target = target
        self.weight = weight
        self._readers = readers
        self._window_rows = window_rows
        self._rows_counted: int | None = None
        self._used_up = False

    @property
    def repeatable(self) -> bool:
        """Can be read more than once."""
        return all(reader.repeatable for reader in self._readers)

    @property
    def n_rows(self) -> int | None:
        """The number of rows, where it is known without reading or has been counted."""
        if self._rows_counted is not None:
            return self._rows_counted
        sizes = [reader.rows_of(piece) for reader in self._readers for piece in range(reader.pieces)]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    @property
    def sparse(self) -> bool:
        """Windows hold CSR matrices."""
        return self.encoder.sparse

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of a window's columns."""
        return self.encoder.feature_names

    @property
    def window_rows(self) -> int:
        """How many rows a window holds, the last of a pass excepted."""
        return default_window_rows(self.encoder) if self._window_rows is None else self._window_rows

    def windows(self, rng: np.random.Generator | None = None, skip: int = 0) -> Iterator[Window]:
        """One pass over the rows, read ahead in a thread.

        Parameters
        ----------
        rng : numpy Generator, optional
            Files and pieces of files are read in random order, several at a time, so that rows of different
            places meet in one window. The same state of the generator gives the same windows, bit for bit.
            Without it, rows come in order.
        skip : int
            How many windows of the pass to leave out: those of an earlier run that is now resumed.
        """
        self._prepare()
        return Prefetched(self._one_pass(rng, skip))

    def passes(self, orders: Iterable[tuple[np.random.Generator | None, int]]) -> Prefetched[Window | None]:
        """One pass after another, each given as what ``windows`` takes, with None at the end of each.

        The thread does not wait between two passes: it reads the first windows of the next one meanwhile.
        """
        self._prepare()
        return Prefetched(window for order in orders for window in chain(self._one_pass(*order), [None]))

    def _prepare(self) -> None:
        if self.repeatable and not self.encoder.fitted and (self.encoder.categories or self.encoder.elastic):
            self.survey()  # a width learned from the first window alone would leave out what comes later
        self._use_up()

    def _one_pass(self, rng: np.random.Generator | None, skip: int) -> Iterator[Window]:
        order = piece_order(self._readers, rng)
        lanes = 1 if rng is None else lanes_at_once(self._readers)
        window_rows = self.window_rows
        mixer = Mixer(self._readers, order, lanes, take_size(window_rows, lanes))
        known = self.n_rows
        room = window_rows if known is None else max(min(window_rows, known), 1)
        maker = WindowMaker(mixer, self.encoder, room, self.target, self.weight)
        return maker.windows(skip)

    def survey(self, progress: Progress | None = None) -> Survey:
        """Read everything once: count rows, labels and missing numbers, and teach the encoder its vocabularies.

        ``progress`` is called with a dict of stage, done_rows and total_rows.
        """
        self._use_up()
        with Prefetched(in_order(self._readers, take_size(self.window_rows, 1)), ahead=4) as rows:
            found = take_survey(rows, self.encoder, self.target, self.weight, self.n_rows, progress)
        if found.rows == 0:
            raise DataError(f"{self._readers[0].name}: there are no rows.")
        self._rows_counted = found.rows
        return found

    def _use_up(self) -> None:
        if self._used_up and not self.repeatable:
            raise ValueError(
                f"{self._readers[0].name} can be read once only, and has been. To read it again, give a list of "
                "batches, or a function that returns a new iterator of them."
            )
        self._used_up = True
