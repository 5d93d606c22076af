"""The rates of each group of rows, as commands print them."""

from __future__ import annotations

from typing import Any

import click

from ._output import print_table


def groups_of(classifier: Any) -> list[dict[str, Any]]:
    """Return the rates of each group that a fit found, with their intervals, and its threshold if it has one."""
    found = []
    intervals = classifier.rates_interval_by_group_
    for number, (name, rates) in enumerate(classifier.rates_by_group_.items()):
        ends = intervals[name]
        one = {"group": name, "prevalence": rates.prevalence}
        for rate in ("tpr", "tnr"):
            low, high = getattr(ends, rate)
            one[rate] = {"value": getattr(rates, rate), "low": low, "high": high}
        if hasattr(classifier, "group_thresholds_"):
            one["threshold"] = float(classifier.group_thresholds_[number])
        found.append(one)
    return found


def print_groups(groups: list[dict[str, Any]], *, to_stderr: bool = False) -> None:
    """Print a line for each group."""
    heads = ("group", "positives", "TPR", "from", "to", "TNR", "from", "to")
    rows = [(str(one["group"]), one["prevalence"], *one["tpr"].values(), *one["tnr"].values()) for one in groups]
    print_table(heads, rows, to_stderr=to_stderr)


def counted_groups(counts: dict[Any, Any], seed: int) -> list[dict[str, Any]]:
    """Return the rates of each group of labelled rows, from its counts, with 95% intervals."""
    from ..decisions.draws import interval, normal_draws, resampled

    found = []
    for name in sorted(counts):
        rates, draws = counts[name].rates, resampled(counts[name], normal_draws(seed))
        one: dict[str, Any] = {"group": name, "prevalence": float(rates.prevalence)}
        for rate in ("tpr", "tnr"):
            value = float(getattr(rates, rate))
            low, high = interval(getattr(draws, rate), value)
            one[rate] = {"value": value, "low": low, "high": high}
        found.append(one)
    return found


def differences(measure: Any, counts: dict[Any, Any]) -> list[dict[str, Any]]:
    """Return the differences between groups of labelled rows that the measure bounds."""
    import numpy as np

    from ..measures import Gap

    tables = np.stack([one.weights for one in counts.values()])
    gaps = [bound for bound in measure.group_bounds if isinstance(bound, Gap)]
    return [{"rate": one.kind, "difference": one.difference(tables), "at_most": one.level} for one in gaps]


def print_differences(found: list[dict[str, Any]]) -> None:
    """Print the differences between groups, and their bounds."""
    for one in found:
        said = f"{one['difference']:.4f}; the model was fitted for at most {one['at_most']:g}"
        click.echo(f"The largest difference in {one['rate']} between two groups is {said}.")
