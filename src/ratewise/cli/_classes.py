"""Output of the commands for models of more than two classes."""

from __future__ import annotations

from typing import Any

import click

from ._output import Meter, print_table, printable

_SHOWN = 30  # classes in a printed table
_SHOWN_CELLS = 12  # classes up to which all cells of the confusion table are shown
_DRAWN = 1 << 23  # cells of drawn tables


def counts_of_classes(
    classifier: Any, stream: Any, meter: Meter, stage: str, *, weighted: bool
) -> tuple[Any, int]:
    """Return the counts of all rows of a stream, and their number."""
    import numpy as np

    from ..counts import Counts
    from ._data import check_labels, scores_of, windows_with_progress

    shape, rows = (classifier.classes_.size, classifier.classes_.size), 0
    counts = Counts(np.zeros(shape, dtype=np.int64), np.zeros(shape) if weighted else None)
    for window in windows_with_progress(stream, meter, stage):
        check_labels(window, classifier.classes_)
        predicted = scores_of(classifier, window).argmax(axis=1)
        true = np.searchsorted(classifier.classes_, window.labels)
        counts = counts.merge(Counts.of_labels(true, predicted, window.weights, n_classes=shape[0]))
        rows += true.size
    if not counts.weights.any():
        raise ValueError("There are no rows to count" + (" that weigh anything." if rows else "."))
    return counts, rows


def evaluation_of_classes(
    classifier: Any, stream: Any, meter: Meter, seed: int, *, weighted: bool
) -> dict[str, Any]:
    """Return the confusion table of a stream, and recalls, precisions and the measure with intervals."""
    from ..measures import measure_name

    counts, rows = counts_of_classes(classifier, stream, meter, "evaluating", weighted=weighted)
    return {
        "rows": rows,
        "classes": _with_intervals(classes_of(classifier, counts.weights), counts),
        "confusion": counts.weights,
        "trained_for": measure_name(classifier.measure_),
        "measures": {measure_name(classifier.measure_): _measured(classifier.measure_, counts, seed)},
        "interval": "95% Jeffreys",
    }


def _with_intervals(classes: list[dict[str, Any]], counts: Any) -> list[dict[str, Any]]:
    """Add the interval of each recall and precision; classes not seen, or not predicted, have none."""
    import numpy as np
    from scipy.special import betaincinv

    from ..counts import effective_points

    for name, axis in (("recall", 1), ("precision", 0)):
        totals, squares = counts.weights.sum(axis=axis), counts.squared().sum(axis=axis)
        points = np.where(totals > 0, effective_points(np.maximum(totals, 1e-300), squares), 0.0)
        for one, number in zip(classes, points.tolist(), strict=True):
            hits = one[name] * number
            low, high = betaincinv(hits + 0.5, number - hits + 0.5, np.array([0.025, 0.975])).tolist()
            known = number > 0
            one[f"{name}_low"] = min(low, one[name]) if known else None
            one[f"{name}_high"] = max(high, one[name]) if known else None
            if not known:
                one[name] = None
    return classes


def _measured(measure: Any, counts: Any, seed: int) -> dict[str, float | None]:
    """Return the measure and its interval, from random tables around the counts; no interval for many classes."""
    from ..decisions.draws import DRAWS, drawn_counts, interval, normal_draws

    cells, value = counts.weights.size, float(measure.value(counts.weights))
    draws = min(DRAWS, _DRAWN // cells)
    if draws < DRAWS // 10:
        return {"value": value, "low": None, "high": None}
    squares = None if counts.squares is None else counts.squares.ravel()
    # One row more for each class: for two that is Jeffreys' half a row in each cell.
    normals, more = normal_draws(seed, draws, cells), 1.0 / counts.weights.shape[0]
    tables = drawn_counts(counts.weights.ravel(), normals, squares, more).reshape(-1, *counts.weights.shape)
    low, high = interval([float(measure.value(table)) for table in tables], value)
    return {"value": value, "low": low, "high": high}


def print_evaluation(found: dict[str, Any]) -> None:
    """Print what :func:`evaluation_of_classes` returns."""
    labels = [str(one["class"]) for one in found["classes"]]
    if len(labels) <= _SHOWN_CELLS:
        rows = [(f"is {label}", *row) for label, row in zip(labels, found["confusion"].tolist(), strict=True)]
        print_table(("", *(f"predicted {label}" for label in labels)), rows)
    shown = _least_recalled(found["classes"])
    names = ("class", "recall", "recall_low", "recall_high", "precision", "precision_low", "precision_high")
    heads = ("class", "recall", "95% from", "to", "precision", "95% from", "to")
    print_table(heads, [tuple("" if one[name] is None else one[name] for name in names) for one in shown])
    rows = [(f"{name} *", *one.values()) for name, one in found["measures"].items()]
    print_table(("measure", "value", "95% from", "to"), rows)
    hidden = "" if len(labels) == len(shown) else f"; the {_SHOWN} classes of least recall of {len(labels):,}"
    click.echo(printable(f"{found['rows']:,} rows{hidden}; * what the model was trained for."))


def classes_of(classifier: Any, table: Any) -> list[dict[str, Any]]:
    """Return recall, precision and share of each class, by C[true, predicted]."""
    from ..counts import Counts

    rates = Counts(table).one_vs_rest()
    columns = (classifier.classes_, rates.tpr, rates.precision, rates.prevalence)
    names = ("class", "recall", "precision", "share")
    return [dict(zip(names, row, strict=True)) for row in zip(*(one.tolist() for one in columns), strict=True)]


def print_classes(classes: list[dict[str, Any]], *, to_stderr: bool = False) -> None:
    """Print the classes with the lowest recall, or all classes if there are few."""
    shown = _least_recalled(classes)
    rows = [(one["class"], one["recall"], one["precision"], one["share"]) for one in shown]
    print_table(("class", "recall", "precision", "share of rows"), rows, to_stderr=to_stderr)


def _least_recalled(classes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return all classes if there are few, and otherwise those with the lowest recall."""
    return classes if len(classes) <= _SHOWN else sorted(classes, key=lambda one: one["recall"] or 0.0)[:_SHOWN]
