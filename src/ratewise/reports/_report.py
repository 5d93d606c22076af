"""One function for every report: it chooses the page by the number of classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..measures import ConfusionMeasure, Measure
from ..plots._scores import inner_classifier
from ._classes import ClassReport
from ._document import Report


def report(
    model: Any,
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
) -> Report:
    """Report on a fitted classifier, on rows that it was not trained on, as one HTML file.

    The page says in words what the model was trained for and what to expect from it, with intervals. Two sliders,
    for the threshold and the prevalence, move the confusion table, every measure and the point in the plane of the
    two rates. The page also shows the path of the fit, the calibration, the largest coefficients or importances,
    and the worst groups of rows. With more than two classes it shows the confusion matrix, recall and precision of
    each class with intervals, and the most frequent mistakes.

    Parameters
    ----------
    model : classifier, or dict of name and classifier
        A fitted classifier with scikit-learn's interface. With two classes it needs ``predict_proba`` or
        ``decision_function``. Several models are shown side by side.
    X, y : rows and labels
        Rows that no model was trained on. They are counted, not written to the file.
    measure : str, Measure or ConfusionMeasure, optional
        The measure to judge by. Unless given, the measure that the model was trained for, or F1.
    sample_weight : array, optional
    pos_label : label, optional
        With two classes: the positive class. Unless given, the model's own choice, or ``classes_[1]``.
    slices : list of column names, or dict of name and array, optional
        With two classes: the columns to group the rows by. Unless given, all columns of a data frame with at most
        60 columns.
    sensitive_features : array, optional
        With two classes, the group of each row: the report shows the rates of each group, and bounds on them. A
        model with a threshold for each group needs it. The sliders then move all thresholds together.
    costs : dict of numbers or columns, or array [row, true, predicted] or [true, predicted], optional
        What each decision costs in each row, as :meth:`ratewise.DecisionRule.fit` takes it: the report shows what
        the decisions cost and what they save. A model that was fitted to costs needs them. With two classes the
        model is then judged by the mean costs of a mistake, unless ``measure`` is given.
    title : str, optional

    Returns
    -------
    Report, or ClassReport with more than two classes
        ``save(path)`` writes it; a notebook shows it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import ratewise
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> classifier = ratewise.MeasureClassifier("gmean", random_state=0).fit(X[:400], y[:400])
    >>> about = ratewise.report(classifier, X[400:], y[400:])
    >>> len(about.html()) < 1_000_000
    True
    """
    models = model if isinstance(model, Mapping) else {type(inner_classifier(model)).__name__: model}
    for name, one in models.items():
        if getattr(inner_classifier(one), "multilabel_", False):
            raise ValueError(
                f"{name} is a model of several labels, and a report is about one class per row. Report on one "
                "label at a time: ratewise.Report.from_scores(model.predict_proba(X)[:, k], y[:, k])."
            )
    kind = ClassReport if any(map(_has_many_classes, models.values())) else Report
    return kind.from_estimators(
        models,
        X,
        y,
        measure=measure,
        sample_weight=sample_weight,
        pos_label=pos_label,
        slices=slices,
        sensitive_features=sensitive_features,
        costs=costs,
        title=title,
    )


def _has_many_classes(model: Any) -> bool:
    return len(getattr(model, "classes_", ())) > 2
