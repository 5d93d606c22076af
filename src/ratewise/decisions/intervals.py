"""Intervals for the rates of a model on new rows, from scores of rows that it has not learned from."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, expit, logit, ndtri

from ..measures import Measure, Rates, RatesInterval, UnknownRateWarning
from .cuts import Points, rates_at
from .scores import Scores

LEAST_POINTS = 2.0  # of a class, to estimate its rate: one to learn from and one to validate
_USUAL_CONFIDENCE = 0.95
# Points per fitted parameter by which rates of training rows are too high, at least and at most. (Two clouds, 20
# and 50 columns, F1 and G-mean: 0.55 to 1.9.)
_OPTIMISM = (0.5, 2.0)
# With more points of the rarer class, the choice of a threshold has no visible effect on an interval.
_PLENTY_TO_CHOOSE = 3000
_GRID = (np.arange(64) + 0.5) / 64
_NORMALS = (-1.46, -0.6, 0.0, 0.6, 1.46)  # fifths of the normal distribution, with its variance


class ModelShift(NamedTuple):
    """The difference of the returned model from the folds' models, for which alone there are out-of-fold scores.

    Each field has a number for the TPR and one for the TNR, at one threshold, on training rows.
    """

    rates: tuple[float, float]
    """The rates of the returned model, minus those of the folds' models on rows that they have learned from."""
    of_training: tuple[float, float]
    """The rates of the folds' models on the rows that they have learned from."""
    variance: tuple[float, float]
    """The variance that the difference adds to a rate, times the points of its class."""
    folds: float
    """Infinity if the returned model has learned from no more rows than the folds' models."""
    unseen: tuple[float, float] = (0.0, 0.0)
    """A possible change of the rates on new rows that is not visible on rows that were learned from."""

    @staticmethod
    def tally(
        learned: NDArray[Any], scored: NDArray[Any], own: NDArray[Any], signed_weights: NDArray[Any], folds: int
    ) -> NDArray[np.float64]:
        """Return row weights by class, by the number of models that learned the row and predict it positive,
        and by the predictions of the out-of-fold model and of the returned model.
        """
        cell = 4 * ((signed_weights > 0) * folds + learned) + 2 * scored + own
        found = np.bincount(cell, np.abs(signed_weights).astype(np.float64), 8 * folds)
        return np.asarray(found, dtype=np.float64).reshape(2, folds, 2, 2)

    @classmethod
    def of_counts(cls, counts: NDArray[np.float64], per_point: tuple[float, float] = (1.0, 1.0)) -> ModelShift:
        """Return the shift from these counts; ``per_point`` are the points of each class that a row represents."""
        folds, found = counts.shape[1], []
        for is_positive, mine, points in ((1, counts[1], per_point[0]), (0, counts[0], per_point[1])):
            share = mine / max(float(mine.sum()), 1e-300)
            right = np.meshgrid(np.arange(folds) / (folds - 1.0), [0.0, 1.0], [0.0, 1.0], indexing="ij")
            of_learned, of_scored, of_own = right if is_positive else [1.0 - one for one in right]
            difference = of_own - of_learned
            shift = float((share * difference).sum())
            apart = share * (difference - shift)
            variance = points * float((apart * difference).sum()) + 2.0 * float((apart * of_scored).sum())
            found.append((shift, float((share * of_learned).sum()), variance))
        (tpr, trained_tpr, of_tpr), (tnr, trained_tnr, of_tnr) = found
        return cls((tpr, tnr), (trained_tpr, trained_tnr), (of_tpr, of_tnr), folds)

    @staticmethod
    def even_disagreement(counts: NDArray[np.float64]) -> tuple[float, float]:
        """Return, for positives and negatives, the share of the disagreement that goes in either direction:
        between a row's out-of-fold prediction and those of the models that have learned the row.

        It is 0 if the models are right about every row that they have learned: then only overfitting is visible.
        """
        folds, shares = counts.shape[1], []
        apart = np.array([0.0, 1.0]) - np.arange(folds)[:, np.newaxis] / (folds - 1.0)
        for found in (counts[1].sum(axis=2), counts[0].sum(axis=2)):
            either_way = float((found * np.abs(apart)).sum())
            shares.append(1.0 - abs(float((found * apart).sum())) / either_way if either_way > 0 else 0.0)
        return shares[0], shares[1]

    def blended(self, other: ModelShift, shares: tuple[float, float]) -> ModelShift:
        """Return the mean of this shift and another one, which has these shares for the TPR and the TNR.

        The remaining difference to the other shift may be overfitting, or may be real on new rows.
        """

        def mean(mine: tuple[float, float], its: tuple[float, float]) -> tuple[float, float]:
            of_tpr, of_tnr = ((1.0 - share) * a + share * b for share, a, b in zip(shares, mine, its, strict=True))
            return of_tpr, of_tnr

        rates = mean(self.rates, other.rates)
        unseen = other.rates[0] - rates[0], other.rates[1] - rates[1]
        return self._replace(rates=rates, variance=mean(self.variance, other.variance), unseen=unseen)


def choice_shift(
    scores: Scores, rates: Rates, choose: Callable[[Scores], float] | None, points: Points
) -> tuple[float, float]:
    """Return how the rates change if the threshold of each fold is chosen by the other folds.

    A threshold fits the noise of the rows that chose it; with fewer rows it fits more noise.
    """
    if choose is None or scores.folds is None or len(scores.folds) < 3 or min(points) > _PLENTY_TO_CHOOSE:
        return 0.0, 0.0
    folds = range(len(scores.folds))
    above = []
    for fold in folds:
        threshold = choose(scores.of_folds([other for other in folds if other != fold]))
        above.append(scores.of_folds([fold]).values - threshold)
    honest = rates_at(np.concatenate(above), scores.signed_weights)
    return honest.tpr - rates.tpr, honest.tnr - rates.tnr


def moved(rates: Rates, shift: ModelShift) -> Rates:
    """Return out-of-fold rates, moved to the model that is returned."""
    tpr, tnr = (min(max(rate + by, 0.0), 1.0) for rate, by in zip(rates[:2], shift.rates, strict=True))
    return Rates(tpr, tnr, rates.prevalence)


def rates_interval(
    rates: Rates,
    measure: Measure,
    points: Points,
    fitted: int = 0,
    shift: ModelShift | None = None,
    of_choice: tuple[float, float] = (0.0, 0.0),
) -> RatesInterval:
    """Return intervals of the rates and the measure on new rows, at 95% or the confidence of the bounds.

    They are Clopper-Pearson intervals on effective points. If the rows themselves have chosen ``fitted``
    parameters, their rates are too high, by between half a point and two per parameter. Out-of-fold rates are
    moved by ``shift``. A value that depends on the prevalence also allows for the noise in that, unless the
    measure is at a given prevalence. The returned model has learned from more rows than the folds' models. Its
    gain is between nothing, if these fit their rows perfectly, and Burman's correction of cross-validation (1989):
    the rates of their training rows minus those of validation rows, divided by the number of folds. What averaging
    gains on rows that the models have overfitted is between nothing and ``shift.unseen``. ``of_choice`` is how the
    rates would change if other rows had chosen the threshold: the end on that side is moved by it. A rate that was
    counted on fewer than two points, or on no more points than parameters were chosen on, has the interval 0 to 1.
    """
    confidences = [one.confidence for one in measure.bounds if one.confidence is not None]
    confidence = max(confidences, default=_USUAL_CONFIDENCE)
    error = 0.5 * (1.0 - confidence)
    ends, grids, outer = [], [], error
    for k, number in enumerate(points):
        if number < LEAST_POINTS or (shift is None and number <= fitted):
            outer = 0.0  # the value is unknown too
            ends.append((0.0, 1.0))
            grids.append(np.linspace(0.0, 1.0, _GRID.size))
            continue
        if shift is None:
            rate, more = rates[k], 0.0
            least, most = (-share * fitted / number for share in _OPTIMISM[::-1])
        else:
            rate, more = moved(rates, shift)[k], max(shift.variance[k], 0.0)
            least, most = sorted((0.0, (shift.of_training[k] - rates[k]) / shift.folds))
            least, most = least + min(shift.unseen[k], 0.0), most + max(shift.unseen[k], 0.0)
        least, most = least + min(of_choice[k], 0.0), most + max(of_choice[k], 0.0)
        right = rate * number
        below = rate - float(lower_bound(right, number, error))
        above = 1.0 - float(lower_bound(number - right, number, error)) - rate
        wider = float(ndtri(1.0 - error)) * math.sqrt(more / number)
        low, high = rate + least - math.hypot(below, wider), rate + most + math.hypot(above, wider)
        ends.append((max(min(low, rate), 0.0), min(max(high, rate), 1.0)))
        # The number of points that would give a rate this uncertainty.
        rate = min(max(rate + 0.5 * (least + most), 0.0), 1.0)
        noise = max(rate * (1.0 - rate), 1.0 / number)
        number *= noise / (noise + more + number * (most - least) ** 2 / 12.0)
        grids.append(betaincinv(rate * number + 0.5, (1.0 - rate) * number + 0.5, _GRID))
    values = _values_on(grids, measure, rates.prevalence, points)
    finite = values[np.isfinite(values)]
    low, high = np.quantile(finite, [outer, 1.0 - outer]) if finite.size else (math.nan, math.nan)
    # The grids surround the possible gains; the stated rates are included anyway.
    stated = float(measure.value(*(rates if shift is None else moved(rates, shift))))
    low, high = min(low, stated), max(high, stated)
    return RatesInterval(ends[0], ends[1], (float(low), float(high)), confidence)


def _values_on(
    grids: list[NDArray[np.float64]], measure: Measure, prevalence: float, points: Points
) -> NDArray[np.float64]:
    """Return the values at rates on a grid, and at possible prevalences if the measure depends on them."""
    noise = math.sqrt(sum(1.0 / max(number, 1.0) for number in points))  # of the log odds of a positive row

    def at(z: float) -> NDArray[np.float64]:
        p = float(expit(logit(prevalence) + noise * z)) if 0.0 < prevalence < 1.0 else prevalence
        return np.asarray(measure.value(grids[0][:, np.newaxis], grids[1], p), dtype=np.float64)

    values = [at(z) for z in _NORMALS]
    return values[0] if np.array_equal(values[0], values[-1], equal_nan=True) else np.stack(values)


def warn_of_unknown_rates(points: Points, of: str = "") -> None:
    """Warn if a class has too few points to estimate its rate on new rows."""
    for name, rate, number in zip(("positive", "negative"), ("TPR", "TNR"), points, strict=True):
        if 0 < number < LEAST_POINTS:
            warnings.warn(
                f"{of}The {rate} on new rows is not known, and its interval is 0 to 1: there is only one {name} "
                "row, or one group of them, or one that outweighs the others. Give more rows of the class.",
                UnknownRateWarning,
                stacklevel=2,
            )


def lower_bound(successes: Any, trials: Any, error: float) -> Any:
    """Return the exact (Clopper-Pearson) lower bound of a share, one-sided."""
    some = np.clip(successes, 1e-300, None)
    return np.where(
        np.asarray(successes) > 1e-9, betaincinv(some, np.maximum(trials - some, 0.0) + 1.0, error), 0.0
    )
