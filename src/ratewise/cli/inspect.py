"""`ratewise inspect`: what a model is."""

from __future__ import annotations

from typing import Any

import click

from ._options import json_option
from ._output import print_json, print_table, shown

_SHOWN = 6


@click.command()
@click.argument("model")
@click.option(
    "--top", type=click.IntRange(0), default=20, show_default=True, help="How many coefficients to show."
)
@json_option
def inspect(model: str, top: int, as_json: bool) -> None:
    """Show a model's measure, rates, threshold and largest coefficients by name."""
    from ._data import load_two_class

    classifier = load_two_class(model)
    report = _report(classifier, top)
    if as_json:
        print_json(report)
        return
    facts = [(name.replace("_", " "), value) for name, value in report.items() if name != "coefficients"]
    print_table(("", ""), [(name, _words(value)) for name, value in facts if value is not None])
    coefficients = report["coefficients"]
    headings = list(coefficients[0]) if coefficients else []
    print_table(headings, [tuple(one.values()) for one in coefficients])
    click.echo(f"The {len(coefficients)} of {classifier.coef_.shape[1]:,} coefficients that matter most.")


def _report(classifier: Any, top: int) -> dict[str, Any]:
    from ..estimators._targets import positive_label
    from ..measures import measure_name
    from ._data import interval_words

    survey = getattr(classifier, "survey_", None)
    positive = positive_label(classifier.classes_, classifier.pos_label)
    return {
        "measure": measure_name(classifier.measure_),
        "value": float(classifier.measure_.value(*classifier.rates_)),
        "tpr": classifier.rates_.tpr,
        "tnr": classifier.rates_.tnr,
        "prevalence": classifier.rates_.prevalence,
        "on_new_rows": interval_words(classifier),
        "classes": classifier.classes_.tolist(),
        "positive": positive.item() if hasattr(positive, "item") else positive,
        "target": getattr(classifier, "target_", None),
        "rows": None if survey is None else int(survey.rows),
        "features": classifier.coef_.shape[1],
        "raw_columns": _raw_columns(classifier),
        "threshold": float(-classifier.intercept_[0]),
        "solver": repr(classifier.solver_),
        "stages": list(classifier.stages_) or None,
        "ratewise_version": classifier.saved_by_,
        "coefficients": _largest(classifier, top),
    }


def _raw_columns(classifier: Any) -> list[str] | None:
    encoder = getattr(classifier, "encoder_", None)
    return list(encoder.columns) if encoder is not None and encoder.categories else None


def _largest(classifier: Any, top: int) -> list[dict[str, Any]]:
    """Return the largest coefficients: per standard deviation of the column, where that is known."""
    import numpy as np

    coef = classifier.coef_[0]
    names = classifier.get_feature_names_out()
    spread = getattr(classifier, "feature_spread_", None)
    weight = np.abs(coef if spread is None else coef * spread)
    found = []
    for j in np.argsort(-weight, kind="stable")[:top]:
        one = {"column": str(names[j]), "coefficient": float(coef[j])}
        found.append(one if spread is None else one | {"per_deviation": float(coef[j] * spread[j])})
    return found


def _words(value: Any) -> str:
    if not isinstance(value, list):
        return shown(value)
    more = f" and {len(value) - _SHOWN} more" if len(value) > _SHOWN else ""
    return "; ".join(map(str, value[:_SHOWN])) + more
