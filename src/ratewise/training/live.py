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
from ..solvers.state import NOTHING_SEEN, LinearModel, kernel_rows, summarize
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

    def learn(self, X: Any, signed_weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Learn from rows in order; return the scores ``[learner, row]`` that each had before."""
        scores = np.empty((self._facts.shape[0], X.shape[0]))
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
            scores,
        )
        return scores

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
        for own, facts, scaling in zip(self._columns, self._facts, self._scalings(), strict=True):
            own[3] = own[4] = model.weights * scaling.scale
            facts[4] = facts[5] = model.intercept + model.weights @ scaling.centre

    def model(self, k: int) -> tuple[LinearModel, Scaling]:
        """Return the averaged model of a learner, of the user's columns."""
        scaling = self._scalings()[k]
        coef = np.where(scaling.used, self._columns[k, 4] / scaling.scale, 0.0)
        return LinearModel(coef, float(self._facts[k, 5] - coef @ scaling.centre)), scaling

    def _scalings(self) -> list[Scaling]:
        return [self._scaling(k) for k in range(self._facts.shape[0])]

    def _scaling(self, k: int) -> Scaling:
        k = self._alike[k]
        first, second = self._columns[k, :2]
        if not self._standardize:
            return Scaling(np.zeros(first.size), np.ones(first.size), np.ones(first.size, dtype=bool))
        if self._sparse:
            count = max(float(self._facts[k, 0]), 1.0)
            scale = np.sqrt(first / np.sqrt(np.maximum(count * second, 1e-300)))
            return Scaling(np.zeros(first.size), np.where(scale > 0, scale, 1.0), scale > 0)
        least = kernels.LEAST_SPREAD
        scale = np.sqrt(np.maximum(second, least * least * self._overall[2]))
        used = scale > 1e-12 * np.abs(first)
        return Scaling(first, np.where(used, scale, 1.0), used)


def _first_places(values: list[float]) -> list[int]:
    """Return the first place of each value."""
    return [values.index(value) for value in values]


class Scaling(NamedTuple):
    """How a learner sees columns now."""

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    used: NDArray[np.bool_]
    """Columns that vary."""


class RecentScores:
    """The latest scores of either class, by several models, as computed before learning."""

    def __init__(self, n_models: int):
        sizes = (config.RECENT_NEGATIVES, config.RECENT_POSITIVES)
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


class Expert(NamedTuple):
    """A way to predict: a model, by its place among the scores, and how its threshold is chosen."""

    label: str
    scores: int
    cut: str
    """"all rows", "recent rows", or "zero"."""


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
        self._settings, self._before = settings, before
        self._run = None if alone else OnlineFit(settings, n_features, before, seed, verbose=verbose)
        self._run_threshold = 0.0
        self._waiting: list[tuple[Any, NDArray[np.float64]]] = []
        exponent = 1.0 if isinstance(settings.measure, ConcaveMeasure) else WeightedLogistic().exponent
        plain = () if alone else config.PLAIN_HALF_LIVES
        kinds = [(half_life, exponent) for half_life in half_lives] + [(half_life, 0.0) for half_life in plain]
        self._learners = LiveLearners(kinds, settings, n_features)
        first = 0 if self._run is None else 1
        names = [f"half-life {rows:,.0f}" if rows < math.inf else "logistic" for rows in (*half_lives, *plain)]
        self._experts = [
            Expert(name, first + k, "recent rows")
            if k < len(half_lives)
            else Expert(f"{name}, plain", first + k, "zero")
            for k, name in enumerate(names)
        ]
        if self._run is not None:
            named = settings.solver.name
            self._experts += [Expert(f"{named}, recent threshold", 0, "recent rows"), Expert(named, 0, "all rows")]
        self._recent = RecentScores(first + len(kinds))
        self._thresholds = np.zeros(len(self._experts))
        self._counts = Counts(np.zeros((len(self._experts), 2, 2)), np.zeros((len(self._experts), 2, 2)))
        self._counted = Counts(np.zeros((2, 2)), np.zeros((2, 2)))  # of the expert that predicted at the time
        self._chosen = len(self._experts) - 1
        self._seen = NOTHING_SEEN
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
        if self._seen.points:
            self._count_predictions(X, signed_weights)
        scores = self._learners.learn(X, signed_weights)
        if self._before is not None:  # the first rows have only given the scale of the columns
            self._learners.start_from(self._before)
            scores[:] = np.asarray(X @ self._before.weights) + self._before.intercept
            self._before = None
        if self._run is not None:
            model = self._run.model()
            scores = np.vstack([np.asarray(X @ model.weights) + model.intercept, scores])
            self._waiting.append((X, signed_weights))
            due = config.online_block(self._seen.points, config.ONLINE_BLOCK)
            if last or sum(one.size for _, one in self._waiting) >= due:
                self._teach_run()
        self._count(scores, signed_weights)
        if not self._seen.points:  # so far no model could be read; with batches of one row it could
            self._counted = Counts(self._counts.weights[self._chosen], self._counts.squared()[self._chosen])
        self._seen = self._seen.merge(summarize(X, signed_weights))
        self._recent.add(scores, signed_weights)
        if self._recent.both_seen:
            self._choose()

    def _teach_run(self) -> None:
        """Let the run that forgets nothing learn from the waiting rows, in larger blocks than the others."""
        stack: Any = sparse.vstack if self._sparse else np.concatenate
        X, signed_weights = zip(*self._waiting, strict=True)
        self._run.learn(stack(X), np.concatenate(signed_weights))  # type: ignore[union-attr]
        self._run_threshold = self._run.threshold()  # type: ignore[union-attr]
        self._waiting.clear()

    def _in_the_first_form(self, X: Any) -> Any:
        """Dense or CSR as the first rows were, of float64."""
        if self._sparse is None:
            self._sparse = sparse.issparse(X)
        if self._sparse:
            return sparse.csr_matrix(X, dtype=np.float64)
        return np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)

    def _count(self, scores: NDArray[np.float64], signed_weights: NDArray[np.float64]) -> None:
        """Add what each expert predicted for these rows, before it learned from them."""
        weights, fading = self._fading(signed_weights)
        of_experts = [one.scores for one in self._experts]
        predicted = scores[of_experts] > self._thresholds[:, np.newaxis]
        fresh = Counts.of_models(signed_weights > 0, predicted, weights)
        self._counts = self._counts.decay(fading).merge(fresh)

    def _count_predictions(self, X: Any, signed_weights: NDArray[np.float64]) -> None:
        """Add what the model that could be read before this block predicts for it."""
        model, (weights, fading) = self.model(), self._fading(signed_weights)
        scores = np.asarray(X @ model.weights) + model.intercept
        predicted = scores > self._thresholds[self._chosen]
        self._counted = self._counted.decay(fading).merge(Counts.of_models(signed_weights > 0, predicted, weights))

    def _fading(self, signed_weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return the decayed weights of the rows of a block, and the factor for the rows before."""
        share = max(self._counts.weights[0, 1].sum() / max(self._counts.weights[0].sum(), 1e-300), 1e-12)
        half_life = max(config.CHOICE_ROWS, config.CHOICE_POSITIVES / share)
        ages = np.arange(signed_weights.size)[::-1]
        return np.abs(signed_weights) * 0.5 ** (ages / half_life), 0.5 ** (signed_weights.size / half_life)

    def _choose(self) -> None:
        """Set the thresholds by recent scores, and choose the expert with the best recent predictions."""
        for k, expert in enumerate(self._experts):
            if expert.cut == "recent rows":
                self._thresholds[k] = self._recent_threshold(expert.scores)
            elif expert.cut == "all rows":
                self._thresholds[k] = self._run_threshold
        values = self._values()
        if self._experts[-1].cut == "all rows":  # it varies least: it predicts unless another is clearly better
            best, points = float(values.max()), float(self._counts.effective_points()[0].min())
            values[-1] += 2.0 * half_standard_error(best, (0.0, 1.0), max(points, 1.0))
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

    def _recent_threshold(self, model: int) -> float:
        if not self._settings.tune:
            return 0.0
        sample = self._recent.sample(model, self._positive_share())
        return best_threshold(*sample, self._settings.measure).threshold

    def model(self) -> LinearModel:
        """Return the model of the expert that predicts now, of the user's columns, without its threshold."""
        return self._chosen_model()[0]

    def _chosen_model(self) -> tuple[LinearModel, NDArray[np.float64], NDArray[np.float64]]:
        """Return the model, and the centre and the scale of columns as it sees them."""
        place = self._experts[self._chosen].scores
        if self._run is None:
            place += 1
        if place == 0:
            standardizer = self._run.standardizer  # type: ignore[union-attr]
            return self._run.model(), standardizer.centre, standardizer.scale  # type: ignore[union-attr]
        model, scaling = self._learners.model(place - 1)
        return model, scaling.centre, scaling.scale

    def sample_of_scores(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return recent scores of the expert that predicts now, with signed weights, as computed before
        learning.
        """
        return self._recent.sample(self._experts[self._chosen].scores, self._positive_share())

    def scaling(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what is subtracted from each column, and what it is divided by."""
        return self._chosen_model()[1:]

    def log_odds_model(self) -> LinearModel:
        """Return the model with its scores as log odds, drawn on recent rows."""
        return as_log_odds(self.model(), *self.sample_of_scores())

    def result(self) -> FitResult:
        """Return the model that predicts now, with the rates of predictions made before learning."""
        settings, measure = self._settings, self._settings.measure
        threshold = float(self._thresholds[self._chosen])
        model, centre, scale = self._chosen_model()
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
