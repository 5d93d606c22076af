"""Parameters that are set after a fit count from the next fit on."""

from __future__ import annotations

import io

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import ratewise
from ratewise import DecisionRule, MeasureClassifier, MeasureMaximizer


def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=300) > 1.0, "yes", "no")


def probabilities():
    X, y = rows()
    return LogisticRegression().fit(X, y).predict_proba(X), y


KINDS = {
    "classifier": (lambda pos_label: MeasureClassifier("f1", pos_label=pos_label, random_state=0), rows),
    "maximizer": (lambda pos_label: MeasureMaximizer(LogisticRegression(), "f1", pos_label=pos_label, cv=2), rows),
    "rule": (lambda pos_label: DecisionRule("f1", pos_label=pos_label), probabilities),
}


@pytest.mark.parametrize("pos_label", ["yes", "no"])
@pytest.mark.parametrize("kind", KINDS)
def test_another_positive_class_or_measure_changes_nothing_before_the_next_fit(kind, pos_label):
    make, data = KINDS[kind]
    X, y = data()
    model, other = make(pos_label).fit(X, y), {"yes": "no", "no": "yes"}[pos_label]
    labels, scores, value = model.predict(X), model.decision_function(X), model.score(X, y)
    model.set_params(pos_label=other, measure="gmean")
    file = io.BytesIO()
    ratewise.save_model(model, file)
    file.seek(0)
    for one in (model, ratewise.load_model(file)):
        assert (one.predict(X) == labels).all()
        assert (one.decision_function(X) == scores).all()
        assert one.score(X, y) == value
    assert model.fit(X, y).score(X, y) == make(other).set_params(measure="gmean").fit(X, y).score(X, y)


def test_reports_are_about_the_positive_class_of_the_fit():
    X, y = rows()
    model = MeasureClassifier("f1", pos_label="no", random_state=0).fit(X, y)
    model.set_params(pos_label="yes")
    assert ratewise.report(model, X, y).models[0].rows.names[0] == "no"
