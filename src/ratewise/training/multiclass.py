"""A fit of many classes: all classes at once, or each against the rest, for any source of rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..counts import Counts, against_the_rest, mean_rates, sums_by_class
from ..decisions.calibrate import class_calibrations
from ..decisions.choose import half_standard_error, near_best
from ..decisions.class_bounds import bounded_offsets
from ..decisions.class_offsets import ClassScores, best_offsets
from ..decisions.intervals import rates_interval
from ..decisions.offsets import offsets_of_scores
from ..measures import ConfusionMeasure, ConstrainedClasses, confusion_measure
from ..measures.recalls import MeasureOfRecalls
from ..solvers.base import History, Solver, Task
from ..solvers.driver import Run
from ..solvers.softmax import ClassAlgorithm, ClassCandidate, ClassesAtOnce, ClassesInPasses, MultinomialLogistic
from ..solvers.state import LinearModel, LinearModels, mean_of_models
from ..transforms import Transform
from . import config
from .config import FitConfig
from .folds import ALL_ROWS
from .memory import ArraySource, ArrayTrainingRows
from .online import as_log_odds
from .rows import ArrayRows
from .selection import points_in_plenty
from .source import DataShape, FitResult, RowSource
from .threads import in_threads
from .trainer import may_whiten, trained_with_care

_CALIBRATED_ROWS = 1 << 15  # validation rows that calibrate the probabilities
# The number of parts of the validation rows: each part is counted with the offsets that the other parts chose.
# (1,100 rows, 40 draws: the stated kappa errs by .027 (root mean square) with 3 and by .025 with 5, worst recall
# by .038 and .035.)
_PARTS = 5
_NEVER = -30.0  # the log odds of a class without rows


class Decided(NamedTuple):
    """A model of all classes, and its evaluation on validation rows."""

    model: LinearModels
    table: NDArray[np.float64]
    """C[true, predicted] of validation rows, with offsets that other validation rows chose; of training rows if
    there are no validation rows."""
    stages: tuple[str, ...]
    solver: Solver | MultinomialLogistic
    """The solver of the model."""
    rows: ClassScores
    """The same rows with their scores."""
    fitted: int = 0
    """The number of parameters per class that these rows have chosen."""
    message: str | None = None
    """A message if bounds on classes cannot be guaranteed."""


class ClassTrainer:
    """A fit of more than two classes: all of them at once or, without sharpening, each against the rest.

    Without sharpening, the paper's algorithm learns a model for every class. The class with the highest log odds
    wins, after offsets that maximize the measure. This, and a start from a solver that the user named, need rows
    in memory.

    Parameters
    ----------
    config : FitConfig
    history : History
    before : LinearModels, optional
        The models to begin with, in the user's columns.
    """

    def __init__(self, config: FitConfig, history: History, before: LinearModels | None = None):
        self._config, self._history, self._before = config, history, before
        found = config.of_many or confusion_measure(config.measure)
        self._bounded = found if isinstance(found, ConstrainedClasses) else None
        # Offsets, chosen at the end, keep bounds.
        self._measure: ConfusionMeasure = found.measure if isinstance(found, ConstrainedClasses) else found

    def fit(self, source: RowSource) -> FitResult:
        settings, source = self._config, self._rows_to_learn_from(source)
        statistics = source.statistics()
        whiten = settings.sharpen is not None and settings.standardize and may_whiten(statistics)
        transform = source.transform(standardize=settings.standardize, whiten=whiten)
        learn = self._each_against_the_rest if settings.sharpen is None else self._all_at_once
        return self._result(learn(source, statistics, transform), transform)

    def _rows_to_learn_from(self, source: RowSource) -> RowSource:
        """Return all rows, or a fair sample of each class where a sample gives a better model, coded in the basis.

        Where some class is scarce, a sample has all its rows, or plenty. Steps on all rows of a sample then do
        better than passes over all rows. (covtype, 406,000 rows: macro F1 is .631 by the sample, and .608 by
        passes.)
        """
        basis = self._config.basis
        assert not isinstance(basis, str)  # with many classes the user must name the basis

        def coded(rows: RowSource) -> RowSource:
            return rows if basis is None else rows.coded(basis)

        if self._config.sharpen is None or self._config.start is not None:
            return coded(source.sample())
        found = coded(source)
        everything = found.statistics()
        together = everything.n_groups is not None or everything.given_folds is not None
        if together or has_plenty(everything) or self._plan(everything).batch:
            return found
        sample = source.sample()
        assert isinstance(sample, ArraySource)
        rows = coded(sample.thinned(rows_at_once(everything)))
        assert everything.of_classes is not None
        kept = rows.statistics().of_classes
        assert kept is not None
        return (
            rows
            if (kept.rows >= np.minimum(everything.of_classes.rows, points_in_plenty(everything))).all()
            else found
        )

    def _plan(self, statistics: DataShape) -> ClassPlan:
        return ClassPlan.of(statistics, self._config, self._measure, bounded=self._bounded is not None)

    def _result(self, decided: Decided, transform: Transform) -> FitResult:
        """Return the outcome in the user's columns."""
        model, measure = decided.model.mapped(transform.inverse_coef), self._config.measure
        rates, points = Counts(decided.table).one_vs_rest().each(), against_the_rest(decided.rows.points())
        return FitResult(
            *model,
            transform.scale,
            rates,
            decided.stages,
            decided.solver,
            [rates_interval(one, measure, mine, decided.fitted) for one, mine in zip(rates, points, strict=True)],
            class_calibrations(*decided.rows.first(_CALIBRATED_ROWS)),
            decided.message,
            basis=getattr(transform, "basis", None),
            centre=transform.centre,
            table=decided.table,
        ).checked()

    def _initial(self, transform: Transform) -> LinearModels | None:
        return None if self._before is None else self._before.mapped(transform.transform_coef)

    def _each_against_the_rest(self, source: RowSource, statistics: DataShape, transform: Transform) -> Decided:
        settings, training = self._config, source.transformed(transform)
        assert isinstance(training, ArrayTrainingRows)
        rows = training.training_rows(ALL_ROWS)
        model = one_against_the_rest(
            rows, settings, settings.solver, self._initial(transform), self._history, calibrate=settings.tune
        )
        found = rows.class_scores(model)
        if settings.tune:
            offsets = best_offsets(found, self._measure)
            model, found = model.plus(offsets), found.plus(offsets)
        return Decided(model, found.table(), (), settings.solver, found, statistics.n_features + 1)

    def _all_at_once(self, source: RowSource, statistics: DataShape, transform: Transform) -> Decided:
        """Learn all classes together; validation rows choose among the stages, then all rows learn those stages.

        Stages that validation rows cannot distinguish are averaged.
        """
        settings, plan = self._config, self._plan(statistics)
        rows = source.transformed(transform, plan.folds)
        in_sample = rows.n_folds == 1

        def run_of(fold: int, wanted: tuple[str, ...] | None) -> tuple[int, Run]:
            initial, algorithm = self._initial(transform), plan.algorithm(settings, wanted)
            if settings.start is not None:
                assert isinstance(rows, ArrayTrainingRows)
                part = rows.training_rows(fold)
                initial = one_against_the_rest(part, settings, settings.start, initial, History(), threads=1)
            assert statistics.of_classes is not None
            n_classes = statistics.of_classes.rows.size
            task = Task(
                self._measure, statistics.n_features, source.dtype, settings.l2, initial, n_classes=n_classes
            )
            return fold, algorithm.start(task)

        def trained(folds: Iterable[int], wanted: tuple[str, ...] | None = None) -> list[list[ClassCandidate]]:
            return [run.result for run in rows.train([run_of(fold, wanted) for fold in folds])]

        validated = range(rows.n_folds if plan.all_folds else 1)
        # A model that must keep bounds is the mean of the models that scored validation rows. A new model of all
        # rows would put other rows near the borders of the classes.
        scored_last = in_sample or self._bounded is not None
        # A pass over the rows serves all runs; steps on all rows learn the chosen stages only.
        together = () if plan.batch or scored_last else (ALL_ROWS,)
        found = trained((*validated, *together))
        of_folds, last = found[: len(validated)], found[len(validated) :] or found
        most, judging = (config.CLASS_CHOICE_ROWS, config.CLASS_CUT_ROWS) if in_sample else 2 * (statistics.rows,)
        scores = {
            one.stage: rows.class_scores([fits[place].model for fits in of_folds]).first(most).centred()
            for place, one in enumerate(of_folds[0])
        }
        stages, spreads, validation = self._chosen(scores, statistics.rows, judging)
        offsets, table, message = self._cut(validation)
        if plan.batch and not scored_last:
            last = trained((ALL_ROWS,), stages)
        models = [one.model.divided(spreads[one.stage]) for fits in last for one in fits if one.stage in stages]
        solver = settings.start or MultinomialLogistic(settings.l2 or 1.0 / (plan.strengths[-1] * statistics.rows))
        fitted = statistics.n_features + 1 if in_sample else 0
        model = mean_of_models(models).plus(offsets)
        return Decided(model, table, stages, solver, validation.plus(offsets), fitted, message)

    def _chosen(
        self, scores: dict[str, ClassScores], rows: int, judging: int
    ) -> tuple[tuple[str, ...], dict[str, float], ClassScores]:
        """Return the stages that the judging rows cannot distinguish from the best, the spread of each stage's
        scores, and the mean of the chosen ones, divided by it.
        """
        cuts = {stage: ClassRule.of(one.first(judging), self._measure) for stage, one in scores.items()}
        for number, rule in enumerate(cuts.values(), start=1):
            rates = mean_rates(rule.table)
            self._history.record(run=0, passes=number, points=number * rows, rates=rates, value=rule.value)
        best = max(cuts.values(), key=lambda rule: rule.value)
        near = near_best((rule.value for rule in cuts.values()), best.half_standard_error)
        stages = tuple(stage for place, stage in enumerate(cuts) if place in near)
        spreads = {stage: max(float(one.scores.std()), 1e-12) for stage, one in scores.items()}
        mean = np.mean([scores[stage].scores / spreads[stage] for stage in stages], axis=0)
        return stages, spreads, scores[stages[0]]._replace(scores=mean)

    def _cut(self, rows: ClassScores) -> tuple[NDArray[np.float64], NDArray[np.float64], str | None]:
        """Return the offsets of the classes, the table to expect with them, and a message about bounds."""
        rule, none = ClassRule.of(rows, self._measure), np.zeros(rows.scores.shape[1])
        if self._bounded is not None:
            offsets, _, message = bounded_offsets(rows, self._bounded, starts=[rule.offsets, none])
            return offsets, rows.plus(offsets).table(), message
        if rule.offsets.any():
            table, plain = ClassRule.table_of_others(rows, self._measure), rows.table()
            if self._measure.value(table) > self._measure.value(plain):
                return rule.offsets, table, None
            return none, plain, None
        return rule.offsets, rule.table, None


class ClassPlan(NamedTuple):
    """How all classes are learned together; it depends on the number of rows."""

    folds: int
    """1: all rows both learn and choose."""
    all_folds: bool
    """Validate on every fold in turn; otherwise on one."""
    batch: bool
    """Use all rows in each step; otherwise learn pass by pass."""
    exponents: tuple[float, ...]
    """Class-weight exponents; ascent on the measure begins from the last one."""
    strengths: tuple[float, ...]
    """C of the likelihood where each step uses all rows; ascent on the measure begins from the last one."""
    climbs: tuple[int, ...]
    """Numbers of ascent steps on all rows, or of passes, after which the model is a candidate."""

    def algorithm(self, settings: FitConfig, wanted: tuple[str, ...] | None) -> ClassAlgorithm:
        """Return the algorithm to run; one whose steps use all rows makes the ``wanted`` stages only."""
        exponents = () if settings.start is not None else self.exponents
        if self.batch:
            return ClassesAtOnce(exponents, self.strengths, self.climbs, wanted)
        return ClassesInPasses(exponents, settings.passes or config.CLASS_PASSES, self.climbs)

    @classmethod
    def of(
        cls, rows: DataShape, settings: FitConfig, measure: ConfusionMeasure, *, bounded: bool = False
    ) -> ClassPlan:
        sharpen, of_classes = settings.sharpen, rows.of_classes
        assert sharpen is not None
        assert of_classes is not None
        totals = of_classes.weights[of_classes.weights > 0]
        n_classes = of_classes.weights.size
        folds = 5 if settings.validation_fraction is None else max(round(1.0 / settings.validation_fraction), 2)
        folds = min(folds, rows.rows, rows.n_groups or folds)
        even = totals.max() < config.EVEN_CLASSES * totals.min()
        plenty = has_plenty(rows)
        many = rows.rows > config.CLASS_FOLD_ROWS
        few_enough = rows.in_memory and rows.rows <= rows_at_once(rows)
        batch = rows.whole_steps or (few_enough and not (many and plenty))
        strengths = config.CLASS_C[-1:] if many or plenty else config.CLASS_C
        if settings.l2 > 0:
            strengths = (1.0 / (settings.l2 * rows.rows),)
        climbs: tuple[int, ...] = config.CLASS_CLIMBS if batch else config.CLASS_CLIMB_PASSES
        if sharpen.passes != "auto":
            climbs = (int(sharpen.passes),)
        overfits = rows.rows < config.CLASS_CLIMB_ROWS * n_classes * (rows.n_features + 1)
        swings = not (batch or measure.smooth)  # the model would swing from side to side of a corner
        # The models of the folds certify bounds, and their mean must keep them. After ascent on the measure these
        # models differ so much that the mean predicts other rows: recalls of covtype were kept in 9 of 13 splits.
        if bounded or (sharpen.passes == "auto" and (overfits or swings)):
            climbs = ()
        exponents = (0.0,) if even else (0.5,) if batch and many else (0.0, 1.0, 0.5) if batch else (0.5, 0.0)
        if not (even or batch) and isinstance(measure, MeasureOfRecalls):
            exponents = (0.5, 0.0, 1.0)
        if many and settings.validation_fraction is None:
            # As with two classes. A model that must keep bounds is the mean of the folds' models.
            alone = plenty and rows.n_groups is None and not bounded
            folds = 1 if alone else folds if plenty else min(config.LEAST_FOLDS, folds)
        all_folds = not (many and plenty) and rows.in_memory
        if rows.given_folds is not None:
            folds, all_folds = rows.given_folds, True
        return cls(folds, all_folds, batch, exponents, strengths, climbs)


def has_plenty(rows: DataShape) -> bool:
    """Return whether even the smallest class has plenty of rows."""
    assert rows.of_classes is not None
    totals = rows.of_classes.weights[rows.of_classes.weights > 0]
    return bool(totals.min() >= points_in_plenty(rows))


def rows_at_once(rows: DataShape) -> float:
    """Return the most rows of this kind that one step may use."""
    assert rows.of_classes is not None
    values_per_row = max(rows.n_values / rows.rows, 1.0) * rows.of_classes.rows.size
    return min(config.CLASS_BATCH_ROWS, config.CLASS_BATCH_VALUES / values_per_row)


class ClassRule(NamedTuple):
    """Offsets on the scores of each class, and C[true, predicted] where the highest score then wins."""

    offsets: NDArray[np.float64]
    table: NDArray[np.float64]
    value: float
    half_standard_error: float

    @classmethod
    def of(cls, rows: ClassScores, measure: ConfusionMeasure) -> ClassRule:
        """Return the best offsets, or zeros if these rows do not show that offsets improve the measure."""
        plain = cls._at(np.zeros(rows.scores.shape[1]), rows, measure)
        tuned = cls._at(offsets_of_scores(rows, measure), rows, measure)
        return tuned if tuned.value > plain.value + tuned.half_standard_error else plain

    @classmethod
    def table_of_others(cls, rows: ClassScores, measure: ConfusionMeasure) -> NDArray[np.float64]:
        """Return C[true, predicted] with offsets chosen on other rows: each fifth of a class uses the other
        fifths.

        On the rows that chose the offsets, the table would be too good, most of all for rare classes.
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


def one_against_the_rest(
    rows: ArrayRows,
    settings: FitConfig,
    solver: Solver,
    initial: LinearModels | None,
    history: History,
    *,
    calibrate: bool = True,
    threads: int | None = None,
) -> LinearModels:
    """Run the solver for each class; ``calibrate`` turns the scores into log odds, which can be compared."""
    histories = [history.branch() for _ in range(rows.n_classes)]
    seeds, totals = rows.rng.spawn(rows.n_classes), np.array(rows.summary.class_weights)

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

    models = in_threads(learned, range(rows.n_classes), settings.threads if threads is None else threads)
    for k, one in enumerate(histories):
        history.join(one, **{"class": float(k)})
    return LinearModels.of(models)
