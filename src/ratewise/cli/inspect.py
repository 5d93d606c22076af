"""`ratewise inspect`: describe a model."""

from __future__ import annotations

from typing import Any

import click

from ._classes import classes_of, print_classes
from ._groups import groups_of, print_groups
from ._options import json_option
from ._output import print_json, print_table, printable, shown

_SHOWN = 6


@click.command()
@click.argument("model")
@click.option(
    "--top", type=click.IntRange(0), default=20, show_default=True, help="How many coefficients to show."
)
@json_option
def inspect(model: str, top: int, as_json: bool) -> None:
    """Show a model's measure, rates and largest coefficients."""
    from ._data import load_of_classes

    classifier = load_of_classes(model)
    report = _report(classifier, top)
    if as_json:
        print_json(report)
        return
    groups, by_class = report.pop("groups"), report.pop("rates_by_class", None)
    tables = {name: report.pop(name) or [] for name in ("columns", "coefficients")}
    facts = [(name.replace("_", " "), value) for name, value in report.items()]
    print_table(("", ""), [(name, _words(value)) for name, value in facts if value is not None])
    if by_class:
        print_classes(by_class)
    if groups:
        print_groups(groups)
    for rows in filter(None, tables.values()):
        print_table([head.replace("_", " ") for head in rows[0]], [tuple(one.values()) for one in rows])
    coefficients = tables["coefficients"]
    shown_of = f"The {len(coefficients)} of {classifier.coef_.shape[1]:,} coefficients that matter most"
    click.echo(printable(f"{shown_of}: above 0 for {report.get('positive', 'the class named')}."))


def _report(classifier: Any, top: int) -> dict[str, Any]:
    from ..estimators._positive import PositiveClass
    from ._data import columns_of

    survey = getattr(classifier, "survey_", None)
    many = classifier.classes_.size > 2
    return (_of_many(classifier) if many else _of_two(classifier)) | {
        "target": getattr(classifier, "target_", None),
        "rows": None if survey is None else int(survey.rows),
        "features": classifier.n_features_in_,
        "basis": None if getattr(classifier, "basis_", None) is None else classifier.basis_.kind,
        "threshold": None if many else PositiveClass.of_model(classifier).threshold(classifier),
        "solver": repr(classifier.solver_),
        "stages": list(classifier.stages_) or None,
        "ratewise_version": classifier.saved_by_,
        "groups": groups_of(classifier) if hasattr(classifier, "groups_") else None,
        "columns": columns_of(classifier),
        "coefficients": _largest(classifier, top),
    }


def _of_two(classifier: Any) -> dict[str, Any]:
    from ..estimators._positive import PositiveClass
    from ..measures import measure_name
    from ._data import interval_words

    positive = PositiveClass.of_model(classifier).label
    return {
        "measure": measure_name(classifier.measure_),
        "value": float(classifier.measure_.value(*classifier.rates_)),
        "tpr": classifier.rates_.tpr,
        "tnr": classifier.rates_.tnr,
        "prevalence": classifier.rates_.prevalence,
        "on_new_rows": interval_words(classifier),
        "classes": classifier.classes_.tolist(),
        "positive": positive.item() if hasattr(positive, "item") else positive,
    }


def _of_many(classifier: Any) -> dict[str, Any]:
    from ..measures import measure_name

    table = classifier.confusion_
    return {
        "measure": measure_name(classifier.measure_),
        "value": None if table is None else float(classifier.measure_.value(table)),
        "classes": classifier.classes_.tolist(),
        "rates_by_class": None if table is None else classes_of(classifier, table),
    }


def _largest(classifier: Any, top: int) -> list[dict[str, Any]]:
    """Return the largest coefficients: per standard deviation of the column, where that is known.

    A coefficient above 0 raises the score of the positive class. With many classes it is the score of the named
    class, which the column affects most.
    """
    import numpy as np

    from ..estimators._positive import PositiveClass

    names = classifier.get_feature_names_out()
    many = classifier.classes_.size > 2
    if many:
        centred = classifier.coef_ - classifier.coef_.mean(axis=0)  # what classes share changes no decision
        most = np.abs(centred).argmax(axis=0)
        coef = centred[most, np.arange(most.size)]
    else:
        coef = PositiveClass.of_model(classifier).coef(classifier)
    spread = getattr(classifier, "feature_spread_", None)
    weight = np.abs(coef if spread is None else coef * spread)
    found = []
    for j in np.argsort(-weight, kind="stable")[:top]:
        one = {"column": str(names[j]), "coefficient": float(coef[j])}
        if many:
            one["class"] = classifier.classes_[most[j]].item()
        found.append(one if spread is None else one | {"per_deviation": float(coef[j] * spread[j])})
    return found


def _words(value: Any) -> str:
    if not isinstance(value, list):
        return shown(value)
    more = f" and {len(value) - _SHOWN} more" if len(value) > _SHOWN else ""
    return "; ".join(map(str, value[:_SHOWN])) + more
