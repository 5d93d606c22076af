"""The whole fit, round by round, whatever engine carries the rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..measures import Rates
from ..solvers import PLENTY_PER_COLUMN, History, LinearModel, start_for
from ..streams import Standardizer, Units, Whitener, sample_size
from .choice import plain, sharpened
from .plan import Course, Plan, Report, shards_to_teach
from .protocol import Engine, merge
from .statistics import (
    Census,
    CountHalves,
    MakeReady,
    Moments,
    Sign,
    Summaries,
    TakeCensus,
    TakeCovariance,
    TakeMoments,
    TakeSummaries,
)


class Outcome(NamedTuple):
    """What the fit came to."""

    units: Units
    model: LinearModel
    threshold: float
    rates: Rates
    stages: tuple[str, ...]
    classes: NDArray[Any]
    census: Census
    points: tuple[float, float]
    """Effective points of the positive and of the negative class."""
    merging: str


def fit_in_rounds(
    engine: Engine,
    plan: Plan,
    history: History,
    choose_positive: Callable[[NDArray[Any]], Any],
    check: Callable[[float], None] = lambda prevalence: None,
    report: Report = lambda told: None,
) -> Outcome:
    """Statistics, learning, and the exact threshold.

    Parameters
    ----------
    engine : Engine
        Its shards hold rows as they were read.
    plan : Plan
    history : History
    choose_positive : function
        Which of the two classes is the positive one.
    check : function
        Called with the share of positives, to refuse a measure that does not suit it.
    report : function
        Called after every round with a dict: stage, and tpr, tnr and value where they are known.
    """
    report({"stage": "census"})
    census = engine.ask(TakeCensus())
    classes, positive = _classes(census, choose_positive)
    negative = next(label for label in classes.tolist() if label != positive)
    counts = census.labels[positive], census.labels[negative]
    total = counts[0].weight + counts[1].weight
    check(counts[0].weight / total)
    rows = counts[0].rows + counts[1].rows
    engine.prepare(Sign(positive, rows / total))

    units, moments, whitened = _common_units(engine, plan, census, rows, report)
    rarer = min(count.weight for count in counts) * rows / total
    few = rarer < PLENTY_PER_COLUMN * (census.n_features + 1)
    halves = plan.sharpen is not None and few and _both_classes_in_both(engine.ask(CountHalves()))
    engine.prepare(MakeReady(units, halves, plan.seed))
    report({"stage": "summaries"})
    summaries = engine.ask_each(TakeSummaries())
    whole = merge(summaries)
    courses = _courses(engine, plan, history, report, summaries, whole, moments, census.n_features, whitened)
    effective = [count.weight**2 / max(count.squared_weight, 1e-300) for count in counts]
    points = (effective[0], effective[1])
    found = plain(courses[0], points) if plan.sharpen is None else sharpened(courses, points)
    merging = "models" if courses[0].by_models else "gradients"
    return Outcome(units, *found, classes, census, points, merging)


def _classes(census: Census, choose_positive: Callable[[NDArray[Any]], Any]) -> tuple[NDArray[Any], Any]:
    labels = sorted(label for label, count in census.labels.items() if count.weight > 0)
    if len(labels) == 1:
        raise ValueError(
            f"y holds one class only ({labels[0]!r}) in all partitions: a classifier needs rows of two classes."
        )
    if len(labels) != 2:
        raise ValueError(
            f"Only binary classification is supported: there are {len(labels)} classes over all partitions."
        )
    classes = np.array(labels)
    positive = choose_positive(classes)
    return classes, positive.item() if isinstance(positive, np.generic) else positive


def _both_classes_in_both(halves: Summaries) -> bool:
    """Equal rows are in one half, and may be all there is of a class."""
    return all(min(half.positive_weight, half.negative_weight) > 0 for half in halves.parts)


def _common_units(
    engine: Engine, plan: Plan, census: Census, rows: int, report: Report
) -> tuple[Units, list[Moments], bool]:
    report({"stage": "column statistics"})
    moments = engine.ask_each(TakeMoments(plan.standardize))
    standardizer: Standardizer = merge(moments).standardizer
    whitened = (
        plan.standardize
        and plan.sharpen is not None
        and not census.sparse
        and rows >= plan.whiten_rows
        and census.n_features <= plan.whiten_columns
    )
    if not whitened:
        return standardizer, moments, False
    share = min(sample_size(census.n_features) / rows, 1.0)
    report({"stage": "covariance"})
    covariance = engine.ask(TakeCovariance(standardizer, share, plan.seed))
    return Whitener.of_covariance(standardizer, covariance.products / covariance.rows), moments, True


def _courses(
    engine: Engine,
    plan: Plan,
    history: History,
    report: Report,
    summaries: list[Summaries],
    whole: Summaries,
    moments: list[Moments],
    n_features: int,
    whitened: bool,
) -> list[Course]:
    """One for all rows, or one for each half of them."""
    courses = []
    merged = merge(moments).standardizer
    prevalence = merge([Summaries((part,)) for part in whole.parts]).parts[0].prevalence
    for part, seen in enumerate(whole.parts):
        parts = [summary.parts[part] for summary in summaries]
        taught = None
        if plan.merging == "auto":
            taught = shards_to_teach(parts, [one.standardizer for one in moments], merged)
        elif plan.merging == "models":
            taught = frozenset(number for number, one in enumerate(parts) if one.points)
        if plan.solver is not None and not plan.solver.streaming:
            taught = None
        teaching = [one.points for number, one in enumerate(parts) if taught is None or number in taught]
        usual = _usual(teaching)
        courses.append(
            Course(
                engine,
                plan,
                history,
                _with_stage(report, "learning" if len(whole.parts) == 1 else f"learning, half {part + 1}"),
                plan.solver or start_for(plan.measure, prevalence, usual, whitened=whitened),
                part,
                part,
                seen,
                taught,
                usual,
                n_features,
            )
        )
    return courses


def _usual(points: list[int]) -> int:
    """The size of the shard that the typical row is in."""
    return round(sum(one * one for one in points) / max(sum(points), 1))


def _with_stage(report: Report, stage: str) -> Report:
    return lambda told: report({"stage": stage} | told)
