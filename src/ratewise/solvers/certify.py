"""Bounds that hold on new rows: thresholds certified by exact tests, and intervals of the rates.

The rows that certify must not have trained the models that score them: out-of-fold scores, or rows of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincinv, ndtri

from ..measures import Constraint, Measure, Rates, RatesInterval, get_measure
from .base import Scores
from .calibrate import Calibration, calibrated
from .threshold import Cuts, Points, best_threshold, constraint_slack, effective_points, rates_at

# A precision is tested at numbers of calls that grow by this factor, in two sequences. Each begins this share of
# the way, on a log scale, from the fewest calls that could prove it to the most that could have it, and has this
# share of the error: with fewer calls a test has little power, and more may be too many. The second is for
# precisions that are low at few calls and rise again.
_CALLS_GROW, _SEQUENCES = 1.03, ((0.5, 0.9), (0.8, 0.1))
# Out-of-fold scores are those of the folds' models, and the model returned is their mean: for what that adds,
# tests spend no more than this share of the error. (All of it spent, precisions are kept in 88% and 94% of the
# simulated draws where 90% and 95% were asked for.)
_SPENT_ON_FOLDS = 0.7
_USUAL_CONFIDENCE = 0.95
# Points per fitted parameter by which rates of training rows are too high, at least and at most. (Two clouds, 20
# and 50 columns, F1 and G-mean: 0.55 to 1.9.)
_OPTIMISM = (0.5, 2.0)
_GRID = (np.arange(64) + 0.5) / 64
_MOST_ROWS = 1e9


class ModelShift(NamedTuple):
    """How the model returned differs from those of the folds, whose out-of-fold scores are all that is known.

    Of the TPR and of the TNR at one threshold, on training rows.
    """

    rates: tuple[float, float]
    """Of the model returned, less those of the folds' models on the rows that they have learned from."""
    of_training: tuple[float, float]
    """The rates of the folds' models on the rows that they have learned from."""
    variance: tuple[float, float]
    """What the difference adds to the variance of a rate, times the points of its class."""
    folds: int


class Decision(NamedTuple):
    """Where a model's scores are cut, what is known of the rates there, and how scores turn into probabilities."""

    threshold: float
    rates: Rates
    interval: RatesInterval
    message: str | None
    """One sentence if a bound of the measure cannot be promised."""
    calibration: Calibration


def decide(
    scores: Scores,
    measure: Measure,
    threshold: float,
    points: Points,
    *,
    tune: bool = True,
    fitted: int = 0,
    spent: float = _SPENT_ON_FOLDS,
    shift_at: Callable[[float], ModelShift] | None = None,
) -> Decision:
    """Return the certified threshold of a measure with bounds, or else the one given, and what is known there.

    ``points`` are the effective points of both classes: a row that is scored several times counts once.
    ``fitted`` is the number of parameters that these rows have chosen themselves; 0 for out-of-fold scores.
    ``spent`` is the share of a bound's error that tests may spend; 1 if the scores are those of the model itself.
    ``shift_at`` a threshold tells how the model returned differs from those whose scores these are: the rates are
    moved by it.
    """
    found = None
    if tune and certifies(measure):
        found = certified_threshold(scores.values, scores.signed_weights, measure, points, spent)
        threshold = threshold if found is None else found
    rates = rates_at(scores.values, scores.signed_weights, threshold)
    shift = None if shift_at is None else shift_at(threshold)
    return Decision(
        threshold,
        rates if shift is None else moved(rates, shift),
        rates_interval(rates, measure, points, fitted, shift),
        None if found is not None else bound_message(measure, rates, points, searched=tune),
        calibrated(scores.values, scores.signed_weights, sum(points), threshold),
    )


class Certificate(NamedTuple):
    """What :func:`certify` found: rows whose score is above ``threshold`` are predicted positive."""

    threshold: float
    rates: Rates
    rates_interval: RatesInterval
    kept: bool
    """Whether the bounds of the measure hold on new rows, each with its confidence."""
    message: str | None
    """One sentence with numbers if they cannot be promised."""


def certify(
    scores: ArrayLike,
    y: ArrayLike,
    measure: str | Measure,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    pos_label: Any = None,
) -> Certificate:
    """Choose a threshold for the scores of any model so that the bounds of a measure hold on new rows.

    The rows must not have trained the model: take validation rows, or out-of-fold scores
    (``cross_val_predict``) of a model that is fitted to all rows afterwards.

    Parameters
    ----------
    scores : array of shape (n_rows,)
        Higher for rows more likely to be positive: probabilities, log odds, any order.
    y : array of shape (n_rows,)
        Labels of two classes.
    measure : str or Measure
        Such as ``RecallAtPrecision(0.8, confidence=0.9)``. One without bounds gets its best threshold.
    sample_weight : array of shape (n_rows,), optional
        Rows count so many times. The tests are then those of Kish's effective number of rows: approximate.
    groups : array of shape (n_rows,), optional
        Rows of one group are dependent: a class counts as many points as its groups are worth.
    pos_label : label, optional
        The positive class; the last in sorted order unless given.

    Returns
    -------
    Certificate
        threshold, rates, rates_interval, kept, message.

    Examples
    --------
    >>> import numpy as np
    >>> from ratewise import certify
    >>> from ratewise.measures import RecallAtPrecision
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(5_000) < 0.2
    >>> scores = rng.standard_normal(5_000) + 2.5 * y
    >>> found = certify(scores, y, RecallAtPrecision(0.8, confidence=0.95))
    >>> found.kept, bool(np.mean(y[scores > found.threshold]) > 0.8)
    (True, True)
    """
    measure = get_measure(measure)
    values, signed = labelled_scores(scores, y, sample_weight, pos_label)
    numbers = None if groups is None else _group_numbers(groups, values.size)
    counted = signed != 0
    values, signed = values[counted], signed[counted]
    points = effective_points(signed) if numbers is None else points_of_groups(signed, numbers[counted])
    threshold = best_threshold(values, signed, measure, points=points).threshold
    found = decide(Scores(values, signed), measure, threshold, points, spent=1.0)
    return Certificate(found.threshold, found.rates, found.interval, found.message is None, found.message)


def certifies(measure: Measure) -> bool:
    """Return whether some bound of the measure is to hold with a confidence."""
    return any(bound.confidence is not None for bound in measure.constraints(0.5))


def certified_threshold(
    scores: NDArray[Any], signed_weights: NDArray[Any], measure: Measure, points: Points, spent: float = 1.0
) -> float | None:
    """Return the best threshold at which all bounds of the measure are certified; None if there is none.

    Each bound may spend its share of the error: of m bounds, ``spent`` (1 - confidence) / m.
    """
    cuts = Cuts(scores, signed_weights, measure, caution=None)
    bounds = measure.constraints(cuts.prevalence)
    passed = np.isfinite(cuts.values) & (cuts.tpr > 0)
    for bound in bounds:
        passed &= _certified_cuts(bound, spent / len(bounds), cuts, points)
    if not passed.any():
        return None
    which = np.flatnonzero(passed)
    best = which[cuts.values[which] >= cuts.values[which].max() - 1e-12]
    thresholds = cuts.thresholds(best)
    return float(thresholds[np.argmin(np.abs(thresholds))])


def _certified_cuts(bound: Constraint, share: float, cuts: Cuts, points: Points) -> NDArray[np.bool_]:
    """Return the cuts at which a bound holds: for all of them at once, but for the probability of an error."""
    kind, least = _kind_of(bound, cuts.prevalence)
    if bound.confidence is None:
        return constraint_slack([bound], cuts.tpr, cuts.tnr, points) >= 0
    error = (1.0 - bound.confidence) * share
    if kind == "precision":
        return _precision_sequence(least, error, cuts, points)
    # One class decides, and its rate rises with the cut: so the order statistic of its scores at which the exact
    # test just passes certifies all cuts beyond it (the Neyman-Pearson umbrella).
    rate, rows = (cuts.tpr, points[0]) if kind == "TPR" else (cuts.tnr, points[1])
    return rate * rows >= _least_successes(rows, least, error)


def _precision_sequence(least: float, error: float, cuts: Cuts, points: Points) -> NDArray[np.bool_]:
    """Test the precision at more and more calls: a sequence that the labels have no part in.

    Above a score, hits among n calls are Binomial(n, precision), and as long as tests pass none has spent any of
    the error (fixed-sequence testing; Learn then Test, Angelopoulos et al. 2021). So the second sequence has the
    error of the first too, if that has not failed when it reaches it (the fallback procedure of Wiens, 2003).
    """
    hits, calls = _called(cuts.tpr, cuts.tnr, cuts.prevalence, points)
    p = cuts.prevalence
    rows = (p * cuts.tpr + (1.0 - p) * (1.0 - cuts.tnr)) * sum(points)
    passed = np.zeros(rows.size, dtype=np.bool_)
    # From as many calls on as could prove the bound, were all of them hits, up to all positives and the false
    # alarms that they allow.
    fewest, most = math.log(error) / math.log(least), min(points[0] / least, sum(points))
    if fewest > most:
        return passed
    begins = [fewest * (most / fewest) ** place for place, _ in _SEQUENCES]
    left = 0.0
    for (_, share), first, last in zip(_SEQUENCES, begins, [*begins[1:], most], strict=True):
        left += share * error
        numbers = first * _CALLS_GROW ** np.arange(math.log(last / first) / math.log(_CALLS_GROW) + 1.0)
        at = np.minimum(np.searchsorted(rows, numbers - 1e-6), rows.size - 1)
        failed = _tail(hits[at], calls[at], least) > left
        passed[at[: int(np.argmax(failed)) if failed.any() else at.size]] = True
        if failed.any():
            left = 0.0
    return passed


def bound_message(measure: Measure, rates: Rates, points: Points, *, searched: bool = False) -> str | None:
    """Return one sentence, with numbers, if the measure's bounds cannot be promised at these rates.

    ``points`` are what the rates were seen on. ``searched`` says that no cut could be certified: these rates are
    but the nearest.
    """
    bounds = measure.constraints(rates.prevalence)
    searched = searched and certifies(measure)
    slack = float(
        constraint_slack([one for one in bounds if one.confidence is None], rates.tpr, rates.tnr, points)
    )
    lows = [_lowest(one, len(bounds), rates, points) for one in bounds if one.confidence is not None]
    if not bounds:
        return None
    if rates.tpr > 0 and slack > -1e-6 and not searched and all(low.promised >= low.asked for low in lows):
        return None
    tpr, tnr, _ = rates
    precision = f"{rates.precision:.3g}" if tpr > 0.0 or tnr < 1.0 else "not defined"
    wanted = " and ".join(f"{one.label} ({_certainty(one)})" for one in bounds)
    promised = ", ".join(f"a {low.kind} of at least {low.promised:.3g}" for low in lows)
    said = f" What can be promised at the nearest threshold, among rows like these, is {promised}." if lows else ""
    return (
        f"{measure.label}: no threshold worth having keeps {wanted}. On new rows expect a TPR of {tpr:.3g}, a TNR "
        f"of {tnr:.4g} and a precision of {precision}.{said} {_advice(lows, points)}"
    )


def _certainty(bound: Constraint) -> str:
    if bound.confidence is None:
        return f"by {bound.margin:g} standard errors"
    return f"with a confidence of {bound.confidence:g}"


class _Lowest(NamedTuple):
    """What can be promised of a bounded rate."""

    kind: str
    promised: float
    asked: float
    times: float
    """So many times the rows would be needed to promise what is asked; infinity if no number would do."""


def _advice(lows: list[_Lowest], points: Points) -> str:
    times = max((low.times for low in lows if low.promised < low.asked), default=math.inf)
    if not math.isfinite(times):
        return "Ask for less, or give the model more rows or columns."
    rows = [f"{round(times * number):,}" for number in points]
    return (
        f"About {rows[0]} positives and {rows[1]} negatives would be needed (there are {points[0]:,.0f} and "
        f"{points[1]:,.0f}); or ask for less."
    )


def _lowest(bound: Constraint, n_bounds: int, rates: Rates, points: Points) -> _Lowest:
    kind, least = _kind_of(bound, rates.prevalence)
    assert bound.confidence is not None
    error = (1.0 - bound.confidence) / n_bounds
    if kind == "precision":
        hits, calls = (float(one) for one in _called(rates.tpr, rates.tnr, rates.prevalence, points))
    else:
        rate, calls = (rates.tpr, points[0]) if kind == "TPR" else (rates.tnr, points[1])
        hits = rate * calls

    def low(factor: float) -> float:
        return float(lower_bound(factor * hits, factor * calls, error))

    if calls <= 0 or hits / calls <= least:
        return _Lowest(kind, low(1.0), least, math.inf)
    factor, high = 1.0, 1.0
    while low(high) < least and high * calls < _MOST_ROWS:
        factor, high = high, 2.0 * high
    for _ in range(20):
        middle = 0.5 * (factor + high)
        factor, high = (factor, middle) if low(middle) >= least else (middle, high)
    return _Lowest(kind, low(1.0), least, high)


def _kind_of(bound: Constraint, prevalence: float) -> tuple[str, float]:
    """Return which rate a bound is on, and its lowest value; a precision as it is at the rows' own prevalence."""
    _, constant, on_tpr, on_tnr, _, confidence = bound
    if on_tnr == 0:
        return "TPR", -constant / on_tpr
    if on_tpr == 0:
        return "TNR", -constant / on_tnr
    if confidence is not None and abs(constant + on_tnr) > 1e-9 * abs(on_tnr):
        raise ValueError(
            f"A confidence is for a bound on the TPR, the TNR or the precision; not for {bound.label}."
        )
    odds = on_tnr / on_tpr * prevalence / (1.0 - prevalence)
    return "precision", odds / (1.0 + odds)


def _called(tpr: Any, tnr: Any, prevalence: float, points: Points) -> tuple[Any, Any]:
    """Return the hits among the calls and the calls, as effective points."""
    hits, alarms = prevalence * np.asarray(tpr), (1.0 - prevalence) * (1.0 - np.asarray(tnr))
    squares = hits * prevalence / max(points[0], 1e-300) + alarms * (1.0 - prevalence) / max(points[1], 1e-300)
    calls = (hits + alarms) ** 2 / np.maximum(squares, 1e-300)
    return calls * hits / np.maximum(hits + alarms, 1e-300), calls


def _tail(successes: Any, trials: Any, share: float) -> Any:
    """Return the probability of so many successes or more, at this share; counts need not be whole."""
    some = np.maximum(successes, 1e-300)
    return np.where(np.asarray(successes) > 0, betainc(some, np.maximum(trials - some, 0.0) + 1.0, share), 1.0)


def _least_successes(trials: float, share: float, error: float) -> float:
    """Return the fewest successes that prove a share at this error; infinity if not even all would."""
    low, high = 0.0, trials
    if _tail(trials, trials, share) > error:
        return math.inf
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if _tail(middle, trials, share) <= error else (middle, high)
    return high


def lower_bound(successes: Any, trials: Any, error: float) -> Any:
    """Return the exact (Clopper-Pearson) lower bound of a share, one-sided."""
    some = np.clip(successes, 1e-300, None)
    return np.where(
        np.asarray(successes) > 1e-9, betaincinv(some, np.maximum(trials - some, 0.0) + 1.0, error), 0.0
    )


def moved(rates: Rates, shift: ModelShift) -> Rates:
    """Return out-of-fold rates, moved to the model that is returned."""
    tpr, tnr = (min(max(rate + by, 0.0), 1.0) for rate, by in zip(rates[:2], shift.rates, strict=True))
    return Rates(tpr, tnr, rates.prevalence)


def rates_interval(
    rates: Rates, measure: Measure, points: Points, fitted: int = 0, shift: ModelShift | None = None
) -> RatesInterval:
    """Return between what the rates and the measure lie on new rows, with 95% or the confidence of the bounds.

    Clopper-Pearson's intervals, on effective points. If the rows themselves have chosen ``fitted`` parameters,
    their rates are too high, by between half a point and two per parameter. Out-of-fold rates are moved by
    ``shift``. What the model returned gains by having learned from more rows than the folds' models is between
    nothing, if these fit their rows perfectly, and what Burman's correction of cross-validation (1989) says: the
    rates of their training rows, less those of validation rows, by the number of folds.
    """
    confidences = [one.confidence for one in measure.constraints(0.5) if one.confidence is not None]
    confidence = max(confidences, default=_USUAL_CONFIDENCE)
    error = 0.5 * (1.0 - confidence)
    ends, grids = [], []
    for k, number in enumerate(points):
        number = max(number, 1.0)
        if shift is None:
            rate, more = rates[k], 0.0
            least, most = (-share * fitted / number for share in _OPTIMISM[::-1])
        else:
            rate, more = moved(rates, shift)[k], max(shift.variance[k], 0.0)
            least, most = sorted((0.0, (shift.of_training[k] - rates[k]) / shift.folds))
        hits = rate * number
        below = rate - float(lower_bound(hits, number, error))
        above = 1.0 - float(lower_bound(number - hits, number, error)) - rate
        wider = float(ndtri(1.0 - error)) * math.sqrt(more / number)
        low, high = rate + least - math.hypot(below, wider), rate + most + math.hypot(above, wider)
        ends.append((min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)))
        # As many points as would leave a rate so uncertain by themselves.
        rate = min(max(rate + 0.5 * (least + most), 0.0), 1.0)
        noise = max(rate * (1.0 - rate), 1.0 / number)
        number *= noise / (noise + more + number * (most - least) ** 2 / 12.0)
        grids.append(betaincinv(rate * number + 0.5, (1.0 - rate) * number + 0.5, _GRID))
    values = np.asarray(measure.value(grids[0][:, np.newaxis], grids[1], rates.prevalence), dtype=np.float64)
    finite = values[np.isfinite(values)]
    low, high = np.quantile(finite, [error, 1.0 - error]) if finite.size else (math.nan, math.nan)
    if shift is not None:  # the grids lie about what may be gained: the rates stated are within all the same
        stated = float(measure.value(*moved(rates, shift)))
        low, high = min(low, stated), max(high, stated)
    return RatesInterval(ends[0], ends[1], (float(low), float(high)), confidence)


def points_of_groups(signed_weights: NDArray[Any], groups: NDArray[np.intp]) -> Points:
    """Return the effective points of both classes where rows of one group all tell the same."""
    found = []
    for mine in (signed_weights > 0, signed_weights < 0):
        weights = np.bincount(groups[mine], weights=np.abs(signed_weights[mine]))
        squares = float((weights**2).sum())
        found.append(float(weights.sum()) ** 2 / squares if squares > 0 else 0.0)
    return found[0], found[1]


class LabelledScores(NamedTuple):
    """Scores of the positive class; signed weights are negative for rows of the negative class."""

    scores: NDArray[np.float64]
    signed_weights: NDArray[np.float64]


def labelled_scores(scores: Any, y: Any, sample_weight: Any = None, pos_label: Any = None) -> LabelledScores:
    """Return scores, labels of two classes and weights as a user gives them, checked."""
    values = np.asarray(scores)
    if values.ndim != 1:
        raise ValueError(
            f"scores must have one number per row; got shape {values.shape}. Of predict_proba, take the column of "
            "the positive class."
        )
    if values.dtype.kind not in "fiub":
        raise ValueError(f"scores must be numbers; got {values.dtype}.")
    values = np.ascontiguousarray(values, dtype=np.float64)  # other layouts would be compiled again
    if not np.isfinite(values).all():
        raise ValueError(f"scores contain {int((~np.isfinite(values)).sum())} value(s) that are not finite.")
    return LabelledScores(values, _signed_weights(y, values.size, sample_weight, pos_label))


def _signed_weights(y: Any, n_rows: int, sample_weight: Any, pos_label: Any) -> NDArray[np.float64]:
    """Return the sample weight of each row, negative for the negative class; both classes must occur."""
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise ValueError(f"y must have one label per row: there are {n_rows} rows, and y has {labels.shape}.")
    classes = np.unique(labels)
    if classes.size != 2:
        shown = ", ".join(map(repr, classes[:5].tolist())) + (", ..." if classes.size > 5 else "")
        raise ValueError(f"y must hold two classes, both of them; it holds {classes.size} ({shown}).")
    if pos_label is not None and pos_label not in classes:
        raise ValueError(f"pos_label={pos_label!r} is not among the labels {classes.tolist()} of y.")
    weights = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weights.shape}, but there are {n_rows} rows.")
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("sample_weight must be finite numbers of 0 or more.")
    positive = labels == (classes[1] if pos_label is None else pos_label)
    if not (weights[positive].any() and weights[~positive].any()):
        raise ValueError("All rows of one class have sample_weight 0: its rate is not defined.")
    return np.where(positive, weights, -weights)


def _group_numbers(groups: ArrayLike, n_rows: int) -> NDArray[np.intp]:
    given = np.asarray(groups)
    if given.shape != (n_rows,):
        raise ValueError(f"groups has shape {given.shape}, but there are {n_rows} rows.")
    return np.unique(given, return_inverse=True)[1]
