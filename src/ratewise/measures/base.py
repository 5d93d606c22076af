"""The base class of measures, and the two families that the paper's algorithms maximize."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..counts import Rates
from ._rates import Bound, Constraint, Gap, rates_from_labels


class PseudoLinearCoefficients(NamedTuple):
    """A ratio of two affine functions: (a0 + a1 P + a2 N) / (b0 + b1 P + b2 N).

    Examples
    --------
    >>> from ratewise.measures import get_measure
    >>> get_measure("jaccard").coefficients(0.25)
    PseudoLinearCoefficients(numerator=(0.0, 0.25, 0.0), denominator=(1.0, 0.0, -0.75))
    """

    numerator: tuple[float, float, float]
    denominator: tuple[float, float, float]


class Measure(ABC):
    """A function of the true positive rate, the true negative rate and the prevalence.

    Subclasses are frozen dataclasses, so that a measure is a value: it can be compared, hashed, pickled,
    cloned by scikit-learn and passed to compiled code. A subclass must define ``value`` only.

    Examples
    --------
    >>> from ratewise.measures import get_measure
    >>> f1 = get_measure("f1")
    >>> round(f1.value(0.8, 0.9, 0.1), 3)
    0.593
    >>> f1.score([0, 1, 1, 0], [0, 1, 0, 0])
    0.6666666666666666
    """

    smooth: ClassVar[bool] = True
    """False for a measure with a corner at its best models: its slopes there have no information."""
    monotone: ClassVar[bool] = False
    """True if the measure never falls when a rate rises: the best threshold then needs no sort of all scores."""

    @property
    def label(self) -> str:
        """The name of this measure in messages and tables."""
        return repr(self)

    @abstractmethod
    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        """Return the measure at these rates; scalars or arrays that broadcast."""

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        """Return the partial derivatives by TPR and by TNR, here by central differences inside [0, 1]."""
        step = 1e-6
        low_p, high_p = max(tpr - step, 0.0), min(tpr + step, 1.0)
        low_n, high_n = max(tnr - step, 0.0), min(tnr + step, 1.0)
        by_tpr = self.value(high_p, tnr, prevalence) - self.value(low_p, tnr, prevalence)
        by_tnr = self.value(tpr, high_n, prevalence) - self.value(tpr, low_n, prevalence)
        return float(by_tpr) / (high_p - low_p), float(by_tnr) / (high_n - low_n)

    def gains(self, rates: Rates, least: float = -math.inf) -> tuple[float, float]:
        """Return the gain of one more correctly predicted row of each class: of a positive, and of a negative.

        This linearization is the derivative of the measure by the counts of all rows, which weigh 1 together.
        Slopes below ``least`` are raised to ``least``.
        """
        return gains_of_slopes(self.slopes(*rates), rates.prevalence, least)

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The bounds that a threshold must keep before the value counts; none by default."""
        return ()

    @property
    def group_bounds(self) -> tuple[Bound | Gap, ...]:
        """The bounds that must hold in every group, and those on differences between groups; none by default."""
        return ()

    def constraints(self, prevalence: Any) -> tuple[Constraint, ...]:
        """Return the bounds as lines in the two rates at this prevalence."""
        return tuple(bound.at(prevalence) for bound in self.bounds)

    def scale(self, prevalence: float) -> tuple[float, float]:
        """Return the values of a useless and of a perfect model: the scale on which differences are judged."""
        return 0.0, 1.0

    def require_prevalence(self, prevalence: Any) -> Any:
        """Return the prevalence, or raise if it was not given."""
        if prevalence is None:
            raise ValueError(f"{self.label} depends on the share of positives: give value() a prevalence.")
        return prevalence

    def score(
        self,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
    ) -> float:
        """Return the measure of predicted labels against the true ones.

        Parameters
        ----------
        y_true, y_pred : arrays of labels
            At most two different labels between them.
        sample_weight : array, optional
            How many times each row counts.
        pos_label : label, optional
            The positive class; by default the last label in sorted order, as in scikit-learn.
        """
        rates = rates_from_labels(y_true, y_pred, sample_weight=sample_weight, pos_label=pos_label)
        return float(self.value(*rates))

    def scorer(self, **kwargs: Any) -> Any:
        """Return a scikit-learn scorer, for GridSearchCV, cross_val_score or TunedThresholdClassifierCV.

        Keyword arguments (``pos_label``) are passed to :meth:`score`.
        """
        from sklearn.metrics import make_scorer  # slow to import, and measures need it here only

        return make_scorer(self.score, **kwargs)


class ConcaveMeasure(Measure):
    """A concave function Psi(TPR, TNR), which :class:`~ratewise.solvers.Spade` maximizes.

    SPADE replaces Psi by its tangent planes ``alpha P + beta N - Psi*(alpha, beta)`` and learns the dual pair
    (alpha, beta) along with the model. ``project``, ``conjugate_gradient`` and the functions that they call run in
    the compiled loop, so they take and return plain floats and use ``self``'s numbers, arithmetic and ``math``
    only. The defaults fit every measure that scales with its rates (Psi(cP, cN) = c Psi(P, N)): its conjugate is
    zero on the whole dual region.

    Examples
    --------
    >>> from ratewise.measures import ConcaveMeasure, get_measure
    >>> isinstance(get_measure("gmean"), ConcaveMeasure)
    True
    """

    lipschitz: ClassVar[bool] = True
    """False if the slopes grow without bound as a rate approaches zero: SPADE then raises the rewards by
    epsilon(t) = t^(-1/4)."""

    @abstractmethod
    def project(self, alpha: float, beta: float, epsilon: float = 0.0) -> tuple[float, float]:
        """Return the nearest point of the sufficient dual region (the paper's A_Psi) to (alpha, beta).

        ``epsilon`` is the distance of rewards from zero. A measure that is not Lipschitz limits its region to the
        slopes that occur there; at 0 it is the whole region.
        """

    def first_pair(self) -> tuple[float, float]:
        """Return SPADE's first dual pair: the gradient at (1/2, 1/2), which is in every region."""
        return self.project(*self.slopes(0.5, 0.5))

    def conjugate(self, alpha: float, beta: float) -> float:
        """Return Psi*(alpha, beta) = inf over (u, v) of alpha u + beta v - Psi(u, v), on the dual region."""
        return 0.0

    def conjugate_gradient(self, alpha: float, beta: float) -> tuple[float, float]:
        """Return the gradient of the conjugate on the dual region."""
        return 0.0, 0.0

    def stability(self, epsilon: float) -> float:
        """Return delta(epsilon) of Table 1: how much the measure can grow when both rates grow by epsilon."""
        raise NotImplementedError(f"{type(self).__name__} does not state its stability")


class PseudoLinearMeasure(Measure):
    """A ratio of affine functions of the rates, which Stamp and Amp maximize.

    A subclass defines ``coefficients``; everything else follows from them. The paper divides by b0 and calls the
    quotients c, alpha, beta, gamma, delta.

    Examples
    --------
    >>> from ratewise.measures import get_measure
    >>> f1 = get_measure("f1")
    >>> f1.valuation_weights(1.0, prevalence=0.5)  # near a perfect model a TPR is worth as much as a TNR
    (0.5, 0.5)
    """

    largest: ClassVar[float] = math.inf
    """The value of a perfect model, if it is the same at any prevalence; rounding must not exceed it."""

    @abstractmethod
    def coefficients(self, prevalence: Any) -> PseudoLinearCoefficients:
        """Return the vectors (a, b) at this prevalence, up to a common factor.

        Table 2 divides by the share of positives p; here it is multiplied out, so that every number stays
        finite when p is 0.
        """

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        a, b = self.coefficients(self.require_prevalence(prevalence))
        if not (isinstance(tpr, float) and isinstance(tnr, float)):
            tpr, tnr = np.asarray(tpr), np.asarray(tnr)
        numerator = a[0] + a[1] * tpr + a[2] * tnr
        denominator = b[0] + b[1] * tpr + b[2] * tnr
        # 0/0 occurs if no row is positive or predicted positive; scikit-learn returns 0 then too.
        if isinstance(denominator, float):  # ten times as fast as an array of one number, and fits call it often
            return min(numerator / denominator, self.largest) if denominator != 0.0 else 0.0
        safe = np.where(denominator == 0, 1.0, denominator)
        return np.minimum(np.where(denominator == 0, 0.0, numerator / safe), self.largest)[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        level = float(self.value(tpr, tnr, prevalence))
        a, b = self.coefficients(prevalence)
        denominator = b[0] + b[1] * tpr + b[2] * tnr
        if denominator == 0.0:
            return 0.0, 0.0
        return (a[1] - level * b[1]) / denominator, (a[2] - level * b[2]) / denominator

    def valuation_weights(self, level: float, prevalence: float) -> tuple[float, float]:
        """Return the values of a unit of TPR and of a unit of TNR at this level.

        These are the paper's (alpha - v gamma, beta - v delta): a model reaches the level v exactly if
        ``c + weights . (P, N) >= v``.
        """
        a, b = self.coefficients(prevalence)
        return (a[1] - level * b[1]) / b[0], (a[2] - level * b[2]) / b[0]

    def valuation(self, tpr: float, tnr: float, level: float, prevalence: float) -> float:
        """Return V(w, v) of the paper, which is at least v exactly if the measure is at least v."""
        a, b = self.coefficients(prevalence)
        on_tpr, on_tnr = self.valuation_weights(level, prevalence)
        return a[0] / b[0] + on_tpr * tpr + on_tnr * tnr

    def reward_limit(self, prevalence: float) -> float:
        """Return the number below which rewards must stay for the measure to be defined: Table 2's range."""
        _, b = self.coefficients(prevalence)
        falling = max(-b[1] / b[0], 0.0) + max(-b[2] / b[0], 0.0)
        return 1.0 / falling if falling > 0 else float("inf")

    def convergence_rate(self, largest_reward: float, prevalence: float) -> float:
        """Return eta(m) of Table 2: the factor by which each round of AMP shrinks the excess error.

        It is (g - f) / (g + 1), where f and g bound gamma P + delta N for rewards in [0, m).
        """
        limit = self.reward_limit(prevalence)
        if not 0.0 < largest_reward < limit:
            raise ValueError(
                f"{self.label} at prevalence {prevalence:g} needs rewards in [0, m) with 0 < m < {limit:g}; "
                f"got m = {largest_reward:g}."
            )
        _, b = self.coefficients(prevalence)
        gamma, delta = b[1] / b[0], b[2] / b[0]
        lower = largest_reward * (min(gamma, 0.0) + min(delta, 0.0))
        upper = largest_reward * (max(gamma, 0.0) + max(delta, 0.0))
        return (upper - lower) / (upper + 1.0)

    def check_against(self, prevalence: float, largest_reward: float = 1.0) -> None:
        """Refuse a measure that cannot be maximized on data with this share of positives.

        Raises
        ------
        ValueError
            If its denominator can vanish, or if it falls when a rate rises.
        """
        a, b = self.coefficients(prevalence)
        if b[0] == 0:
            raise ValueError(f"{self.label}: the constant of the denominator (b0) must not be 0.")
        limit = self.reward_limit(prevalence)
        if largest_reward >= limit:
            raise ValueError(
                f"{self.label} needs rewards below {limit:g} at these data's share of positives "
                f"({prevalence:.3g}), but rewards reach {largest_reward:g}: its denominator can become 0. "
                "Make b1 and b2 less negative, or b0 larger."
            )
        best = float(self.value(1.0, 1.0, prevalence))
        for level in (min(a[0] / b[0], best), best):
            weights = self.valuation_weights(level, prevalence)
            if min(weights) < -1e-12 or max(weights) <= 0:
                raise ValueError(
                    f"{self.label} does not grow with both TPR and TNR at these data's share of positives "
                    f"({prevalence:.3g}): at level {level:.3g} they weigh {weights[0]:.3g} and "
                    f"{weights[1]:.3g}. A measure must reward what is right."
                )


def at_prevalence(measure: Measure, prevalence: float) -> Measure:
    """Return the measure at this prevalence, for rows of any prevalence; the same solvers maximize it.

    The rates of the two classes do not depend on the prevalence, so nothing else changes.

    Examples
    --------
    >>> from ratewise.measures import at_prevalence, get_measure
    >>> rare = at_prevalence(get_measure("f1"), 0.01)
    >>> bool(rare.value(0.9, 0.9, 0.5) == get_measure("f1").value(0.9, 0.9, 0.01))
    True
    """
    if isinstance(measure, ConcaveMeasure):
        return measure  # a function of the two rates alone
    if isinstance(measure, PseudoLinearMeasure):
        return PseudoLinearAtPrevalence(measure, float(prevalence))
    return MeasureAtPrevalence(measure, float(prevalence))


@dataclass(frozen=True)
class MeasureAtPrevalence(Measure):
    """Any measure at a fixed prevalence.

    Examples
    --------
    >>> from ratewise.measures import at_prevalence, get_measure
    >>> rare = at_prevalence(get_measure("mcc"), 0.01)
    >>> round(float(rare.value(0.8, 0.9)), 3)
    0.225
    """

    measure: Measure
    prevalence: float

    def __post_init__(self) -> None:
        for flag in ("smooth", "monotone"):
            object.__setattr__(self, flag, getattr(self.measure, flag))

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        return self.measure.value(tpr, tnr, self.prevalence)

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        return self.measure.slopes(tpr, tnr, self.prevalence)

    @property
    def bounds(self) -> tuple[Bound, ...]:
        return tuple(bound._replace(prevalence=self.prevalence) for bound in self.measure.bounds)

    def scale(self, prevalence: float) -> tuple[float, float]:
        return self.measure.scale(self.prevalence)


@dataclass(frozen=True)
class PseudoLinearAtPrevalence(MeasureAtPrevalence, PseudoLinearMeasure):
    """A pseudo-linear measure with the coefficients of a fixed prevalence.

    Examples
    --------
    >>> from ratewise.measures import at_prevalence, get_measure
    >>> rare = at_prevalence(get_measure("f1"), 0.01)
    >>> round(rare.value(0.8, 0.9), 3)
    0.137
    """

    measure: PseudoLinearMeasure

    def coefficients(self, prevalence: Any) -> PseudoLinearCoefficients:
        return self.measure.coefficients(self.prevalence)


def gains_of_slopes(
    slopes: tuple[float, float], prevalence: float, least: float = -math.inf
) -> tuple[float, float]:
    """Return the gains of a row of each class for these slopes in TPR and TNR, each raised to ``least``."""
    return max(slopes[0], least) / prevalence, max(slopes[1], least) / (1.0 - prevalence)


def require_positive(measure: Any, *names: str) -> None:
    """Refuse parameters of a measure that are not finite numbers above 0."""
    _require(measure, names, "a finite number above 0", lambda value: 0 < value < math.inf)


def require_not_negative(measure: Any, *names: str) -> None:
    """Refuse parameters of a measure that are not finite nonnegative numbers."""
    _require(measure, names, "a finite number of 0 or more", lambda value: 0 <= value < math.inf)


def require_share(measure: Any, *names: str) -> None:
    """Refuse parameters of a measure that are not strictly between 0 and 1."""
    _require(measure, names, "a number above 0 and below 1", lambda value: 0 < value < 1)


def _require(measure: Any, names: tuple[str, ...], what: str, holds: Callable[[Any], bool]) -> None:
    for name in names:
        value = getattr(measure, name)
        if not isinstance(value, Real) or isinstance(value, bool) or not holds(value):
            raise ValueError(f"{type(measure).__name__}: {name} must be {what}; got {value!r}.")
