"""Bounds that are linear in the two rates, and the rates of labels."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._input_checks import labels_of_both, plain_labels
from ..counts import Counts, Rates


class Constraint(NamedTuple):
    """A bound that is linear in the two rates: it holds where constant + on_tpr TPR + on_tnr TNR >= 0.

    ``label`` describes the bound. ``confidence`` is the probability with which it must hold on new rows; if it is
    None, ``margin`` is the number of standard errors by which the bound must hold on the rows that choose a
    threshold. :class:`Bound` makes constraints, scaled so that one penalty suits all: missing a bound completely
    costs about 1.

    Examples
    --------
    >>> from ratewise.measures import Constrained
    >>> (bound,) = Constrained("f1", tnr=0.95).constraints(prevalence=0.1)
    >>> bound.label
    'a TNR of at least 0.95'
    >>> bool(bound.excess(0.8, 0.96) > 0)
    True
    """

    label: str
    constant: float
    on_tpr: float
    on_tnr: float
    margin: float
    confidence: float | None = None
    kind: str = ""
    """The bounded rate ("TPR", "TNR", "FPR", "precision", ...); empty for any other line."""

    def excess(self, tpr: Any, tnr: Any) -> Any:
        """Return the margin by which the bound is kept: 0 if it just holds, negative if it does not."""
        return self.constant + self.on_tpr * np.asarray(tpr) + self.on_tnr * np.asarray(tnr)


Cells = tuple[int | None, int | None]
"""Cells of the table of counts, as (true class, predicted class); None stands for every class."""

ALERTS = "share of rows predicted positive"
RATES: dict[str, tuple[Cells, Cells]] = {
    "tpr": ((1, 1), (1, None)),
    "tnr": ((0, 0), (0, None)),
    "fpr": ((0, 1), (0, None)),
    "precision": ((1, 1), (None, 1)),
    "alert_rate": ((None, 1), (None, None)),
}
"""The rates of two classes by the names of their bounds: a share of cells among other cells."""
_KINDS = dict(zip(RATES.values(), ("TPR", "TNR", "FPR", "precision", ALERTS), strict=True))


class Bound(NamedTuple):
    """A bound on the share of rows in some cells among the rows in others: at least ``level``, or at most.

    Cells are (true class, predicted class), and None is every class. So the recall of class k is (k, k) of
    (k, None), its precision (k, k) of (None, k), and the share of rows predicted as k (None, k) of (None, None).

    Examples
    --------
    >>> import numpy as np
    >>> from ratewise.measures import Bound
    >>> few_alerts = Bound((None, 1), (None, None), 0.02, at_least=False)
    >>> few_alerts.label
    'a share of rows predicted positive of at most 0.02'
    >>> few_alerts.kept(np.array([[970, 10], [10, 10]]))
    True
    """

    numerator: Cells
    denominator: Cells
    level: float
    at_least: bool = True
    margin: float = 0.5
    """Standard errors by which the bound must hold on the rows that choose a threshold, without a confidence."""
    confidence: float | None = None
    """The probability with which the bound must hold on new rows."""
    group: int | None = None
    """The group of rows to which the bound applies; None for all rows."""
    prevalence: float | None = None
    """The share of positives at which the bound must hold; None for that of the rows."""

    @property
    def kind(self) -> str:
        """The bounded rate of two classes; empty for any other share."""
        return _KINDS.get((self.numerator, self.denominator), "")

    @property
    def label(self) -> str:
        kind = self.kind or f"share {self.numerator} of {self.denominator}"
        article = "an" if kind == "FPR" else "a"
        return f"{article} {kind} of at {'least' if self.at_least else 'most'} {self.level:g}"

    def of_class(self, k: int) -> Bound:
        """Return this bound on the positive class as a bound on class k."""

        def moved(cells: Cells) -> Cells:
            true, predicted = (k if one == 1 else one for one in cells)
            return true, predicted

        return self._replace(numerator=moved(self.numerator), denominator=moved(self.denominator))

    def share(self, table: Any) -> Any:
        """Return the bounded share in C[..., true, predicted]; 0 without rows."""
        table = table if self.group is None else table[..., self.group, :, :]
        part, whole = (_weight(table, cells) for cells in (self.numerator, self.denominator))
        return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), 0.0)[()]

    def kept(self, table: Any) -> Any:
        """Return whether the bound holds in C[..., true, predicted]."""
        share = self.share(table)
        return np.asarray(share >= self.level if self.at_least else share <= self.level).tolist()

    def at(self, prevalence: Any) -> Constraint:
        """Return the bound as a line in the two rates, scaled so that missing it completely costs about 1.

        An upper bound and the lowest TPR are scaled by their level, other lower bounds by the errors that they
        allow.
        """
        p = prevalence if self.prevalence is None else self.prevalence
        return _remembered_line(self, p) if isinstance(p, float) else self._line(p)

    def _line(self, p: Any) -> Constraint:
        of_one_class = self.denominator[0] is not None and self.denominator[0] == self.numerator[0]
        shares = (1.0, 1.0) if of_one_class else (1.0 - p, p)
        sign = 1.0 if self.at_least else -1.0
        constant, slopes = 0.0, []
        for true, share in enumerate(shares):
            right, wrong = (
                tuple(_within((true, predicted), cells) for cells in (self.numerator, self.denominator))
                for predicted in (true, 1 - true)
            )
            constant = constant + sign * share * (wrong[0] - self.level * wrong[1])
            slopes.append(sign * share * ((right[0] - wrong[0]) - self.level * (right[1] - wrong[1])))
        scale: Any = self.level if not self.at_least or self.denominator[0] == 1 else 1.0 - self.level
        if self.at_least and self.denominator[0] is None:
            scale = scale * np.maximum(p, 1e-12)
        on_tnr, on_tpr = (slope / scale for slope in slopes)
        return Constraint(self.label, constant / scale, on_tpr, on_tnr, self.margin, self.confidence, self.kind)


class Gap(NamedTuple):
    """A bound on the difference of a share of rows between any two groups: at most ``level``.

    Cells are as in a :class:`Bound`. A gap in TPR is equal opportunity, gaps in TPR and FPR are equalized odds,
    and a gap in the share of rows predicted positive is demographic parity.

    Examples
    --------
    >>> import numpy as np
    >>> from ratewise.measures import Gap
    >>> opportunity = Gap((1, 1), (1, None), 0.05)
    >>> opportunity.label
    'a difference in TPR between groups of at most 0.05'
    >>> round(opportunity.difference(np.array([[[90, 10], [2, 8]], [[70, 30], [3, 7]]])), 3)
    0.1
    """

    numerator: Cells
    denominator: Cells
    level: float
    margin: float = 0.5
    confidence: float | None = None

    @property
    def kind(self) -> str:
        """The compared rate of two classes; empty for any other share."""
        return _KINDS.get((self.numerator, self.denominator), "")

    @property
    def label(self) -> str:
        kind = self.kind or f"share {self.numerator} of {self.denominator}"
        return f"a difference in {kind} between groups of at most {self.level:g}"

    def difference(self, table: Any) -> float:
        """Return the largest difference between two groups in C[group, true, predicted]."""
        shares = Bound(self.numerator, self.denominator, self.level).share(table)
        return float(np.max(shares) - np.min(shares))


@lru_cache(maxsize=256)
def _remembered_line(bound: Bound, prevalence: float) -> Constraint:
    """Return the line at one prevalence, cached because fits need it often."""
    return bound._line(prevalence)


def _within(cell: tuple[int, int], cells: Cells) -> float:
    return float(all(mine in (one, None) for one, mine in zip(cell, cells, strict=True)))


def _weight(table: Any, cells: Cells) -> Any:
    true, predicted = cells
    rows = table.sum(axis=-2) if true is None else table[..., true, :]
    return rows.sum(axis=-1) if predicted is None else rows[..., predicted]


def bound_on(rate: str, level: float, margin: float, confidence: float | None) -> Bound:
    """Return a bound on a rate by its name: upper for the FPR and the alert rate, lower for others."""
    return Bound(*RATES[rate], level, rate not in ("fpr", "alert_rate"), margin, confidence)


class RatesInterval(NamedTuple):
    """Intervals (low, high) of a model's rates on new rows, each with this confidence.

    ``value`` is the interval of the measure. Rows are assumed to come from one distribution and, except for
    groups, to be independent.

    Examples
    --------
    >>> from ratewise.measures import RatesInterval
    >>> RatesInterval(tpr=(0.8, 0.9), tnr=(0.97, 0.99), value=(0.7, 0.8), confidence=0.95).tpr
    (0.8, 0.9)
    """

    tpr: tuple[float, float]
    tnr: tuple[float, float]
    value: tuple[float, float]
    confidence: float


class ConstraintWarning(UserWarning):
    """The bound of the measure cannot be guaranteed for the fitted model.

    Examples
    --------
    >>> import warnings
    >>> from ratewise import ConstraintWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ConstraintWarning)  # a missed bound is an error here
    """


class UnknownRateWarning(UserWarning):
    """There are too few rows of a class to estimate its rate on new rows.

    Examples
    --------
    >>> import warnings
    >>> from ratewise import UnknownRateWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", UnknownRateWarning)  # a single row of a class is an error here
    """


def rates_from_labels(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None, pos_label: Any = None
) -> Rates:
    """Return TPR, TNR and prevalence of predicted labels. A class that never occurs has rate 0, with a warning.

    Examples
    --------
    >>> from ratewise.measures import rates_from_labels
    >>> rates_from_labels(["ham", "spam", "spam"], ["ham", "ham", "spam"], pos_label="spam").tpr
    0.5
    """
    true, predicted = plain_labels(y_true), plain_labels(y_pred)
    if true.shape != predicted.shape or true.ndim != 1:
        raise ValueError(
            f"y_true and y_pred must be one-dimensional and equally long; got shapes {true.shape} and "
            f"{predicted.shape}."
        )
    if true.size == 0:
        raise ValueError("y_true and y_pred are empty: there is nothing to score.")
    weight = np.ones(true.size) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if weight.shape != true.shape:
        raise ValueError(f"sample_weight has shape {weight.shape}, but there are {true.size} labels.")
    if not (weight >= 0.0).all() or np.ma.is_masked(sample_weight):
        raise ValueError("sample_weight must hold numbers of 0 or more, and none may be missing.")
    positive = _positive_label(true, predicted, pos_label)
    counts = Counts.of_labels(true == positive, predicted == positive, weight)
    total = float(counts.weights.sum())
    if not 0.0 < total < np.inf:
        raise ValueError(f"sample_weight sums to {total:g}: there is nothing to score.")
    for name, of_class in zip(("negative", "positive"), counts.weights.sum(axis=1), strict=True):
        if of_class == 0:
            warnings.warn(
                f"There is no {name} label in y_true: its rate is taken as 0.", RuntimeWarning, stacklevel=3
            )
    return counts.rates


def _positive_label(true: np.ndarray, predicted: np.ndarray, pos_label: Any) -> Any:
    labels = labels_of_both(true, predicted)
    if labels.size > 2:
        shown = ", ".join(map(repr, labels[:5].tolist())) + (", ..." if labels.size > 5 else "")
        raise ValueError(
            f"A measure of two classes was given {labels.size} different labels ({shown}). For more than two "
            "classes take ratewise.measures.confusion_measure(name)."
        )
    if pos_label is not None:
        if labels.size == 2 and pos_label not in labels:
            raise ValueError(f"pos_label={pos_label!r} is not among the labels {labels.tolist()}.")
        return pos_label
    only = labels[-1]
    if labels.size == 1 and only in (0, -1):
        return 1  # every row is, and is predicted, negative
    return only
