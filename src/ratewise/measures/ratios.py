"""Pseudo-linear measures: ratios of affine functions of the two rates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from .base import PseudoLinearCoefficients, PseudoLinearMeasure, require_positive, require_share


@dataclass(frozen=True)
class FBeta(PseudoLinearMeasure):
    """(1 + beta^2) TP / ((1 + beta^2) TP + beta^2 FN + FP).

    ``beta`` above 1 favors recall, below 1 precision. In the rates, with theta = (1 - p) / p:
    (1 + beta^2) P / (beta^2 + theta + P - theta N).

    Examples
    --------
    >>> from ratewise.measures import FBeta
    >>> round(float(FBeta(2.0).value(0.8, 0.9, 0.1)), 3)
    0.702
    """

    monotone: ClassVar[bool] = True
    largest: ClassVar[float] = 1.0

    beta: float = 1.0

    def __post_init__(self) -> None:
        require_positive(self, "beta")

    def coefficients(self, prevalence: Any) -> PseudoLinearCoefficients:
        p, n = prevalence, 1.0 - prevalence
        weight = self.beta * self.beta
        return PseudoLinearCoefficients((0.0, (1.0 + weight) * p, 0.0), (weight * p + n, p, -n))


@dataclass(frozen=True)
class Jaccard(PseudoLinearMeasure):
    """TP / (TP + FP + FN): the overlap of the true and the predicted positives.

    In the rates, with theta = (1 - p) / p: P / (1 + theta - theta N).

    Examples
    --------
    >>> from ratewise.measures import Jaccard
    >>> round(float(Jaccard().value(0.8, 0.9, 0.5)), 3)
    0.727
    """

    monotone: ClassVar[bool] = True
    largest: ClassVar[float] = 1.0

    def coefficients(self, prevalence: Any) -> PseudoLinearCoefficients:
        n = 1.0 - prevalence
        return PseudoLinearCoefficients((0.0, prevalence, 0.0), (1.0, 0.0, -n))


@dataclass(frozen=True)
class GowerLegendre(PseudoLinearMeasure):
    """(TP + TN) / (TP + sigma (FP + FN) + TN): accuracy with mistakes counted sigma times.

    In the rates, with theta = (1 - p) / p:
    (P + theta N) / (sigma (1 + theta) + (1 - sigma) P + theta (1 - sigma) N). At sigma = 1 it is the accuracy.

    Examples
    --------
    >>> from ratewise.measures import GowerLegendre
    >>> round(float(GowerLegendre(0.5).value(0.8, 0.9, 0.5)), 3)
    0.919
    """

    monotone: ClassVar[bool] = True
    largest: ClassVar[float] = 1.0

    sigma: float = 0.5

    def __post_init__(self) -> None:
        require_positive(self, "sigma")

    def coefficients(self, prevalence: Any) -> PseudoLinearCoefficients:
        p, n = prevalence, 1.0 - prevalence
        rest = 1.0 - self.sigma
        return PseudoLinearCoefficients((0.0, p, n), (self.sigma, rest * p, rest * n))


@dataclass(frozen=True)
class Tversky(PseudoLinearMeasure):
    """TP / (TP + alpha FP + beta FN): ``alpha`` prices false positives, ``beta`` false negatives.

    At alpha = beta = 1/2 it is F1, at alpha = beta = 1 Jaccard; alpha + beta = 1 gives the F-betas. The default
    favors recall, as is customary in medical imaging. In the rates, with theta = (1 - p) / p:
    P / (beta + alpha theta + (1 - beta) P - alpha theta N).

    Examples
    --------
    >>> from ratewise.measures import Tversky
    >>> round(float(Tversky(0.3, 0.7).value(0.8, 0.9, 0.5)), 3)
    0.825
    """

    monotone: ClassVar[bool] = True
    largest: ClassVar[float] = 1.0

    alpha: float = 0.3
    beta: float = 0.7

    def __post_init__(self) -> None:
        require_positive(self, "alpha", "beta")

    def coefficients(self, prevalence: Any) -> PseudoLinearCoefficients:
        p, false_alarms = prevalence, self.alpha * (1.0 - prevalence)
        return PseudoLinearCoefficients(
            (0.0, p, 0.0), (self.beta * p + false_alarms, (1.0 - self.beta) * p, -false_alarms)
        )


@dataclass(frozen=True)
class CohenKappa(PseudoLinearMeasure):
    """(accuracy - chance) / (1 - chance): 0 for random guesses, negative for worse, 1 for perfect.

    ``chance`` is the accuracy of random guesses with as many predicted positives. With n = 1 - p both accuracy and
    chance are affine in the rates at a fixed prevalence, which makes kappa
    2 p n (P + N - 1) / (p^2 + n^2 + (n - p) (p P - n N)).

    Examples
    --------
    >>> from ratewise.measures import CohenKappa
    >>> round(float(CohenKappa().value(0.9, 0.9, 0.5)), 3)
    0.8
    """

    monotone: ClassVar[bool] = True
    largest: ClassVar[float] = 1.0

    def coefficients(self, prevalence: Any) -> PseudoLinearCoefficients:
        p, n = prevalence, 1.0 - prevalence
        twice = 2.0 * p * n
        return PseudoLinearCoefficients((-twice, twice, twice), (p * p + n * n, (n - p) * p, (p - n) * n))


@dataclass(frozen=True)
class NetBenefit(PseudoLinearMeasure):
    """TP / n - FP / n times t / (1 - t): true positives per row, less the false ones at their price.

    ``probability`` is t, the probability at which acting and not acting have the same value to you: at 0.1 one
    true positive is worth nine false positives. The largest value is the prevalence. A model is useful if it
    exceeds 0 (act on nobody) and p - (1 - p) t / (1 - t) (act on everybody). The measure is linear in the rates.

    Examples
    --------
    >>> from ratewise.measures import NetBenefit
    >>> round(float(NetBenefit(0.1).value(0.8, 0.9, 0.2)), 3)
    0.151
    """

    monotone: ClassVar[bool] = True

    probability: float = 0.1

    def __post_init__(self) -> None:
        require_share(self, "probability")

    def coefficients(self, prevalence: Any) -> PseudoLinearCoefficients:
        price = (1.0 - prevalence) * self.probability / (1.0 - self.probability)
        return PseudoLinearCoefficients((-price, prevalence, price), (1.0, 0.0, 0.0))

    def scale(self, prevalence: float) -> tuple[float, float]:
        return max(0.0, float(self.value(1.0, 0.0, prevalence))), prevalence


@dataclass(frozen=True)
class CostMatrix(PseudoLinearMeasure):
    """Minus the mean cost of a row, with costs laid out as scikit-learn's confusion matrix.

    If right decisions are free, the best possible value is 0. The measure is linear in the rates.

    Parameters
    ----------
    costs : ((true negative, false positive), (false negative, true positive))
        The cost of each outcome; gains are negative costs. A mistake must cost more than the right decision on the
        same row. In the default, ``CostMatrix(((0, 1), (10, 0)))``, a false negative costs as much as ten false
        positives.

    Examples
    --------
    >>> from ratewise.measures import CostMatrix
    >>> round(float(CostMatrix(((0, 1), (10, 0))).value(0.9, 0.9, 0.5)), 3)
    -0.55
    """

    monotone: ClassVar[bool] = True

    costs: tuple[tuple[float, float], tuple[float, float]] = ((0.0, 1.0), (10.0, 0.0))

    def __post_init__(self) -> None:
        try:
            (tn, fp), (fn, tp) = ((float(cost) for cost in row) for row in self.costs)
        except (TypeError, ValueError):
            tn = fp = fn = tp = math.nan
        if not all(map(math.isfinite, (tn, fp, fn, tp))):
            raise ValueError(
                "CostMatrix: costs must be four finite numbers, ((true negative, false positive), "
                f"(false negative, true positive)); got {self.costs!r}."
            )
        if fp <= tn or fn <= tp:
            raise ValueError(
                f"CostMatrix: a mistake must cost more than the right decision; got {fp:g} for a false positive "
                f"and {tn:g} for a true negative, {fn:g} for a false negative and {tp:g} for a true positive."
            )
        object.__setattr__(self, "costs", ((tn, fp), (fn, tp)))

    @property
    def label(self) -> str:
        """The two costs of errors, such as "cost 1:10"; all four costs if others are not 0."""
        (tn, fp), (fn, tp) = self.costs
        return f"cost {fp:g}:{fn:g}" if tn == tp == 0.0 else repr(self)

    def coefficients(self, prevalence: Any) -> PseudoLinearCoefficients:
        p, n = prevalence, 1.0 - prevalence
        (tn, fp), (fn, tp) = self.costs
        return PseudoLinearCoefficients((-(n * fp + p * fn), p * (fn - tp), n * (fp - tn)), (1.0, 0.0, 0.0))

    def scale(self, prevalence: float) -> tuple[float, float]:
        nobody, everybody = self.value(0.0, 1.0, prevalence), self.value(1.0, 0.0, prevalence)
        return float(max(nobody, everybody)), float(self.value(1.0, 1.0, prevalence))


@dataclass(frozen=True)
class PseudoLinear(PseudoLinearMeasure):
    """(a0 + a1 TPR + a2 TNR) / (b0 + b1 TPR + b2 TNR), whatever the prevalence.

    For coefficients that depend on the prevalence, derive from
    :class:`~ratewise.measures.PseudoLinearMeasure` and define ``coefficients``.

    Examples
    --------
    >>> from ratewise.measures import PseudoLinear
    >>> round(float(PseudoLinear((0.0, 1.0, 1.0), (2.0, 0.0, 0.0)).value(0.9, 0.7)), 3)
    0.8
    """

    a: tuple[float, float, float]
    b: tuple[float, float, float]

    def __post_init__(self) -> None:
        for name in ("a", "b"):
            given = getattr(self, name)
            try:
                numbers = tuple(float(number) for number in given) if not isinstance(given, str) else ()
            except (TypeError, ValueError):
                numbers = ()
            if len(numbers) != 3 or not all(map(math.isfinite, numbers)):
                raise ValueError(
                    f"PseudoLinear: {name} must be three finite numbers (constant, TPR, TNR); got {given!r}."
                )
            object.__setattr__(self, name, numbers)
        if self.b[0] == 0:
            raise ValueError("PseudoLinear: b[0], the constant of the denominator, must not be 0.")

    def coefficients(self, prevalence: Any) -> PseudoLinearCoefficients:
        return PseudoLinearCoefficients(self.a, self.b)

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        return super().value(tpr, tnr, 0.5 if prevalence is None else prevalence)
