"""A stream that drifts: learners that forget at different speeds, and the choice among them.

Each row is scored before it is learned from. These scores choose the thresholds and the expert, and are counted
for the rates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import kernels
from ..counts import Counts
from ..decisions.calibrate import calibrated
from ..decisions.certify import Decision, bound_message
from ..decisions.choose import half_standard_error
from ..decisions.cuts import best_threshold, constrained_ranks
from ..decisions.intervals import rates_interval
from ..measures import ConcaveMeasure
from ..solvers.base import History
from ..solvers.logistic import WeightedLogistic
from ..solvers.state import LinearModel, kernel_rows
from . import config
from .config import FitConfig
from .online import OnlineFit, as_log_odds
from .source import FitResult


class LiveLearners:
    """Logistic learners with different half-lives, which learn from the same rows."""

    def __init__(self, kinds: Sequence[tuple[float, float]], settings: FitConfig, n_features: int):
        decays = [0.5 ** (1.0 / half_life) for half_life, _ in kinds]
        self._alike = _first_places(decays)
        """Of the learners that see columns in the same scale, the first: it keeps the scale."""
        exponents = [exponent for _, exponent in kinds]
        self._settings = np.array([decays, exponents, self._alike], dtype=np.float64).T.copy()
        self._l2, self._standardize = settings.l2, settings.standardize
        self._overall = np.zeros((3, n_features))
        self._columns = np.zeros((len(kinds), kernels.COLUMN_FACTS, n_features))
        self._facts = np.zeros((len(kinds), kernels.FACTS))
        self._sparse = False

    def learn(self, X: Any, signed_weights: NDArray[np.float64]) -> None:
        """Learn from rows in order."""
        self._sparse = sparse.issparse(X)
        learn = kernels.learn_live_sparse if self._sparse else kernels.learn_live_dense
        learn(
            kernel_rows(X),
            signed_weights,
            self._overall,
            self._columns,
            self._facts,
            self._settings,
            self._l2,
            self._standardize,
        )

    def require_sound(self, n_features: int) -> None:
        """Refuse arrays, from a file, that the compiled loop would read beyond their ends."""
        n = self._settings.shape[0]
        shapes = {
            "_settings": (n, 3),
            "_overall": (3, n_features),
            "_columns": (n, kernels.COLUMN_FACTS, n_features),
            "_facts": (n, kernels.FACTS),
        }
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape or getattr(self, name).dtype != np.float64:
                raise ValueError("the learners of the stream do not fit the model")
        self._alike = _first_places(self._settings[:, 0].tolist())
        if self._settings[:, 2].tolist() != self._alike:
            raise ValueError("the learners of the stream do not fit each other")

    def start_from(self, model: LinearModel) -> None:
        """Continue from a model of the user's columns, once some rows have shown their scale."""
        centre, scale, _ = self.scaling()
        self._columns[:, 3] = self._columns[:, 4] = model.weights * scale
        self._facts[:, 4] = self._facts[:, 5] = model.intercept + centre @ model.weights

    def models(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the averaged model of each learner, of the user's columns: coefficients and intercepts."""
        centre, scale, used = self.scaling()
        coef = np.where(used, self._columns[:, 4] / scale, 0.0)
        return coef, self._facts[:, 5] - (coef * centre).sum(axis=1)

    def scaling(self) -> Scaling:
        """Return how each learner sees columns now."""
        first, second = self._columns[self._alike, 0], self._columns[self._alike, 1]
        if not self._standardize:
            return Scaling(np.zeros_like(first), np.ones_like(first), np.ones(first.shape, dtype=bool))
        if self._sparse:
            count = np.maximum(self._facts[self._alike, :1], 1.0)
            scale = np.sqrt(first / np.sqrt(np.maximum(count * second, 1e-300)))
            return Scaling(np.zeros_like(first), np.where(scale > 0, scale, 1.0), scale > 0)
        least = kernels.LEAST_SPREAD
        scale = np.sqrt(np.maximum(second, least * least * self._overall[2]))
        used = scale > 1e-12 * np.abs(first)
        return Scaling(first, np.where(used, scale, 1.0), used)


def _first_places(values: list[float]) -> list[int]:
    """Return the first place of each value."""
    return [values.index(value) for value in values]


class Scaling(NamedTuple):
    """How learners see columns: an array ``[learner, column]`` of each."""

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    used: NDArray[np.bool_]
    """Columns that vary."""


class RecentScores:
    """The latest scores of either class, by several models, as computed before learning."""

    def __init__(self, n_models: int):
        sizes = (config.RECENT_NEGATIVES, config.RECENT_POSITIVES)
        self.n_models = n_models
        self._scores = [np.zeros((n_models, size)) for size in sizes]
        self._weights = [np.zeros(size) for size in sizes]
        self._seen = [0, 0]

    @property
    def both_seen(self) -> bool:
        return min(self._seen) > 0

    def add(self, scores: NDArray[np.float64], signed_weights: NDArray[np.float64]) -> None:
        for label, held in enumerate(self._weights):
            mine = np.flatnonzero((signed_weights > 0) == bool(label))[-held.size :]
            places = (self._seen[label] + np.arange(mine.size)) % held.size
            self._scores[label][:, places] = scores[:, mine]
            held[places] = np.abs(signed_weights[mine])
            self._seen[label] += mine.size

    def sample(self, model: int, positive_share: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return scores of a model with signed weights; the positives weigh as much as this share of all."""
        held = [min(seen, weights.size) for seen, weights in zip(self._seen, self._weights, strict=True)]
        scores = [one[model, :size] for one, size in zip(self._scores, held, strict=True)]
        weights = [one[:size] for one, size in zip(self._weights, held, strict=True)]
        number = sum(held)
        shares = (-(1.0 - positive_share) * number, positive_share * number)
        signed = [share * one / one.sum() for share, one in zip(shares, weights, strict=True) if one.size]
        return np.concatenate(scores), np.concatenate(signed)


ALL_ROWS, RECENT_ROWS, EVEN_ODDS = "all rows", "recent rows", "even odds"
"""What the threshold of an expert is chosen by."""


class Expert(NamedTuple):
    """A way to predict: a model, by its place among the scores, and what its threshold is chosen by."""

    label: str
    model: int
    cut: str


def _experts(half_lives: Sequence[float], plain: Sequence[float], solver: str | None) -> list[Expert]:
    """Return the ways to predict with learners of these half-lives, plain ones after them, and with the run."""
    names = [f"half-life {rows:,.0f}" if rows < math.inf else "logistic" for rows in (*half_lives, *plain)]
    experts = []
    for k, half_life in enumerate(half_lives):  # what forgets nothing has its threshold on all rows that are kept
        experts += [Expert(names[k], k, ALL_ROWS if solver and half_life == math.inf else RECENT_ROWS)]
    experts += [Expert(f"{names[k]}, plain", k, EVEN_ODDS) for k in range(len(half_lives), len(names))]
    return experts if solver is None else [*experts, Expert(solver, len(names), ALL_ROWS)]


class LiveFit:
    """Experts that learn from a stream, and which of them predicts now: bounded, and picklable.

    ``before`` is the model to begin with, in the user's columns.
    """

    def __init__(
        self,
        settings: FitConfig,
        n_features: int,
        before: LinearModel | None,
        seed: int,
        *,
        verbose: bool = False,
    ):
        alone = settings.half_life != "auto"
        half_lives = (float(settings.half_life),) if alone else config.HALF_LIVES  # type: ignore[arg-type]
        plain = () if alone else config.PLAIN_HALF_LIVES
        self._settings, self._before = settings, before
        exponent = 1.0 if isinstance(settings.measure, ConcaveMeasure) else WeightedLogistic().exponent
        kinds = [(half_life, exponent) for half_life in half_lives] + [(half_life, 0.0) for half_life in plain]
        self._learners = LiveLearners(kinds, settings, n_features)
        self._run = None if alone else OnlineFit(settings, n_features, before, seed, verbose=verbose)
        self._waiting: list[tuple[Any, NDArray[np.float64]]] = []
        self._experts = _experts(half_lives, plain, None if alone else settings.solver.name)
        self._of_experts = [one.model for one in self._experts]
        self._is_steady = np.array([one.cut == ALL_ROWS for one in self._experts])
        self._recent = RecentScores(len(kinds) + (not alone))
        self._thresholds = np.zeros(len(self._experts))
        self._searched_at = self._taught_at = 0  # rows
        self._counts = Counts(np.zeros((len(self._experts), 2, 2)), np.zeros((len(self._experts), 2, 2)))
        self._counted = Counts(np.zeros((2, 2)), np.zeros((2, 2)))
        self._counted_for = before  # the model, up to CHOICE_BLOCK rows old, that the rates are of
        self._chosen = len(self._experts) - 1
        self._seen = 0
        self._sparse: bool | None = None

    @property
    def history(self) -> History:
        return History() if self._run is None else self._run.history

    def require_sound(self, n_features: int) -> None:
        """Refuse a state, from a file, that compiled loops would read beyond its ends."""
        self._learners.require_sound(n_features)
        if self._run is not None:
            self._run.require_sound(n_features)

    def learn(self, X: Any, signed_weights: NDArray[Any], *, last: bool = False) -> None:
        """Learn from a block of rows, scored before; after the ``last`` one no rows wait."""
        signed_weights = np.asarray(signed_weights, dtype=np.float64)
        X = self._in_the_first_form(X)
        begins = not self._seen and self._before is None
        half = X.shape[0] // 2 if begins else 0  # one half is learned from before the other is scored
        for rows in (slice(0, half), slice(half, None)) if half else (slice(None),):
            self._score(X[rows], signed_weights[rows])
            self._learn(X[rows], signed_weights[rows])
        if self._run is not None and (last or self._is_due(self._taught_at, config.ONLINE_BLOCK)):
            self._teach_run()
        searches = last or self._is_due(self._searched_at, config.CHOICE_BLOCK)
        if self._recent.both_seen:
            if searches:
                self._search_thresholds()
            self._choose()
        if searches:
            self._searched_at, self._counted_for = self._seen, self._readable()

    def _is_due(self, done: int, most: int) -> bool:
        """Return whether what is done in larger blocks, so far up to some row, is to be done now."""
        return self._seen - done >= config.online_block(done, most)

    def _score(self, X: Any, signed_weights: NDArray[np.float64]) -> None:
        """Take in the scores of rows by the models before them, and what these predict."""
        coef, intercept = self._models()
        scores = np.ascontiguousarray((np.asarray(X @ coef.T) + intercept).T)
        self._recent.add(scores, signed_weights)
        if self._counted_for is None:
            return  # nothing could be read yet
        true, (weights, fading) = signed_weights > 0, self._fading(signed_weights)
        predicted = scores[self._of_experts] > self._thresholds[:, np.newaxis]
        self._counts = self._counts.decay(fading).merge(Counts.of_models(true, predicted, weights))
        predicted = np.asarray(X @ self._counted_for.weights) + self._counted_for.intercept > 0
        self._counted = self._counted.decay(fading).merge(Counts.of_models(true, predicted, weights))

    def _models(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return coefficients and intercepts of the learners and of the run."""
        if self._before is not None:
            models = [self._before] * self._recent.n_models
            return np.array([one.weights for one in models]), np.array([one.intercept for one in models])
        coef, intercept = self._learners.models()
        if self._run is None:
            return coef, intercept
        run = self._run.model()
        return np.vstack([coef, run.weights]), np.append(intercept, run.intercept)

    def _learn(self, X: Any, signed_weights: NDArray[np.float64]) -> None:
        self._learners.learn(X, signed_weights)
        if self._before is not None:  # the first rows have only given the scale of the columns
            self._learners.start_from(self._before)
            self._before = None
        if self._run is not None:
            self._waiting.append((X, signed_weights))
        self._seen += signed_weights.size
        if self._counted_for is None:
            self._counted_for = self._readable()

    def _teach_run(self) -> None:
        """Let the run that forgets nothing learn from the waiting rows, in larger blocks than the others."""
        stack: Any = sparse.vstack if self._sparse else np.concatenate
        X, signed_weights = zip(*self._waiting, strict=True)
        self._run.learn(stack(X), np.concatenate(signed_weights))  # type: ignore[union-attr]
        self._waiting.clear()
        self._taught_at = self._seen
        coef, intercept = self._models()
        for k, expert in enumerate(self._experts):
            if expert.cut == ALL_ROWS:
                model = LinearModel(coef[expert.model], float(intercept[expert.model]))
                self._thresholds[k] = self._run.threshold(model)  # type: ignore[union-attr]

    def _in_the_first_form(self, X: Any) -> Any:
        """Dense or CSR as the first rows were, of float64."""
        if self._sparse is None:
            self._sparse = sparse.issparse(X)
        if self._sparse:
            return sparse.csr_matrix(X, dtype=np.float64)
        return np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)

    def _fading(self, signed_weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return the decayed weights of the rows of a block, and the factor for the rows before."""
        share = max(self._counts.weights[0, 1].sum() / max(self._counts.weights[0].sum(), 1e-300), 1e-12)
        half_life = max(config.CHOICE_ROWS, config.CHOICE_POSITIVES / share)
        ages = np.arange(signed_weights.size)[::-1]
        return np.abs(signed_weights) * 0.5 ** (ages / half_life), 0.5 ** (signed_weights.size / half_life)

    def _search_thresholds(self) -> None:
        for k, expert in enumerate(self._experts):
            if expert.cut == RECENT_ROWS:
                self._thresholds[k] = self._recent_threshold(expert.model)

    def _choose(self) -> None:
        """Choose the expert with the best recent predictions."""
        values = self._values()
        best, points = float(values.max()), float(self._counts.effective_points()[0].min())
        # What has its threshold on all rows varies least: it predicts unless another is clearly better.
        values[self._is_steady] += 2.0 * half_standard_error(best, (0.0, 1.0), max(points, 1.0))
        self._chosen = int(np.argmax(values))

    def _values(self) -> NDArray[np.float64]:
        rates, measure = self._counts.rates, self._settings.measure
        values = np.asarray(measure.value(*rates), dtype=np.float64)
        negatives, positives = self._counts.effective_points()[0].tolist()
        prevalence = float(rates.prevalence[0])
        ranks = constrained_ranks(values, measure, rates.tpr, rates.tnr, prevalence, (positives, negatives))
        return np.where(np.isnan(ranks), -math.inf, ranks)

    def _positive_share(self) -> float:
        totals = self._counts.weights[0].sum(axis=-1)
        return float((totals[1] + 0.5) / (totals.sum() + 1.0))

    def _current_threshold(self) -> float:
        """Return the threshold of the expert that predicts now, by the newest rows."""
        expert = self._experts[self._chosen]
        if expert.cut == RECENT_ROWS and self._recent.both_seen:
            return self._recent_threshold(expert.model)
        return float(self._thresholds[self._chosen])

    def _recent_threshold(self, model: int) -> float:
        if not self._settings.tune:
            return 0.0
        sample = self._recent.sample(model, self._positive_share())
        return best_threshold(*sample, self._settings.measure).threshold

    def model(self) -> LinearModel:
        """Return the model of the expert that predicts now, of the user's columns, without its threshold."""
        coef, intercept = self._models()
        place = self._experts[self._chosen].model
        return LinearModel(coef[place], float(intercept[place]))

    def _readable(self) -> LinearModel:
        """Return the model with its threshold."""
        model = self.model()
        return LinearModel(model.weights, model.intercept - self._current_threshold())

    def sample_of_scores(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return recent scores of the expert that predicts now, with signed weights."""
        return self._recent.sample(self._experts[self._chosen].model, self._positive_share())

    def scaling(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what is subtracted from each column, and what it is divided by."""
        place = self._experts[self._chosen].model
        if self._run is not None and place == self._recent.n_models - 1:
            return self._run.scaling()
        scaling = self._learners.scaling()
        return scaling.centre[place], scaling.scale[place]

    def log_odds_model(self) -> LinearModel:
        """Return the model with its scores as log odds, drawn on recent rows."""
        return as_log_odds(self.model(), *self.sample_of_scores())

    def result(self) -> FitResult:
        """Return the model that predicts now, with the rates of predictions made before learning."""
        settings, measure = self._settings, self._settings.measure
        threshold, model, (centre, scale) = self._current_threshold(), self.model(), self.scaling()
        negatives, positives = self._counted.effective_points()
        rates, points = self._counted.rates, (float(positives), float(negatives))
        values, signed_weights = self.sample_of_scores()
        decision = Decision(
            threshold,
            rates,
            rates_interval(rates, measure, points),
            bound_message(measure, rates, points, searched=settings.tune),
            calibrated(values, signed_weights, values.size, threshold),
        )
        solver = settings.solver if self._run is not None else WeightedLogistic()
        stages = (self._experts[self._chosen].label,)
        return FitResult.of_columns(model, scale, centre, decision, solver, stages)
