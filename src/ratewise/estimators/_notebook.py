"""The notebook view of a fitted estimator: its measure, rates and threshold next to scikit-learn's diagram."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from ..measures import Measure, Rates, measure_name
from ._positive import PositiveClass

_SIDE = 96
_MOST_GROUPS = 6
_ROW = '<tr><td style="text-align:left">{}</td><td style="text-align:left">{}</td></tr>'


class NotebookCard:
    """Adds a small card to the HTML of a fitted estimator that has ``measure_`` and ``rates_``."""

    def _repr_html_inner(self) -> str:
        return f"{super()._repr_html_inner()}{card_of(self)}"  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += card_of(self)
        return bundle


def card_of(estimator: Any) -> str:
    """Return the card, or an empty text before the first fit."""
    if not hasattr(estimator, "rates_"):
        return ""
    measure, rates = estimator.measure_, estimator.rates_
    facts = {"measure": "cost" if measure is None else html.escape(measure_name(measure))}
    picture = ""
    rule = getattr(estimator, "rule_", None)
    if rule is not None:
        facts |= {"value to expect": f"{rule.value_:.3f}", "classes": str(len(estimator.classes_))}
    elif isinstance(rates, Rates):
        value = float(measure.value(*rates))
        between = getattr(estimator, "rates_interval_", None)
        facts |= {
            "value to expect": f"{value:.3f}",
            "TPR": _with_ends(rates.tpr, between, "tpr"),
            "TNR": _with_ends(rates.tnr, between, "tnr"),
            "prevalence": f"{rates.prevalence:.3g}",
        }
        groups = getattr(estimator, "groups_", None)
        facts |= {} if groups is None else _of_groups(estimator)
        picture = _picture(measure, rates, value)
    elif estimator.multilabel_:
        values = [float(measure.value(*one)) for one in rates]
        facts |= {"macro average to expect": f"{np.mean(values):.3f}", "labels": str(len(values))}
    else:
        expected = getattr(estimator, "confusion_", None)
        facts |= {} if expected is None else {"value to expect": f"{float(measure.value(expected)):.3f}"}
        facts["classes"] = str(len(rates))
    threshold = _threshold(estimator)
    if threshold is not None:
        facts["threshold"] = f"{threshold:.4g}"
    rows = "".join(_ROW.format(name, fact) for name, fact in facts.items())
    style = "display:flex;gap:1em;align-items:center;margin-top:.5em"
    return f'<div style="{style}"><table>{rows}</table>{picture}</div>'


def _of_groups(estimator: Any) -> dict[str, str]:
    """Return the TPR and the FPR of the first few groups that bounds concern."""
    found = {}
    for name, rates in list(estimator.rates_by_group_.items())[:_MOST_GROUPS]:
        between = estimator.rates_interval_by_group_[name]
        low, high = between.tnr
        fpr = f"{1.0 - rates.tnr:.3f} ({1.0 - high:.3f} to {1.0 - low:.3f})"
        found[f"{html.escape(str(name))}: TPR, FPR"] = f"{_with_ends(rates.tpr, between, 'tpr')}, {fpr}"
    more = len(estimator.groups_) - len(found)
    return found | ({"more groups": str(more)} if more else {})


def _with_ends(rate: float, between: Any, name: str) -> str:
    ends = getattr(between, name, None)
    return f"{rate:.3f}" if ends is None else f"{rate:.3f} ({ends[0]:.3f} to {ends[1]:.3f})"


def _threshold(estimator: Any) -> float | None:
    """Return the threshold of the positive class: for scores before the intercept, or for an ensemble's vote."""
    if getattr(estimator, "rule_", None) is not None:
        return None
    if hasattr(estimator, "threshold_"):
        return float(estimator.threshold_)
    one_model = np.size(getattr(estimator, "intercept_", ())) == 1
    return PositiveClass.of_model(estimator).threshold(estimator) if one_model else None


def _picture(measure: Measure, rates: Rates, value: float) -> str:
    """Return a picture of the point in the plane of the two rates, with the level curve through it."""
    points = []
    for tpr in np.linspace(0.0, 1.0, 41):
        tnr = _tnr_at(measure, float(tpr), rates.prevalence, value)
        if tnr is not None:
            points.append(f"{_SIDE * tpr:.1f},{_SIDE * (1.0 - tnr):.1f}")
    words = html.escape(f"TPR {rates.tpr:.3f}, TNR {rates.tnr:.3f}, on the line of equal {measure.label}")
    x, y = _SIDE * rates.tpr, _SIDE * (1.0 - rates.tnr)
    return (
        f'<svg role="img" aria-label="{words}" width="{_SIDE + 12}" height="{_SIDE + 12}" '
        f'viewBox="-6 -6 {_SIDE + 12} {_SIDE + 12}"><title>{words}</title>'
        f'<rect width="{_SIDE}" height="{_SIDE}" fill="none" stroke="currentColor" stroke-opacity=".5"/>'
        f'<polyline points="{" ".join(points)}" fill="none" stroke="currentColor" stroke-opacity=".7"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#d55e00"/></svg>'
    )


def _tnr_at(measure: Measure, tpr: float, prevalence: float, value: float) -> float | None:
    """Return the TNR at which the measure has this value, by bisection; None if there is none."""
    low, high = 0.0, 1.0
    if not float(measure.value(tpr, low, prevalence)) <= value <= float(measure.value(tpr, high, prevalence)):
        return None
    for _ in range(20):
        middle = 0.5 * (low + high)
        if float(measure.value(tpr, middle, prevalence)) < value:
            low = middle
        else:
            high = middle
    return high
