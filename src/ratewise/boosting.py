"""The measure as the objective and as the evaluation metric of LightGBM, XGBoost and CatBoost."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .decisions.cuts import best_threshold, quick_threshold, rates_at
from .estimators._crossfit import cost_weights_at
from .measures import Measure, get_measure

__all__ = ["MeasureMetric", "MeasureObjective"]

# The largest Newton step of a row, in log odds. Without a limit, a positive row with a very low score has a step
# of 1/p, and a leaf of few rows takes such a step.
_LARGEST_STEP = 4.0


def _best_value(positives: NDArray[np.float64], negatives: NDArray[np.float64], measure: Measure) -> float:
    """Return the best value over all cuts, for measures that never fall when a rate rises.

    The best cut lies right below the score of a positive, or above all scores. Every tree is evaluated, and this
    takes at most half of the time that a search for the threshold takes.
    """
    scores = np.sort(positives)[::-1]
    alarms = negatives.size - np.searchsorted(np.sort(negatives), scores, side="left")
    tpr = np.arange(scores.size + 1) / scores.size
    tnr = 1.0 - np.append(0, alarms) / negatives.size
    # Positives with equal scores count together: a cut between them would lower the true positives, not the false
    # positives.
    values = np.asarray(measure.value(tpr, tnr, scores.size / (scores.size + negatives.size)), dtype=np.float64)
    return float(np.max(values[np.isfinite(values)], initial=-np.inf))


class _BoostedRows(NamedTuple):
    """The scores of some rows, their labels as 0 and 1, and their weights."""

    scores: NDArray[np.float64]
    positive: NDArray[np.bool_]
    weights: NDArray[np.float64] | None

    @classmethod
    def of(cls, first: Any, second: Any, sample_weight: Any) -> _BoostedRows:
        """Accept (scores, data set) from ``train``, or (labels, scores) from the scikit-learn classes."""
        if hasattr(second, "get_label"):
            labels, scores, sample_weight = second.get_label(), first, second.get_weight()
        else:
            labels, scores = first, second
        scores, labels = np.asarray(scores, dtype=np.float64), np.asarray(labels)
        if scores.ndim != 1 or scores.shape != labels.shape:
            raise ValueError(
                f"A measure of two classes needs one score per row; got scores of shape {scores.shape} for labels "
                f"of shape {labels.shape}. For more classes fit one model per class."
            )
        positive = labels == 1
        n_positive = np.count_nonzero(positive)
        if n_positive + np.count_nonzero(labels == 0) < labels.size:
            found = ", ".join(map(str, np.unique(labels)[:5].tolist()))
            raise ValueError(f"Labels must be 0 and 1; got {found}. Encode them, for instance as (y == positive).")
        if n_positive in (0, labels.size):
            raise ValueError(
                f"All {labels.size} labels are {int(n_positive > 0)}: a measure needs rows of both classes, among "
                "the evaluation rows too. Stratify the split."
            )
        if not np.isfinite(scores.sum()):
            raise ValueError(
                "The booster's scores contain NaN or infinity. Lower its learning rate, or raise min_child_weight."
            )
        if sample_weight is None or np.size(sample_weight) == 0:
            return cls(scores, positive, None)
        return cls(scores, positive, np.asarray(sample_weight, dtype=np.float64))

    def signed_weights(self) -> NDArray[np.float64]:
        signs: NDArray[np.float64] = np.where(self.positive, 1.0, -1.0)
        return signs if self.weights is None else signs * self.weights


class MeasureObjective:
    """Train LightGBM or XGBoost for the measure you report: an objective for ``train`` and for the classifiers.

    The objective is log loss with two class weights: the slopes of the measure at the rates of the current scores,
    cut at their best threshold, as in AMP and SPADE. The weights are updated before each tree, have mean 1, and
    are tempered towards the square root of (1-p)/p, so that rare positives do not dominate the fit. No row gets a
    step above 4 in log odds.

    Scores start at 0, are weighted log odds, and need a threshold: :class:`~ratewise.MeasureMaximizer` around the
    classifier chooses it from out-of-fold scores, and :func:`ratewise.solvers.best_threshold` from any validation
    rows.

    Parameters
    ----------
    measure : str or Measure, default="f1"

    Examples
    --------
    >>> import numpy as np
    >>> from ratewise.boosting import MeasureObjective
    >>> objective = MeasureObjective("f1")
    >>> gradient, hessian = objective(np.array([0, 0, 0, 1]), np.zeros(4))
    >>> bool(gradient[3] < 0 < gradient[0] < -gradient[3])
    True
    """

    def __init__(self, measure: str | Measure = "f1"):
        self.measure = get_measure(measure)

    def __repr__(self) -> str:
        return f"MeasureObjective({self.measure!r})"

    def __call__(self, first: Any, second: Any, sample_weight: Any = None) -> tuple[Any, Any]:
        """Return the gradient and the hessian of each row.

        Takes (scores, data set), as ``lightgbm.train`` and ``xgboost.train`` pass them, or (labels, scores,
        weights).
        """
        rows = _BoostedRows.of(first, second, sample_weight)
        rates = quick_threshold(rows.scores, rows.signed_weights(), self.measure).rates
        ratio = cost_weights_at(self.measure, rates).tempered_ratio(rates.prevalence)
        given = np.ones(rows.scores.size) if rows.weights is None else rows.weights
        weights = np.where(rows.positive, ratio, 1.0) * given
        weights *= given.sum() / weights.sum()
        probability = expit(rows.scores)
        gradient = probability - rows.positive
        hessian = np.maximum(probability * (1.0 - probability), np.abs(gradient) / _LARGEST_STEP)
        return weights * gradient, np.maximum(weights * hessian, 1e-16)


class MeasureMetric:
    """Evaluate and stop boosting by the measure you report, at its best threshold on the evaluation rows.

    Pass it as ``feval`` of ``lightgbm.train``, ``eval_metric`` of ``LGBMClassifier.fit``, ``custom_metric`` of
    ``xgboost.train`` and ``eval_metric`` of CatBoost. ``XGBClassifier`` takes its method:
    ``eval_metric=MeasureMetric("f1").score``. XGBoost minimizes metrics that it does not know: give its
    ``EarlyStopping`` callback ``maximize=True``.

    Parameters
    ----------
    measure : str or Measure, default="f1"
    threshold : float, optional
        The score at which to evaluate instead; a probability if the booster passes probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from ratewise.boosting import MeasureMetric
    >>> metric = MeasureMetric("f1")
    >>> metric(np.array([0, 0, 1, 1]), np.array([0.1, 0.2, 0.3, 0.9]))
    ('f1', 1.0, True)
    >>> MeasureMetric("f1", threshold=0.5).score(np.array([0, 0, 1, 1]), np.array([0.1, 0.2, 0.3, 0.9])) < 0.7
    True
    """

    def __init__(self, measure: str | Measure = "f1", *, threshold: float | None = None):
        self.measure = get_measure(measure)
        self.threshold = threshold
        self.name = measure if isinstance(measure, str) else self.measure.label

    def __repr__(self) -> str:
        return f"MeasureMetric({self.measure!r}, threshold={self.threshold!r})"

    def __call__(self, first: Any, second: Any, sample_weight: Any = None) -> tuple[Any, ...]:
        """Return (name, value) to XGBoost, and (name, value, True) to LightGBM: higher is better."""
        value = self._value(_BoostedRows.of(first, second, sample_weight))
        for_xgboost = hasattr(second, "num_row")
        return (self.name, value) if for_xgboost else (self.name, value, True)

    def score(self, y_true: Any, y_score: Any, sample_weight: Any = None) -> float:
        """Return the value of scores, for ``XGBClassifier`` and for use by hand."""
        return self._value(_BoostedRows.of(y_true, y_score, sample_weight))

    def _value(self, rows: _BoostedRows) -> float:
        if self.threshold is not None:
            return float(self.measure.value(*rates_at(rows.scores, rows.signed_weights(), self.threshold)))
        simple = rows.weights is None and self.measure.monotone and not self.measure.bounds
        if simple:
            return _best_value(rows.scores[rows.positive], rows.scores[~rows.positive], self.measure)
        return best_threshold(rows.scores, rows.signed_weights(), self.measure).value

    # CatBoost asks for a metric in three parts.
    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        """Return the value and a weight of 1, for CatBoost; scores are log odds."""
        return self.score(np.asarray(target), np.asarray(approxes[0]), weight), 1.0

    def is_max_optimal(self) -> bool:
        return True

    def get_final_error(self, error: float, weight: float) -> float:
        return error
