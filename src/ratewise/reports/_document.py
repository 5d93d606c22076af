"""The report: everything about a classifier on labelled rows, in one HTML file that needs nothing else."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..decisions.cuts import best_threshold
from ..decisions.draws import values_of
from ..decisions.labelled import labelled_scores
from ..decisions.sensitive import group_of_each_row
from ..estimators._costs import cheapest, shares_of_scores, takes_costs
from ..estimators._positive import PositiveClass
from ..measures import ConfusionMeasure, Measure, get_measure
from ..plots._scores import (
    ScoredRows,
    inner_classifier,
    positive_class,
    rows_inside,
    scores_from_estimator,
    threshold_of,
)
from ._columns import ColumnShares
from ._costs import (
    DecisionCosts,
    costs_of_decisions,
    decisions,
    even_threshold,
    mean_costs,
    positive_last,
)
from ._facts import influences_of, path_of, sliced_columns
from ._groups import GroupRates
from ._page import Page, part_of_page
from ._scored import NORMALS, ReportedRows, ScoredModel, formula_of, measures_with, significant
from ._shapes import shapes_of
from ._words import comparison, sentences

_GRID = 61


class Report(Page):
    """A report about one or more classifiers on labelled rows: counts, quantiles and other numbers, no rows.

    A notebook displays it. Make one with :func:`report`, or from scores with :meth:`from_scores`.

    Attributes
    ----------
    models : list of ScoredModel
        Each with ``at()``: TPR, TNR, precision, alert rate and every measure, with intervals, at its threshold.
    title : str

    Examples
    --------
    >>> from ratewise import Report
    >>> about = Report.from_scores([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1], measure="gmean", threshold=0.5)
    >>> about.models[0].at()["TPR"].value
    0.5
    """

    models: list[ScoredModel]

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
        if not models:
            raise ValueError("There is no model to report on.")
        found = []
        for name, model in models.items():
            positive = positive_class(model, pos_label)
            table = costs_of_decisions(model, costs, int(np.shape(y)[0]), positive)
            by_costs = takes_costs(inner_classifier(model))
            scored = _probabilities if by_costs else _scored
            scores, threshold, probabilities = scored(model, X, y, sample_weight, positive, sensitive_features)
            rows = _labelled(scores.signed_weights, sample_weight is not None, y, positive)
            ordered = None if table is None else positive_last(model, table, positive)
            by_mean = None if ordered is None else mean_costs(ordered, rows.positive, rows.weights)
            judged_by, facts = _facts(model, by_mean if measure is None else measure, positive)
            if by_costs and by_mean is not None:
                threshold = even_threshold(by_mean)
            one = ScoredModel(name, rows, scores.scores, threshold, judged_by, probabilities, facts)
            if ordered is not None:
                predicted = decisions(model, X, table) == positive.label
                facts |= {"by_costs": by_costs, "costs": _spent(one, predicted, ordered)}
            facts["influences"] = influences_of(model, X, y, judged_by, positive)
            facts["shapes"] = shapes_of(model, X, positive)
            facts["added"] = ColumnShares.of(model, X, positive)
            facts["groups"] = one.groups(sliced_columns(X, slices, rows.positive.size))
            if sensitive_features is not None:
                groups = group_of_each_row(sensitive_features, rows.positive.size)
                facts["sensitive"] = GroupRates.of(rows, one.predicted, groups, judged_by)
            found.append(one)
        return cls(found, title=title)

    @classmethod
    def from_scored(
        cls,
        model: Any,
        scores: Any,
        y: Any,
        measure: Any,
        sample_weight: Any,
        columns: Mapping[str, Any],
        sensitive: str | None = None,
        costs: Any = None,
    ) -> Report:
        """Report on a fitted MeasureClassifier whose decisions were computed elsewhere, for example from files.

        ``sensitive`` is the column of the groups that bounds are about. ``costs`` are as for ``report``.
        """
        positive = positive_class(model, None)
        by_costs = takes_costs(model)
        own, cut = positive.scores(scores), positive.cut
        shares = shares_of_scores(model, scores) if by_costs else None
        if shares is not None:
            own, cut = shares[:, int(positive.sign > 0)], 0.5
        checked = labelled_scores(own, y, sample_weight, positive.label)
        rows = _labelled(checked.signed_weights, sample_weight is not None, y, positive)
        table = costs_of_decisions(model, costs, rows.positive.size, positive)
        ordered = None if table is None else positive_last(model, table, positive)
        by_mean = None if ordered is None else mean_costs(ordered, rows.positive, rows.weights)
        judged_by, facts = _facts(model, by_mean if measure is None else measure, positive)
        if by_costs and by_mean is not None:
            cut = even_threshold(by_mean)
        one = ScoredModel(type(model).__name__, rows, checked.scores, cut, judged_by, by_costs, facts)
        if ordered is not None:
            predicted = one.predicted
            if shares is not None:
                predicted = np.asarray(model.classes_)[cheapest(model, shares, table)] == positive.label
            facts |= {"by_costs": by_costs, "costs": _spent(one, predicted, ordered)}
        facts["influences"] = influences_of(model, None, y, judged_by, positive)
        facts["shapes"] = shapes_of(model, None, positive)
        facts["groups"] = one.groups(sliced_columns(None, dict(columns), rows.positive.size))
        if sensitive is not None:
            facts["sensitive"] = GroupRates.of(rows, one.predicted, columns[sensitive], judged_by)
        return Report([one])

    @classmethod
    def from_scores(
        cls,
        scores: Any,
        y: Any,
        *,
        measure: str | Measure = "f1",
        threshold: float | Mapping[str, float] | None = None,
        sample_weight: Any = None,
        pos_label: Any = None,
        slices: Mapping[str, Any] | None = None,
        name: str = "scores",
        title: str | None = None,
    ) -> Report:
        """Report on the scores of any model.

        Parameters
        ----------
        scores : array, or dict of name and array
            One number per row, higher for the positive class; for several models, a dict by name.
        y : array of labels
        measure : str or Measure
            The measure to judge by.
        threshold : float, or dict of name and float, optional
            Rows with a score above it are predicted positive. Unless given, the best threshold on these rows.
        sample_weight : array, optional
        pos_label : label, optional
            The positive class; the last in sorted order unless given.
        slices : dict of name and array, optional
            Columns to group the rows by.
        name : str
            The name of the model, if there is only one.
        title : str, optional
        """
        given = scores if isinstance(scores, Mapping) else {name: scores}
        measure, found = get_measure(measure), []
        for one, values in given.items():
            checked = labelled_scores(values, y, sample_weight, pos_label)
            cut = threshold.get(one) if isinstance(threshold, Mapping) else threshold
            facts: dict[str, Any] = {"threshold_from_these_rows": cut is None}
            if cut is None:
                cut = best_threshold(*checked, measure).threshold
            positive = PositiveClass.of(np.unique(np.asarray(y)), pos_label)
            rows = _labelled(checked.signed_weights, sample_weight is not None, y, positive)
            probabilities = bool(checked.scores.min() >= 0 and checked.scores.max() <= 1)
            model = ScoredModel(str(one), rows, checked.scores, float(cut), measure, probabilities, facts)
            facts["groups"] = model.groups(sliced_columns(None, slices or {}, rows.positive.size))
            found.append(model)
        return Report(found, title=title)

    def html(self) -> str:
        """Return the page: one file with its styles, its script and its numbers, without external resources."""
        data = json.dumps(self._data(), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
        programs = {name: part_of_page(f"{name}.js") for name in ("measures", "shapes")}
        programs["program"] = part_of_page("page.js")
        tables = {"groups": self._costs() + self._groups(), "added": self._added()}
        parts = {"summary": self._summary(), **tables, "data": data, **programs}
        return self._filled("page.html", parts)

    def _summary(self) -> str:
        """Return the text at the top: plain HTML, readable without scripts."""
        first, *others = self.models
        paragraphs = [" ".join(sentences(model, alone=not others)) for model in self.models]
        for other in others:
            spent, others_spent = (one.facts.get("costs") for one in (first, other))
            if spent is not None and others_spent is not None and spent.of_same_costs(others_spent):
                paragraphs.append(spent.compared(first.name, others_spent, other.name))
            elif other.measure == first.measure and spent is None and others_spent is None:
                paragraphs.append(comparison(first, other))
        return "\n".join(f"<p>{html.escape(text)}</p>" for text in paragraphs)

    def _costs(self) -> str:
        """Return the costs of each model's decisions, if the costs of rows are known."""
        known = [one for one in self.models if "costs" in one.facts]
        return "".join(one.facts["costs"].html(one.name, row_by_row=one.facts["by_costs"]) for one in known)

    def _groups(self) -> str:
        """Return the first model's rates of the groups that bounds concern."""
        found = self.models[0].facts.get("sensitive")
        return "" if found is None else found.html()

    def _added(self) -> str:
        """Return the columns' contributions to the first model's scores, for boosting or a stack."""
        found = self.models[0].facts.get("added")
        return "" if found is None else found.html(self.models[0].rows.names[0])

    def _data(self) -> dict[str, Any]:
        first = self.models[0]
        measures = {name: one for model in self.models for name, one in measures_with(model.measure).items()}
        formulas = {name: formula_of(one) for name, one in measures.items()}
        return {
            "positive": first.rows.names[0],
            "negative": first.rows.names[1],
            "rows": first.rows.positive.size,
            "weighted": first.rows.weights is not None,
            "normals": NORMALS.ravel().tolist(),
            "measures": [
                {"name": name, "formula": formula, **({} if formula else _as_table(measures[name], first))}
                for name, formula in formulas.items()
            ],
            "models": [self._model(model, measures, formulas) for model in self.models],
        }

    @staticmethod
    def _model(model: ScoredModel, measures: dict[str, Measure], formulas: dict[str, Any]) -> dict[str, Any]:
        stops, whole = model.stops, model.rows.weights is None
        number = (lambda one: int(one)) if whole else significant
        thresholds = [None if math.isinf(one) else significant(one, 7) for one in stops.thresholds.tolist()]
        return {
            "name": model.name,
            "measure": model.measure_name,
            "own": stops.own,
            "thresholds": thresholds,
            "above": [[number(one) for one in row] for row in stops.above.tolist()],
            "squares": None
            if stops.squares is None
            else [[number(one) for one in row] for row in stops.squares.tolist()],
            "tables": {name: model.table_of(one) for name, one in measures.items() if formulas[name] is None},
            "histogram": model.histogram(),
            "calibration": model.calibration(),
            "probabilities": model.probabilities,
            "path": model.facts.get("path", []),
            "influences": model.facts.get("influences"),
            "columns": model.facts.get("columns"),
            "shapes": model.facts.get("shapes"),
            "groups": model.facts.get("groups", []),
        }


def _facts(model: Any, measure: Any, positive: PositiveClass) -> tuple[Measure, dict[str, Any]]:
    """Return the measure to judge a model by, and the facts of its fit, unless it was for the other class."""
    inner = inner_classifier(model)
    for_this_class = positive_class(model, None) == positive
    own = getattr(inner, "measure_", None)
    if isinstance(measure, ConfusionMeasure):
        raise ValueError("A report on two classes is judged by a measure of two rates, such as 'f1' or 'gmean'.")
    judged_by = get_measure(measure if measure is not None else "f1" if own is None else own)
    facts: dict[str, Any] = {
        "trained": "was trained for" if own == judged_by and for_this_class else "is judged by",
        "path": path_of(model),
    }
    if (encoder := getattr(inner, "encoder_", None)) is not None:
        facts["columns"] = encoder.described()
    rates = getattr(inner, "rates_", None)
    if hasattr(rates, "tpr") and for_this_class and not takes_costs(inner):
        facts |= {"expected": rates, "expected_between": getattr(inner, "rates_interval_", None)}
    return judged_by, facts


def _scored(
    model: Any, X: Any, y: Any, sample_weight: Any, positive: PositiveClass, sensitive_features: Any
) -> tuple[Any, float, bool]:
    """Return scores with labels, the threshold in use, and whether the scores are probabilities.

    The decision function is used if ``predict`` does not apply a threshold to the probabilities: a calibration may
    have steps. If groups have thresholds, these are subtracted from the scores.
    """
    inner = inner_classifier(model)
    if hasattr(inner, "group_thresholds_"):
        inside = rows_inside(model, X)
        decisions = inner._above_threshold(inside, sensitive_features)
        rows = labelled_scores(positive.scores(decisions), y, sample_weight, positive.label)
        predicted = inner.predict(inside, sensitive_features=sensitive_features) == positive.label
        return rows, threshold_of(model, ScoredRows(rows, predicted, 0.0)), False
    scored = scores_from_estimator(model, X, y, sample_weight, positive.label)
    try:
        return scored.rows, threshold_of(model, scored), hasattr(model, "predict_proba")
    except ValueError:
        if not hasattr(model, "predict_proba") or not hasattr(model, "decision_function"):
            raise
    rows = labelled_scores(positive.scores(model.decision_function(X)), y, sample_weight, positive.label)
    return rows, threshold_of(model, scored._replace(rows=rows, default=0.0)), False


def _probabilities(
    model: Any, X: Any, y: Any, sample_weight: Any, positive: PositiveClass, sensitive_features: Any
) -> tuple[Any, float, bool]:
    """Return the probabilities of a model that decides by costs, with labels."""
    column = np.asarray(model.predict_proba(X))[:, int(positive.sign > 0)]
    return labelled_scores(column, y, sample_weight, positive.label), 0.5, True


def _spent(model: ScoredModel, predicted: NDArray[np.bool_], table: NDArray[np.float64]) -> DecisionCosts:
    rows = model.rows
    return DecisionCosts.of(predicted, model.scores, rows.positive, rows.weights, table, rows.names[::-1])


def _labelled(signed: NDArray[np.float64], weighted: bool, y: Any, positive: PositiveClass) -> ReportedRows:
    names = (_class_name(positive.label, "positive"), _class_name(positive.other, "negative"))
    return ReportedRows(np.asarray(y) == positive.label, np.abs(signed) if weighted else None, names)


def _as_table(measure: Measure, model: ScoredModel) -> dict[str, Any]:
    """Return a measure that the page cannot compute, on a grid of the two rates at the prevalence of the rows."""
    tpr, tnr = np.meshgrid(np.linspace(0, 1, _GRID), np.linspace(0, 1, _GRID), indexing="ij")
    prevalence = np.full(tpr.size, model.counts().rates.prevalence)
    values = values_of(measure, (tpr.ravel(), tnr.ravel(), prevalence))
    return {
        "grid": [significant(one, 5) for one in values.tolist()],
        "needs_prevalence": getattr(measure, "takes_prevalence", True),
    }


def _class_name(label: Any, role: str) -> str:
    """Return a label in words: "positive" and "negative" for 1 and 0, True and False."""
    return role if str(label) in ("0", "1", "-1", "True", "False", "0.0", "1.0") else str(label)
