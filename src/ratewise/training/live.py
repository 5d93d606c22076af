"""A stream that drifts: learners that forget at different speeds, and the choice among them.

Each row is scored before it is learned from. These scores choose the thresholds and the expert, and are counted
for the rates.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import kernels
from ..counts import Counts, Rates
from ..decisions.calibrate import calibrated
from ..decisions.certify import Decision, bound_message
from ..decisions.choose import half_standard_error
from ..decisions.cuts import best_threshold
from ..decisions.intervals import rates_interval
from ..measures import ConcaveMeasure
from ..measures.base import gains_of_slopes
from ..solvers.base import History
from ..solvers.logistic import WeightedLogistic
from ..solvers.state import LinearModel
from . import config
from .config import FitConfig
from .live_learners import LearnerKind, LiveLearners, RecentScores
from .online import OnlineFit, as_log_odds
from .source import FitResult

CUTS = ALL_ROWS, RECENT_ROWS, GAINS = "all rows", "recent rows", "gains"
"""How the threshold of an expert is set: by a sample of all rows, by recent scores, or by the log odds at which
predicting a row positive gains as much as predicting it negative. The last way needs no scores, so the threshold
moves with the model."""


class Expert(NamedTuple):
    """A way to predict: a learner, or the run that forgets nothing (None), and how its threshold is set."""

    label: str
    kind: LearnerKind | None
    cut: str


def _experts(settings: FitConfig) -> list[Expert]:
    """Return the ways to predict from which the best is chosen; there may be only one."""
    exponent = 1.0 if isinstance(settings.measure, ConcaveMeasure) else WeightedLogistic().exponent
    if settings.half_life != "auto":
        rows = float(settings.half_life)  # type: ignore[arg-type]
        return [Expert(f"half-life {rows:,.0f}", LearnerKind(rows, exponent), RECENT_ROWS)]
    experts = [Expert("logistic", LearnerKind(math.inf, exponent), ALL_ROWS)]
    for rows in config.HALF_LIVES:
        cut = GAINS if rows <= config.GAINS_HALF_LIFE else RECENT_ROWS
        experts.append(Expert(f"half-life {rows:,.0f}", LearnerKind(rows, exponent), cut))
    experts.append(Expert("constant step", LearnerKind(math.inf, 0.0, config.CONSTANT_STEP), GAINS))
    return [*experts, Expert(settings.solver.name, None, ALL_ROWS)]


class LiveFit:
    """Experts that learn from a stream, and the choice of the one that predicts; bounded in memory, picklable.

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
        self._settings, self._before = settings, before
        self._experts = _experts(settings)
        n = len(self._experts)
        self._by = {cut: [k for k, one in enumerate(self._experts) if one.cut == cut] for cut in CUTS}
        kinds = [one.kind for one in self._experts if one.kind is not None]
        self._learners = LiveLearners(kinds, settings, n_features)
        self._run = None
        if len(kinds) < n:
            self._run = OnlineFit(settings, n_features, before, seed, verbose=verbose)
            self._run_model = self._run.model()
        self._waiting: list[tuple[Any, NDArray[np.float64]]] = []  # for the run
        self._recent = RecentScores(n, (config.RECENT_NEGATIVES, config.RECENT_POSITIVES))
        self._thresholds = np.zeros(n)
        self._seen = self._searched_at = self._taught_at = self._counted_from = 0  # rows
        self._chosen = n - 1
        self._counted_for = before  # the model, up to CHOICE_BLOCK rows old, that the rates are of
        nothing = np.zeros((n + 1, 2, 2))
        self._counts = Counts(nothing, nothing)  # of each expert, and of that model
        self._sparse: bool | None = None

    @property
    def history(self) -> History:
        return History() if self._run is None else self._run.history

    def require_sound(self, n_features: int) -> None:
        """Refuse a state, from a file, that compiled loops would read beyond its ends."""
        self._learners.require_sound(n_features)
        self._recent.require_sound()
        n = self._learners.number + (self._run is not None)
        of_experts = self._recent.n_models == len(self._experts) == self._thresholds.size == n
        if not of_experts or self._thresholds.shape != (n,) or self._thresholds.dtype != np.float64:
            raise ValueError("the thresholds of the stream do not fit its learners")
        if self._run is not None:
            self._run.require_sound(n_features)

    def learn(self, X: Any, signed_weights: NDArray[Any], *, last: bool = False) -> None:
        """Score a block of rows, then learn from it; after the ``last`` block no rows wait."""
        signed_weights = np.asarray(signed_weights, dtype=np.float64)
        X = self._in_the_first_form(X)
        for rows in self._parts(signed_weights):
            self._score(X[rows], signed_weights[rows])
            self._learn(X[rows], signed_weights[rows])
        if self._run is not None and (last or self._is_due(self._taught_at, config.ONLINE_BLOCK)):
            self._teach_run(self._run)
        searches = last or self._is_due(self._searched_at, config.CHOICE_BLOCK)
        if self._recent.both_seen:
            rates = Counts(self._counts.weights[:-1] + 0.5).rates  # as if half a row had been in each cell
            self._set_thresholds(rates, searches)
            self._choose(rates)
            self._searched_at = self._seen if searches else self._searched_at
        if self._seen - self._counted_from >= min(self._counted_from, config.CHOICE_BLOCK):
            self._counted_from, self._counted_for = self._seen, self._readable()

    def _parts(self, signed_weights: NDArray[np.float64]) -> list[slice]:
        """Return the parts of a block: each is learned from before the next is scored. A new class makes them
        small.

        Otherwise the choice would rest on predictions of models that did not know the new class.
        """
        number, positives = signed_weights.size, int((signed_weights > 0).sum())
        young = (np.array([number - positives, positives]) > 0) & (self._recent.seen < config.YOUNG_ROWS)
        size = min(config.YOUNG_BLOCK, max(number // 2, 1)) if young.any() and self._before is None else number
        return [slice(start, start + size) for start in range(0, number, size)]

    def _is_due(self, done: int, most: int) -> bool:
        """Return whether work in blocks of up to ``most`` rows, last done at row ``done``, is due now."""
        return self._seen - done >= config.online_block(done, most)

    def _in_the_first_form(self, X: Any) -> Any:
        """Return rows as float64, dense or CSR as the first rows were."""
        if self._sparse is None:
            self._sparse = sparse.issparse(X)
        if self._sparse:
            return sparse.csr_matrix(X, dtype=np.float64)
        return np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)

    def _score(self, X: Any, signed_weights: NDArray[np.float64]) -> None:
        """Add the scores and predictions of rows by the models that have not learned from them."""
        coef, intercept = self._models()
        scores = np.ascontiguousarray(np.asarray(X @ coef.T).T) + intercept[:, np.newaxis]
        self._recent.add(scores, signed_weights)
        if self._counted_for is None:
            return  # there is no model to read yet
        per_positives = config.CHOICE_POSITIVES / self._positive_share()
        half_life = min(max(config.CHOICE_ROWS, per_positives), config.CHOICE_MOST_ROWS)
        number = signed_weights.size
        weights = np.abs(signed_weights) * 0.5 ** (np.arange(number)[::-1] / half_life)
        readable = np.asarray(X @ self._counted_for.weights) + self._counted_for.intercept
        fresh = _counted(np.vstack([scores, readable]), np.append(self._thresholds, 0.0), signed_weights, weights)
        self._counts = self._counts.decay(0.5 ** (number / half_life)).merge(fresh)

    def _models(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the coefficients and intercepts of all experts."""
        if self._before is not None:
            models = [self._before] * len(self._experts)
            return np.array([one.weights for one in models]), np.array([one.intercept for one in models])
        coef, intercept = self._learners.models()
        if self._run is None:
            return coef, intercept
        return np.vstack([coef, self._run_model.weights]), np.append(intercept, self._run_model.intercept)

    def _learn(self, X: Any, signed_weights: NDArray[np.float64]) -> None:
        self._learners.learn(X, signed_weights)
        if self._before is not None:  # the first rows have only given the scale of the columns
            self._learners.start_from(self._before)
            self._before = None
        if self._run is not None:
            self._waiting.append((X, signed_weights))
        self._seen += signed_weights.size
        if self._counted_for is None:
            self._counted_from, self._counted_for = self._seen, self._readable()

    def _teach_run(self, run: OnlineFit) -> None:
        """Let the run that forgets nothing learn from the waiting rows, in its larger blocks."""
        stack: Any = sparse.vstack if self._sparse else np.concatenate
        X, signed_weights = zip(*self._waiting, strict=True)
        run.learn(stack(X), np.concatenate(signed_weights))
        self._waiting.clear()
        self._run_model, self._taught_at = run.model(), self._seen
        coef, intercept = self._models()
        for k in self._by[ALL_ROWS] if self._recent.both_seen else ():
            self._thresholds[k] = run.quick_threshold(LinearModel(coef[k], float(intercept[k])))

    def _set_thresholds(self, rates: Rates, searches: bool) -> None:
        """Set the thresholds of experts that forget: by gains and, if ``searches``, by recent scores."""
        class_weights = self._learners.class_weights()
        for k in self._by[GAINS]:
            of_positive, of_negative = self._gains(Rates(*(float(one[k]) for one in rates)))
            self._thresholds[k] = math.log(of_negative / of_positive) + class_weights[k]
        for k in self._by[RECENT_ROWS] if searches else ():
            self._thresholds[k] = self._recent_threshold(k)

    def _gains(self, rates: Rates) -> tuple[float, float]:
        """Return the gain of a row of each class; under concave measures both rates count equally."""
        measure = self._settings.measure
        if isinstance(measure, ConcaveMeasure):  # at the optimum the rates are nearly equal, and Min has a kink
            return gains_of_slopes((1.0, 1.0), rates.prevalence)
        return measure.gains(rates, config.LEAST_GAIN)

    def _recent_threshold(self, k: int) -> float:
        return best_threshold(*self._recent.sample(k, self._positive_share()), self._settings.measure).threshold

    def _positive_share(self) -> float:
        negatives, positives = self._counts.weights[0].sum(axis=-1).tolist()
        return float((positives + 0.5) / (positives + negatives + 1.0))

    def _choose(self, rates: Rates) -> None:
        """Choose the expert with the best recent predictions."""
        values = np.asarray(self._settings.measure.value(*rates), dtype=np.float64)
        values = np.where(np.isnan(values), -math.inf, values)
        best, points = float(values.max()), float(self._points(0).min())
        # The expert whose threshold rests on all rows varies least: it predicts unless another is clearly better.
        steady = self._by[ALL_ROWS]
        values[steady] += 2.0 * half_standard_error(best, (0.0, 1.0), max(points, 1.0))
        self._chosen = int(np.argmax(values))

    def _points(self, k: int) -> NDArray[np.float64]:
        """Return the effective numbers of counted negatives and positives."""
        return np.asarray(Counts(self._counts.weights[k], self._counts.squared()[k]).effective_points())

    def _current_threshold(self) -> float:
        """Return the threshold of the expert that predicts now, from the newest rows."""
        found_before = self._searched_at == self._seen or not self._recent.both_seen
        if self._experts[self._chosen].cut != RECENT_ROWS or found_before:
            return float(self._thresholds[self._chosen])
        return self._recent_threshold(self._chosen)

    def model(self) -> LinearModel:
        """Return the model of the expert that predicts now, of the user's columns, without its threshold."""
        coef, intercept = self._models()
        return LinearModel(coef[self._chosen], float(intercept[self._chosen]))

    def _readable(self) -> LinearModel:
        """Return the model with its threshold."""
        return self.model().times(1.0, -self._current_threshold())

    def sample_of_scores(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return recent scores of the expert that predicts now, with signed weights."""
        return self._recent.sample(self._chosen, self._positive_share())

    def scaling(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the centre and the divisor of each column."""
        if self._run is not None and self._experts[self._chosen].kind is None:
            return self._run.scaling()
        scaling = self._learners.scaling()
        return scaling.centre[self._chosen], scaling.scale[self._chosen]

    def log_odds_model(self) -> LinearModel:
        """Return the model with its scores as log odds, fitted on recent rows."""
        return as_log_odds(self.model(), *self.sample_of_scores())

    def result(self) -> FitResult:
        """Return the model that predicts now, with the rates of predictions made before learning."""
        settings, measure = self._settings, self._settings.measure
        threshold, model, (centre, scale) = self._current_threshold(), self.model(), self.scaling()
        negatives, positives = self._points(-1).tolist()
        rates, points = Counts(self._counts.weights[-1]).rates, (positives, negatives)
        values, signed_weights = self.sample_of_scores()
        decision = Decision(
            threshold,
            rates,
            rates_interval(rates, measure, points),
            bound_message(measure, rates, points, searched=True),
            calibrated(values, signed_weights, values.size, threshold),
        )
        solver = settings.solver if self._run is not None else WeightedLogistic()
        stages = (self._experts[self._chosen].label,)
        return FitResult.of_columns(model, scale, centre, decision, solver, stages)


def _counted(
    scores: NDArray[np.float64],
    thresholds: NDArray[np.float64],
    signed_weights: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> Counts:
    """Return the weighted counts of the predictions of several models."""
    counts = np.zeros((2, thresholds.size, 2, 2))
    kernels.count_live(scores, thresholds, signed_weights, weights, counts)
    return Counts(counts[0], counts[1])
