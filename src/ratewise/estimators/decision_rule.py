"""DecisionRule: turn the probabilities of any model into decisions that maximize a measure or minimize costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..counts import Counts, Rates, against_the_rest, effective_points
from ..decisions.blocks import blocks_of_rows, costs_without_each_block
from ..decisions.certify import certified_decision, relative_groups
from ..decisions.class_bounds import bounded_gains
from ..decisions.costs import Spent, calibrated_probabilities, cost_calibration, expected_costs, row_costs
from ..decisions.intervals import lower_bound, rates_interval, warn_of_unknown_rates
from ..decisions.offsets import best_gains
from ..decisions.sensitive import require_sensitive
from ..measures import (
    BalancedAccuracy,
    ConfusionMeasure,
    Constrained,
    ConstrainedClasses,
    Measure,
    RatesInterval,
    confusion_measure,
    get_measure,
)
from ..measures.others import takes_one_argument
from ._costs import require_cost_measure
from ._fits import constraints_met, warn_of_constraints
from ._sensitive import GroupedPrediction
from ._targets import (
    checked_labels,
    checked_weights,
    group_numbers,
    labels_to_score,
    positive_label,
    require_more_than_one_class,
)

_SUM_TOLERANCE = 1e-3  # allows for float32 and for models that round
_REJECT_ERROR = 0.05  # the probability that more rows than ``reject`` are left to a person


class DecisionRule(GroupedPrediction, BaseEstimator):
    """Turn probabilities of any model into decisions that maximize a measure or minimize costs.

    Give it probabilities of rows that the model did not learn from: validation rows, or
    ``cross_val_predict(model, X, y, method="predict_proba")``. With two classes the rule chooses a threshold,
    which also keeps bounds, as :func:`ratewise.certify` does. With more classes the rule calibrates the
    probabilities and finds the gain of each decision: offsets for measures of recalls, a table of gains for other
    measures. If rows that the rule was not tuned on show no clear gain, the rule predicts the most probable class.

    Parameters
    ----------
    measure : str, Measure, ConfusionMeasure or function, default="f1"
        What to maximize. With more than two classes a name means what scikit-learn and imbalanced-learn report
        (:func:`ratewise.measures.confusion_measure`), and ``Constrained("f1", recall=0.5)`` bounds each class.
        "cost" with ``costs=`` in ``fit`` minimizes costs per row.
    reject : float, default=0.0
        The largest share of rows to leave to a person. ``rejected`` returns these rows: the best two decisions are
        nearly equal there. With 95% confidence the share on new rows is not larger; therefore a rule that is
        fitted to few rows may leave none. ``score`` uses the other rows. Bounds of the measure concern the
        decisions on all rows.
    pos_label : label, default=None
        With two classes: the positive class; ``classes_[1]`` unless given.

    Attributes
    ----------
    classes_ : array
        The classes, in the order of the columns of ``proba``.
    threshold_ : float or None
        With two classes: rows whose probability of the positive class is above it are predicted positive.
    gains_ : array or None
        The gain of predicting a row of each class as each class, [true, predicted], for calibrated probabilities;
        None if ``threshold_`` or ``costs`` decide.
    offsets_ : array or None
        What is added to the log probabilities of the classes before the highest is predicted, if the gains have
        this form; otherwise None.
    counts_ : Counts
        The confusion matrix of the rows of ``fit``, without those left to a person.
    value_ : float
        The measure on rows that the rule was not tuned on. For a threshold, bounds on classes, and costs: on the
        rows of ``fit``.
    rates_ : Rates, or a list of Rates with more than two classes
        (tpr, tnr, prevalence) of these rows; of each class against the rest.
    rates_interval_ : RatesInterval, or a list of them
        Intervals for the rates on new rows.
    calibration_ : array or None
        With ``costs``: how probabilities are calibrated before expected costs are computed, chosen by out-of-fold
        log loss.
    spent_ : Spent or None
        With ``costs``: what the decisions cost on these rows, and what other decisions would have cost.
    constraints_met_ : bool or None
        Whether the bounds of the measure hold on new rows with their confidence; ``fit`` warns with numbers if
        that cannot be promised. None without bounds.
    measure_ : the measure that ``measure`` names; None with ``costs``

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_predict
    >>> from ratewise import DecisionRule
    >>> X, y = load_wine(return_X_y=True)
    >>> model = LogisticRegression(max_iter=5_000)
    >>> proba = cross_val_predict(model, X[:, :4], y, method="predict_proba")
    >>> rule = DecisionRule("worst-recall").fit(proba, y)
    >>> rule.predict(model.fit(X[:, :4], y).predict_proba(X[:3, :4]))
    array([0, 0, 0])
    """

    def __init__(
        self,
        measure: str | Measure | ConfusionMeasure | Callable[..., Any] = "f1",
        *,
        reject: float = 0.0,
        pos_label: Any = None,
    ):
        self.measure = measure
        self.reject = reject
        self.pos_label = pos_label

    def fit(
        self,
        proba: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        costs: Any = None,
        groups: Any = None,
        sensitive_features: Any = None,
    ) -> Self:
        """Choose the rule from out-of-fold probabilities, a column per class in sorted order, and true labels.

        If the columns of a table have the names of the classes, they may be in any order.
        ``costs`` is an array [row, true, predicted], one table [true, predicted], or, with two classes, a dict of
        numbers or columns for "false_positive", "false_negative", "true_positive", "true_negative". Rows with the
        same entry in ``groups`` are treated as dependent. ``sensitive_features``, with two classes, is the group
        of each row for bounds per group such as ``Constrained("f1", tpr_gap=0.05)``.
        """
        if not 0.0 <= self.reject < 1.0:
            raise ValueError(f"reject must be a share, at least 0 and below 1; got {self.reject!r}.")
        names, proba = _column_names(proba), checked_probabilities(proba)
        y, classes = checked_labels(y, proba.shape[0])
        require_more_than_one_class(classes)
        proba = _in_order(proba, names, classes)
        if classes.size != proba.shape[1]:
            raise ValueError(
                f"proba has {proba.shape[1]} columns and y holds {classes.size} classes: each column needs rows "
                "of its class to choose the rule by."
            )
        weights = np.ones(y.size) if sample_weight is None else checked_weights(sample_weight, y)
        codes = np.searchsorted(classes, y)
        totals = np.bincount(codes, weights, minlength=classes.size)
        if not totals.all():
            raise ValueError(f"All rows of class {classes[totals == 0].tolist()[0]!r} have sample_weight 0.")
        positive = self._positive(classes)
        if costs is not None:
            require_cost_measure(self.measure)
            costs = row_costs(costs, y.size, classes.size, positive)
        numbers = group_numbers(groups, y.size)
        measure = None if costs is not None else self._measure_of(classes)
        if sensitive_features is not None and (not isinstance(measure, Measure) or self.reject):
            raise ValueError("sensitive_features are for a measure of two classes, without costs and reject.")
        gains, calibration, threshold, message, values, of_groups = None, None, None, None, None, None
        if costs is not None:
            calibration = cost_calibration(proba, codes, weights, numbers)
        elif isinstance(measure, Measure):
            weighted = None if sample_weight is None else weights
            require_sensitive(measure, sensitive_features is not None)
            found = certified_decision(
                proba[:, positive], codes == positive, measure, weighted, groups, sensitive_features, True
            )
            threshold, message, of_groups = found.threshold, found.message, relative_groups(found)
        elif isinstance(measure, ConstrainedClasses):
            gains, values, message = bounded_gains(proba, codes, weights, measure, groups=numbers)
        elif measure is not None:
            gains, values = best_gains(proba, codes, weights, measure, groups=numbers)
        self.classes_, self.measure_, self._positive_code = classes, measure, positive
        self.threshold_, self._gains, self.calibration_ = threshold, gains, calibration
        self._store_groups(of_groups, measure)
        least = self._row_thresholds(sensitive_features, y.size)
        self._reject_below = self._margin_to_reject(proba, costs)
        decided = self._decided(proba, costs, least)
        self._describe(proba, codes, weights, costs, numbers, decided)
        if costs is not None:
            spent = costs[np.arange(codes.size), codes, decided]
            values = costs_without_each_block(spent, weights, blocks_of_rows(codes, numbers))
        self._values = np.array([self._value_here()]) if values is None else values
        self.value_ = float(self._values[-1])
        self.constraints_met_ = constraints_met(measure, message)
        warn_of_constraints(message, stacklevel=2)
        return self

    def predict(self, proba: Any, *, costs: Any = None, sensitive_features: Any = None) -> NDArray[Any]:
        """Return the class of each row.

        ``costs`` of these rows are needed if ``fit`` had costs, and ``sensitive_features`` if each group has its
        own threshold.
        """
        checked, table = self._checked(proba, costs)
        least = self._row_thresholds(sensitive_features, checked.shape[0])
        predicted: NDArray[Any] = self.classes_[self._decided(checked, table, least)]
        return predicted

    def decision_function(self, proba: Any, *, costs: Any = None) -> NDArray[np.float64]:
        """Return the gain of predicting each class; with two classes, the gain of predicting the second."""
        expected = self._expected(*self._checked(proba, costs))
        return expected if self.classes_.size > 2 else expected[:, 1] - expected[:, 0]

    def rejected(self, proba: Any, *, costs: Any = None) -> NDArray[np.bool_]:
        """Return whether to leave each row to a person, as ``reject`` allows."""
        found: NDArray[np.bool_] = self._margins(*self._checked(proba, costs)) < self._reject_below
        return found

    def score(
        self,
        proba: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        costs: Any = None,
        sensitive_features: Any = None,
    ) -> float:
        """Return the measure of the decisions against y, or minus their mean cost; without rejected rows."""
        checked, table = self._checked(proba, costs)
        y = labels_to_score(y, checked.shape[0], self.classes_)
        weights = np.ones(y.size) if sample_weight is None else checked_weights(sample_weight, y)
        kept = ~self.rejected(proba, costs=costs)
        if not kept.any():
            raise ValueError("All rows are left to a person: there are no decisions to score.")
        least = self._row_thresholds(sensitive_features, checked.shape[0])
        codes, decided = np.searchsorted(self.classes_, y)[kept], self._decided(checked, table, least)[kept]
        if table is not None:
            return -float(np.average(table[kept][np.arange(codes.size), codes, decided], weights=weights[kept]))
        counts = Counts.of_labels(codes, decided, weights[kept], n_classes=self.classes_.size)
        if isinstance(self.measure_, Measure):
            return float(self.measure_.value(*self._rates_of(counts)[0]))
        assert self.measure_ is not None
        return float(self.measure_.value(counts.weights))

    @property
    def gains_(self) -> NDArray[np.float64] | None:
        check_is_fitted(self)
        if self._gains is None:
            return None
        gains: NDArray[np.float64] = self._gains.gains
        return np.diag(gains[0]) + gains[1] if gains.shape[0] == 2 else gains

    @property
    def offsets_(self) -> NDArray[np.float64] | None:
        check_is_fitted(self)
        return None if self._gains is None else self._gains.offsets

    def _measure_of(self, classes: NDArray[Any]) -> Measure | ConfusionMeasure:
        named, n_classes = self.measure, classes.size
        of_table = callable(named) and not isinstance(named, Measure) and takes_one_argument(named)
        if n_classes == 2 and not isinstance(named, ConfusionMeasure) and not of_table:
            return get_measure(named)
        if n_classes > 2 and named == "cost":
            raise ValueError(f'measure="cost" of {n_classes} classes needs costs= in fit.')
        if isinstance(named, Measure) and not isinstance(named, Constrained) and named.bounds:
            raise ValueError(
                f"{named.label} has bounds, which are those of two classes; there are {n_classes}: bound their "
                "recall, precision or share of the predictions by Constrained."
            )
        return confusion_measure(named, classes)

    def _positive(self, classes: NDArray[Any]) -> int:
        """Return the column of the positive class."""
        if classes.size > 2:
            if self.pos_label is not None:
                raise ValueError(f"pos_label={self.pos_label!r} is for two classes; there are {classes.size}.")
            return 1
        return int(np.searchsorted(classes, positive_label(classes, self.pos_label)))

    @property
    def _positive_column(self) -> int:
        """Return the column of the positive class at the time of the fit, whatever ``pos_label`` is now."""
        code = vars(self).get("_positive_code")
        return self._positive(self.classes_) if code is None else int(code)  # older rules have no code

    def _checked(self, proba: Any, costs: Any) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
        check_is_fitted(self)
        names, proba = _column_names(proba), checked_probabilities(proba)
        proba = _in_order(proba, names, self.classes_)
        if proba.shape[1] != self.classes_.size:
            raise ValueError(f"proba has {proba.shape[1]} columns; the rule is of {self.classes_.size} classes.")
        if (costs is None) != (self.measure_ is not None):
            raise ValueError(
                "The rule was fitted to costs of rows: give costs= of these rows too."
                if costs is None
                else f"The rule was fitted to {self.measure!r}, without costs: leave costs= out."
            )
        positive = self._positive_column
        return proba, None if costs is None else row_costs(costs, proba.shape[0], self.classes_.size, positive)

    def _expected(self, proba: NDArray[Any], costs: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Return the expected gain of each decision in each row."""
        if costs is not None and self.calibration_ is not None:
            return -expected_costs(calibrated_probabilities(proba, self.calibration_), costs)
        if self._gains is not None:
            return self._gains.expected(proba)
        positive, above = self._positive_column, np.zeros(proba.shape)
        above[:, positive] = proba[:, positive] - self.threshold_
        return above

    def _decided(
        self, proba: NDArray[Any], costs: NDArray[np.float64] | None, least: NDArray[np.float64] | float
    ) -> NDArray[np.intp]:
        if self.threshold_ is not None:
            positive = self._positive_column
            return np.where(proba[:, positive] > self.threshold_ + least, positive, 1 - positive)
        found: NDArray[np.intp] = self._expected(proba, costs).argmax(axis=1)
        return found

    def _margins(self, proba: NDArray[Any], costs: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Return the gain of the best decision minus that of the second best."""
        best = np.partition(self._expected(proba, costs), -2, axis=1)[:, -2:]
        found: NDArray[np.float64] = best[:, 1] - best[:, 0]
        return found

    def _margin_to_reject(self, proba: NDArray[Any], costs: NDArray[np.float64] | None) -> float:
        """Return the margin below which so few rows lie that new rows keep the limit ``reject``."""
        if self.reject == 0.0:
            return -np.inf
        n_rows = proba.shape[0]
        numbers = np.arange(n_rows + 1)
        highest = 1.0 - lower_bound(n_rows - numbers, n_rows, _REJECT_ERROR)
        most = int(np.count_nonzero(highest <= self.reject)) - 1
        return float(np.sort(self._margins(proba, costs))[most]) if most >= 0 else -np.inf

    def _describe(
        self,
        proba: NDArray[Any],
        codes: NDArray[np.intp],
        weights: NDArray[np.float64],
        costs: NDArray[np.float64] | None,
        groups: NDArray[np.intp] | None,
        decided: NDArray[np.intp],
    ) -> None:
        """Set the attributes that describe the decisions for the rows of ``fit``."""
        kept = self._margins(proba, costs) >= self._reject_below
        self.spent_ = None if costs is None else Spent.of(decided, proba, codes, weights, costs)
        n_classes = self.classes_.size
        self.counts_ = Counts.of_labels(codes[kept], decided[kept], weights[kept], n_classes=n_classes)
        rates = self._rates_of(self.counts_)
        points = self.counts_.effective_points()
        if groups is not None:
            points = _points_of_groups(codes[kept], weights[kept], groups[kept], n_classes)
        measure = self.measure_ if isinstance(self.measure_, Measure) else BalancedAccuracy()
        if n_classes == 2:
            positive = self._positive_column
            both = (float(points[positive]), float(points[1 - positive]))
            if costs is not None:  # in other cases the search for a threshold has warned
                warn_of_unknown_rates(both)
            self.rates_: Rates | list[Rates] = rates[0]
            self.rates_interval_: RatesInterval | list[RatesInterval] = rates_interval(
                rates[0], measure, both, fitted=1
            )
            return
        self.rates_ = rates
        for name, mine in zip(self.classes_, against_the_rest(points), strict=True):
            warn_of_unknown_rates(mine, f"{name}: ")
        self.rates_interval_ = [
            rates_interval(one, measure, mine, fitted=1)
            for one, mine in zip(rates, against_the_rest(points), strict=True)
        ]

    def _value_here(self) -> float:
        """Return the measure on the rows of ``fit``."""
        assert isinstance(self.rates_, Rates)
        assert isinstance(self.measure_, Measure)
        return float(self.measure_.value(*self.rates_))

    def _rates_of(self, counts: Counts) -> list[Rates]:
        """Return the rates of the positive class, or of every class against the rest."""
        every = counts.one_vs_rest().each()
        return [every[self._positive_column]] if len(every) == 2 else every


def _points_of_groups(
    codes: NDArray[np.intp], weights: NDArray[np.float64], groups: NDArray[np.intp], n_classes: int
) -> NDArray[np.float64]:
    """Return the effective number of rows of each class, given that rows of one group are dependent."""
    n_groups = int(groups.max(initial=0)) + 1
    sums = np.bincount(codes * n_groups + groups, weights, n_classes * n_groups).reshape(n_classes, n_groups)
    return np.asarray(effective_points(sums.sum(axis=1), (sums**2).sum(axis=1)))


def _column_names(proba: Any) -> list[str]:
    """Return the names of a table's columns as texts; an empty list for an array."""
    return [str(name) for name in getattr(proba, "columns", ())]


def _in_order(proba: NDArray[Any], names: list[str], classes: NDArray[Any]) -> NDArray[Any]:
    """Return probabilities in the order of the classes if the classes are the names of their columns."""
    wanted = [str(label) for label in classes.tolist()]
    if names == wanted or sorted(names) != sorted(wanted):
        return proba
    return proba[:, [names.index(name) for name in wanted]]


def checked_probabilities(proba: Any) -> NDArray[Any]:
    """Return probabilities of rows, a column per class; raise an error for values that are not probabilities."""
    found = np.asarray(proba)
    if found.ndim != 2 or found.shape[1] < 2 or not found.shape[0]:
        raise ValueError(
            f"proba must have a row per sample and a column per class, as predict_proba returns; got shape "
            f"{found.shape}."
        )
    if found.dtype.kind not in "fiub":
        raise ValueError(f"proba must be numbers; got {found.dtype}.")
    found = found if found.dtype in (np.float32, np.float64) else found.astype(np.float64)
    if not np.isfinite(found).all():
        raise ValueError(f"proba contains {int((~np.isfinite(found)).sum())} value(s) that are not finite.")
    away = np.abs(found.sum(axis=1) - 1.0)
    if (found < 0).any() or away.max() > _SUM_TOLERANCE:
        row = (
            int(away.argmax()) if away.max() > _SUM_TOLERANCE else int(np.flatnonzero((found < 0).any(axis=1))[0])
        )
        raise ValueError(
            f"proba must hold probabilities: row {row} adds up to {found[row].sum():.4g} with a least entry of "
            f"{found[row].min():.4g}."
        )
    return found
