"""What a stream of files gives to those who learn from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .encode import Encoder

Progress = Callable[[dict[str, Any]], object]


class Window(NamedTuple):
    """Some thousand rows, ready for a kernel."""

    X: Any
    """A C-contiguous float32 array, or a CSR matrix of float32."""
    labels: NDArray[Any] | None
    weights: NDArray[np.float64] | None
    where: str
    """Where the rows come from, for people: "train/a.parquet, rows 1,001 to 2,000"."""


class Survey(NamedTuple):
    """What the first pass over a stream found."""

    rows: int
    label_counts: dict[Any, int]
    missing: dict[str, int]
    """How many numbers are missing in each column that misses some; the column's mean stands in for them."""
    sorted_by_label: bool
    """Neighbouring rows share their label far more often than chance would have it."""
    hashed: dict[str, int]
    """Columns with more values than the vocabulary holds, and how many buckets they were hashed into."""


class Stream(Protocol):
    """Rows that need not fit in memory."""

    @property
    def repeatable(self) -> bool: ...

    @property
    def n_rows(self) -> int | None: ...

    @property
    def sparse(self) -> bool: ...

    @property
    def encoder(self) -> Encoder: ...

    @property
    def feature_names(self) -> tuple[str, ...]: ...

    def windows(self, rng: np.random.Generator | None = None, skip: int = 0) -> Iterator[Window]: ...

    def passes(
        self, orders: Iterable[tuple[np.random.Generator | None, int]]
    ) -> AbstractContextManager[Iterator[Window | None]]: ...

    def survey(self, progress: Progress | None = None) -> Survey: ...
