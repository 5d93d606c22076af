"""A fit of many classes to rows in memory: all classes at once, or each against the rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure
from ..solvers.base import History, Solver, Task
from ..solvers.calibrate import log_odds_line
from ..solvers.multiclass import (
    ClassRates,
    MulticlassModel,
    MultinomialLogistic,
    best_offsets,
    logistic_pull,
    macro_pull,
    soft_counts,
    softmax,
)
from ..solvers.state import LinearModel
from ..solvers.threshold import half_standard_error
from .config import FitConfig
from .labelled import Batch, LabelledRows
from .memory import ArrayTrainingRows, in_threads
from .trainer import trained_with_care

_BATCH = 256
_FEWEST_BATCHES = 4
_LARGEST_STEP = 0.2
_MEMORY = (0.9, 0.999)
_REMEMBERED_BATCHES = 50
_STEPS = 2000
_MOST_PASSES = 64
_FEWEST_PASSES = 8
_FEW_ROWS = 5_000
_VERY_FEW_ROWS = 1_000
_SAMPLE = 4096
# Penalties as in scikit-learn, 1 / C: validation rows choose.
_PENALTIES = (0.05, 2.0)
_PENALTIES_FOR_FEW = (0.05, 1.0, 20.0)
_CALIBRATED_VALUES = 1 << 18  # validation scores of each stage that are kept
_NEVER = -30.0  # the log odds of a class that no row is of

Pull = Callable[[NDArray[Any], Batch], NDArray[Any]]


class ClassScores(NamedTuple):
    """Scores of rows, a column per class, with the class and the weight of each row."""

    scores: NDArray[np.floating[Any]]
    codes: NDArray[np.intp]
    weights: NDArray[Any]


class SelectedMany(NamedTuple):
    """The outcome: a model of all classes, and the rates to expect of it on new rows."""

    model: MulticlassModel
    rates: ClassRates
    stages: tuple[str, ...]
    solver: Solver | MultinomialLogistic
    """What made the model."""
    validated: ClassScores | None = None
    """Some validation rows as models of other rows score them; None if all rows were learned from."""


def learn_classes(
    rows: LabelledRows,
    settings: FitConfig,
    initial: MulticlassModel | None,
    rng: np.random.Generator,
    history: History,
) -> SelectedMany:
    """Fit all classes at once or, without sharpening, each against the rest; ``initial`` is where to begin.

    Without sharpening it is the paper's algorithm for every class. The highest log odds win, moved to the best
    macro average.
    """
    if settings.sharpen is not None:
        passes = passes_over(rows) if settings.sharpen.passes == "auto" else int(settings.sharpen.passes)
        return _learn_jointly(rows, _Path(settings, initial, passes), rng, history)
    model = one_against_the_rest(
        rows, settings, settings.solver, initial, rng, history, calibrate=settings.tune, threads=settings.threads
    )
    codes, weights = rows.codes, rows.weights
    if settings.tune:
        offsets = best_offsets(rows.scores(*model), codes, weights, settings.measure)
        model = model._replace(intercepts=model.intercepts + offsets)
    rates = ClassRates.of_predictions(codes, predicted_classes(model, rows), weights, rows.n_classes)
    return SelectedMany(model, rates, (), settings.solver)


def _learn_jointly(rows: LabelledRows, path: _Path, rng: np.random.Generator, history: History) -> SelectedMany:
    """Learn all classes together; validation rows choose how far to go, then all rows go that far.

    Stages that cannot be told apart are averaged.

    Multinomial logistic regression comes first, or the solver that the user named. From there the macro average
    itself is climbed, with shares by softmax in the place of calls: rates are then smooth, and the measure's own
    slopes say what a share is worth. Unlike the likelihood this is bounded, so that rows beyond saving stop
    pulling. Without a penalty of the user's, validation rows choose one.
    """
    settings = path.settings
    rows, folds = _folds(rows, settings.validation_fraction, rng)
    strengths = _PENALTIES_FOR_FEW if rows.n_points < _FEW_ROWS else _PENALTIES
    penalties = [settings.l2] if settings.l2 > 0 else [strength / rows.n_points for strength in strengths]
    seeds = rng.spawn(len(folds) * len(penalties) + len(penalties))
    jobs = [
        _FoldJob(k * len(folds) + number, fold, penalty, seeds[k * len(folds) + number])
        for k, penalty in enumerate(penalties)
        for number, fold in enumerate(folds)
    ]
    histories = [history.branch() for _ in jobs]
    kept = max(_CALIBRATED_VALUES // (rows.n_classes * len(folds)), 1)
    found = in_threads(
        lambda job: _predictions_of(job, path, rows, histories[job.number], kept), jobs, settings.threads
    )
    for one in histories:
        history.join(one)
    best, stages, rates = _best_stages(found, jobs, rows, settings.measure)
    validated = _validated(found, jobs, stages, rows)
    last = {penalty: seeds[len(jobs) + k] for k, penalty in enumerate(penalties)}
    wanted = [penalty for penalty in penalties if any(stage.penalty == penalty for stage in stages)]
    refitted = in_threads(
        lambda penalty: _refitted(rows, path, stages, penalty, last[penalty]), wanted, settings.threads
    )
    model = _mean([model for several in refitted for model in several])
    names = tuple(f"{stage.name}, L2 {stage.penalty:.2g}" for stage in stages)
    return SelectedMany(model, rates, names, settings.start or MultinomialLogistic(best.penalty), validated)


def passes_over(rows: LabelledRows) -> int:
    """About as many steps whatever the number of rows, within reason."""
    wanted = math.ceil(_STEPS * batch_rows(rows) / rows.n_points)
    most = _MOST_PASSES if rows.n_points >= _VERY_FEW_ROWS else _MOST_PASSES // 2
    return min(max(wanted, _FEWEST_PASSES), most)


class _Stage(NamedTuple):
    name: str
    penalty: float


class _FoldJob(NamedTuple):
    """One penalty on the rows that one fold leaves."""

    number: int
    validation: tuple[int, int]
    penalty: float
    rng: np.random.Generator


class _Path(NamedTuple):
    """The way from a start to the last pass, the same for every fold."""

    settings: FitConfig
    initial: MulticlassModel | None
    passes: int

    def models(
        self, rows: LabelledRows, penalty: float, rng: np.random.Generator
    ) -> Iterator[tuple[str, int, MulticlassModel]]:
        """The models after 1, 2, 4, ... passes of each stage and at its end, each with its stage and passes."""
        n_classes, n_features = rows.n_classes, rows.n_features
        model = self.initial or MulticlassModel(np.zeros((n_classes, n_features)), np.zeros(n_classes))
        done = 0
        if self.settings.start is None:
            descent = Descent(rows, model, penalty, rng)
            for number, model in descent.stage(self.passes, for_the_likelihood):
                if self._is_candidate(number):
                    yield f"logistic, {number} passes", number, model
            done = self.passes
        else:
            model = one_against_the_rest(rows, self.settings, self.settings.start, self.initial, rng, History())
            yield "one against the rest", 0, model
        pull = ForTheMeasure(self.settings.measure, rows, model)
        descent = Descent(rows, model, penalty, rng)
        for number, model in descent.stage(self.passes, pull):
            if self._is_candidate(number):
                yield f"macro average, {number} passes", done + number, model

    def _is_candidate(self, number: int) -> bool:
        return number & (number - 1) == 0 or number == self.passes


class _Predictions(NamedTuple):
    """What a model calls the validation rows, and its scores of the first of them, brought to unit spread."""

    called: NDArray[np.intp]
    scores: NDArray[np.floating[Any]]


def _predictions_of(
    job: _FoldJob, path: _Path, rows: LabelledRows, history: History, kept: int
) -> dict[_Stage, _Predictions]:
    """What the models of each stage say of the validation rows; scores of so many of them are kept."""
    start, stop = job.validation
    learned, validation = rows.part((0, start), (stop, rows.n_points)), rows.part((start, stop))
    codes, weights = validation.codes, validation.weights
    calls = {}
    for name, passes, model in path.models(learned, job.penalty, job.rng):
        scores = validation.scores(*model)
        called = scores.argmax(axis=1)
        rates = ClassRates.of_predictions(codes, called, weights, rows.n_classes)
        history.record(
            run=job.number,
            passes=passes,
            points=passes * learned.n_points,
            tpr=float(rates.tpr.mean()),
            tnr=float(rates.tnr.mean()),
            value=rates.value(path.settings.measure),
        )
        some = scores[:kept] - scores[:kept].mean(axis=1, keepdims=True)
        calls[_Stage(name, job.penalty)] = _Predictions(called, some / max(float(some.std()), 1e-12))
    return calls


def _validated(
    found: list[dict[_Stage, _Predictions]], jobs: list[_FoldJob], stages: list[_Stage], rows: LabelledRows
) -> ClassScores:
    """Some rows of each fold, with the mean scores of the chosen stages by the models of the other folds."""
    by_fold: dict[tuple[int, int], list[NDArray[np.floating[Any]]]] = {}
    for job, predictions in zip(jobs, found, strict=True):
        mine = by_fold.setdefault(job.validation, [])
        mine += [predictions[stage].scores for stage in stages if stage in predictions]
    scores = [np.mean(several, axis=0) for several in by_fold.values()]
    some = rows.part(*((start, start + len(one)) for (start, _), one in zip(by_fold, scores, strict=True)))
    return ClassScores(np.concatenate(scores), some.codes, some.weights)


def _best_stages(
    found: list[dict[_Stage, _Predictions]], jobs: list[_FoldJob], rows: LabelledRows, measure: Measure
) -> tuple[_Stage, list[_Stage], ClassRates]:
    """The best stage on the validation rows, all that these cannot tell from it, and the rates of the best."""
    pooled: dict[_Stage, ClassRates] = {}
    for penalty in dict.fromkeys(job.penalty for job in jobs):
        mine = [(job, calls) for job, calls in zip(jobs, found, strict=True) if job.penalty == penalty]
        validation = rows.part(*(job.validation for job, _ in mine))
        codes, weights = validation.codes, validation.weights
        for stage in mine[0][1]:
            called = np.concatenate([calls[stage].called for _, calls in mine])
            pooled[stage] = ClassRates.of_predictions(codes, called, weights, rows.n_classes)
    values = {stage: rates.value(measure) for stage, rates in pooled.items()}
    best = max(values, key=lambda stage: values[stage])
    useless, perfect = np.mean([measure.scale(float(p)) for p in pooled[best].prevalence if p > 0], axis=0)
    tolerance = half_standard_error(values[best], (float(useless), float(perfect)), codes.size)
    alike = [stage for stage, value in values.items() if value >= values[best] - tolerance]
    return best, alike, pooled[best]


def _refitted(
    rows: LabelledRows, path: _Path, stages: list[_Stage], penalty: float, rng: np.random.Generator
) -> list[MulticlassModel]:
    """The models of these stages, learned from all rows, each brought to unit spread of its scores."""
    wanted = {stage.name for stage in stages if stage.penalty == penalty}
    models = []
    for name, _, model in path.models(rows, penalty, rng):
        if name in wanted:
            models.append(_to_unit_spread(model, rows))
            wanted.remove(name)
        if not wanted:
            break
    return models


def _to_unit_spread(model: MulticlassModel, rows: LabelledRows) -> MulticlassModel:
    """Models of different penalties come on different scales; what all classes share has no say."""
    weights = model.weights - model.weights.mean(axis=0)
    intercepts = model.intercepts - model.intercepts.mean()
    sample = rows.part((0, min(rows.n_points, _SAMPLE)))
    spread = max(float(sample.scores(weights, intercepts).std()), 1e-12)
    return MulticlassModel(weights / spread, intercepts / spread)


def _mean(models: list[MulticlassModel]) -> MulticlassModel:
    return MulticlassModel(
        np.mean([one.weights for one in models], axis=0), np.mean([one.intercepts for one in models], axis=0)
    )


def _folds(
    rows: LabelledRows, validation_fraction: float | None, rng: np.random.Generator
) -> tuple[LabelledRows, list[tuple[int, int]]]:
    """The ranges of validation rows: one fifth of many rows, and each fifth of few in turn."""
    folds = 5 if validation_fraction is None else max(round(1.0 / validation_fraction), 2)
    folds = min(folds, rows.n_points, rows.n_groups or folds)
    rows, ranges = rows.in_folds(folds, rng)
    return rows, ranges if rows.n_points < _FEW_ROWS else ranges[:1]


class Descent:
    """Steps along the gradient of some average over rows, batch by batch, each number at its own pace.

    The steps are Adam's; they fall in a straight line to nothing at the end of a stage. What a stage learns is the
    mean of the models of its last pass.
    """

    def __init__(self, rows: LabelledRows, model: MulticlassModel, l2: float, rng: np.random.Generator):
        self.rows = rows
        self.batch_rows = batch_rows(rows)
        self._l2 = np.float32(l2)
        self._rng = rng
        self._step = min(_LARGEST_STEP, rows.leverage() ** -0.8)
        # Columns down, classes across; the last row holds the intercepts.
        self._theta = np.vstack([model.weights.T, model.intercepts]).astype(np.float32)

    def stage(self, passes: int, pull: Pull) -> Iterator[tuple[int, MulticlassModel]]:
        """The mean model of each of so many passes."""
        theta = self._theta
        slow, fast = np.zeros_like(theta), np.zeros_like(theta)
        steps_in_all = passes * max(round(self.rows.n_points / self.batch_rows), 1)
        done = 0
        for number in range(1, passes + 1):
            total, counted = np.zeros(theta.shape), 0
            for batch in self.rows.batches(self.batch_rows, self._rng):
                gradient = self._gradient(batch, pull)
                done += 1
                slow += (1.0 - _MEMORY[0]) * (gradient - slow)
                fast += (1.0 - _MEMORY[1]) * (gradient * gradient - fast)
                share_left = max(1.0 - done / (steps_in_all + 1), 0.02)
                size = self._step * share_left * math.sqrt(1.0 - _MEMORY[1] ** done) / (1.0 - _MEMORY[0] ** done)
                theta += np.float32(size) * slow / (np.sqrt(fast) + np.float32(1e-8))
                total += theta
                counted += 1
            mean = total / counted
            yield number, MulticlassModel(mean[:-1].T.copy(), mean[-1].copy())

    def _gradient(self, batch: Batch, pull: Pull) -> NDArray[np.float32]:
        theta = self._theta
        scores = np.asarray(batch.X @ theta[:-1]) + theta[-1]
        pulls = pull(softmax(scores), batch)
        gradient = np.empty_like(theta)
        gradient[:-1] = batch.X.T @ pulls
        gradient[-1] = pulls.sum(axis=0)
        gradient /= max(float(batch.weights.sum()), 1e-30)
        gradient[:-1] -= self._l2 * theta[:-1]
        return gradient


def for_the_likelihood(shares: NDArray[Any], batch: Batch) -> NDArray[Any]:
    """The pull of multinomial logistic regression."""
    return logistic_pull(shares, batch.codes, batch.weights)


class ForTheMeasure:
    """The pull of the macro average, at the soft rates of the last batches; they begin with those of the model."""

    def __init__(self, measure: Measure, rows: LabelledRows, model: MulticlassModel):
        self._measure = measure
        totals = rows.class_weights()
        self._prevalence = totals / totals.sum()
        counts = soft_counts(softmax(rows.scores(*model)), rows.codes, rows.weights)
        remembered = max(min(_REMEMBERED_BATCHES, rows.n_points // batch_rows(rows)), _FEWEST_BATCHES)
        self._keep = 1.0 - 1.0 / remembered
        self._counts = np.array(counts) * (remembered * batch_rows(rows) / rows.n_points)

    def __call__(self, shares: NDArray[Any], batch: Batch) -> NDArray[Any]:
        self._counts *= self._keep
        self._counts += soft_counts(shares, batch.codes, batch.weights)
        met = ClassRates.of_counts(*self._counts)
        rates = met._replace(prevalence=self._prevalence)
        return macro_pull(self._measure, rates, shares, batch.codes, batch.weights)


def batch_rows(rows: LabelledRows) -> int:
    """Rows of a batch: as many as make a step worth its while, which are more where rows are wide but empty."""
    values_a_row = max(rows.n_values / rows.n_points, 1.0)
    wanted = max(_BATCH, int(rows.n_features / values_a_row))
    return max(min(wanted, rows.n_points // _FEWEST_BATCHES), 1)


def one_against_the_rest(
    rows: LabelledRows,
    settings: FitConfig,
    solver: Solver,
    initial: MulticlassModel | None,
    rng: np.random.Generator,
    history: History,
    *,
    calibrate: bool = True,
    threads: int = 1,
) -> MulticlassModel:
    """A run of the solver for each class; ``calibrate`` makes log odds of its scores, to compare them by."""
    histories = [history.branch() for _ in range(rows.n_classes)]
    seeds = rng.spawn(rows.n_classes)
    totals = rows.class_weights()

    def learned(k: int) -> LinearModel:
        if totals[k] == 0 or totals[k] == totals.sum():
            return LinearModel(np.zeros(rows.n_features), _NEVER if totals[k] == 0 else -_NEVER)
        mine = rows.against_the_rest(k, seeds[k])
        before = None if initial is None else LinearModel(initial.weights[k], float(initial.intercepts[k]))
        task = Task(
            settings.measure, rows.n_features, mine.dtype, l2=settings.l2, initial=before, history=histories[k]
        )
        (run,), scores, _ = trained_with_care(solver, [task], ArrayTrainingRows(mine), settings.measure)
        model = run.model()
        if not calibrate:
            return model
        slope, constant = log_odds_line(scores.values, mine.signed_weights)
        return LinearModel(slope * model.weights, slope * model.intercept + constant)

    models = in_threads(learned, range(rows.n_classes), threads)
    for k, one in enumerate(histories):
        history.join(one, **{"class": float(k)})
    return MulticlassModel(
        np.array([one.weights for one in models]), np.array([one.intercept for one in models], dtype=np.float64)
    )


def predicted_classes(model: MulticlassModel, rows: LabelledRows) -> NDArray[np.intp]:
    """Return the class with the highest score in every row."""
    found: NDArray[np.intp] = rows.scores(*model).argmax(axis=1)
    return found
