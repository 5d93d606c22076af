"""Bounds that hold on new rows: thresholds certified by exact tests.

The rows that certify must not have trained the models that score them: use out-of-fold scores, or separate rows.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, expit, logit

from ..counts import Counts
from ..counts import effective_points as equal_rows
from ..measures import Constraint, Measure, Rates, RatesInterval, get_measure
from ..measures._rates import ALERTS
from .calibrate import Calibration, calibrated
from .cuts import Cuts, Points, best_threshold, constraint_slack, effective_points, rates_at
from .group_cuts import GroupDecision, decide_groups, groups_at, has_group_cuts
from .intervals import ModelShift, choice_shift, lower_bound, moved, rates_interval, warn_of_unknown_rates
from .labelled import labelled_scores
from .scores import Scores
from .sensitive import checked_sensitive, require_rates, require_sensitive

# A precision is tested at numbers of alerts (rows predicted positive) that grow by this factor, in two sequences.
# Each sequence begins at this share of the way, on a log scale, from the fewest alerts that could prove the
# precision to the most that could have it, and has this share of the error. With fewer alerts a test has little
# power, and more may be too many. The second sequence is for precisions that are low at few alerts and rise again.
_ALERTS_GROW, _SEQUENCES = 1.03, ((0.5, 0.9), (0.8, 0.1))
# Out-of-fold scores are from the folds' models, but the returned model is their mean. Tests therefore use only
# this share of the error. (All of it spent, precisions are kept in 88% and 94% of the simulated draws where 90%
# and 95% were asked for.)
_ERROR_SHARE_OF_FOLDS = 0.7
_MOST_ROWS = 1e9


class Decision(NamedTuple):
    """The threshold of a model's scores, its rates and intervals, and the calibration of the scores."""

    threshold: float
    rates: Rates
    interval: RatesInterval
    message: str | None
    """One sentence if a bound of the measure cannot be promised."""
    calibration: Calibration
    groups: GroupDecision | None = None
    """The cuts and the counts of each group, if the scores have groups."""


def decide(
    scores: Scores,
    measure: Measure,
    threshold: float,
    points: Points,
    *,
    tune: bool = True,
    fitted: int = 0,
    error_share: float = _ERROR_SHARE_OF_FOLDS,
    shift_at: Callable[[float], ModelShift] | None = None,
    choose: Callable[[Scores], float] | None = None,
) -> Decision:
    """Return the certified threshold of a measure with bounds, or the given threshold, with its rates and
    intervals.

    ``points`` are the effective points of both classes: a row that is scored several times counts once. ``fitted``
    is the number of parameters that these rows have chosen themselves; 0 for out-of-fold scores. ``error_share``
    is the share of a bound's error that tests may use; 1 if the scores are the model's own. ``shift_at`` returns,
    at a threshold, how the returned model differs from the models that made these scores; the rates are corrected
    by this shift. ``choose`` is the function that chose the threshold from these scores: the interval allows for
    the choice. (A certified threshold is an order statistic, for which the test allows.)
    """
    if measure.group_bounds and scores.sensitive is not None:
        return _decided_with_groups(scores, measure, threshold, points, error_share)
    found = None
    if tune and certifies(measure):
        cuts = Cuts(scores.values, scores.signed_weights, measure, margin_scale=None)
        test = partial(_certified_cut, cuts, measure, points, error_share)
        found = test()
        if found is not None and shift_at is not None:
            tpr, tnr = shift_at(found).rates
            if tpr < 0 or tnr < 0:  # the bounds must hold after the returned model's losses too
                found = test(losses=(min(tpr, 0.0), min(tnr, 0.0)))
        threshold = threshold if found is None else found
    rates = rates_at(scores.values, scores.signed_weights, threshold)
    shift = None if shift_at is None else shift_at(threshold)
    expected = rates if shift is None else moved(rates, shift)
    of_choice = choice_shift(scores, rates, choose if found is None else None, points)
    return Decision(
        threshold,
        expected,
        rates_interval(rates, measure, points, fitted, shift, of_choice),
        None if found is not None else bound_message(measure, rates, points, searched=tune, expected=expected),
        calibrated(scores.values, scores.signed_weights, sum(points), threshold),
        None if scores.sensitive is None else groups_at(scores, threshold, points),
    )


def _decided_with_groups(
    scores: Scores, measure: Measure, threshold: float, points: Points, error_share: float
) -> Decision:
    """Return the decision on scores with groups; the threshold is the common one, if there is one."""
    groups = decide_groups(scores, measure, points, error_share)
    if not has_group_cuts(measure):
        threshold = float(groups.thresholds[0])
    rates = Counts(groups.counts.weights.sum(axis=0)).rates
    return Decision(
        threshold,
        rates,
        rates_interval(rates, measure, points),
        groups.message,
        calibrated(scores.values, scores.signed_weights, sum(points), threshold),
        groups,
    )


def relative_groups(decision: Decision) -> GroupDecision | None:
    """Return the groups of a decision with thresholds of scores from which the common threshold is subtracted."""
    groups = decision.groups
    return None if groups is None else groups._replace(thresholds=groups.thresholds - decision.threshold)


class Certificate(NamedTuple):
    """The result of :func:`certify`: rows whose score is above ``threshold`` are predicted positive."""

    threshold: float
    rates: Rates
    rates_interval: RatesInterval
    kept: bool
    """Whether the bounds of the measure hold on new rows, each with its confidence."""
    message: str | None
    """A message with numbers if the bounds cannot be guaranteed."""
    thresholds: dict[Any, float] | None = None
    """The threshold of each group, if groups have separate thresholds."""


def certify(
    scores: ArrayLike,
    y: ArrayLike,
    measure: str | Measure,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    sensitive_features: ArrayLike | None = None,
    pos_label: Any = None,
) -> Certificate:
    """Choose a threshold for the scores of any model so that the bounds of a measure hold on new rows.

    The rows must not have trained the model: use validation rows, or out-of-fold scores (``cross_val_predict``)
    of a model that is fitted to all rows afterwards.

    Parameters
    ----------
    scores : array of shape (n_rows,)
        Higher for rows that are more likely to be positive: probabilities, log odds, or any ranking.
    y : array of shape (n_rows,)
        Labels of two classes.
    measure : str or Measure
        Such as ``RecallAtPrecision(0.8, confidence=0.9)``. For a measure without bounds, the best threshold is
        chosen. sample_weight : array of shape (n_rows,), optional How many times each row counts. The tests then
        use Kish's effective number of rows, so they are approximate. groups : array of shape (n_rows,), optional
        Rows of one group are dependent: the tests count groups, by weight, instead of rows. sensitive_features :
        array of shape (n_rows,), optional The group of each row, for bounds such as ``Constrained("f1",
        tpr_gap=0.05)``. pos_label : label, optional The positive class; by default the last label in sorted order.

    Returns
    -------
    Certificate
        threshold, rates, rates_interval, kept, message; with bounds on groups also ``thresholds``, one per group.

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
    found = certified_decision(scores, y, measure, sample_weight, groups, sensitive_features, pos_label)
    certificate = Certificate(found.threshold, found.rates, found.interval, found.message is None, found.message)
    if found.groups is None or not has_group_cuts(measure):
        return certificate
    names, thresholds = found.groups.names.tolist(), found.groups.thresholds.tolist()
    return certificate._replace(thresholds=dict(zip(names, thresholds, strict=True)))


def certified_decision(
    scores: ArrayLike,
    y: ArrayLike,
    measure: Measure,
    sample_weight: ArrayLike | None,
    groups: ArrayLike | None,
    sensitive_features: ArrayLike | None,
    pos_label: Any,
) -> Decision:
    """Return all that :func:`certify` finds."""
    values, signed = labelled_scores(scores, y, sample_weight, pos_label)
    require_sensitive(measure, sensitive_features is not None)
    sensitive = checked_sensitive(sensitive_features, values.size)
    numbers = None if groups is None else _group_numbers(groups, values.size)
    counted = signed != 0
    if sensitive is not None:
        sensitive = sensitive._replace(codes=sensitive.codes[counted])
        require_rates(measure, sensitive, signed)
    values, signed = values[counted], signed[counted]
    points = effective_points(signed) if numbers is None else points_of_groups(signed, numbers[counted])
    warn_of_unknown_rates(points)
    threshold = best_threshold(values, signed, measure, points=points).threshold
    return decide(Scores(values, signed, sensitive=sensitive), measure, threshold, points, error_share=1.0)


def certifies(measure: Measure) -> bool:
    """Return whether some bound of the measure has a confidence."""
    return any(bound.confidence is not None for bound in (*measure.bounds, *measure.group_bounds))


def certified_threshold(
    scores: NDArray[Any],
    signed_weights: NDArray[Any],
    measure: Measure,
    points: Points,
    error_share: float = 1.0,
    losses: tuple[float, float] = (0.0, 0.0),
) -> float | None:
    """Return the best threshold at which all bounds of the measure are certified; None if there is none.

    Each of m bounds may spend ``error_share`` (1 - confidence) / m of the error. ``losses``, 0 or negative, are
    added to both rates before the test.
    """
    return _certified_cut(
        Cuts(scores, signed_weights, measure, margin_scale=None), measure, points, error_share, losses
    )


def _certified_cut(
    cuts: Cuts, measure: Measure, points: Points, error_share: float, losses: tuple[float, float] = (0.0, 0.0)
) -> float | None:
    """Return the best of these cuts at which all bounds of the measure are certified; None if there is none."""
    if losses != (0.0, 0.0):
        cuts = copy.copy(cuts)
        cuts.tpr, cuts.tnr = (
            np.maximum(rate + by, 0.0) for rate, by in zip((cuts.tpr, cuts.tnr), losses, strict=True)
        )
    bounds = measure.constraints(cuts.prevalence)
    passed = np.isfinite(cuts.values) & (cuts.tpr > 0)
    for bound in bounds:
        passed &= _certified_cuts(bound, error_share / len(bounds), cuts, points)
    if not passed.any():
        return None
    which = np.flatnonzero(passed)
    best = which[cuts.values[which] >= cuts.values[which].max() - 1e-12]
    thresholds = cuts.thresholds(best)
    return float(thresholds[np.argmin(np.abs(thresholds))])


def _certified_cuts(bound: Constraint, share: float, cuts: Cuts, points: Points) -> NDArray[np.bool_]:
    """Return the cuts at which a bound holds: at all of them at once, except with the probability of an error."""
    if bound.confidence is None:
        return constraint_slack([bound], cuts.tpr, cuts.tnr, points) >= 0
    kind, least = bounded_rate(bound, cuts.prevalence)
    error = (1.0 - bound.confidence) * share
    if kind == "precision":
        return _precision_sequence(least, error, cuts, points)
    # The tested rows are the same at all cuts, and their rate rises or falls with the cut. So the order statistic
    # of their scores at which the exact test just passes certifies all cuts beyond it (the Neyman-Pearson
    # umbrella).
    successes, rows = _trials(kind, bound, cuts.tpr, cuts.tnr, cuts.prevalence, points)
    return np.asarray(successes >= least_successes(float(rows), least, error))


def _precision_sequence(least: float, error: float, cuts: Cuts, points: Points) -> NDArray[np.bool_]:
    """Test the precision at increasing numbers of rows predicted positive, which do not depend on the labels.

    Above a score, the true positives among n rows predicted positive are Binomial(n, precision). Tests that pass
    spend none of the error (fixed-sequence testing; Learn then Test, Angelopoulos et al. 2021). So the second
    sequence has the error of the first too, if the first reaches it without a failed test (the fallback procedure
    of Wiens, 2003).
    """
    p = cuts.prevalence
    rows = (p * cuts.tpr + (1.0 - p) * (1.0 - cuts.tnr)) * sum(points)
    passed = np.zeros(rows.size, dtype=np.bool_)
    # From the fewest alerts that could prove the bound, if all of them were right, up to all positives and the
    # false positives that the bound then allows.
    fewest, most = math.log(error) / math.log(least), min(points[0] / least, sum(points))
    if fewest > most:
        return passed
    begins = [fewest * (most / fewest) ** place for place, _ in _SEQUENCES]
    left = 0.0
    for (_, share), first, last in zip(_SEQUENCES, begins, [*begins[1:], most], strict=True):
        left += share * error
        numbers = first * _ALERTS_GROW ** np.arange(math.log(last / first) / math.log(_ALERTS_GROW) + 1.0)
        at = np.minimum(np.searchsorted(rows, numbers - 1e-6), rows.size - 1)
        failed = binomial_tail(*predicted_positive(cuts.tpr[at], cuts.tnr[at], p, points), least) > left
        passed[at[: int(np.argmax(failed)) if failed.any() else at.size]] = True
        if failed.any():
            left = 0.0
    return passed


def bound_message(
    measure: Measure, rates: Rates, points: Points, *, searched: bool = False, expected: Rates | None = None
) -> str | None:
    """Return a message with numbers if the measure's bounds cannot be guaranteed at these rates.

    ``points`` are the effective points on which the rates were counted. ``searched`` says that no cut could be
    certified, so that these rates are only the nearest. ``expected`` are the rates that the fit states, if they
    differ; the message contains them too.
    """
    expected = rates if expected is None else expected
    bounds = measure.constraints(rates.prevalence)
    searched = searched and certifies(measure)
    slack = float(
        constraint_slack([one for one in bounds if one.confidence is None], rates.tpr, rates.tnr, points)
    )
    # A guarantee rests on the counts, and is at most what the expected rates allow.
    lows = [
        min(
            (promised_rate(one, len(bounds), seen, points) for seen in (rates, expected)),
            key=lambda low: low.promised,
        )
        for one in bounds
        if one.confidence is not None
    ]
    if not bounds:
        return None
    if rates.tpr > 0 and slack > -1e-6 and not searched and all(low.promised >= low.asked for low in lows):
        return None
    # Precisions, like the bound itself, are for the prevalence where the model is used.
    used_at = float(getattr(measure, "prevalence", rates.prevalence))
    expected = expected._replace(prevalence=used_at)
    tpr, tnr, _ = expected
    precision = f"{expected.precision:.3g}" if tpr > 0.0 or tnr < 1.0 else "not defined"
    wanted = " and ".join(f"{one.label} ({_certainty(one)})" for one in bounds)
    promised = ", ".join(low.words(rates, used_at) for low in lows)
    said = f" What can be promised at the nearest threshold, among rows like these, is {promised}." if lows else ""
    return (
        f"{measure.label}: no useful threshold keeps {wanted}. On new rows expect a TPR of {tpr:.3g}, a TNR "
        f"of {tnr:.4g} and a precision of {precision}.{said} {_advice(lows, points)}"
    )


def _certainty(bound: Constraint) -> str:
    if bound.confidence is None:
        return f"by {bound.margin:g} standard errors"
    return f"with a confidence of {bound.confidence:g}"


class _Lowest(NamedTuple):
    """The lowest value of a bounded rate that can be guaranteed."""

    kind: str
    promised: float
    asked: float
    times: float
    """The factor on the number of rows that the requested bound would need; infinity if no number is enough."""

    def words(self, rates: Rates, prevalence: float) -> str:
        """Return the guarantee at this prevalence, as text."""
        if self.kind == ALERTS:
            return f"a {self.kind} of at most {1.0 - self.promised:.3g}"
        return f"a {self.kind} of at least {self.promised_at(rates, prevalence):.3g}"

    def promised_at(self, rates: Rates, prevalence: float) -> float:
        """Return the guaranteed value at another prevalence, on which a precision depends."""
        if self.kind != "precision" or self.promised in (0.0, 1.0):
            return self.promised
        log_odds = logit(self.promised) + logit(prevalence) - logit(rates.prevalence)
        return float(expit(log_odds))


def _advice(lows: list[_Lowest], points: Points) -> str:
    times = max((low.times for low in lows if low.promised < low.asked), default=math.inf)
    if not math.isfinite(times):
        return "Ask for less, or give the model more rows or columns."
    rows = [f"{round(times * number):,}" for number in points]
    return (
        f"About {rows[0]} positives and {rows[1]} negatives would be needed (there are {points[0]:,.0f} and "
        f"{points[1]:,.0f}); or ask for less."
    )


def promised_rate(bound: Constraint, n_bounds: int, rates: Rates, points: Points) -> _Lowest:
    kind, least = bounded_rate(bound, rates.prevalence)
    assert bound.confidence is not None
    error = (1.0 - bound.confidence) / n_bounds
    successes, trials = (float(one) for one in _trials(kind, bound, *rates, points))

    def low(factor: float) -> float:
        return float(lower_bound(factor * successes, factor * trials, error))

    if trials <= 0 or successes / trials <= least:
        return _Lowest(kind, low(1.0), least, math.inf)
    factor, high = 1.0, 1.0
    while low(high) < least and high * trials < _MOST_ROWS:
        factor, high = high, 2.0 * high
    for _ in range(20):
        middle = 0.5 * (factor + high)
        factor, high = (factor, middle) if low(middle) >= least else (middle, high)
    return _Lowest(kind, low(1.0), least, high)


def bounded_rate(bound: Constraint, prevalence: float) -> tuple[str, float]:
    """Return the rate that a bound limits, and its lowest value; a precision is at the rows' own prevalence.

    For a share of rows predicted positive, return the share of rows predicted negative.
    """
    if bound.kind == "TPR":
        return "TPR", -bound.constant / bound.on_tpr
    if bound.kind in ("TNR", "FPR"):
        return "TNR", -bound.constant / bound.on_tnr
    if bound.kind == ALERTS:
        return ALERTS, 1.0 - 1.0 / (bound.on_tnr - bound.on_tpr)
    if bound.kind != "precision":
        raise ValueError(
            "A confidence is for a bound on the TPR, the TNR, the precision or the share of rows predicted "
            f"positive; not for {bound.label}."
        )
    odds = bound.on_tnr / bound.on_tpr * prevalence / (1.0 - prevalence)
    return "precision", odds / (1.0 + odds)


def _trials(
    kind: str, bound: Constraint, tpr: Any, tnr: Any, prevalence: float, points: Points
) -> tuple[Any, Any]:
    """Return the successes and the trials in the test of such a bound, as effective points."""
    if kind == "precision":
        return predicted_positive(tpr, tnr, prevalence, points)
    if kind == ALERTS:
        # All rows, with the classes in the proportion at which the bound must hold.
        p = -bound.on_tpr / (bound.on_tnr - bound.on_tpr)
        rows = 1.0 / (p * p / max(points[0], 1e-300) + (1.0 - p) ** 2 / max(points[1], 1e-300))
        return rows * (p * (1.0 - np.asarray(tpr)) + (1.0 - p) * np.asarray(tnr)), rows
    rate, rows = (tpr, points[0]) if kind == "TPR" else (tnr, points[1])
    return rate * rows, rows


def predicted_positive(tpr: Any, tnr: Any, prevalence: float, points: Points) -> tuple[Any, Any]:
    """Return the true positives among the rows predicted positive, and all of these, as effective points."""
    true_positives, false_positives = prevalence * np.asarray(tpr), (1.0 - prevalence) * (1.0 - np.asarray(tnr))
    predicted = true_positives + false_positives
    of_positives = true_positives * prevalence / max(points[0], 1e-300)
    of_negatives = false_positives * (1.0 - prevalence) / max(points[1], 1e-300)
    rows = predicted**2 / np.maximum(of_positives + of_negatives, 1e-300)
    return rows * true_positives / np.maximum(predicted, 1e-300), rows


def binomial_tail(successes: Any, trials: Any, share: float) -> Any:
    """Return the probability of this many successes or more, at this share; counts need not be whole."""
    some = np.maximum(successes, 1e-300)
    return np.where(np.asarray(successes) > 0, betainc(some, np.maximum(trials - some, 0.0) + 1.0, share), 1.0)


def least_successes(trials: float, share: float, error: float) -> float:
    """Return the fewest successes that prove a share at this error; infinity if even all are not enough."""
    low, high = 0.0, trials
    if binomial_tail(trials, trials, share) > error:
        return math.inf
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if binomial_tail(middle, trials, share) <= error else (middle, high)
    return high


def points_of_groups(signed_weights: NDArray[Any], groups: NDArray[np.intp]) -> Points:
    """Return the effective points of both classes if all rows of a group have the same information."""
    found = []
    for mine in (signed_weights > 0, signed_weights < 0):
        weights = np.bincount(groups[mine], weights=np.abs(signed_weights[mine]))
        found.append(equal_rows(float(weights.sum()), float((weights**2).sum())))
    return found[0], found[1]


def _group_numbers(groups: ArrayLike, n_rows: int) -> NDArray[np.intp]:
    given = np.asarray(groups)
    if given.shape != (n_rows,):
        raise ValueError(f"groups has shape {given.shape}, but there are {n_rows} rows.")
    return np.unique(given, return_inverse=True)[1]
