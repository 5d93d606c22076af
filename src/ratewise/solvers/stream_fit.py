"""A fit from a stream of windows: bounded memory, and resumable between any two windows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..measures import Rates
from ..streams import Reservoir, Standardizer, Summary, Units, Whitener, class_weights
from .history import History
from .selection_plan import PLENTY_PER_COLUMN
from .stream_choice import Candidates, choose
from .stream_halves import both_classes_in_both, half_of_each_row
from .stream_plan import StreamPlan, StreamResult
from .stream_track import Track

_SAMPLE_BYTES = 1 << 24  # of each class
_WHITENED_SAMPLE = 20_000


class StreamFit:
    """Passes over a stream, one window after another: statistics, then learning, then the choice of a threshold.

    The first pass takes the column statistics, and a fair sample of each class to look at models with. Then the
    solver's passes and those of sharpening, as in memory. The last pass counts the scores of all rows under every
    candidate, so that the choice between them and the threshold are all but exact.

    Where the rarer class has fewer than 50 points a column, two models learn, each from one half of the rows; each
    is judged by the other half, and their mean is the outcome. A row's own bits say which half it belongs to, so
    that it is the same in every pass, whatever the order.
    """

    def __init__(self, plan: StreamPlan, history: History):
        self.plan = plan
        self.history = history
        self.phase = "statistics"
        self.pass_number = 0
        self.windows_done = 0
        self.rows_done = 0
        self.rows = 0
        self._standardizer: Standardizer | None = None
        self._reservoir: Reservoir | None = None
        self._weight = [0.0, 0.0]
        self._tracks: list[Track] = []
        self._candidates: list[Candidates] = []
        self.result: StreamResult | None = None

    def orders(self) -> Iterator[tuple[np.random.Generator, int]]:
        """For every pass to come, what orders its rows, and how many windows of it have been taken already.

        May be asked for the next pass before all windows of the last one have been taken.
        """
        skip = self.windows_done
        for number in itertools.count(self.pass_number):
            if self.phase == "done" or (self.phase == "choice" and number > self.pass_number):
                return
            yield np.random.default_rng([self.plan.seed, number]), skip
            skip = 0

    def take(self, X: Any, signed_weights: NDArray[np.floating[Any]]) -> Rates | None:
        """One window; returns the rates on its rows where they were learned from."""
        self.windows_done += 1
        self.rows_done += X.shape[0]
        if self.phase == "statistics":
            self._take_statistics(X, signed_weights)
            return None
        weights = np.asarray(signed_weights / self._mean_weight, dtype=np.float32)
        if self.phase == "choice":
            self._count_scores(X, weights)
            return None
        rng = np.random.default_rng([self.plan.seed, self.pass_number, self.windows_done])
        halves = self._halves(X)
        met = [track.learn(*track.training_rows(X, weights, halves), self._units, rng) for track in self._tracks]
        return met[0]

    def end_pass(self) -> None:
        """All windows of a pass have been taken."""
        self.windows_done = self.rows_done = 0
        self.pass_number += 1
        if self.phase == "statistics":
            self._fix_units()
            self.phase = "learning"
        elif self.phase == "learning":
            for track in self._tracks:
                track.end_pass()
            if all(track.finished for track in self._tracks):
                assert self._standardizer is not None
                self._candidates = [
                    Candidates(track.models(), self._units, self._standardizer) for track in self._tracks
                ]
                self.phase = "choice"
        else:
            self.result = choose(self._candidates, self.plan, self._units)
            self.phase = "done"

    def _take_statistics(self, X: Any, signed_weights: NDArray[np.floating[Any]]) -> None:
        if self._standardizer is None or self._reservoir is None:
            self._standardizer = Standardizer(X.shape[1], active=self.plan.standardize)
            per_row = (X.nnz if sparse.issparse(X) else X.size) / X.shape[0] * (8 if sparse.issparse(X) else 4)
            capacity = max(int(_SAMPLE_BYTES / max(per_row, 1.0)), 1000)
            self._reservoir = Reservoir(capacity, np.random.default_rng([self.plan.seed, 2**31]))
        self._standardizer.update(X)
        self._reservoir.add(X, signed_weights)
        self.rows += X.shape[0]
        positive, negative = class_weights(signed_weights)
        self._weight[0] += positive
        self._weight[1] += negative

    def _fix_units(self) -> None:
        assert self._standardizer is not None
        assert self._reservoir is not None
        if min(self._weight) == 0:
            raise ValueError("All rows of one class have weight 0: a classifier needs rows of both classes.")
        plan = self.plan
        sample, weights = self._reservoir.sample()
        self._reservoir = None
        self._mean_weight = sum(self._weight) / self.rows
        positive, negative = (weight / self._mean_weight for weight in self._weight)
        rng = np.random.default_rng([plan.seed, 2**31 + 1])
        whitened = (
            plan.standardize
            and plan.sharpen is not None
            and not sparse.issparse(sample)
            and self.rows >= plan.whiten_rows
            and sample.shape[1] <= plan.whiten_columns
        )
        self._units: Units = self._standardizer
        if whitened:
            share = np.abs(weights) / np.abs(weights).sum()
            drawn = rng.choice(share.size, max(_WHITENED_SAMPLE, 50 * sample.shape[1]), p=share)
            self._units = Whitener(self._standardizer, sample[drawn], rng)
        plenty = min(positive, negative) >= PLENTY_PER_COLUMN * (sample.shape[1] + 1)
        halves = half_of_each_row(sample)
        in_one = plan.sharpen is None or plenty or not both_classes_in_both(halves, weights)
        seen = Summary(self.rows, positive, negative, 0.0)
        for half in [None] if in_one else [0, 1]:
            track = Track(plan, self.history, half)
            track.begin(*track.training_rows(sample, weights, halves), self._units, seen, rng, whitened=whitened)
            self._tracks.append(track)

    def _halves(self, X: Any) -> NDArray[np.uint64] | None:
        return None if len(self._tracks) == 1 else half_of_each_row(X)

    def _count_scores(self, X: Any, weights: NDArray[np.float32]) -> None:
        halves = self._halves(X)
        for track, candidates in zip(self._tracks, self._candidates, strict=True):
            candidates.count(*track.judging_rows(X, weights, halves))
