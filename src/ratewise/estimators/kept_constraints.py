"""Whether a fit keeps the constraints of its measure, and what to say if it does not."""

from __future__ import annotations

from collections.abc import Iterable

from ..measures import Measure, Rates
from ..solvers import constraint_slack


def complaint_about(measure: Measure, rates: Rates, points: tuple[float, float]) -> str | None:
    """One sentence if these rates, seen on so many points of each class, miss a constraint's margin."""
    slack = constraint_slack(measure, *rates, points)
    kept = bool(slack > -1e-6)  # rates of a mean of folds are rounded
    return None if kept else _sentence(measure, rates)


def first_complaint(
    measure: Measure, names: Iterable[str], rates: Iterable[Rates], points: Iterable[tuple[float, float]]
) -> str | None:
    """The same for several classes or labels: on the first that misses a constraint."""
    for name, mine, seen_on in zip(names, rates, points, strict=True):
        complaint = complaint_about(measure, mine, seen_on)
        if complaint is not None:
            return f"{name}: {complaint}"
    return None


def _sentence(measure: Measure, rates: Rates) -> str:
    """What to expect of a model that misses a constraint."""
    tpr, tnr, p = rates
    called = p * tpr + (1.0 - p) * (1.0 - tnr)
    precision = f"{p * tpr / called:.3g}" if called > 0 else "not defined"
    wanted = " and ".join(
        f"{constraint.label} (by {constraint.margin:g} standard errors)" for constraint in measure.constraints(p)
    )
    return (
        f"{measure.label}: no threshold worth having keeps {wanted}. On new rows expect a TPR of {tpr:.3g}, a TNR "
        f"of {tnr:.4g} and a precision of {precision}. Ask for less, or give the model more rows or columns."
    )
