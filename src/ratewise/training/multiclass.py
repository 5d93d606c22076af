"""A fit of many classes: all classes at once, or each against the rest; the same wherever the rows lie."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..counts import Counts, Rates, sums_by_class
from ..decisions.choose import half_standard_error, near_best
from ..decisions.class_bounds import bounded_offsets
from ..decisions.class_offsets import ClassScores, best_offsets
from ..decisions.offsets import offsets_of_scores
from ..measures import ConfusionMeasure, ConstrainedClasses, confusion_measure
from ..measures.recalls import MeasureOfRecalls
from ..solvers.base import History, Solver, Task
from ..solvers.multiclass import MultinomialLogistic
from ..solvers.softmax import ClassCandidate, ClassShape, ClassTask, Path, at_once, in_passes
from ..solvers.state import LinearModel, LinearModels
from . import config
from .config import FitConfig
from .labelled import MulticlassRows
from .memory import ArrayTrainingRows
from .online import as_log_odds
from .source import ALL_ROWS
from .threads import in_threads
from .trainer import trained_with_care

_CALIBRATED_ROWS = 1 << 15  # validation rows that calibrate the probabilities
# Parts of the validation rows that the table is counted on, by offsets of the other parts. Of 1,100 rows, 40
# draws, the stated kappa errs by .027 (root mean square) with 3 and by .025 with 5, worst recall by .038 and .035.
_PARTS = 5
_NEVER = -30.0  # the log odds of a class that no row is of


class ClassRows(Protocol):
    """Rows of many classes, transformed and split into folds, wherever they lie."""

    def in_folds(self, folds: int, rng: np.random.Generator) -> ClassRows:
        """Return the same rows, split."""

    def shape(self, without: int = ALL_ROWS) -> ClassShape:
        """Sum up the rows without those of a fold."""

    def follow(
        self, paths: Sequence[tuple[int, Path]], rng: np.random.Generator, threads: int
    ) -> list[list[ClassCandidate]]:
        """Answer the requests of paths to their ends, each from the rows without those of its fold."""

    def validation_scores(self, models: Sequence[LinearModels]) -> ClassScores:
        """Score the validation rows of the first folds, each by its own model."""

    def sample(self) -> MulticlassRows:
        """Return these rows, or a fair sample of them, in memory."""

    def all_sampled(self) -> bool:
        """Return whether the sample contains all rows."""


class SelectedMany(NamedTuple):
    """The result: a model of all classes, and the counts to expect from it on new rows."""

    model: LinearModels
    table: NDArray[np.float64]
    """C[true, predicted] of validation rows, by offsets that others of them chose; of training rows if there are
    none."""
    stages: tuple[str, ...]
    solver: Solver | MultinomialLogistic
    """What made the model."""
    validated: ClassScores
    """Some of the same rows with their scores, to calibrate probabilities."""
    message: str | None = None
    """A sentence or two if bounds on classes cannot be promised."""

    def rates_by_class(self) -> list[Rates]:
        """Return the rates of each class against the rest."""
        return Counts(self.table).one_vs_rest().each()


def measure_of(settings: FitConfig) -> ConfusionMeasure:
    """Return the measure of many classes that a fit is for; without its bounds, which offsets keep at the end."""
    found = settings.of_many or confusion_measure(settings.measure)
    return found.measure if isinstance(found, ConstrainedClasses) else found


def learn_classes(
    rows: ClassRows,
    settings: FitConfig,
    initial: LinearModels | None,
    rng: np.random.Generator,
    history: History,
) -> SelectedMany:
    """Fit all classes at once or, without sharpening, each against the rest; ``initial`` is the model to start
    from.

    Without sharpening it is the paper's algorithm for every class. The highest log odds win, moved to the best
    value of the measure. That, and a start from a solver that is named, learns from a sample of rows in files.
    """
    if settings.sharpen is None or settings.start is not None or rows.all_sampled():
        rows = rows.sample()
    if settings.sharpen is not None:
        return _learn_jointly(rows, settings, initial, rng, history)
    assert isinstance(rows, MulticlassRows)
    model = one_against_the_rest(
        rows, settings, settings.solver, initial, rng, history, calibrate=settings.tune, threads=settings.threads
    )
    found = rows.scored(model)
    if settings.tune:
        offsets = best_offsets(found, measure_of(settings))
        model, found = model.plus(offsets), found.plus(offsets)
    return SelectedMany(model, found.table(), (), settings.solver, found.first(_CALIBRATED_ROWS))


def _learn_jointly(
    rows: ClassRows,
    settings: FitConfig,
    initial: LinearModels | None,
    rng: np.random.Generator,
    history: History,
) -> SelectedMany:
    """Learn all classes together; validation rows choose among the stages, then all rows go that far.

    Stages that validation rows cannot distinguish are averaged.
    """
    measure, shape = measure_of(settings), rows.shape()
    plan = ClassPlan.of(shape, settings)
    rows = rows.in_folds(plan.folds, rng)
    validated = range(plan.folds if plan.all_folds else 1)

    def path(fold: int, wanted: Collection[str] | None = None) -> tuple[int, Path]:
        first, exponents = initial, plan.exponents
        if settings.start is not None:
            part = rows.sample() if fold == ALL_ROWS else rows.sample().without(fold)
            first, exponents = one_against_the_rest(part, settings, settings.start, initial, rng, History()), ()
        task = ClassTask(measure, rows.shape(fold), settings.l2, first)
        if plan.batch:
            return fold, at_once(task, exponents, plan.strengths, plan.climbs, wanted)
        return fold, in_passes(task, exponents, settings.passes or config.CLASS_PASSES, plan.climbs)

    bounded = settings.of_many if isinstance(settings.of_many, ConstrainedClasses) else None
    # A pass over the rows serves all paths; on all rows at once only the stages that are chosen are learned. A
    # model that is to keep bounds is the mean of those that validation rows have scored: another one, of all rows,
    # would put other rows near the borders of the classes.
    together = () if plan.batch or bounded is not None else (ALL_ROWS,)
    found = rows.follow([path(fold) for fold in (*validated, *together)], rng, settings.threads)
    found, last = found[: len(validated)], found[len(validated) :]
    scores = {
        stage: rows.validation_scores([one[place].model for one in found])
        for place, stage in enumerate(one.stage for one in found[0])
    }
    spreads = {stage: max(float(one.scores.std()), 1e-12) for stage, one in scores.items()}
    cuts = {stage: ClassRule.of(one, measure) for stage, one in scores.items()}
    for number, rule in enumerate(cuts.values()):
        passes, of_classes = number + 1, Counts(rule.table).one_vs_rest()
        rates = Rates(*(float(one.mean()) for one in of_classes))
        history.record(run=0, passes=passes, points=passes * shape.points, rates=rates, value=rule.value)
    best = max(cuts.values(), key=lambda rule: rule.value)
    near = near_best((rule.value for rule in cuts.values()), best.half_standard_error)
    chosen = [stage for place, stage in enumerate(cuts) if place in near]
    mean = np.mean([scores[stage].scores / spreads[stage] for stage in chosen], axis=0)
    validation = next(iter(scores.values()))._replace(scores=mean)
    rule, message = ClassRule.of(validation, measure), None
    table = rule.table
    if bounded is not None:
        starts = [rule.offsets, np.zeros_like(rule.offsets)]
        offsets, _, message = bounded_offsets(validation, bounded, starts=starts)
        rule, last = rule._replace(offsets=offsets), found
        table = validation.plus(offsets).table()
    elif rule.offsets.any():
        table, plain = ClassRule.table_of_others(validation, measure), validation.table()
        if measure.value(table) <= measure.value(plain):
            rule, table = rule._replace(offsets=np.zeros_like(rule.offsets)), plain
    if bounded is None and not together:
        last = rows.follow([path(ALL_ROWS, chosen)], rng, 1)
    models = [_divided(one.model, spreads[one.stage]) for fits in last for one in fits if one.stage in chosen]
    model = _mean(models).plus(rule.offsets)
    solver = settings.start or MultinomialLogistic(settings.l2 or 1.0 / (plan.strengths[-1] * shape.points))
    kept = validation.first(_CALIBRATED_ROWS).plus(rule.offsets)
    return SelectedMany(model, table, tuple(chosen), solver, kept, message)


class ClassPlan(NamedTuple):
    """How all classes are learned together, by the number of rows."""

    folds: int
    all_folds: bool
    """Validate on every fold in turn; otherwise on one."""
    batch: bool
    """Learn from all rows at once; otherwise pass by pass."""
    exponents: tuple[float, ...]
    """Of class weights, the one to climb from last."""
    strengths: tuple[float, ...]
    """C of the likelihood on all rows at once, the one to climb from last."""
    climbs: tuple[int, ...]
    """Steps on all rows at once, or passes, after which a model that climbs the measure is a candidate."""

    @classmethod
    def of(cls, rows: ClassShape, settings: FitConfig) -> ClassPlan:
        sharpen, measure = settings.sharpen, measure_of(settings)
        assert sharpen is not None
        totals = rows.totals[rows.totals > 0]
        n_classes = rows.totals.size
        folds = 5 if settings.validation_fraction is None else max(round(1.0 / settings.validation_fraction), 2)
        folds = min(folds, rows.points, rows.n_groups or folds)
        batch = rows.at_once or (
            rows.in_memory
            and rows.points <= config.BATCH_ROWS
            and rows.n_values * n_classes <= config.CLASS_BATCH_VALUES
        )
        even = totals.max() < config.EVEN_CLASSES * totals.min()
        plenty = totals.min() >= config.PLENTY_PER_COLUMN * (rows.n_features + 1)
        strengths = config.CLASS_C[-1:] if plenty else config.CLASS_C
        if settings.l2 > 0:
            strengths = (1.0 / (settings.l2 * rows.points),)
        climbs: tuple[int, ...] = config.CLASS_CLIMBS if batch else config.CLASS_CLIMB_PASSES
        if sharpen.passes != "auto":
            climbs = (int(sharpen.passes),)
        overfits = rows.points < config.CLASS_CLIMB_ROWS * n_classes * (rows.n_features + 1)
        swings = not (batch or measure.smooth)  # from side to side of a corner
        if sharpen.passes == "auto" and (overfits or swings):
            climbs = ()
        exponents = (0.0,) if even else (0.0, 1.0, 0.5) if batch else (0.5, 0.0)
        if not (even or batch) and isinstance(measure, MeasureOfRecalls):
            exponents = (0.5, 0.0, 1.0)
        many = rows.points > config.CLASS_FOLD_ROWS
        if many and not plenty and settings.validation_fraction is None:
            folds = min(config.LEAST_FOLDS, folds)
        all_folds = not (many and plenty) and rows.in_memory
        if rows.given_folds is not None:
            folds, all_folds = rows.given_folds, True
        return cls(folds, all_folds, batch, exponents, strengths, climbs)


class ClassRule(NamedTuple):
    """What is added to the scores of each class, and C[true, predicted] where the highest score then wins."""

    offsets: NDArray[np.float64]
    table: NDArray[np.float64]
    value: float
    half_standard_error: float

    @classmethod
    def of(cls, rows: ClassScores, measure: ConfusionMeasure) -> ClassRule:
        """Return the best offsets; none if these rows do not show that they are better than none."""
        plain = cls._at(np.zeros(rows.scores.shape[1]), rows, measure)
        tuned = cls._at(offsets_of_scores(rows, measure), rows, measure)
        return tuned if tuned.value > plain.value + tuned.half_standard_error else plain

    @classmethod
    def table_of_others(cls, rows: ClassScores, measure: ConfusionMeasure) -> NDArray[np.float64]:
        """Return C[true, predicted] by offsets that other rows have chosen: a fifth of each class by the rest.

        Of the rows that have chosen them, the table is too good, most of all for rare classes.
        """
        part_of_row = np.empty(rows.codes.size, dtype=np.intp)
        part_of_row[np.argsort(rows.codes, kind="stable")] = np.arange(part_of_row.size) % _PARTS
        found = np.zeros(2 * rows.scores.shape[1:])
        for one in range(_PARTS):
            held = part_of_row == one
            mine, others = (ClassScores(*(column[which] for column in rows)) for which in (held, ~held))
            found += mine.plus(offsets_of_scores(others, measure)).table()
        return found

    @classmethod
    def _at(cls, offsets: NDArray[np.float64], rows: ClassScores, measure: ConfusionMeasure) -> ClassRule:
        table = rows.plus(offsets).table()
        shares, value = sums_by_class(rows.codes, rows.weights, offsets.size), float(measure.value(table))
        scale = measure.scale(shares / shares.sum())
        return cls(offsets, table, value, half_standard_error(value, scale, rows.codes.size))


def _divided(model: LinearModels, spread: float) -> LinearModels:
    weights = model.weights - model.weights.mean(axis=0)
    intercepts = model.intercepts - model.intercepts.mean()
    return LinearModels(weights / spread, intercepts / spread)


def _mean(models: list[LinearModels]) -> LinearModels:
    return LinearModels(
        np.mean([one.weights for one in models], axis=0), np.mean([one.intercepts for one in models], axis=0)
    )


def one_against_the_rest(
    rows: MulticlassRows,
    settings: FitConfig,
    solver: Solver,
    initial: LinearModels | None,
    rng: np.random.Generator,
    history: History,
    *,
    calibrate: bool = True,
    threads: int = 1,
) -> LinearModels:
    """A run of the solver for each class; ``calibrate`` makes log odds of its scores, to compare them by."""
    histories = [history.branch() for _ in range(rows.n_classes)]
    seeds = rng.spawn(rows.n_classes)
    totals = rows.class_weights()

    def learned(k: int) -> LinearModel:
        if totals[k] == 0 or totals[k] == totals.sum():
            return LinearModel(np.zeros(rows.n_features), _NEVER if totals[k] == 0 else -_NEVER)
        mine = rows.against_the_rest(k, seeds[k])
        before = None if initial is None else initial.each()[k]
        task = Task(
            settings.measure, rows.n_features, mine.dtype, l2=settings.l2, initial=before, history=histories[k]
        )
        (run,), scores, _ = trained_with_care(solver, [task], ArrayTrainingRows(mine), settings.measure)
        model = run.model()
        return as_log_odds(model, scores.values, mine.signed_weights) if calibrate else model

    models = in_threads(learned, range(rows.n_classes), threads)
    for k, one in enumerate(histories):
        history.join(one, **{"class": float(k)})
    return LinearModels.of(models)
