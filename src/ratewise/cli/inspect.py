"""`ratewise inspect` and `ratewise measures`: what a model is, and what can be maximised."""

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

    report = _report(load_two_class(model), top)
    if as_json:
        print_json(report)
        return
    facts = [(name.replace("_", " "), value) for name, value in report.items() if name != "coefficients"]
    print_table(("", ""), [(name, _words(value)) for name, value in facts if value is not None])
    coefficients = report["coefficients"]
    headings = list(coefficients[0]) if coefficients else []
    print_table(headings, [tuple(one.values()) for one in coefficients])
    click.echo(f"The {len(coefficients)} of {report['features']:,} coefficients that matter most.")


def _report(classifier: Any, top: int) -> dict[str, Any]:
    from ._data import positive_class

    survey, encoder = getattr(classifier, "survey_", None), getattr(classifier, "encoder_", None)
    positive = positive_class(classifier)
    return {
        "measure": classifier.measure_.label,
        "value": float(classifier.measure_.value(*classifier.rates_)),
        **classifier.rates_._asdict(),
        "classes": classifier.classes_.tolist(),
        "positive": positive.item() if hasattr(positive, "item") else positive,
        "target": getattr(classifier, "target_", None),
        "rows": None if survey is None else int(survey.rows),
        "features": classifier.n_features_in_,
        "raw_columns": list(encoder.columns) if encoder is not None and encoder.categories else None,
        "threshold": float(-classifier.intercept_[0]),
        "solver": repr(classifier.solver_),
        "stages": list(classifier.stages_) or None,
        "ratewise_version": classifier.saved_by_,
        "coefficients": _largest(classifier, top),
    }


def _largest(classifier: Any, top: int) -> list[dict[str, Any]]:
    """Return the largest coefficients: per standard deviation of the column, where that is known."""
    import numpy as np

    coef = classifier.coef_[0]
    names = getattr(classifier, "feature_names_in_", None)
    spread = getattr(classifier, "feature_spread_", None)
    weight = np.abs(coef if spread is None else coef * spread)
    found = []
    for j in np.argsort(-weight, kind="stable")[:top]:
        name = str(names[j]) if names is not None else f"x{j}"
        one = {"column": name, "coefficient": float(coef[j])}
        found.append(one if spread is None else one | {"per_deviation": float(coef[j] * spread[j])})
    return found


def _words(value: Any) -> str:
    if not isinstance(value, list):
        return shown(value)
    more = f" and {len(value) - _SHOWN} more" if len(value) > _SHOWN else ""
    return "; ".join(map(str, value[:_SHOWN])) + more


@click.command()
@json_option
def measures(as_json: bool) -> None:
    """List the measures that can be maximised, by name."""
    from ..measures import ConcaveMeasure, PseudoLinearMeasure, get_measure, measure_names

    families = {ConcaveMeasure: "concave", PseudoLinearMeasure: "pseudo-linear"}
    found = {}
    for name in measure_names():
        measure = get_measure(name)
        family = next((word for kind, word in families.items() if isinstance(measure, kind)), "other")
        says = (type(measure).__doc__ or "").strip().partition("\n")[0]
        found[name] = {"measure": measure.label, "family": family, "says": says}
    if as_json:
        print_json(found)
        return
    rows = [(name, *one.values()) for name, one in found.items()]
    print_table(("name", "class", "family", "what it is"), rows, whole_names=True)
