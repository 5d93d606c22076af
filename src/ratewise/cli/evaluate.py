"""`ratewise evaluate`: how good a model is on rows with labels."""

from __future__ import annotations

from typing import Any

import click

from ._costs import OF_THE_FIT, costs_for, costs_options, decided_by_costs, given_costs, spent_in_window
from ._groups import counted_groups, differences, print_differences, print_groups
from ._options import (
    decimal_option,
    drop_unlabelled_option,
    format_option,
    json_option,
    positive_option,
    quiet_option,
    seed_option,
    sensitive_option,
    sources_argument,
    target_option,
    weight_option,
)
from ._output import Meter, print_json, print_table


@click.command()
@click.argument("model")
@sources_argument
@target_option
@weight_option
@positive_option
@sensitive_option
@costs_options(OF_THE_FIT)
@drop_unlabelled_option
@seed_option
@decimal_option
@format_option
@click.option("--all", "all_measures", is_flag=True, help="Print every measure, not only the usual ones.")
@json_option
@quiet_option
def evaluate(
    model: str,
    sources: tuple[str, ...],
    target: str | None,
    weight: str | None,
    positive: str | None,
    sensitive: str | None,
    costs: tuple[str, str] | None,
    true_positive_cost: str | None,
    drop_unlabelled: bool,
    seed: int,
    decimal: str,
    file_format: str | None,
    all_measures: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Print the confusion table and the usual measures.

    The measures have 95% intervals. With --sensitive, the rates of each group follow.

    With more than two classes: the confusion table, recall and precision of each class, and the model's measure.
    MODEL is a file that `ratewise fit` wrote; DATA are rows with labels. Either may be - for standard input.
    """
    from ._classes import evaluation_of_classes, print_evaluation
    from ._data import column_of_groups, load_of_classes, require_files, require_positive, stream_for, target_of

    if model == "-" and "-" in sources:
        raise click.UsageError("The model and the data cannot both be standard input.")
    require_files([model], sources, file_format)
    from ..estimators._costs import named_columns

    classifier = load_of_classes(model)
    require_positive(classifier, model, positive)
    groups = column_of_groups(classifier, model, sensitive)
    by_row = costs_for(classifier, model, given_costs(costs, true_positive_cost))
    stream = stream_for(
        classifier,
        sources,
        keep=[*([] if groups is None else [groups]), *named_columns(by_row)],
        target=target_of(classifier, target),
        file_format=file_format,
        weight=weight,
        decimal=decimal,
        drop_unlabelled=drop_unlabelled,
    )
    if classifier.classes_.size > 2:
        with Meter(quiet=quiet) as meter:
            evaluated = evaluation_of_classes(classifier, stream, meter, seed, weighted=weight is not None)
        _say_unlabelled(stream, quiet=quiet)
        if as_json:
            print_json(evaluated)
        else:
            print_evaluation(evaluated)
        return
    with Meter(quiet=quiet) as meter:
        counts, rows, by_group, spent = _count(
            classifier, stream, meter, groups, by_row, weighted=weight is not None
        )
    _say_unlabelled(stream, quiet=quiet)
    report = _report(classifier, counts, rows, seed)
    if groups is not None:
        report["groups"] = counted_groups(by_group, seed)
        report["bounds_between_groups"] = differences(classifier.measure_, by_group)
    if by_row is not None:
        report["costs"] = spent
    if as_json:
        print_json(report)
    else:
        _print(classifier, report, all_measures=all_measures)


def _say_unlabelled(stream: Any, *, quiet: bool) -> None:
    if stream.n_unlabelled and not quiet:
        click.echo(f"Left out {stream.n_unlabelled:,} rows without a label.", err=True)


def _count(classifier: Any, stream: Any, meter: Meter, groups: str | None, costs: Any, *, weighted: bool) -> Any:
    """Return the counts of all rows, their number, the counts of each group, and the costs of the decisions."""
    import numpy as np

    from ..counts import Counts
    from ..decisions.sensitive import group_of_each_row
    from ..estimators._costs import takes_costs
    from ..estimators._positive import PositiveClass
    from ._data import check_labels, decisions_of, windows_with_progress

    positive = PositiveClass.of_model(classifier)
    none = Counts(np.zeros((2, 2), dtype=np.int64), np.zeros((2, 2)) if weighted else None)
    counts, rows = none, 0
    by_group: dict[Any, Any] = {}
    spent: dict[str, float] = {}

    def so_far() -> dict[str, float]:
        rates = counts.rates
        return {"tpr": rates.tpr, "tnr": rates.tnr, "value": float(classifier.measure_.value(*rates))}

    for window in windows_with_progress(stream, meter, "evaluating", so_far):
        check_labels(window, classifier.classes_)
        scores = decisions_of(classifier, window, groups)
        predicted = positive.scores(scores) > positive.cut
        if costs is not None:
            if takes_costs(classifier):
                predicted = decided_by_costs(classifier, scores, costs, window) == positive.label
            spent = spent_in_window(classifier, predicted, costs, window, spent)
        true = window.labels == positive.label
        rows += true.size
        counts = counts.merge(Counts.of_labels(true, predicted, window.weights))
        names = None if groups is None else group_of_each_row(window.kept[groups], true.size)
        for name in [] if names is None else np.unique(names).tolist():
            mine = names == name
            weights = None if window.weights is None else window.weights[mine]
            one = Counts.of_labels(true[mine], predicted[mine], weights)
            by_group[name] = by_group.get(name, none).merge(one)
    _require_both_classes(counts, rows, classifier)
    return counts, rows, by_group, spent


def _require_both_classes(counts: Any, rows: int, classifier: Any) -> None:
    if rows == 0:
        raise ValueError("There are no rows to evaluate on.")
    negatives, positives = counts.weights.sum(axis=1).tolist()
    if positives == 0 or negatives == 0:
        missing = "positive" if positives == 0 else "negative"
        weight = "" if counts.squares is None else " with a weight above 0"
        raise ValueError(
            f"The labels are all of one class (there is no {missing} row{weight}), so that TPR and TNR cannot "
            f"both be computed. The model's classes are {classifier.classes_.tolist()}."
        )


def _report(classifier: Any, counts: Any, rows: int, seed: int) -> dict[str, Any]:
    from ..decisions.draws import interval, normal_draws, resampled, values_of
    from ..estimators._costs import takes_costs
    from ..reports._scored import measures_with

    rates, draws = counts.rates, resampled(counts, normal_draws(seed))
    measures = measures_with(classifier.measure_)
    trained_for = next(name for name, measure in measures.items() if measure == classifier.measure_)
    if takes_costs(classifier):  # its measure is about one threshold for all rows
        del measures[trained_for]
        trained_for = "costs per row"

    def entry(value: Any, drawn: Any) -> dict[str, float]:
        value = float(value)
        return dict(zip(("value", "low", "high"), (value, *interval(drawn, value)), strict=True))

    found = {
        "rows": rows,
        "confusion": counts.by_name(),
        "prevalence": rates.prevalence,
        "tpr": entry(rates.tpr, draws.tpr),
        "tnr": entry(rates.tnr, draws.tnr),
        "precision": entry(rates.precision, draws.precision),
        "alert_rate": entry(rates.alert_rate, draws.alert_rate),
        "trained_for": trained_for,
        "measures": {
            name: entry(measure.value(*rates), values_of(measure, draws)) for name, measure in measures.items()
        },
        "interval": "95% Jeffreys",
    }
    return found | {"contradicted": _contradicted(classifier, found)}


def _contradicted(classifier: Any, found: dict[str, Any]) -> list[str]:
    """Return the rates whose interval on these rows does not overlap the one saved with the model."""
    claimed = getattr(classifier, "rates_interval_", None)
    if claimed is None or found["trained_for"] not in found["measures"]:
        return []
    ends = {name: getattr(claimed, name) for name in ("tpr", "tnr")}
    return [name for name, (low, high) in ends.items() if found[name]["high"] < low or found[name]["low"] > high]


def _print(classifier: Any, report: dict[str, Any], *, all_measures: bool) -> None:
    from ..estimators._positive import PositiveClass

    counts = report["confusion"]
    positive, negative, _ = PositiveClass.of_model(classifier)
    positives = (f"is {positive}", counts["true_positives"], counts["false_negatives"])
    negatives = (f"is {negative}", counts["false_positives"], counts["true_negatives"])
    print_table(("", f"predicted {positive}", f"predicted {negative}"), [positives, negatives])
    rates = {"recall (TPR)": "tpr", "TNR": "tnr", "precision": "precision", "alert rate": "alert_rate"}
    usual = (report["trained_for"], "f1")
    entries = {name: report[key] for name, key in rates.items()} | {
        name: one for name, one in report["measures"].items() if all_measures or name in usual
    }
    rows = [
        (f"{name} *" if name == report["trained_for"] else name, one["value"], one["low"], one["high"])
        for name, one in entries.items()
    ]
    print_table(("measure", "value", "95% from", "to"), rows)
    if "costs" in report:
        for name, cost in report["costs"].items():
            click.echo(f"Cost of {name}: {cost:,.2f}, or {cost / report['rows']:,.4g} per row.")
    if "groups" in report:
        print_groups(report["groups"])
        print_differences(report["bounds_between_groups"])
    for name in report["contradicted"]:
        low, high = getattr(classifier.rates_interval_, name)
        click.echo(
            f"The {name.upper()} here is not the one of the fit, between {low:.4g} and {high:.4g}: these rows "
            "come from a different distribution than the training rows."
        )
    more = "" if all_measures else " --all prints every measure."
    trained_for = "* what" if report["trained_for"] in report["measures"] else "costs per row are what"
    click.echo(f"{report['rows']:,} rows; {trained_for} the model was trained for.{more}")
