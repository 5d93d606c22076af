"""A model card from the facts of a report."""

from __future__ import annotations

import html
from typing import Any

from ..measures import Measure
from ..plots._scores import inner_classifier
from ._document import Report
from ._words import sentences, shown


def model_card(
    model: Any,
    X: Any,
    y: Any,
    *,
    description: str | None = None,
    measure: str | Measure | None = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> Any:
    """Return a model card of a fitted classifier: what it is for and what to expect, in words and numbers.

    Parameters
    ----------
    model : classifier
        As for :func:`report`.
    X, y : rows and labels
        Rows that the model was not trained on.
    description : str, optional
        What the model is for, in your words.
    measure, sample_weight, pos_label
        As for :func:`report`.

    Returns
    -------
    skops.card.Card
        ``save("README.md")`` writes it; ``add`` adds your own sections, for example on the model's limits.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ratewise import MeasureClassifier, model_card
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifier = MeasureClassifier("gmean", sharpen=False, random_state=0).fit(X[:400], y[:400])
    >>> card = model_card(classifier, X[400:], y[400:], description="Tells benign tumors.")
    >>> "It was trained for gmean" in card.render()
    True
    """
    try:
        from skops.card import Card
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'Model cards need skops: pip install "ratewise[persistence]"', name="skops"
        ) from error

    about = Report.from_estimators(
        {type(inner_classifier(model)).__name__: model},
        X,
        y,
        measure=measure,
        sample_weight=sample_weight,
        pos_label=pos_label,
        slices=[],
    ).models[0]
    true_positives, false_negatives, false_positives, true_negatives = about.counts().by_name().values()
    positive, negative = map(_escaped, about.rows.names)
    card = Card(model, template=None)
    card.add(**{"Model description": description or "[What the model is for]"})
    card.add(**{"What to expect": _escaped(" ".join(sentences(about, alone=True)))})
    card.add_table(
        folded=False,
        **{
            "What to expect/Right and wrong": {
                "": [f"is {positive}", f"is {negative}"],
                f"predicted {positive}": [f"{true_positives:g}", f"{false_positives:g}"],
                f"predicted {negative}": [f"{false_negatives:g}", f"{true_negatives:g}"],
            },
            "What to expect/Rates and measures, with 95% intervals": {
                name: list(map(_escaped, about.at())) if place == 0 else _column(about.at(), name)
                for place, name in enumerate(("measure", "value", "low", "high"))
            },
        },
    )
    parameters = model.get_params(deep=True)
    card.add_table(
        **{
            "Training/Parameters": {
                "parameter": list(map(_escaped, parameters)),
                "value": [_escaped(repr(value)) for value in parameters.values()],
            }
        },
        folded=True,
    )
    influences = about.facts.get("influences")
    if influences:
        rows = influences["rows"]
        towards = f"towards {positive}, per standard deviation"
        unit = towards if influences["kind"] == "coefficients" else "fall of the measure"
        card.add_table(
            folded=False,
            **{
                "Training/What the scores depend on": {
                    "column": [_escaped(one["name"]) for one in rows],
                    unit: [f"{one['value']:.4g}" for one in rows],
                }
            },
        )
    return card


def _escaped(text: str) -> str:
    """Return text that Markdown shows as it is: no HTML, no end of a cell, no link."""
    plain = html.escape("".join(one if one.isprintable() else " " for one in text), quote=False)
    return plain.translate({ord(one): f"&#{ord(one)};" for one in "|`*[]\\~"})


def _column(found: dict[str, Any], end: str) -> list[str]:
    return [shown(getattr(one, end)) for one in found.values()]
