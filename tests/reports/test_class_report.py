"""Reports on classifiers of more than two classes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, recall_score
from sklearn.naive_bayes import GaussianNB

import ratewise
from ratewise.plots import ConfusionDisplay
from ratewise.reports import ClassReport


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True)
    return X[:, :2], np.array(["<setosa>", "versicolor", "virginica"])[y]


@pytest.fixture(scope="module")
def model(flowers):
    X, y = flowers
    return GaussianNB().fit(X[::2], y[::2])


def test_the_page_holds_the_counts_and_intervals_of_the_display(model, flowers, tmp_path):
    X, y = flowers[0][1::2], flowers[1][1::2]
    about = ratewise.report(model, X, y, measure="worst-recall", title="Flowers & co")
    (found,) = about.models
    predicted = model.predict(X)
    assert found.rows == y.size
    assert found.value == pytest.approx(recall_score(y, predicted, average=None).min())
    assert (found.decisions.counts.weights == confusion_matrix(y, predicted)).all()
    page = about.html()
    low, high = ConfusionDisplay(found.decisions.counts).recall_interval_[1]
    assert f"{100 * low:.1f}% to {100 * high:.1f}%" in page
    assert "Flowers &amp; co" in page
    assert "&lt;setosa&gt;" in page
    assert "<setosa>" not in page
    about.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text("utf-8") == page


def test_weights_count_and_models_stand_side_by_side(model, flowers):
    X, y = flowers
    weights = np.where(y == "virginica", 2, 1)
    both = ratewise.report({"Bayes": model, "linear": LogisticRegression().fit(X, y)}, X, y, sample_weight=weights)
    assert [one.name for one in both.models] == ["Bayes", "linear"]
    assert all(one.decisions.counts.weights[2].sum() == 100 for one in both.models)
    assert "linear" in both._repr_html_()


def test_of_many_classes_the_page_shows_the_most_frequent_mistakes():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(40), 20)
    model = GaussianNB().fit((y + rng.normal(size=y.size))[:, np.newaxis], y)
    page = ratewise.report(model, (y + rng.normal(size=y.size))[:, np.newaxis], y).html()
    assert "The most frequent mistakes" in page
    assert "Right and wrong" not in page


def test_a_model_of_many_classes_is_judged_by_what_it_was_trained_for(flowers):
    X, y = flowers
    classifier = ratewise.MeasureClassifier("gmean", sharpen=False, random_state=0).fit(X, y)
    (found,) = ratewise.report(classifier, X, y).models
    assert found.value == pytest.approx(classifier.score(X, y))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pos_label": "virginica"}, "are for reports on two classes"),
        ({"slices": [0]}, "are for reports on two classes"),
        ({"measure": "no such measure"}, "no such measure"),
        ({"sample_weight": [1.0]}, "sample_weight"),
    ],
)
def test_what_a_report_on_many_classes_refuses(model, flowers, settings, message):
    with pytest.raises(ValueError, match=message):
        ratewise.report(model, *flowers, **settings)


def test_a_label_that_the_model_does_not_know_is_refused(model, flowers):
    X, _ = flowers
    with pytest.raises(ValueError, match="not among the classes"):
        ClassReport.from_estimators({"Bayes": model}, X[:2], np.array(["rose", "rose"]))


def test_several_labels_per_row_are_reported_one_by_one(flowers):
    X, y = flowers
    labels = np.column_stack([y == name for name in np.unique(y)])
    model = ratewise.MeasureClassifier("f1", sharpen=False, random_state=0).fit(X, labels)
    with pytest.raises(ValueError, match="a model of several labels, and a report is about one class per row"):
        ratewise.report(model, X, labels)
    assert ratewise.Report.from_scores(model.predict_proba(X)[:, 0], labels[:, 0]).models[0].at()["f1"].value > 0.5
