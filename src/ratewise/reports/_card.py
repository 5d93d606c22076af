"""A model card from the facts of a report."""

from __future__ import annotations

from typing import Any

from ..measures import Measure
from ._document import report
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
        ``save("README.md")`` writes it; ``add`` takes sections of yours, on its limits for instance.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ratewise import MeasureClassifier, model_card
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifier = MeasureClassifier("gmean", sharpen=False, random_state=0).fit(X[:400], y[:400])
    >>> card = model_card(classifier, X[400:], y[400:], description="Tells benign tumours.")
    >>> "It was trained for gmean" in card.render()
    True
    """
    try:
        from skops.card import Card
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'Model cards need skops: pip install "ratewise[persistence]"', name="skops"
        ) from error

    about = report(
        model, X, y, measure=measure, sample_weight=sample_weight, pos_label=pos_label, slices=[]
    ).models[0]
    (hits, misses, alarms, quiet), _ = about.confusion()
    positive, negative = about.rows.names
    card = Card(model, template=None)
    card.add(**{"Model description": description or "[What the model is for]"})
    card.add(**{"What to expect": " ".join(sentences(about, alone=True))})
    card.add_table(
        folded=False,
        **{
            "What to expect/Right and wrong": {
                "": [f"is {positive}", f"is {negative}"],
                f"called {positive}": [f"{hits:g}", f"{alarms:g}"],
                f"called {negative}": [f"{misses:g}", f"{quiet:g}"],
            },
            "What to expect/Rates and measures, with 95% intervals": {
                name: [part[place] for part in about.at().items()] if place == 0 else _column(about.at(), name)
                for place, name in enumerate(("measure", "value", "low", "high"))
            },
        },
    )
    card.add_hyperparams(section="Training/Parameters")
    influences = about.facts.get("influences")
    if influences:
        rows = influences["rows"]
        unit = "per standard deviation" if influences["kind"] == "coefficients" else "fall of the measure"
        card.add_table(
            folded=False,
            **{
                "Training/What the scores depend on": {
                    "column": [one["name"] for one in rows],
                    unit: [f"{one['value']:.4g}" for one in rows],
                }
            },
        )
    return card


def _column(found: dict[str, Any], end: str) -> list[str]:
    return [shown(getattr(one, end)) for one in found.values()]
