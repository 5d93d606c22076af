"""What every measure knows, and the two families the paper's algorithms maximise."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Rates(NamedTuple):
    """The two numbers every measure is made of, with the share of positives they were seen at."""

    tpr: float
    tnr: float
    prevalence: float


class PseudoLinearCoefficients(NamedTuple):
    """A ratio of two affine functions: (a0 + a1 P + a2 N) / (b0 + b1 P + b2 N)."""

    numerator: tuple[float, float, float]
    denominator: tuple[float, float, float]


class Constraint(NamedTuple):
    """A bound that is linear in the two rates: it holds where constant + on_tpr TPR + on_tnr TNR >= 0.

    ``label`` says it in words. ``margin`` is the number of standard errors by which it must hold on the rows that
    choose a threshold, so that it holds on new rows too.
    """

    label: str
    constant: float
    on_tpr: float
    on_tnr: float
    margin: float

    def excess(self, tpr: Any, tnr: Any) -> Any:
        """How far the bound is kept: 0 where it just holds, negative where it does not."""
        return self.constant + self.on_tpr * np.asarray(tpr) + self.on_tnr * np.asarray(tnr)


class ConstraintWarning(UserWarning):
    """No threshold of the fitted model keeps the constraint of its measure."""


class Measure(ABC):
    """A function of the true positive rate, the true negative rate and the prevalence.

    Subclasses are frozen dataclasses, so that a measure is a value: it can be compared, hashed, pickled,
    cloned by scikit-learn and handed to compiled code. ``value`` is all that a subclass must write.
    """

    smooth: ClassVar[bool] = True
    """False for a measure with a corner where its best models lie, so that its slopes there tell nothing."""
    monotone: ClassVar[bool] = False
    """True if neither rate's rise lowers it: then the best threshold is found without sorting all scores."""

    @property
    def label(self) -> str:
        """How messages and tables call this measure."""
        return repr(self)

    @abstractmethod
    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        """The measure at these rates; scalars or arrays that broadcast."""

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        """How fast the measure grows with the TPR and with the TNR, by central differences inside [0, 1]."""
        step = 1e-6
        low_p, high_p = max(tpr - step, 0.0), min(tpr + step, 1.0)
        low_n, high_n = max(tnr - step, 0.0), min(tnr + step, 1.0)
        by_tpr = self.value(high_p, tnr, prevalence) - self.value(low_p, tnr, prevalence)
        by_tnr = self.value(tpr, high_n, prevalence) - self.value(tpr, low_n, prevalence)
        return float(by_tpr) / (high_p - low_p), float(by_tnr) / (high_n - low_n)

    def constraints(self, prevalence: float) -> tuple[Constraint, ...]:
        """The bounds a threshold must keep before the value counts, at this share of positives; none as a rule."""
        return ()

    def scale(self, prevalence: float) -> tuple[float, float]:
        """What a useless and what a perfect model are worth: differences are judged large or small by this."""
        return 0.0, 1.0

    def require_prevalence(self, prevalence: Any) -> Any:
        """The prevalence, or one sentence to whoever forgot it."""
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
        """The measure of predicted labels against the true ones.

        Parameters
        ----------
        y_true, y_pred : arrays of labels
            At most two different labels between them.
        sample_weight : array, optional
            Counts every row this many times.
        pos_label : label, optional
            The class called positive; the last in sorted order unless given, as in scikit-learn.
        """
        rates = rates_from_labels(y_true, y_pred, sample_weight=sample_weight, pos_label=pos_label)
        return float(self.value(*rates))

    def scorer(self, **kwargs: Any) -> Any:
        """A scikit-learn scorer, for GridSearchCV, cross_val_score or TunedThresholdClassifierCV.

        Keyword arguments (``pos_label``) are handed to :meth:`score`.
        """
        from sklearn.metrics import make_scorer  # measures stay importable in a blink

        return make_scorer(self.score, **kwargs)


class ConcaveMeasure(Measure):
    """A concave function Psi(TPR, TNR): what :class:`~ratewise.solvers.Spade` maximises.

    SPADE replaces Psi by its tangent planes ``alpha P + beta N - Psi*(alpha, beta)`` and learns the pair
    (alpha, beta) along with the model. ``project``, ``conjugate_gradient`` and what they call run inside the
    compiled loop, so they take and return plain floats and use ``self``'s numbers, arithmetic and ``math``
    only. The defaults fit every measure that scales with its rates (Psi(cP, cN) = c Psi(P, N)): its conjugate
    is zero all over the dual region.
    """

    lipschitz: ClassVar[bool] = True
    """False where the slopes grow without bound as a rate nears zero: SPADE then lifts the rewards by
    epsilon(t) = t^(-1/4)."""

    @abstractmethod
    def project(self, alpha: float, beta: float, epsilon: float = 0.0) -> tuple[float, float]:
        """The nearest point of the sufficient dual region (the paper's A_Psi) to (alpha, beta).

        ``epsilon`` is how far rewards are kept above zero. A measure that is not Lipschitz cuts its region to
        the slopes that occur there; at 0 the region is whole.
        """

    def first_pair(self) -> tuple[float, float]:
        """Where SPADE's dual pair starts: the gradient at (1/2, 1/2), which lies in every region."""
        return self.project(*self.slopes(0.5, 0.5))

    def conjugate(self, alpha: float, beta: float) -> float:
        """Psi*(alpha, beta) = inf over (u, v) of alpha u + beta v - Psi(u, v), on the dual region."""
        return 0.0

    def conjugate_gradient(self, alpha: float, beta: float) -> tuple[float, float]:
        """The gradient of the conjugate on the dual region."""
        return 0.0, 0.0

    def stability(self, epsilon: float) -> float:
        """delta(epsilon) of Table 1: how much the measure can grow when both rates grow by epsilon."""
        raise NotImplementedError(f"{type(self).__name__} does not state its stability")


class PseudoLinearMeasure(Measure):
    """A ratio of affine functions of the rates: what Stamp and Amp maximise.

    A subclass writes ``coefficients``; all else follows from it. The paper divides by b0 and calls the
    quotients c, alpha, beta, gamma, delta.
    """

    @abstractmethod
    def coefficients(self, prevalence: Any) -> PseudoLinearCoefficients:
        """The vectors (a, b) at this share of positives, up to a common factor.

        Table 2 divides by the share of positives p; here it is multiplied out, so that every number stays
        finite when p is 0.
        """

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        a, b = self.coefficients(self.require_prevalence(prevalence))
        if not (isinstance(tpr, float) and isinstance(tnr, float)):
            tpr, tnr = np.asarray(tpr), np.asarray(tnr)
        numerator = a[0] + a[1] * tpr + a[2] * tnr
        denominator = b[0] + b[1] * tpr + b[2] * tnr
        # 0/0 happens where nothing is positive, truly or by prediction; scikit-learn calls that 0 too.
        if isinstance(denominator, float):  # arrays of one would take ten times as long, and fits ask often
            return numerator / denominator if denominator != 0.0 else 0.0
        safe = np.where(denominator == 0, 1.0, denominator)
        result = np.where(denominator == 0, 0.0, numerator / safe)
        return result[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        level = float(self.value(tpr, tnr, prevalence))
        a, b = self.coefficients(prevalence)
        denominator = b[0] + b[1] * tpr + b[2] * tnr
        if denominator == 0.0:
            return 0.0, 0.0
        return (a[1] - level * b[1]) / denominator, (a[2] - level * b[2]) / denominator

    def valuation_weights(self, level: float, prevalence: float) -> tuple[float, float]:
        """What a unit of TPR and a unit of TNR are worth to someone at this level.

        The paper's (alpha - v gamma, beta - v delta): a model beats the level v exactly if
        ``c + weights . (P, N) >= v``.
        """
        a, b = self.coefficients(prevalence)
        return (a[1] - level * b[1]) / b[0], (a[2] - level * b[2]) / b[0]

    def valuation(self, tpr: float, tnr: float, level: float, prevalence: float) -> float:
        """V(w, v) of the paper: at least v exactly if the measure is."""
        a, b = self.coefficients(prevalence)
        on_tpr, on_tnr = self.valuation_weights(level, prevalence)
        return a[0] / b[0] + on_tpr * tpr + on_tnr * tnr

    def reward_limit(self, prevalence: float) -> float:
        """The number below which rewards must stay for the measure to be defined: Table 2's range."""
        _, b = self.coefficients(prevalence)
        falling = max(-b[1] / b[0], 0.0) + max(-b[2] / b[0], 0.0)
        return 1.0 / falling if falling > 0 else float("inf")

    def convergence_rate(self, largest_reward: float, prevalence: float) -> float:
        """eta(m) of Table 2: the factor by which each round of AMP shrinks the excess error.

        (g - f) / (g + 1), where f and g bound gamma P + delta N for rewards in [0, m).
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
        """Refuse a measure that cannot be maximised on data with this share of positives.

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


def rates_from_labels(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> Rates:
    """TPR, TNR and prevalence of predicted labels. A class that never occurs has rate 0, with a warning."""
    true, predicted = np.asarray(y_true), np.asarray(y_pred)
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
    positive = _positive_label(true, predicted, pos_label)
    is_positive = true == positive
    is_hit = true == predicted
    weight_positive = float(weight[is_positive].sum())
    weight_negative = float(weight[~is_positive].sum())
    tpr = _share(float(weight[is_positive & is_hit].sum()), weight_positive, "positive")
    tnr = _share(float(weight[~is_positive & is_hit].sum()), weight_negative, "negative")
    total = weight_positive + weight_negative
    if total <= 0:
        raise ValueError("sample_weight sums to 0: there is nothing to score.")
    return Rates(tpr, tnr, weight_positive / total)


def _positive_label(true: np.ndarray, predicted: np.ndarray, pos_label: Any) -> Any:
    labels = np.unique(np.concatenate([np.unique(true), np.unique(predicted)]))
    if labels.size > 2:
        shown = ", ".join(map(repr, labels[:5].tolist()))
        raise ValueError(f"A measure of two classes was given {labels.size} different labels ({shown}, ...).")
    if pos_label is not None:
        if labels.size == 2 and pos_label not in labels:
            raise ValueError(f"pos_label={pos_label!r} is not among the labels {labels.tolist()}.")
        return pos_label
    only = labels[-1]
    if labels.size == 1 and only in (0, -1):
        return 1  # every row is, and is called, negative
    return only


def _share(part: float, whole: float, name: str) -> float:
    if whole > 0:
        return part / whole
    warnings.warn(f"There is no {name} label in y_true: its rate is taken as 0.", RuntimeWarning, stacklevel=4)
    return 0.0
