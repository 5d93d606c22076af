"""A fit from a stream of windows: bounded memory, and resumable between any two windows."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels import bin_scores, hash_csr_rows, hash_dense_rows
from ..measures import Measure, Rates
from ..streams import ArrayStream, Reservoir, Standardizer, Summary, Units, Whitener, class_weights
from .base import Solver, StreamingRun, Task
from .constraints import constrained_ranks
from .history import History
from .learner import LinearModel
from .outlook import Outlook
from .selection_plan import PLENTY_PER_COLUMN, start_for
from .sharpen import Sharpen, Sharpening, is_power_of_two

_SAMPLE_BYTES = 1 << 25  # of each class
_WHITENED_SAMPLE = 20_000
_BINS = 1 << 16


@dataclasses.dataclass(frozen=True)
class StreamPlan:
    """What is asked of a fit from a stream."""

    measure: Measure
    solver: Solver | None
    """None lets the library choose where sharpening starts."""
    sharpen: Sharpen | None
    """None for the solver's plain algorithm."""
    passes: int | None
    """Over the rows, to learn from them; None lets their number decide."""
    tune: bool
    """Move the threshold."""
    standardize: bool
    whiten_rows: int
    whiten_columns: int
    l2: float
    seed: int


class StreamResult(NamedTuple):
    units: Units
    model: LinearModel
    threshold: float
    rates: Rates
    stages: tuple[str, ...]


class StreamFit:
    """Passes over a stream, one window after another: statistics, then learning, then the choice of a threshold.

    The first pass takes the column statistics, and a fair sample of each class to look at models with. Then the
    solver's passes and those of sharpening, as in memory. The last pass counts the scores of all rows under every
    candidate, so that the choice between them and the threshold are exact to a 5,000th of the scores' spread.

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
        self._tracks: list[_Track] = []
        self.result: StreamResult | None = None

    def pass_rng(self) -> np.random.Generator:
        """Orders the rows of the current pass."""
        return np.random.default_rng([self.plan.seed, self.pass_number])

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
                for track in self._tracks:
                    track.prepare_choice()
                self.phase = "choice"
        else:
            self.result = self._choose()
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
        halves = _half_of_each_row(sample)
        in_one = plan.sharpen is None or plenty or not _both_classes_in_both(halves, weights)
        seen = Summary(self.rows, positive, negative, 0.0)
        for half in [None] if in_one else [0, 1]:
            track = _Track(plan, self.history, half)
            track.begin(*track.training_rows(sample, weights, halves), self._units, seen, rng, whitened=whitened)
            self._tracks.append(track)

    def _halves(self, X: Any) -> NDArray[np.uint64] | None:
        return None if len(self._tracks) == 1 else _half_of_each_row(X)

    def _count_scores(self, X: Any, weights: NDArray[np.float32]) -> None:
        halves = self._halves(X)
        for track in self._tracks:
            track.count_scores(*track.judging_rows(X, weights, halves), self._units)

    def _choose(self) -> StreamResult:
        """The candidate whose counted scores allow the best value, at the threshold that does."""
        measure = self.plan.measure
        tracks = self._tracks
        stages = [stage for stage in tracks[0].candidates if all(stage in track.candidates for track in tracks)]
        best: tuple[float, str, float, Rates] | None = None
        for stage in stages:
            counts = sum(track.candidates[stage].counts for track in tracks)
            edges, tpr, tnr, prevalence = _rates_at_edges(counts)
            values = np.array(measure.value(tpr, tnr, prevalence), dtype=np.float64)
            values[~np.isfinite(values)] = -np.inf
            weight = float(np.sum(counts))
            points = (prevalence * weight, (1.0 - prevalence) * weight)
            ranks = constrained_ranks(values, measure, tpr, tnr, prevalence, points)
            at = int(np.argmin(np.abs(edges))) if not self.plan.tune else int(np.argmax(ranks))
            if best is None or values[at] > best[0]:
                rates = Rates(float(tpr[at]), float(tnr[at]), prevalence)
                best = (float(values[at]), stage, float(edges[at]), rates)
        if best is None:
            raise ValueError(
                "No model could be learned: numbers beyond the range of float32 arose. Bring the columns to a "
                "common scale (standardize=True does)."
            )
        _, stage, threshold, rates = best
        models = [track.candidates[stage].model for track in tracks]
        model = LinearModel(
            np.mean([one.weights for one in models], axis=0), float(np.mean([one.intercept for one in models]))
        )
        if not self.plan.tune:
            threshold = 0.0
        return StreamResult(self._units, model, threshold, rates, (stage,) if stage else ())


class _Candidate(NamedTuple):
    """A model whose scores have a mean of 0 and a spread of 1 on the sample, and the weight of rows by score."""

    model: LinearModel
    counts: NDArray[np.float64]


class _Track:
    """One model in the making: of all rows, or of those of one half."""

    def __init__(self, plan: StreamPlan, history: History, half: int | None):
        self._plan = plan
        self._history = history
        self._half = half
        self.finished = False
        self._passes = 0
        self._points = 0
        self._sharpened = 0
        self._sharpening: Sharpening | None = None
        self.candidates: dict[str, _Candidate] = {}
        self._models: dict[str, LinearModel] = {}

    def training_rows(self, X: Any, weights: NDArray[Any], halves: Any) -> tuple[Any, NDArray[Any]]:
        return (X, weights) if self._half is None else _rows_where(halves != self._half, X, weights)

    def judging_rows(self, X: Any, weights: NDArray[Any], halves: Any) -> tuple[Any, NDArray[Any]]:
        return (X, weights) if self._half is None else _rows_where(halves == self._half, X, weights)

    def begin(
        self,
        sample: Any,
        weights: NDArray[Any],
        units: Units,
        seen: Summary,
        rng: np.random.Generator,
        *,
        whitened: bool,
    ) -> None:
        """The solver to start with, and the sample to look at models with."""
        plan = self._plan
        points = seen.points if self._half is None else max(seen.points // 2, 1)
        self._sample = ArrayStream(sample, weights, units, rng)
        row = _mean_squared_row(self._sample)
        self._seen = seen._replace(
            points=points, squared_rows=row * points, entry_square=self._sample.summary.entry_square
        )
        solver = plan.solver or start_for(plan.measure, seen.prevalence, points, whitened=whitened)
        sharpen = plan.sharpen
        self._to_start = solver.passes
        self._to_sharpen = 0 if sharpen is None else sharpen.passes_over(points)
        if plan.passes is not None:
            self._to_start = plan.passes if sharpen is None else max(min(solver.passes, plan.passes // 2), 1)
            self._to_sharpen = 0 if sharpen is None else plan.passes - self._to_start
        n_features = self._sample.n_features
        task = Task(
            plan.measure,
            n_features,
            np.dtype(np.float32),
            l2=plan.l2,
            points_a_pass=points,
        )
        run = solver.start(task)
        assert isinstance(run, StreamingRun)  # others learn from the sample, in memory
        self._run = run
        self._label = solver.label
        self._run.begin_pass()
        softness = 0.05 if sharpen is None else sharpen.softness
        self._outlook = Outlook(self._sample, plan.measure, softness, self._history, self._half or 0, points)

    def learn(self, X: Any, weights: NDArray[Any], units: Units, rng: np.random.Generator) -> Rates | None:
        if self.finished or X.shape[0] == 0:
            return None
        stream = ArrayStream(X, weights, units, rng)
        if self._sharpening is None:
            self._run.feed(stream, stream.n_points, self._seen)
            rates = self._run.rates_met()
            self._points += stream.n_points
            if self._plan.sharpen is None:
                passes = self._points / self._seen.points
                value = float(self._plan.measure.value(*rates))
                self._history.record(passes=passes, points=self._points, tpr=rates.tpr, tnr=rates.tnr, value=value)
            return rates
        assert self._plan.sharpen is not None
        stream.limit_rows(self._plan.sharpen.row_limit, self._seen.leverage)
        for chunk in stream.take(stream.n_points):
            self._sharpening.learner.learn(chunk, self._settings, Sharpening.reward)
        return self._sharpening.learner.rates_met()

    def end_pass(self) -> None:
        if self.finished:
            return
        self._passes += 1
        if self._sharpening is None:
            self._end_starting_pass()
        else:
            self._end_sharpening_pass(self._sharpening)
        if self._sharpening is not None and not self.finished:
            self._settings = self._sharpening.begin_pass()

    def _end_starting_pass(self) -> None:
        if self._passes < self._to_start:
            self._run.begin_pass()
            return
        sharpen = self._plan.sharpen
        if sharpen is None:
            self._models[""] = self._run.model()
            self.finished = True
            return
        look = self._outlook.look(self._run.model(), self._passes)
        self.finished = self._to_sharpen == 0 or not math.isfinite(look.value)
        if not math.isfinite(look.value):
            return
        self._models[f"{self._label}, {self._passes} passes"] = look.model
        if not self.finished:
            self._sharpening = Sharpening(
                self._outlook,
                look,
                self._passes,
                sharpen,
                self._seen,
                self._seen.leverage,
                np.dtype(np.float32),
                self._plan.l2,
            )

    def _end_sharpening_pass(self, sharpening: Sharpening) -> None:
        self._sharpened += 1
        look = sharpening.end_pass(self._sharpened)
        self.finished = self._sharpened == self._to_sharpen
        if look is not None and (self.finished or is_power_of_two(self._sharpened)):
            self._models[f"{self._label}, sharpened {self._sharpened}"] = look.model

    def prepare_choice(self) -> None:
        """Bring the models' scores to one scale, so that those of two halves can be counted together."""
        for stage, model in self._models.items():
            scores = self._sample.scores(*model)
            shares = np.abs(self._sample.signed_weights, dtype=np.float64)
            mean = 0.0 if not self._plan.tune else float(np.average(scores, weights=shares))
            spread = math.sqrt(max(float(np.average((scores - mean) ** 2, weights=shares)), 1e-24))
            brought = LinearModel(model.weights / spread, (model.intercept - mean) / spread)
            self.candidates[stage] = _Candidate(brought, np.zeros((2, _BINS)))

    def count_scores(self, X: Any, weights: NDArray[np.float32], units: Units) -> None:
        if X.shape[0] == 0:
            return
        rows = units.transform(X, np.arange(X.shape[0], dtype=np.int32), np.float32)
        models = [candidate.model for candidate in self.candidates.values()]
        stacked = np.stack([model.weights for model in models], axis=1).astype(np.float32)
        scores = np.asarray(rows @ stacked)
        for k, candidate in enumerate(self.candidates.values()):
            mine = np.ascontiguousarray(scores[:, k]) + np.float32(candidate.model.intercept)
            bin_scores(np.arcsinh(mine), weights, _LOW, _WIDTH, candidate.counts)


# Of the area hyperbolic sine of the scores: fine near the mean, and up to 200 spreads from it, where the scores of
# a class of one in ten thousand may well lie.
_LOW, _WIDTH = -6.0, 12.0 / _BINS


def _rates_at_edges(counts: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], float]:
    """The thresholds between bins, and the rates at each."""
    edges = np.sinh(_LOW + _WIDTH * np.arange(1, _BINS))
    above = counts[:, ::-1].cumsum(axis=1)[:, ::-1]
    negative, positive = above[:, 0]
    tpr, tnr = above[1, 1:] / max(positive, 1e-300), 1.0 - above[0, 1:] / max(negative, 1e-300)
    return edges, tpr, tnr, float(positive / (positive + negative))


def _mean_squared_row(stream: ArrayStream) -> float:
    """Over a sample in which the classes weigh as much as in the whole."""
    X, shares = stream.X, np.abs(stream.signed_weights, dtype=np.float64)
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)
    return float(np.average(squares, weights=shares))


def _half_of_each_row(X: Any) -> NDArray[np.uint64]:
    hashes = np.empty(X.shape[0], dtype=np.uint64)
    if sparse.issparse(X):
        hash_csr_rows(np.asarray(X.data, dtype=np.float32).view(np.uint32), X.indices, X.indptr, hashes)
    else:
        hash_dense_rows(np.ascontiguousarray(X, dtype=np.float32).view(np.uint32), hashes)
    return hashes & np.uint64(1)


def _both_classes_in_both(halves: NDArray[np.uint64], weights: NDArray[Any]) -> bool:
    """Equal rows are in one half, and may be all there is of a class."""
    return all(np.unique(np.sign(weights[halves == half])).size == 2 for half in (0, 1))


def _rows_where(wanted: NDArray[np.bool_], X: Any, weights: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    mine = np.flatnonzero(wanted)
    return X[mine], weights[mine]
