"""`ratewise evaluate`: how good a model is on rows with labels."""

from __future__ import annotations

from typing import Any

import click

from ._options import format_option, json_option, quiet_option, seed_option, sources_argument
from ._output import Meter, print_json, print_table


@click.command()
@click.argument("model")
@sources_argument
@click.option("--target", metavar="COLUMN", help="The column with the labels; the model's own unless given.")
@click.option("--weight", metavar="COLUMN", help="A column of sample weights.")
@seed_option
@format_option
@json_option
@quiet_option
def evaluate(
    model: str,
    sources: tuple[str, ...],
    target: str | None,
    weight: str | None,
    seed: int,
    file_format: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Print the confusion table, TPR, TNR and every measure, with 95% intervals.

    MODEL is a file that `ratewise fit` wrote; DATA are rows with labels. Either may be - for standard input.
    """
    from ._data import load_two_class, stream_for, target_of

    if model == "-" and "-" in sources:
        raise click.UsageError("The model and the data cannot both be standard input.")
    classifier = load_two_class(model)
    target = target_of(classifier, target)
    stream = stream_for(classifier, sources, target=target, file_format=file_format, weight=weight)
    with Meter(quiet=quiet) as meter:
        tally = _count(classifier, stream, meter, weighted=weight is not None)
    report = _report(classifier, tally, seed)
    if as_json:
        print_json(report)
    else:
        _print(classifier, report)


def _count(classifier: Any, stream: Any, meter: Meter, *, weighted: bool) -> Any:
    from ..estimators._targets import positive_label
    from ..measures.counts import Tally
    from ._data import scores_of, windows_with_progress

    positive = positive_label(classifier.classes_, classifier.pos_label)
    second_is_positive = positive == classifier.classes_[1]
    tally = Tally(weighted=weighted)

    def so_far() -> dict[str, float]:
        rates = tally.confusion.rates
        return {"tpr": rates.tpr, "tnr": rates.tnr, "value": float(classifier.measure_.value(*rates))}

    for window in windows_with_progress(stream, meter, "evaluating", so_far):
        check_labels(window, classifier.classes_)
        above = scores_of(classifier, window) > 0
        tally.add(window.labels == positive, above == second_is_positive, window.weights)
    _require_both_classes(tally, classifier)
    return tally


def check_labels(window: Any, classes: Any) -> None:
    """Refuse rows without labels, or with a label that the model does not know."""
    import numpy as np

    if window.labels is None:
        raise ValueError("There are no labels to compare with: name their column with --target.")
    unknown = ~np.isin(window.labels, classes)
    if unknown.any():
        label = window.labels[unknown][:1].tolist()[0]
        raise ValueError(
            f"{window.where}: the label {label!r} is unknown to the model, whose classes are {classes.tolist()}."
        )


def _require_both_classes(tally: Any, classifier: Any) -> None:
    if tally.rows == 0:
        raise ValueError("There are no rows to evaluate on.")
    counts = tally.confusion
    positives = counts.true_positives + counts.false_negatives
    negatives = counts.false_positives + counts.true_negatives
    if positives == 0 or negatives == 0:
        missing = "positive" if positives == 0 else "negative"
        weight = "" if tally.squares is None else " with a weight above 0"
        raise ValueError(
            f"The labels are all of one class (there is no {missing} row{weight}), so that TPR and TNR cannot "
            f"both be computed. The model's classes are {classifier.classes_.tolist()}."
        )


def _report(classifier: Any, tally: Any, seed: int) -> dict[str, Any]:
    from ..measures.counts import interval, normal_draws, resampled, values_of
    from ..reports._scored import measures_with

    rates, draws = tally.confusion.rates, resampled(tally.confusion, normal_draws(seed), tally.squares)
    measures = measures_with(classifier.measure_)

    def entry(value: Any, drawn: Any) -> dict[str, float]:
        value = float(value)
        return dict(zip(("value", "low", "high"), (value, *interval(drawn, value)), strict=True))

    found = {
        "rows": tally.rows,
        "confusion": tally.confusion._asdict(),
        "prevalence": rates.prevalence,
        "tpr": entry(rates.tpr, draws.tpr),
        "tnr": entry(rates.tnr, draws.tnr),
        "trained_for": next(name for name, measure in measures.items() if measure == classifier.measure_),
        "measures": {
            name: entry(measure.value(*rates), values_of(measure, draws)) for name, measure in measures.items()
        },
        "interval": "95% Jeffreys",
    }
    return found | {"contradicted": _contradicted(classifier, found)}


def _contradicted(classifier: Any, found: dict[str, Any]) -> list[str]:
    """Return the rates whose interval on these rows lies apart from the one that the model was saved with."""
    claimed = getattr(classifier, "rates_interval_", None)
    if claimed is None:
        return []
    ends = {name: getattr(claimed, name) for name in ("tpr", "tnr")}
    return [name for name, (low, high) in ends.items() if found[name]["high"] < low or found[name]["low"] > high]


def _print(classifier: Any, report: dict[str, Any]) -> None:
    from ..estimators._targets import positive_label

    counts = report["confusion"]
    positive = positive_label(classifier.classes_, classifier.pos_label)
    negative = next(label for label in classifier.classes_ if label != positive)
    positives = (f"is {positive}", counts["true_positives"], counts["false_negatives"])
    negatives = (f"is {negative}", counts["false_positives"], counts["true_negatives"])
    print_table(("", f"called {positive}", f"called {negative}"), [positives, negatives])
    entries = {"TPR": report["tpr"], "TNR": report["tnr"], **report["measures"]}
    rows = [
        (f"{name} *" if name == report["trained_for"] else name, one["value"], one["low"], one["high"])
        for name, one in entries.items()
    ]
    print_table(("measure", "value", "95% from", "to"), rows)
    for name in report["contradicted"]:
        low, high = getattr(classifier.rates_interval_, name)
        click.echo(
            f"The {name.upper()} here is not the one of the fit, between {low:.4g} and {high:.4g}: these rows "
            "are drawn otherwise than those the model was learned from."
        )
    click.echo(f"{report['rows']:,} rows; * what the model was trained for.")
