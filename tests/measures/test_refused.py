"""Measures that cannot be maximized are refused in a sentence."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from ratewise import MeasureClassifier, Monitor
from ratewise.measures import FunctionMeasure, confusion_measure, get_measure


@pytest.mark.parametrize("name", ["roc_auc", "AUC", "average_precision"])
def test_a_measure_of_the_order_of_rows_is_told_from_one_of_decisions(name):
    with pytest.raises(ValueError, match=r"about the order of all rows.*'tpr-at-fpr-0\.01'"):
        get_measure(name)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("log_loss", "is about probabilities"),
        ("precision", "'recall-at-precision-0.9'"),
        ("f1_score", "Did you mean 'f1'?"),
        ("f1_macro", "Did you mean 'macro-f1'?"),
        ("jaccard_score", "Did you mean 'jaccard'?"),
    ],
)
def test_names_of_other_libraries_lead_to_a_measure(name, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        get_measure(name)


def test_a_function_that_is_nan_is_refused():
    with pytest.raises(ValueError, match="must be a number at all rates"):
        FunctionMeasure(lambda tpr, tnr: (tpr - 0.5) ** 0.5)  # complex, for Python's own numbers
    with pytest.raises(ValueError, match=r"is NaN at TPR 0\.9 and TNR 0\.1"):
        FunctionMeasure(lambda tpr, tnr: math.nan if tpr > 0.8 else tpr)
    with pytest.raises(ValueError, match="must be a number at all rates"):
        MeasureClassifier(lambda tpr, tnr: math.nan).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("missing", [None, math.nan, np.datetime64("NaT"), "masked"])
def test_missing_labels_are_refused_by_scores_and_by_a_monitor(missing):
    labels = np.array([1, 0, 1], dtype=object)
    labels[1] = missing
    if missing == "masked":
        labels = np.ma.masked_array([1, 0, 1], [False, True, False])
    for ask in (get_measure("f1").score, confusion_measure("macro-f1").score, Monitor("f1").update):
        with pytest.raises(ValueError, match="every row needs a label"):
            ask(labels, [1, 0, 1])
