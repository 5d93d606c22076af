"""The sentences of a report: what the model was trained for, and what to expect."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from ..measures import Constrained, FBeta, Measure, Rates
from ._scored import Estimate, ScoredModel, difference

_MEANINGS = {
    "MinRate": "the worse of two shares: the positives found, and the negatives predicted negative",
    "WeightedMin": "1 minus the worse of the two weighted error rates",
    "HMean": "the harmonic mean of the share of positives found and the share of negatives predicted negative",
    "GMean": "the geometric mean of the share of positives found and the share of negatives predicted negative",
    "QMean": "1 minus the distance from a perfect classifier",
    "BalancedAccuracy": "the mean of the share of positives found and the share of negatives predicted negative",
    "Jaccard": "the overlap of the true positives and the rows predicted positive",
    "GowerLegendre": "the accuracy, with mistakes counted by another weight",
    "Tversky": "the overlap of the true and the predicted positives, with a price on each kind of mistake",
    "CohenKappa": "the agreement with the truth beyond chance",
    "MatthewsCorrelation": "the correlation of truth and prediction",
    "FowlkesMallows": "the geometric mean of precision and recall",
    "NetBenefit": "the true positives per row, less the false ones at their price",
    "CostMatrix": "minus the mean cost per row",
    "TPRAtTNR": "the share of positives found, where enough of the negatives are predicted negative",
    "TPRAtFPR": "the share of positives found, where few enough of the negatives are predicted positive",
    "RecallAtPrecision": "the share of positives found, where enough of the rows predicted positive are positive",
    "PrecisionAtRecall": "the share of positives among the rows predicted positive, where enough are found",
    "RecallAtAlertRate": "the share of positives found, where few enough of all rows are predicted positive",
}


def shown(number: float, digits: int = 4) -> str:
    """Return a number with this number of digits, rounded as a browser does: exact halves away from zero."""
    rounded = Decimal(number + 0.0).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return f"{rounded:f}"


def percent(share: float) -> str:
    return f"{shown(100.0 * share, 1)}%"


def meaning(measure: Measure) -> str:
    """Return a measure in words, for people who do not know its name."""
    if isinstance(measure, FBeta):
        weight = "" if measure.beta == 1 else f", {'recall' if measure.beta > 1 else 'precision'} weighing more"
        return (
            "the harmonic mean of recall (the share of positives found) and precision (the share of positives "
            f"among the rows predicted positive){weight}"
        )
    if isinstance(measure, Constrained):
        return f"{meaning(measure.measure)}, as high as bounds allow"
    return _MEANINGS.get(type(measure).__name__, "a measure of the two rates below")


def sentences(model: ScoredModel, *, alone: bool) -> list[str]:
    """Return what to expect of a model on new rows, in words."""
    found, rates = model.at(), model.counts().rates
    rows, positive, negative = model.rows.positive.size, *model.rows.names
    name = "It" if alone else model.name
    trained = f"{name} {model.facts.get('trained', 'is judged by')} {model.measure_name}"
    lines = []
    if model.facts.get("by_costs"):
        lines.append(f"{name} decides row by row, by the costs of each row: {model.facts['costs'].words()}.")
        trained = f"With one threshold for all rows it is judged by {model.measure_name}"
    lines += [
        f"{trained}: {meaning(model.measure)}.",
        f"On these {rows:,} rows its {model.measure_name} is {_number(found[model.measure_name])}.",
        f"Of 100 rows that are {positive} it finds {_of_hundred(found['TPR'])}. Of 100 rows that are {negative} "
        f"it wrongly predicts {_of_hundred(_rest(found['TNR']))} to be {positive}.",
        f"Where it predicts {positive}, it is right in {_of_hundred(found['precision'])} of 100 cases, as long as "
        f"{percent(rates.prevalence)} of the rows are {positive}, as here.",
    ]
    if "expected" in model.facts:
        lines.append(_forecast(model.facts["expected"], model.facts["expected_between"], found, positive))
    if model.facts.get("threshold_from_these_rows"):
        lines.append("Its threshold was chosen on these rows, so the numbers are too optimistic for new rows.")
    return lines


def comparison(one: ScoredModel, other: ScoredModel) -> str:
    """Return which of two models is better, and whether these rows can show the difference."""
    gap = difference(one, other)
    better, worse = (one, other) if gap.value >= 0 else (other, one)
    low, high = (gap.low, gap.high) if gap.value >= 0 else (-gap.high, -gap.low)
    text = (
        f"On the same rows the {one.measure_name} of {better.name} is {shown(abs(gap.value))} above that of "
        f"{worse.name} (with 95% confidence between {shown(low)} and {shown(high)})"
    )
    return f"{text}." if low > 0 else f"{text}: these rows do not show which of the two is better."


def _forecast(expected: Rates, between: Any, found: dict[str, Estimate], positive: str) -> str:
    """Return the rates that training estimated, and which rate is lower here by more than chance explains."""
    parts, short = [], []
    for name, rate in (("TPR", expected.tpr), ("TNR", expected.tnr)):
        ends = getattr(between, name.lower(), None)
        parts.append(
            f"a {name} of {percent(rate)}{'' if ends is None else f' ({percent(ends[0])} to {percent(ends[1])})'}"
        )
        if ends is not None and found[name].high < ends[0]:
            short.append(name)
    share = percent(expected.prevalence)
    text = f"The fit estimated {' and '.join(parts)}, where {share} of the rows were {positive}."
    return (
        text
        if not short
        else f"{text} The {' and the '.join(short)} here is lower than that by more than chance explains."
    )


def _number(one: Estimate) -> str:
    return f"{shown(one.value)} (with 95% confidence between {shown(one.low)} and {shown(one.high)})"


def _of_hundred(one: Estimate) -> str:
    value, low, high = (shown(100.0 * share, 1) for share in one)
    return f"{value} ({low} to {high})"


def _rest(one: Estimate) -> Estimate:
    return Estimate(1.0 - one.value, 1.0 - one.high, 1.0 - one.low)
