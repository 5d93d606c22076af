"""Decisions from probabilities of many classes: the gain of each possible decision, for any measure.

The rule that maximizes a function of the confusion matrix predicts each row as the class with the highest expected
gain, sum_t P(t) G[t, predicted]. The gains G are the measure's derivative at the counts of the rule itself. So the
search for a rule is like that for a model: count, linearize, decide again. One loop serves all measures. For a
linear measure (costs, accuracy, mean recall) the first step is the answer. For a ratio the steps are Dinkelbach's;
for other measures they are Frank and Wolfe's. As a second candidate, the weights of the classes are searched one
by one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..measures import ConfusionMeasure
from ..measures.recalls import MeasureOfRecalls
from .blocks import blocks_of_rows, clearly_better, values_without_each_block
from .calibrate import Calibration, class_calibrations, class_slope
from .class_offsets import ClassScores, best_offsets
from .search import BY_PROBABILITIES, ProbableRows, moved_class_by_class, value_of

# Measured on 13 pairs of data and model (METHODS.md, "Decisions from probabilities of K classes").
_STEPS, _PLACES = 60, 33
_FOLDS = 3  # folds that choose among rules
_WORTH_A_STEP = 1e-6
_LEAST = 1e-12  # the least probability

_FEW_VALUES = 1 << 22  # rows times classes; with more, one fold chooses, with fewer steps
_FEW_STEPS, _FEW_PLACES = 10, 9
_BIAS_CLASSES = 100  # with more classes, only a temperature is fitted, and no bias per class
_CALIBRATED_VALUES = 1 << 19
_CACHED_VALUES = 1 << 17
_CELLS = 1 << 21  # cells of counts whose measure is computed in one call
_SEARCHED = 1 << 25  # rows times classes squared, up to which weights are searched class by class


class ClassGains(NamedTuple):
    """A rule: every row is predicted as the class with the highest expected gain.

    Probabilities are first calibrated: their log odds become ``slope * log(p) + constants``.
    """

    slope: float
    constants: NDArray[np.float64]
    gains: NDArray[np.float64]
    """The gain of predicting a row of each class as each class, [true, predicted]; or two rows, weights and shifts
    of the calibrated probabilities, if they are equivalent."""

    @classmethod
    def none(cls, n_classes: int) -> ClassGains:
        """Return the rule that takes the most probable class."""
        return cls(1.0, np.zeros(n_classes), np.array([np.ones(n_classes), np.zeros(n_classes)]))

    def calibrated(self, probabilities: NDArray[Any]) -> NDArray[Any]:
        if self.slope == 1.0 and not self.constants.any():
            return probabilities
        odds = np.log(np.maximum(probabilities, _LEAST))
        return _softmax(odds * odds.dtype.type(self.slope) + self.constants.astype(odds.dtype))

    def predict(self, probabilities: NDArray[Any]) -> NDArray[np.intp]:
        """Return the number of the class that each row is predicted as."""
        return _decided(self.calibrated(probabilities), self.gains)

    def expected(self, probabilities: NDArray[Any]) -> NDArray[Any]:
        """Return the gain of each decision in each row, up to a constant per row."""
        return _expected(self.calibrated(probabilities), self.gains)

    @property
    def offsets(self) -> NDArray[np.float64] | None:
        """The offsets on log probabilities, of which the highest wins; None if the rule has another form."""
        weights, shifts = self.gains if self.gains.shape[0] == 2 else (np.zeros(0), np.ones(1))
        if self.slope <= 0.0:  # the probabilities have no information
            return None
        if self.gains.shape[1] != self.constants.size or shifts.any() or (weights <= 0).any():
            return None
        found: NDArray[np.float64] = (np.log(weights) + self.constants) / self.slope
        return np.asarray(found - found.max())


class TunedGains(NamedTuple):
    """A rule, and its values on rows that it was not tuned on."""

    rule: ClassGains
    values: NDArray[np.float64]
    """The value without each block of rows in turn and, last, of all rows."""


def best_gains(
    probabilities: NDArray[Any],
    codes: NDArray[np.intp],
    weights: NDArray[Any],
    measure: ConfusionMeasure,
    *,
    groups: NDArray[np.intp] | None = None,
) -> TunedGains:
    """Return the rule with the best measure, from out-of-fold probabilities of rows and their classes.

    The most probable class stays the decision unless a rule is better on rows that it was not tuned on.
    All rows of a group either tune the rule or judge it.
    """
    n_classes = probabilities.shape[1]
    slope, constants = calibration_lines(probabilities, codes, weights)
    plain = ClassGains.none(n_classes)
    calibrated = ClassGains(slope, constants, plain.gains).calibrated(probabilities)
    found, values = _chosen(calibrated, codes, weights, measure, plain.predict(probabilities), groups=groups)
    return TunedGains(plain if found is None else ClassGains(slope, constants, found), values)


def offsets_of_scores(rows: ClassScores, measure: ConfusionMeasure) -> NDArray[np.float64]:
    """Return the offsets on each class's score, for rows not learned from, with the best value of the measure.

    Rows are counted half by calibrated probabilities, or by labels alone if that would take long. By labels, macro
    F1 is .007 lower on wine quality, SkillCraft and satimage, and worst recall .017.
    """
    probabilities = _softmax(np.asarray(rows.scores, dtype=np.float64))
    if not _searchable(probabilities):
        return best_offsets(rows, measure)
    slope, constants = calibration_lines(probabilities, rows.codes, rows.weights)
    plain = ClassGains(slope, constants, np.ones((2, constants.size)))
    counted = ProbableRows.of(plain.calibrated(probabilities), rows.codes, rows.weights, measure)
    searches = [search_weights, climb] if isinstance(measure, MeasureOfRecalls) else [search_weights]
    best, most = np.zeros(constants.size), -np.inf
    for search in searches:
        rule = plain._replace(gains=search(counted))
        value = counted.value(_decided(counted.probabilities, rule.gains))
        if rule.offsets is not None and value > most:
            best, most = rule.offsets, value
    return best


def calibration_lines(
    probabilities: NDArray[Any], codes: NDArray[np.intp], weights: NDArray[Any]
) -> tuple[float, NDArray[np.float64]]:
    """Return the temperature's inverse and the bias of each class with the least log loss."""
    most = max(_CALIBRATED_VALUES // probabilities.shape[1], 100)
    some = slice(None, None, -(-codes.size // most))
    return _line(np.log(np.maximum(probabilities[some], _LEAST)), codes[some], weights[some])


def _line(
    scores: NDArray[Any], codes: NDArray[np.intp], weights: NDArray[Any]
) -> tuple[float, NDArray[np.float64]]:
    if scores.shape[1] > _BIAS_CLASSES:
        return class_slope(scores, codes, weights), np.zeros(scores.shape[1])
    lines = [Calibration.of_numbers(one) for one in class_calibrations(scores, codes, weights)]
    return lines[0].slope, np.array([one.constant for one in lines])


def _softmax(odds: NDArray[Any]) -> NDArray[Any]:
    odds = odds - odds.max(axis=1, keepdims=True)
    np.exp(odds, out=odds)
    odds /= odds.sum(axis=1, keepdims=True)
    return odds


def _decided(probabilities: NDArray[Any], gains: NDArray[np.float64]) -> NDArray[np.intp]:
    n_rows, n_classes = probabilities.shape
    gains = gains.astype(probabilities.dtype)
    found = np.empty(n_rows, dtype=np.intp)
    step = max(_CACHED_VALUES // n_classes, 1)
    for start in range(0, n_rows, step):
        found[start : start + step] = _expected(probabilities[start : start + step], gains).argmax(axis=1)
    return found


def _expected(probabilities: NDArray[Any], gains: NDArray[Any]) -> NDArray[Any]:
    found: NDArray[Any] = probabilities * gains[0] + gains[1] if gains.shape[0] == 2 else probabilities @ gains
    return found


def _chosen(
    probabilities: NDArray[Any],
    codes: NDArray[np.intp],
    weights: NDArray[Any],
    measure: ConfusionMeasure,
    plain: NDArray[np.intp],
    *,
    groups: NDArray[np.intp] | None = None,
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64]]:
    """Return the better of two candidates, or None if the plain decisions are as good; and its values.

    Each is tuned on two thirds of the rows and judged by the last third, in turn.
    """
    part = blocks_of_rows(codes, groups)
    judged = range(_FOLDS if probabilities.size <= _FEW_VALUES else 1)
    searches = _searches(probabilities)
    decisions = {search: plain.copy() for search in searches}
    for fold in judged:
        held = part % _FOLDS == fold
        rows = ProbableRows.of(probabilities[~held], codes[~held], weights[~held], measure)
        for search in searches:
            decisions[search][held] = _decided(probabilities[held], search(rows))
    seen = np.isin(part % _FOLDS, judged)

    def values_of(predicted: NDArray[np.intp]) -> NDArray[np.float64]:
        rows = (codes[seen], predicted[seen], weights[seen], part[seen])
        return values_without_each_block(*rows, probabilities.shape[1], measure)

    plain_values = values_of(plain)
    best, values = None, plain_values
    for search in searches:
        found = values_of(decisions[search])
        if clearly_better(found, plain_values) and found[-1] > values[-1]:
            best, values = search, found
    return None if best is None else best(ProbableRows.of(probabilities, codes, weights, measure)), values


def _linearized(measure: Any, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the gains at these counts, as weights and shifts if they are equivalent."""
    if measure.by_class:
        own, others = measure.gains_by_class(*counts)
        found = np.array([own - others, others])
    else:
        found = measure.gains(counts)
    found = found / max(float(np.abs(found).max()), 1e-300)
    return found if found.shape[0] != 2 or measure.by_class else _as_weights(found)


def _as_weights(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the gains of two classes as weights and shifts, because a table of two rows would look the same."""
    (right_negative, false_positive), (false_negative, right_positive) = gains
    return np.array(
        [[right_negative - false_negative, right_positive - false_positive], [false_negative, false_positive]]
    )


def _searches(probabilities: NDArray[Any]) -> list[Any]:
    return [climb, search_weights] if _searchable(probabilities) else [climb]


def _searchable(probabilities: NDArray[Any]) -> bool:
    return bool(probabilities.size * probabilities.shape[1] <= _SEARCHED)


def climb(rows: ProbableRows) -> NDArray[np.float64]:
    """Count, linearize and decide in steps of Frank and Wolfe; return the best rule found.

    The first rule is halfway between the most probable class and the class most above its usual probability.
    """
    smooth = rows.measure.softened
    many = rows.truth.size > _FEW_VALUES
    places = np.linspace(0.0, 1.0, _FEW_PLACES if many else _PLACES)
    starts = _starts(rows)
    seen = [rows.counts(_decided(rows.probabilities, one)) for one in starts]
    values = [float(value_of(rows.measure, one)) for one in seen]
    best, most = starts[int(np.argmax(values))], max(values)
    counts = 0.5 * (seen[0] + seen[1])
    for _ in range(_FEW_STEPS if many else _STEPS):
        gains = _linearized(smooth, counts)
        there = rows.counts(_decided(rows.probabilities, gains))
        value = float(value_of(rows.measure, there))
        if value > most:
            best, most = gains, value
        between = _values_between(smooth, counts, there, places)
        step = int(between.argmax())
        if between[step] <= between[0] + _WORTH_A_STEP:
            break
        counts = counts + places[step] * (there - counts)
    return best


def _values_between(
    measure: Any, counts: NDArray[np.float64], there: NDArray[np.float64], places: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the measure at places between two counts: 0 is the first, 1 the second."""
    at_once = max(_CELLS // counts.size, 1)
    parts = [places[start : start + at_once, None, None] for start in range(0, places.size, at_once)]
    return np.concatenate([value_of(measure, counts + part * (there - counts)) for part in parts])


def search_weights(rows: ProbableRows) -> NDArray[np.float64]:
    """Move one class weight after another to the best value of the measure, from the better of two starts."""
    start = max(_starts(rows), key=lambda gains: rows.value(_decided(rows.probabilities, gains)))
    offsets = np.log(start[0])
    scores = np.log(np.maximum(rows.probabilities, _LEAST)) + offsets
    offsets += moved_class_by_class(rows, scores, BY_PROBABILITIES)
    offsets -= offsets.max()
    return np.array([np.exp(offsets), np.zeros(offsets.size)])


def _starts(rows: ProbableRows) -> list[NDArray[np.float64]]:
    """Return the rules of the most probable class, and of the class most above its usual probability."""
    n_classes = rows.totals.size
    rare = np.maximum(rows.totals, rows.totals.sum() / rows.weights.size)
    return [np.array([one, np.zeros(n_classes)]) for one in (np.ones(n_classes), rare.max() / rare)]
