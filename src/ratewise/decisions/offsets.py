"""Decisions from probabilities of many classes: what each possible decision is worth, for any measure.

The rule that maximizes a function of the confusion matrix predicts each row as the class with the highest expected
gain, sum_t P(t) G[t, predicted]. The gains G are the measure's derivative at the counts of the rule itself. So a
rule is found as models are: count, linearize, decide again. One loop serves all measures. Of a linear one (costs,
accuracy, mean recall) the first step is the answer; of a ratio the steps are Dinkelbach's; of others they are
Frank and Wolfe's. As a second candidate, the weights of the classes are searched one by one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..counts import Counts, sums_by_class
from ..measures import ConfusionMeasure
from .calibrate import Calibration, class_calibrations, class_slope

# Measured on 13 pairs of data and model (METHODS.md, "Decisions from probabilities of K classes").
_STEPS, _PLACES = 60, 33
_ROUNDS = 3
_CUTS = 128
_FOLDS, _BLOCKS = 3, 21  # to choose among rules, and for the standard error of their difference
# Standard errors of the difference that a rule must be better by. On 20 draws of 60 rows of 4 classes half of one
# lost .010 of macro F1 on new rows in the mean and .122 at most, this loses .001 and .026; from 300 rows on the
# worst recall gains .2 either way.
_CERTAIN = 1.64
_WORTH_A_STEP = 1e-6
_LEAST = 1e-12  # of a probability

_FEW_VALUES = 1 << 22  # rows times classes; of more, one fold chooses, and steps are fewer
_FEW_STEPS, _FEW_PLACES = 10, 9
_BIAS_CLASSES = 100  # of more, out-of-fold rows tell a temperature, and no bias of each class
_CALIBRATED_VALUES = 1 << 19
_CACHED_VALUES = 1 << 17
_SEARCHED = 1 << 25  # rows times classes squared, up to which weights are searched class by class


class ClassGains(NamedTuple):
    """A rule: every row is predicted as the class with the highest expected gain.

    Probabilities are first calibrated: they are those of log odds ``slope * log(p) + constants``.
    """

    slope: float
    constants: NDArray[np.float64]
    gains: NDArray[np.float64]
    """What it gains to predict a row of each class as each class, [true, predicted]; or two rows, weights and
    shifts of the calibrated probabilities, where that says the same."""

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
        """Return what each decision gains in each row, as far as it differs between decisions."""
        return _expected(self.calibrated(probabilities), self.gains)

    @property
    def offsets(self) -> NDArray[np.float64] | None:
        """What is added to log probabilities before the highest wins; None where the rule is not of that form."""
        weights, shifts = self.gains if self.gains.shape[0] == 2 else (np.zeros(0), np.ones(1))
        if self.gains.shape[1] != self.constants.size or shifts.any() or (weights <= 0).any():
            return None
        found: NDArray[np.float64] = (np.log(weights) + self.constants) / self.slope
        return np.asarray(found - found.max())


class TunedGains(NamedTuple):
    """A rule, and its value on rows that it was not tuned on."""

    rule: ClassGains
    value: float


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
    Rows of one group are tuned to, or judge, together.
    """
    n_classes = probabilities.shape[1]
    slope, constants = calibration_lines(probabilities, codes, weights)
    plain = ClassGains.none(n_classes)
    calibrated = ClassGains(slope, constants, plain.gains).calibrated(probabilities)
    found, value = _chosen(calibrated, codes, weights, measure, plain.predict(probabilities), groups=groups)
    return TunedGains(plain if found is None else ClassGains(slope, constants, found), value)


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
) -> tuple[NDArray[np.float64] | None, float]:
    """Return the gains of the better of two candidates, None where the plain decisions are as good; and its value.

    Each is tuned on two thirds of the rows and judged by the last third, in turn.
    """
    part = np.empty(codes.size, dtype=np.intp)
    part[np.argsort(codes, kind="stable")] = np.arange(codes.size) % _BLOCKS  # every class in every block
    if groups is not None:
        part = np.unique(groups, return_inverse=True)[1] % _BLOCKS
    judged = range(_FOLDS if probabilities.size <= _FEW_VALUES else 1)
    searches = _searches(probabilities)
    decisions = {search: plain.copy() for search in searches}
    for fold in judged:
        held = part % _FOLDS == fold
        rows = TuningRows.of(probabilities[~held], codes[~held], weights[~held], measure)
        for search in searches:
            decisions[search][held] = _decided(probabilities[held], search(rows))
    seen = np.isin(part % _FOLDS, judged)

    def counts_of(predicted: NDArray[np.intp]) -> NDArray[np.float64]:
        """Count without each block in turn, and at last all rows."""
        return _without_each_block(
            codes[seen], predicted[seen], weights[seen], part[seen], probabilities.shape[1], measure
        )

    now = _values(measure, counts_of(plain))
    best, most = None, 0.0
    for search in searches:
        gain = _values(measure, counts_of(decisions[search])) - now
        blocks = gain[:-1]
        error = np.sqrt((blocks.size - 1) / blocks.size * ((blocks - blocks.mean()) ** 2).sum())  # the jackknife's
        if gain[-1] > max(_CERTAIN * error, most):
            best, most = search, float(gain[-1])
    tuned = None if best is None else best(TuningRows.of(probabilities, codes, weights, measure))
    return tuned, float(now[-1]) + most


class TuningRows(NamedTuple):
    """Rows to tune a rule on: what each row weighs as a row of each class.

    Half of that is its label and half its probabilities: half expected counts vary less than counts of labels.
    """

    probabilities: NDArray[Any]
    truth: NDArray[Any]
    weights: NDArray[Any]
    totals: NDArray[np.float64]
    measure: ConfusionMeasure

    @classmethod
    def of(
        cls, probabilities: NDArray[Any], codes: NDArray[np.intp], weights: NDArray[Any], measure: ConfusionMeasure
    ) -> TuningRows:
        weights = weights.astype(probabilities.dtype)
        truth = 0.5 * weights[:, np.newaxis] * probabilities
        truth[np.arange(codes.size), codes] += 0.5 * weights
        return cls(probabilities, truth, weights, truth.sum(axis=0, dtype=np.float64), measure)

    def counts(self, predicted: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return a table; or, if the measure needs no more, what is right, predicted and true of each class."""
        n_rows, n_classes = self.truth.shape
        if self.measure.by_class:
            right = sums_by_class(predicted, self.truth[np.arange(n_rows), predicted], n_classes)
            return np.array([right, sums_by_class(predicted, self.weights, n_classes), self.totals])
        where = (predicted, np.arange(n_rows))
        members = sparse.csr_array((np.ones(n_rows, self.truth.dtype), where), shape=(n_classes, n_rows))
        return np.asarray((members @ self.truth).T, dtype=np.float64)

    def value(self, gains: NDArray[np.float64]) -> float:
        return float(_values(self.measure, self.counts(_decided(self.probabilities, gains))))

    def starts(self) -> list[NDArray[np.float64]]:
        """Return the rules of the most probable class, and of the class most above its usual probability."""
        n_classes = self.totals.size
        rare = np.maximum(self.totals, self.totals.sum() / self.weights.size)
        return [np.array([one, np.zeros(n_classes)]) for one in (np.ones(n_classes), rare.max() / rare)]


def _values(measure: Any, counts: NDArray[np.float64]) -> Any:
    return measure.value_by_class(*np.moveaxis(counts, -2, 0)) if measure.by_class else measure.value(counts)


def _linearized(measure: Any, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the gains at these counts, as weights and shifts where that says all."""
    if measure.by_class:
        own, others = measure.gains_by_class(*counts)
        found = np.array([own - others, others])
    else:
        found = measure.gains(counts)
    found = found / max(float(np.abs(found).max()), 1e-300)
    return found if found.shape[0] != 2 or measure.by_class else _as_weights(found)


def _as_weights(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the gains of two classes as weights and shifts: a table of two rows would be taken for them."""
    (right_negative, false_positive), (false_negative, right_positive) = gains
    return np.array(
        [[right_negative - false_negative, right_positive - false_positive], [false_negative, false_positive]]
    )


def _searches(probabilities: NDArray[Any]) -> list[Any]:
    searchable = probabilities.size * probabilities.shape[1] <= _SEARCHED
    return [climb, search_weights] if searchable else [climb]


def climb(rows: TuningRows) -> NDArray[np.float64]:
    """Count, linearize, decide: steps of Frank and Wolfe; returns the best rule met on the way.

    It starts halfway between the most probable class and the class most above its usual probability.
    """
    smooth = rows.measure.softened
    many = rows.truth.size > _FEW_VALUES
    places = np.linspace(0.0, 1.0, _FEW_PLACES if many else _PLACES)
    starts = rows.starts()
    seen = [rows.counts(_decided(rows.probabilities, one)) for one in starts]
    values = [float(_values(rows.measure, one)) for one in seen]
    best, most = starts[int(np.argmax(values))], max(values)
    counts = 0.5 * (seen[0] + seen[1])
    for _ in range(_FEW_STEPS if many else _STEPS):
        gains = _linearized(smooth, counts)
        there = rows.counts(_decided(rows.probabilities, gains))
        value = float(_values(rows.measure, there))
        if value > most:
            best, most = gains, value
        between = np.array([float(_values(smooth, counts + place * (there - counts))) for place in places])
        step = int(between.argmax())
        if between[step] <= between[0] + _WORTH_A_STEP:
            break
        counts = counts + places[step] * (there - counts)
    return best


def search_weights(rows: TuningRows) -> NDArray[np.float64]:
    """Move the weight of one class after another to where the measure is best, from the better of two starts."""
    offsets = np.log(max(rows.starts(), key=rows.value)[0])
    scores = np.log(np.maximum(rows.probabilities, _LEAST)) + offsets
    for _ in range(_ROUNDS):
        moves = np.zeros(offsets.size)
        for k in range(offsets.size):
            moves[k] = _best_move(rows, scores, k)
            scores[:, k] += moves[k]
        offsets += moves
        if not moves.any():
            break
    offsets -= offsets.max()
    return np.array([np.exp(offsets), np.zeros(offsets.size)])


def _best_move(rows: TuningRows, scores: NDArray[np.float64], k: int) -> float:
    """Return by how much to move the scores of class k, all others held still."""
    mine = scores[:, k].copy()
    scores[:, k] = -np.inf
    rivals = scores.argmax(axis=1)
    scores[:, k] = mine
    leads = mine - scores[np.arange(mine.size), rivals]
    now = int(np.count_nonzero(leads > 0))
    wanted = int(rows.totals[k] / max(float(rows.weights.mean()), 1e-300))
    furthest = min(leads.size, 3 * max(now, wanted) + 1)
    first = np.argpartition(-leads, furthest - 1)[:furthest]
    order = first[np.argsort(-leads[first], kind="stable")]
    ordered = leads[order]
    cuts = _cuts(ordered, now)
    values = _values(rows.measure, _counts_at(rows, cuts, order, rivals, k))
    best = int(np.argmax(values))
    if values[best] <= values[int(np.searchsorted(cuts, now))] + _WORTH_A_STEP:
        return 0.0
    place = int(cuts[best])
    above = ordered[place - 1] if place > 0 else ordered[0] + 1.0
    below = ordered[place] if place < ordered.size else ordered[-1] - 1.0
    return float(-0.5 * (above + below))


def _cuts(ordered: NDArray[np.float64], now: int) -> NDArray[np.intp]:
    """Return numbers of rows to predict as a class: those between different leads, thinned, and the present."""
    places = np.unique(np.linspace(0, ordered.size, min(_CUTS, ordered.size) + 1).astype(np.intp))
    inner = (places > 0) & (places < ordered.size)
    differ = ~inner
    differ[inner] = ordered[places[inner]] != ordered[places[inner] - 1]
    return np.union1d(places[differ], [now]).astype(np.intp)


def _counts_at(
    rows: TuningRows, cuts: NDArray[np.intp], order: NDArray[np.intp], rivals: NDArray[np.intp], k: int
) -> NDArray[np.float64]:
    """Return the counts if the first so many rows are predicted as k, and all others as their rivals."""
    n_classes, reached = rows.totals.size, order[: cuts[-1]]
    counts = rows.counts(rivals)
    taken = np.searchsorted(cuts, np.arange(reached.size), side="right")  # the first cut that takes a row in
    rivals = rivals[reached]
    cells = taken * n_classes + rivals

    def by_cut(values: NDArray[Any], classes: int = n_classes) -> NDArray[np.float64]:
        """Return sums over all rows that each cut takes in."""
        where = cells if classes > 1 else taken
        sums = np.bincount(where, values, minlength=cuts.size * classes)
        return sums.reshape(-1, classes)[: cuts.size].cumsum(axis=0)

    if rows.measure.by_class:
        truth, weights = rows.truth[reached, rivals], rows.weights[reached]
        found = np.tile(counts, (cuts.size, 1, 1))
        found[:, 0] -= by_cut(truth)
        found[:, 1] -= by_cut(weights)
        found[:, 0, k] += by_cut(rows.truth[reached, k], 1)[:, 0]
        found[:, 1, k] += by_cut(weights, 1)[:, 0]
        return np.asarray(np.maximum(found, 0.0))
    where = (cells, np.arange(reached.size))
    shape = (cuts.size * n_classes, reached.size)
    moved = sparse.csr_array((np.ones(reached.size), where), shape=shape) @ rows.truth[reached]
    moved = moved.reshape(cuts.size, n_classes, n_classes).cumsum(axis=0).transpose(0, 2, 1)  # [cut, true, rival]
    found = counts - moved
    found[:, :, k] += moved.sum(axis=2)
    return np.asarray(np.maximum(found, 0.0))  # differences of sums round


def _without_each_block(
    codes: NDArray[np.intp],
    predicted: NDArray[np.intp],
    weights: NDArray[Any],
    blocks: NDArray[np.intp],
    n_classes: int,
    measure: ConfusionMeasure,
) -> NDArray[np.float64]:
    """Return the counts of all rows but those of each block, and, last, of all rows."""
    numbers = np.unique(blocks, return_inverse=True)[1]
    n_blocks = int(numbers.max()) + 1

    def sums(classes: NDArray[np.intp], values: NDArray[Any]) -> NDArray[np.float64]:
        return sums_by_class(numbers * n_classes + classes, values, n_blocks * n_classes).reshape(-1, n_classes)

    if measure.by_class:
        right = sums(predicted, weights * (codes == predicted))
        found = np.stack([right, sums(predicted, weights), sums(codes, weights)], axis=1)
    else:
        found = Counts.of_labels(
            codes, predicted, weights, n_classes=n_classes, groups=numbers, n_groups=n_blocks
        ).weights
    everything = found.sum(axis=0)
    return np.concatenate([everything - found, everything[np.newaxis]])
