"""`ratewise inspect`: what a model is."""

from __future__ import annotations

from typing import Any

import click

from .options import json_option


@click.command()
@click.argument("model")
@click.option(
    "--top", type=click.IntRange(0), default=20, show_default=True, help="How many coefficients to show."
)
@json_option
def inspect(model: str, top: int, as_json: bool) -> None:
    """Show a model's measure, rates, threshold and largest coefficients by name."""
    from .output import print_json, print_table
    from .standard import load

    classifier = load(model)
    report = _report(classifier, top)
    if as_json:
        print_json(report)
        return
    facts = [(name.replace("_", " "), value) for name, value in report.items() if name != "coefficients"]
    print_table(("", ""), [(name, _words(value)) for name, value in facts if value is not None])
    print_table(
        ("column", "coefficient"),
        report["coefficients"].items(),
        title=f"The largest {len(report['coefficients'])} of {classifier.n_features_in_:,} coefficients",
    )


def _report(classifier: Any, top: int) -> dict[str, Any]:
    from ..estimators.validation import positive_label

    survey = getattr(classifier, "survey_", None)
    positive = positive_label(classifier.classes_, classifier.pos_label)
    return {
        "measure": classifier.measure_.label,
        "value": float(classifier.measure_.value(*classifier.rates_)),
        "tpr": classifier.rates_.tpr,
        "tnr": classifier.rates_.tnr,
        "prevalence": classifier.rates_.prevalence,
        "classes": classifier.classes_.tolist(),
        "positive": positive.item() if hasattr(positive, "item") else positive,
        "target": getattr(classifier, "target_", None),
        "rows": None if survey is None else int(survey.rows),
        "features": classifier.n_features_in_,
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


def _largest(classifier: Any, top: int) -> dict[str, float]:
    import numpy as np

    coef = classifier.coef_[0]
    names = getattr(classifier, "feature_names_in_", None)
    largest = np.argsort(-np.abs(coef), kind="stable")[:top]
    return {str(names[j]) if names is not None else f"x{j}": float(coef[j]) for j in largest}


def _words(value: Any) -> str:
    from .output import shown

    return ", ".join(map(str, value)) if isinstance(value, list) else shown(value)
