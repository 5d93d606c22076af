"""Training rows in shards: the requests of runs, answered by questions to all shards."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...decisions.class_offsets import ClassScores
from ...decisions.cuts import Points, ScoreBins, ScoreHistogram, constrained_ranks
from ...decisions.intervals import ModelShift
from ...measures import Measure
from ...rewards import Reward
from ...solvers.base import Scores
from ...solvers.driver import Run, answered
from ...solvers.evaluate import evaluate
from ...solvers.learner import Learner
from ...solvers.maximize import maximize, minimise
from ...solvers.maximize_classes import maximize_classes
from ...solvers.requests import (
    ClimbMeasure,
    CountRates,
    Evaluate,
    Learn,
    Maximize,
    MaximizeLikelihood,
    MeanRewards,
    Request,
)
from ...solvers.state import LinearModel, LinearModels, RowTotals
from .. import config
from ..folds import ALL_ROWS
from ..rows import ArrayRows
from ..source import Progress
from .classes import ShardObjective
from .engine import Engine, Question, QuestionBatch, merge
from .questions import (
    CountPredicted,
    CountScores,
    FetchScores,
    LimitRows,
    LocalPass,
    Scored,
    TakeSlope,
    TakeSpread,
)
from .statistics import Summaries

_STEPS_PER_PASS = 8  # of L-BFGS, where gradients are merged
_GRADIENT_ROWS = 4_000_000
_GRADIENT_POINTS_PER_COLUMN = 4 * config.PLENTY_PER_COLUMN  # of the rarer class
_FETCHED_SCORES = _FINER_BINS = 1 << 16
_TIE = 1e-12
_APART = 1e-8  # relative distance: distinct float32 scores are farther apart

Asking = Generator[Question[Any], Any, Any]


class ShardTrainingRows:
    """Transformed rows in shards, split into folds.

    ``learning_shards`` are the shards that learn their own models; None if gradients are merged instead.
    """

    def __init__(
        self,
        engine: Engine,
        summaries: list[Summaries],
        learning_shards: frozenset[int] | None,
        row_limit: float | None,
        *,
        points: Points,
        n_features: int,
        seed: int,
        report: Progress,
        sample: ArrayRows | None = None,
    ):
        self._sample = sample  # for many classes
        self._engine, self._n_features, self._seed, self._report_now = engine, n_features, seed, report
        self.n_folds = len(summaries[0].folds)
        self._merged: Summaries = merge(summaries)
        self.leverage = self._merged.folds[0].leverage
        if row_limit is not None:
            engine.prepare(LimitRows(row_limit, self.leverage))
        self._learning_shards = learning_shards
        self.whole_steps = self._learning_shards is None
        self.frequent_rows = None
        self.points = points
        sizes = [one.folds[0].points for one in summaries]
        self._usual = sum(sizes)
        if self._learning_shards is not None:
            self._usual = _usual([one for number, one in enumerate(sizes) if number in self._learning_shards])
        self.points_per_pass = max(self._usual, 1)
        self._rounds = 0

    def summary(self, fold: int) -> Any:
        """Return the totals of one pass of a model: over a typical shard if each shard learns on its own."""
        whole = self._merged.whole if fold == ALL_ROWS else self._merged.folds[fold]
        if self._learning_shards is None:
            return whole
        share = self._usual / max(whole.points, 1)
        return whole._replace(points=max(self._usual, 1), squared_rows=whole.squared_rows * share)

    def train(self, runs: Sequence[tuple[int, Run]]) -> list[Run]:
        """Complete all runs in lockstep: the next questions of all runs are one round."""
        driven = [self._drive(fold, run) for fold, run in runs]
        asked: dict[int, Question[Any]] = {}

        def advance(number: int, found: Any) -> None:
            try:
                asked[number] = driven[number].send(found)
            except StopIteration:
                asked.pop(number, None)

        for number in range(len(driven)):
            advance(number, None)
        while asked:
            answers = self._engine.ask(QuestionBatch(tuple(asked.values()))).answers
            for number, found in zip(list(asked), answers, strict=True):
                advance(number, found)
        return [run for _, run in runs]

    def _drive(self, fold: int, run: Run) -> Asking:
        seen = self.summary(fold)
        while (request := run.request(seen)) is not None:
            run.receive((yield from self._answer(fold, run, request)))
            self._report(run)

    def class_scores(self, models: Sequence[LinearModels]) -> ClassScores:
        """Score the validation rows of each fold in the sample."""
        assert self._sample is not None
        parts = [self._sample.fold(k).class_scores(model) for k, model in enumerate(models)]
        return ClassScores(*(np.concatenate(every) for every in zip(*parts, strict=True)))

    def _report(self, run: Run) -> None:
        self._rounds += 1
        if self._sample is None:  # models of many classes report while they learn
            rates = run.progressive_rates()
            self._report_now({"stage": "learning", "tpr": rates.tpr, "tnr": rates.tnr})

    def _answer(self, fold: int, run: Run, request: Request) -> Asking:
        match request:
            case Learn():
                if self._learning_shards is None:
                    self._learn_by_gradients(fold, request, run.to_learn())
                else:
                    yield from self._learn_locally(fold, request, run.to_learn())
                return None
            case Evaluate(model):
                return evaluate(request, (yield from self._counted(((fold, model),), training=True)))
            case CountRates(model):
                return (yield CountPredicted(fold, model)).rates()
            case MeanRewards(model, reward):
                slope = yield TakeSlope(fold, model, reward, 0.0, 0.0, 1.0)
                return tuple((slope.rewards / np.maximum(slope.weights, 1e-300)).tolist())
            case MaximizeLikelihood() | ClimbMeasure():
                total = sum(self.summary(fold).class_weights)
                return maximize_classes(request, ShardObjective(self._engine, fold, total, self._report_now))
            case Maximize(reward, class_weights):
                return maximize(self._objective(fold, reward, class_weights, 1.0), request)

    def _learn_locally(self, fold: int, request: Learn, learner: Learner) -> Asking:
        """Let every shard learn on its own rows for a pass, and continue from the mean of their models."""
        assert self._learning_shards is not None
        for _ in range(request.passes or 1):
            self._rounds += 1
            seed = (self._seed, 3, fold, self._rounds)
            found = yield LocalPass(fold, request, learner, self._usual, self._learning_shards, seed)
            learner.absorb(found)

    def _learn_by_gradients(self, fold: int, request: Learn, learner: Learner) -> None:
        """Learn in a few steps per pass, each on all rows; the dual pair moves after each pass."""
        steps, seen = request.settings.steps, self.summary(fold)
        p = seen.prevalence
        for _ in range(request.passes or 1):
            alpha, beta = learner.class_weights
            weights = (alpha * steps.per_positive * p, beta * steps.per_negative * (1.0 - p))
            assert request.reward is not None  # with many classes, every step uses all rows
            objective = self._objective(fold, request.reward, weights, self._gradient_share(seen))
            model = minimise(objective, learner.current(), steps.l2, tolerance=1e-6, iterations=_STEPS_PER_PASS)
            if request.settings.radius is not None:
                length = float(np.linalg.norm(model.weights))
                shrink = min(request.settings.radius / max(length, 1e-300), 1.0)
                model = model._replace(weights=model.weights * shrink)
            predicted = self._engine.ask(CountPredicted(fold, model))
            points = seen.points if request.points is None else min(request.points, seen.points)
            learner.move_to(model, points, predicted.counts)
            if request.measure is not None:
                learner.class_weights = _dual_step(request, learner, objective, learner.points_seen / seen.points)

    def _gradient_share(self, seen: RowTotals) -> float:
        """Return the share of rows that gradients use: a few million with enough of both classes are as good as
        all.
        """
        rarer = min(seen.positive_weight, seen.negative_weight)
        enough = _GRADIENT_POINTS_PER_COLUMN * (self._n_features + 1) / max(rarer, 1.0)
        return min(max(_GRADIENT_ROWS / max(seen.points, 1), enough), 1.0)

    def _objective(
        self, fold: int, reward: Reward, class_weights: tuple[float, float], share: float
    ) -> ShardReward:
        return ShardReward(self._engine, fold, self._merged.folds[fold], reward, class_weights, share)

    def _counted(self, scored: tuple[Scored, ...], *, training: bool, reach: float = 6.0) -> Asking:
        """Count scores in bins around their mean."""
        spread = yield TakeSpread(scored, training)
        if not math.isfinite(spread.squares):
            return Scores(np.array([np.nan]), np.array([1.0]), self.points)
        bins = ScoreBins.around(spread.mean, spread.deviation, reach)
        found = yield CountScores(scored, bins, training)
        return Scores(*bins.as_scores(found.all_bins(bins)), self.points)

    def validation_scores(self, models: Sequence[LinearModel]) -> Scores:
        scored = tuple(enumerate(models))
        asking = self._counted(scored, training=False, reach=config.TAIL_REACH)
        return answered(asking, self._engine.ask)  # type: ignore[no-any-return]

    def own_scores(self, model: LinearModel) -> Scores:
        return self.validation_scores([model] * self.n_folds)

    def model_shift(self, model: LinearModel, of_folds: Sequence[LinearModel], threshold: float) -> ModelShift:
        """Count predicted positives in each fold's training rows, without the variance of the difference."""
        models = [one._replace(intercept=one.intercept - threshold) for one in (model, *of_folds)]
        asked = [CountPredicted(fold, one) for fold, own in enumerate(models[1:]) for one in (models[0], own)]
        answers = self._engine.ask(QuestionBatch(tuple(asked))).answers
        own, learned = (merge(answers[k::2]).rates() for k in (0, 1))
        shift = own.tpr - learned.tpr, own.tnr - learned.tnr
        return ModelShift(shift, (learned.tpr, learned.tnr), (0.0, 0.0), self.n_folds)

    def threshold_scores(self, models: Sequence[LinearModel], measure: Measure) -> Scores:
        """Return scores that give the exact best threshold, while messages stay small.

        Count all scores in bins. Near the best threshold, count in finer bins until few scores are left there, and
        fetch those single scores.
        """
        self._report_now({"stage": "threshold"})
        scored = tuple(enumerate(models))
        spread = self._engine.ask(TakeSpread(scored, training=False))
        if not math.isfinite(spread.squares):
            return Scores(np.array([np.nan]), np.array([1.0]), self.points)
        bins = ScoreBins.around(spread.mean, spread.deviation, config.TAIL_REACH).with_an_edge_at_zero()
        everything = spread.lowest, math.nextafter(spread.highest, math.inf)
        return Scores(*self._scores_within(scored, measure, bins, everything, np.zeros((2, 2))), self.points)

    def _scores_within(
        self,
        scored: tuple[Scored, ...],
        measure: Measure,
        bins: ScoreBins,
        within: tuple[float, float],
        beyond: NDArray[np.float64],
        finer: int = 4,
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the scores of a range, single scores where the best threshold may be.

        ``beyond`` are the weights of both classes below and above the range.
        """
        counts = self._engine.ask(CountScores(scored, bins, training=False, within=within)).all_bins(bins)
        everywhere = counts.copy()
        everywhere[:, [0, -1]] += beyond.T
        histogram = ScoreHistogram(bins, everywhere)
        occupied = np.flatnonzero(counts.any(axis=0))
        near = _near_the_best(histogram, occupied, measure, self.points)
        if near.size == 0:  # no threshold inside the range is better
            return bins.as_scores(counts)
        if counts[:, occupied[near[0]] : occupied[near[-1]] + 1].sum() <= _FETCHED_SCORES:
            runs = [near]  # one round for all
        else:
            runs = np.split(near, np.flatnonzero(np.diff(near) > 1) + 1)
        parts = []
        for run in runs:
            first, last = occupied[run[0]], occupied[run[-1]]
            low = max(float(histogram.edges[first]), within[0])
            high = min(float(histogram.edges[last + 1]), within[1])
            if counts[:, first : last + 1].sum() <= _FETCHED_SCORES:
                found = self._engine.ask(FetchScores(scored, (low, high)))
                parts.append((found.scores, found.signed_weights))
            elif finer and high - low > _APART * max(abs(low), abs(high)):
                around = np.array([everywhere[:, :first].sum(axis=1), everywhere[:, last + 1 :].sum(axis=1)])
                # One more bin on each side, for the scores beyond.
                width = (high - low) / _FINER_BINS
                fine = ScoreBins(low - width, width, _FINER_BINS + 2)
                parts.append(self._scores_within(scored, measure, fine, (low, high), around, finer - 1))
            else:  # the scores are equal, or the measure is the same everywhere
                continue
            counts[:, first : last + 1] = 0.0
        parts.append(bins.as_scores(counts))
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _near_the_best(
    histogram: ScoreHistogram, occupied: NDArray[np.intp], measure: Measure, points: tuple[float, float]
) -> NDArray[np.intp]:
    """Return which occupied bins may contain the best threshold, or have it at an edge.

    If the rates do not bound the measure, return the bins around the best edge.
    """
    if measure.monotone and not measure.bounds:
        return np.flatnonzero(histogram.bins_of_the_best(measure, _TIE)[occupied])
    ranks = constrained_ranks(histogram.values(measure), measure, *histogram.rates, points)
    above = int(np.searchsorted(occupied, np.argmax(ranks)))
    return np.arange(max(above - 2, 0), min(above + 2, occupied.size))


def _dual_step(request: Learn, learner: Learner, objective: ShardReward, passes: float) -> tuple[float, float]:
    """Take SPADE's dual step on all rows: against the mean rewards, and along the conjugate's gradient."""
    measure, (alpha, beta) = request.measure, learner.class_weights
    # A pass is one step here, so the step is in units of the pair, not of the size of a row's r+ and r-.
    steps = request.settings.steps
    dual_step = steps.dual_step * math.sqrt(steps.per_positive + steps.per_negative)
    step = dual_step / math.sqrt(max(passes, 1.0))
    epsilon = 0.0 if measure.lipschitz else max(passes, 1.0) ** -0.25
    up = measure.conjugate_gradient(alpha, beta)
    down = objective.mean_rewards + epsilon
    moved = (alpha + step * (up[0] - down[0]), beta + step * (up[1] - down[1]))
    found: tuple[float, float] = measure.project(*moved, epsilon)
    return found


class ShardReward:
    """Minus a weighted mean of the two classes' rewards over all shards, and its gradient, for a minimizer."""

    def __init__(
        self,
        engine: Engine,
        fold: int,
        seen: RowTotals,
        reward: Reward,
        class_weights: tuple[float, float],
        share: float,
    ):
        self._engine, self._fold, self._reward, self._share = engine, fold, reward, share
        total = max(sum(class_weights), 1e-300)
        per_class = share * np.array([seen.positive_weight, seen.negative_weight])
        self._each = np.array(class_weights) / total / np.maximum(per_class, 1e-300)
        self.mean_rewards = np.zeros(2)

    def __call__(self, model: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        question = TakeSlope(
            self._fold,
            LinearModel(np.array(model[:-1]), float(model[-1])),
            self._reward,
            float(self._each[0]),
            float(self._each[1]),
            self._share,
        )
        slope = self._engine.ask(question)
        self.mean_rewards = slope.rewards / np.maximum(slope.weights, 1e-300)
        return -float(self._each @ slope.rewards), -slope.gradient


def _usual(points: list[int]) -> int:
    """Return the size of the shard that contains a typical row."""
    return round(sum(one * one for one in points) / max(sum(points), 1))
