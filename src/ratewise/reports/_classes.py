"""The report on classifiers of more than two classes: a page of tables, from the confusion matrix alone."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..counts import Counts
from ..estimators._targets import checked_weights, labels_to_score
from ..measures import ConfusionMeasure, Measure, confusion_measure, measure_name
from ..plots import ConfusionDisplay
from ..plots._scores import inner_classifier
from ._costs import DecisionCosts, costs_of_decisions, decisions
from ._document import Report
from ._words import percent, shown

_MOST_CELLS = 30  # classes, up to which the whole confusion matrix is shown
_MISTAKES = 10


class ClassedModel(NamedTuple):
    """The decisions of one model: their value, and recall and precision of each class."""

    name: str
    measure: str
    value: float
    rows: int
    decisions: ConfusionDisplay
    costs: DecisionCosts | None = None
    """What the decisions cost, if the costs of rows are known."""


class ClassReport(Report):
    """A report about one or more classifiers of more than two classes: their confusion matrices, no rows.

    :func:`report` makes it for models with more than two classes. A notebook displays it.

    Attributes
    ----------
    models : list of named tuples
        Each with ``name``, ``measure``, ``value``, ``rows`` and ``decisions``, a
        :class:`ratewise.plots.ConfusionDisplay`.
    title : str

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from ratewise.reports import ClassReport
    >>> X, y = load_wine(return_X_y=True)
    >>> model = GaussianNB().fit(X[::2], y[::2])
    >>> about = ClassReport.from_estimators({"Bayes": model}, X[1::2], y[1::2], measure="worst-recall")
    >>> round(about.models[0].value, 3)
    0.862
    """

    models: list[ClassedModel]  # type: ignore[assignment]

    @classmethod
    def from_estimators(
        cls,
        models: Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        measure: str | Measure | ConfusionMeasure | None = None,
        sample_weight: Any = None,
        pos_label: Any = None,
        slices: Any = None,
        sensitive_features: Any = None,
        costs: Any = None,
        title: str | None = None,
    ) -> Self:
        """Report on fitted classifiers, by name; see :func:`report`."""
        if not (pos_label is None and slices is None and sensitive_features is None):
            raise ValueError(
                "pos_label, slices and sensitive_features are for reports on two classes; a model here has more."
            )
        found = [_judged(name, one, X, y, measure, sample_weight, costs) for name, one in models.items()]
        return cls(found, title=title)

    def html(self) -> str:
        """Return the page: one file with its styles and without scripts."""
        return self._filled("classes.html", {"models": "\n".join(map(_section, self.models))})


def _judged(name: str, model: Any, X: Any, y: Any, measure: Any, sample_weight: Any, costs: Any) -> ClassedModel:
    table = costs_of_decisions(model, costs, int(np.shape(y)[0]), None)
    classes, predicted = np.asarray(model.classes_), decisions(model, X, costs)
    true = labels_to_score(y, predicted.size, classes)
    weights = None if sample_weight is None else checked_weights(sample_weight, true)
    true, predicted = (np.searchsorted(classes, one) for one in (true, predicted))
    counts = Counts.of_labels(true, predicted, weights, n_classes=classes.size)
    own = getattr(inner_classifier(model), "measure_", None)
    found = counted_model(name, counts, predicted.size, classes, measure if measure is not None else own)
    if table is None:
        return found
    names = [str(one) for one in classes.tolist()]
    return found._replace(costs=DecisionCosts.of(predicted, None, true, weights, table, names))


def counted_model(name: str, counts: Counts, rows: int, classes: NDArray[Any], measure: Any) -> ClassedModel:
    """Return the report's facts on decisions counted [true, predicted]; by macro F1 unless a measure is given."""
    judged_by = confusion_measure("f1" if measure is None else measure)
    value = float(judged_by.value(np.asarray(counts.weights, dtype=np.float64)))
    return ClassedModel(name, measure_name(judged_by), value, rows, ConfusionDisplay(counts, labels=classes))


def _section(model: ClassedModel) -> str:
    found = model.decisions
    names = [html.escape(str(label)) for label in found.labels.tolist()]
    table = np.asarray(found.counts.weights, dtype=np.float64)
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1e-300)
    seen = np.flatnonzero(table.any(axis=1))
    worst = int(seen[found.recall_[seen].argmin()])
    low, high = map(percent, found.recall_interval_[worst].tolist())
    return "\n".join(
        [
            f'<section class="words"><h2>{html.escape(model.name)}</h2>',
            f"<p>On these {model.rows:,} rows the {html.escape(model.measure)} is {shown(model.value)}.",
            f"The class with the lowest recall is {names[worst]}: {percent(float(found.recall_[worst]))}",
            f"of its rows are predicted as it (95% interval {low} to {high}).</p></section>",
            "" if model.costs is None else model.costs.html(model.name),
            _table_of_classes(found, names, table),
            _matrix(names, table, shares) if len(names) <= _MOST_CELLS else "",
            _mistakes(names, table, shares),
        ]
    )


def _table_of_classes(found: ConfusionDisplay, names: list[str], table: NDArray[np.float64]) -> str:
    rows = []
    for k in np.argsort(found.recall_, kind="stable").tolist():
        cells = [_weight(float(table[k].sum()))]
        for value, ends in (
            (found.recall_[k], found.recall_interval_[k]),
            (found.precision_[k], found.precision_interval_[k]),
        ):
            cells += [percent(float(value)), " to ".join(map(percent, ends.tolist()))]
        rows.append((names[k], cells))
    heads = ["class", "rows", "recall", "95% interval", "precision", "95% interval"]
    return _table("Recall and precision of each class", "The lowest recall first.", heads, rows)


def _matrix(names: list[str], table: NDArray[np.float64], shares: NDArray[np.float64]) -> str:
    rows = [(name, [_weight(float(one)) for one in row]) for name, row in zip(names, table, strict=True)]
    styles = [[f' style="--share:{share:.3f}" class="share"' for share in row] for row in shares]
    heads = ["true", *(f"predicted {name}" for name in names)]
    return _table("Right and wrong", "The darker, the larger the share of the true class.", heads, rows, styles)


def _mistakes(names: list[str], table: NDArray[np.float64], shares: NDArray[np.float64]) -> str:
    wrong = table.copy()
    np.fill_diagonal(wrong, 0.0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:_MISTAKES]
    places = [np.unravel_index(one, wrong.shape) for one in order.tolist() if wrong.flat[one] > 0]
    rows = [
        (
            names[true],
            [names[predicted], _weight(float(wrong[true, predicted])), percent(float(shares[true, predicted]))],
        )
        for true, predicted in places
    ]
    heads = ["true", "predicted", "rows", "share of the true class"]
    return _table("The most frequent mistakes", f"At most {_MISTAKES}.", heads, rows) if rows else ""


def _table(
    title: str,
    caption: str,
    heads: list[str],
    rows: list[tuple[str, list[str]]],
    styles: list[list[str]] | None = None,
) -> str:
    """Return a section with one table; names are HTML already."""
    head = "".join(f'<th scope="col">{one}</th>' for one in heads)
    body = []
    for place, (name, cells) in enumerate(rows):
        looks = styles[place] if styles else [""] * len(cells)
        inner = "".join(f"<td{look}>{cell}</td>" for look, cell in zip(looks, cells, strict=True))
        body.append(f'<tr><th scope="row">{name}</th>{inner}</tr>')
    return (
        f'<section><h2>{title}</h2><div class="scroll" tabindex="0" role="region" aria-label="{title}">'
        f'<table class="numbers"><caption>{caption}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div></section>"
    )


def _weight(weight: float) -> str:
    return f"{weight:,.6g}"
