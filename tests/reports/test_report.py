"""Reports as counts: what they say agrees with the model, and no row is in the file."""

from __future__ import annotations

import copy
import time
from collections import namedtuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ratewise
from ratewise import Report
from ratewise.counts import Counts
from ratewise.reports._scored import difference, grouped
from ratewise.reports._words import shown


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_counts_at_every_stop_are_those_of_the_rows(data):
    n = data.draw(st.integers(2, 60))
    scores = np.array(data.draw(st.lists(st.integers(-5, 5), min_size=n, max_size=n)), dtype=float)
    y = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    y[:2] = [True, False]
    weights = np.array(data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)), dtype=float)
    threshold = data.draw(st.floats(-6, 6))
    model = Report.from_scores(scores, y, threshold=threshold, sample_weight=weights).models[0]
    assert model.stops.thresholds[model.stops.own] == threshold
    for stop, cut in enumerate(model.stops.thresholds):
        np.testing.assert_allclose(model.counts(stop).weights, Counts.of_labels(y, scores > cut, weights).weights)


def test_the_own_threshold_gives_the_predictions_of_the_model(models, rows):
    X, _, y = rows
    for model in models.values():
        one = ratewise.report(model, X, y).models[0]
        predicted = model.predict(X) == "fraud"
        assert one.counts().by_name() == Counts.of_labels(y == "fraud", predicted).by_name()
        assert one.at()["TPR"].value == predicted[y == "fraud"].mean()


def test_the_words_say_what_the_numbers_say(two):
    page = two.html()
    one = two.models[0]
    assert f"its f1 is {shown(one.at()['f1'].value)}" in page
    assert "ratewise was trained for f1" in page
    assert "logistic is judged by f1" in page


def test_the_difference_of_two_models_is_that_of_rows_drawn_again(two):
    one, other = two.models
    gap = difference(one, other)
    assert gap.value == pytest.approx(one.at()["f1"].value - other.at()["f1"].value)
    rng, positive, drawn = np.random.default_rng(0), one.rows.positive, []
    for _ in range(1000):
        rows = rng.integers(0, positive.size, positive.size)
        values = [one.measure.score(positive[rows], model.predicted[rows], pos_label=True) for model in two.models]
        drawn.append(values[0] - values[1])
    assert (gap.low, gap.high) == pytest.approx(np.percentile(drawn, [2.5, 97.5]), abs=0.01)


def test_a_model_and_itself_do_not_differ(models, rows):
    X, _, y = rows
    page = ratewise.report({"a": models["ratewise"], "b": models["ratewise"]}, X, y).html()
    assert "is 0.0000 above that of b" in page
    assert "do not show which of the two is better" in page


def test_a_name_cannot_end_or_hide_the_script_that_holds_it(rows, models):
    X, _, y = rows
    page = ratewise.report({"<!--<script></script>": models["ratewise"]}, X, y).html()
    assert (
        page.count("<script")
        == page.count("</script>")
        == ratewise.report(models["ratewise"], X, y).html().count("<script")
    )
    assert "<!--<script" not in page


def test_the_file_asks_for_nothing_from_elsewhere(two):
    page = two.html().replace("http://www.w3.org/2000/svg", "")
    assert "http" not in page.replace('http-equiv="Content-Security-Policy"', "")
    assert "default-src 'none'" in page


def test_the_group_that_is_worse_is_marked_and_a_small_one_is_not(models, rows):
    X, group, y = rows
    tiny = np.where(np.arange(y.size) < 8, "few", "many")
    groups = (
        ratewise.report(models["ratewise"], X, y, slices={"region": group, "tiny": tiny}).models[0].facts["groups"]
    )
    worse = [one["value"] for one in groups if one["worse"]]
    assert worse == ["south"]
    assert groups[0]["value"] == "south"


def test_numbers_are_grouped_by_quarters_and_rare_values_together():
    names, codes = grouped(np.append(np.arange(100.0), np.nan))
    assert names == ["at most 24.75", "24.75 to 49.5", "49.5 to 74.25", "above 74.25", "missing"]
    assert np.bincount(codes).tolist() == [25, 25, 25, 25, 1]
    names, codes = grouped(np.array([f"v{i % 30:02d}" for i in range(300)]))
    assert names[-1] == "all others"
    assert np.bincount(codes)[-1] == 180


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(StandardScaler(), SGDClassifier(random_state=0)),
        HistGradientBoostingClassifier(max_iter=5, random_state=0),
        CalibratedClassifierCV(SGDClassifier(random_state=0), cv=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_any_classifier_of_scikit_learn_has_a_report(model, rows):
    X, _, y = rows
    about = ratewise.report(model.fit(X, y), X, y, measure="gmean")
    kind = about.models[0].facts["influences"]["kind"]
    assert kind == ("coefficients" if hasattr(model, "steps") else "importances")
    assert about.models[0].facts["influences"]["rows"][0]["name"] == "age"
    assert "gmean" in about.html()


def test_the_influences_of_a_pipeline_have_the_names_of_its_columns(rows):
    X, _, y = rows
    model = make_pipeline(StandardScaler(), SGDClassifier(random_state=0)).fit(X, y)
    named = {one["name"] for one in ratewise.report(model, X, y).models[0].facts["influences"]["rows"]}
    assert named == {"age", "height", "noise"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Report.from_scores([0.1, 0.2], [1, 1]), "two classes"),
        (lambda: Report.from_scores([0.1, np.nan], [0, 1]), "not finite"),
        (lambda: Report.from_scores([0.1, 0.2], [0, 1], slices={"a": [1]}), "there are 2 rows"),
        (lambda: Report.from_estimators({}, [[1]], [1]), "no model"),
    ],
)
def test_what_cannot_be_reported_on_is_refused_in_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_an_unknown_column_to_slice_by_is_refused(models, rows):
    X, _, y = rows
    with pytest.raises(ValueError, match="no column 'region'"):
        ratewise.report(models["ratewise"], X, y, slices=["region"])


def test_the_decision_function_is_taken_where_predict_does_not_cut_the_probabilities(models, rows):
    X, _, y = rows

    class InSteps(ClassifierMixin, BaseEstimator):
        """Probabilities in two steps, which do not meet where the labels change."""

        def __init__(self, model):
            self.model = model
            self.classes_ = model.classes_

        def fit(self, X, y):
            return self

        def decision_function(self, X):
            return self.model.decision_function(X)

        def predict_proba(self, X):
            high = np.where(self.decision_function(X) > -0.5, 0.8, 0.1)
            return np.column_stack([1 - high, high])

        def predict(self, X):
            return self.model.predict(X)

    one = ratewise.report(InSteps(models["ratewise"]), X, y, measure="f1").models[0]
    assert (
        one.counts().by_name()
        == Counts.of_labels(y == "fraud", models["ratewise"].predict(X) == "fraud").by_name()
    )
    assert not one.probabilities


def test_a_forecast_that_does_not_hold_is_named(models, rows):
    X, _, y = rows
    model = copy.copy(models["ratewise"])
    model.rates_interval_ = namedtuple("Ends", "tpr tnr")((0.99, 1.0), (0.0, 1.0))
    page = ratewise.report(model, X, y).html()
    assert "(99.0% to 100.0%)" in page
    assert "The TPR here is lower than that by more than chance explains." in page


def test_a_model_card_holds_the_same_facts(models, rows):
    X, _, y = rows
    card = ratewise.model_card(models["ratewise"], X, y, description="Finds fraud.").render()
    one = ratewise.report(models["ratewise"], X, y).models[0]
    assert "Finds fraud." in card
    assert "It was trained for f1" in card
    assert shown(one.at()["f1"].low) in card
    assert " age " in card


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(two):
    shown_html = two._repr_html_()
    assert shown_html.startswith("<iframe")
    assert "&lt;!doctype html&gt;" in shown_html
    assert "save(path)" in repr(two)


def test_saving_writes_the_page_and_a_failed_write_leaves_nothing(two, tmp_path):
    two.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == two.html()
    with pytest.raises(OSError, match="missing"):
        two.save(tmp_path / "missing" / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.slow
def test_a_million_rows_make_a_small_file_in_seconds():
    rng = np.random.default_rng(0)
    y = rng.random(1_000_000) < 0.02
    X = rng.normal(size=(y.size, 10)).astype(np.float32) + 0.5 * y[:, None]
    model = ratewise.MeasureClassifier("f1", sharpen=False, random_state=0).fit(X[:50_000], y[:50_000])
    started = time.process_time()
    page = ratewise.report(model, X, y, slices={"half": X[:, 0] > 0}).html()
    assert time.process_time() - started < 10
    assert len(page) < 1_000_000


@pytest.mark.parametrize(
    ("number", "digits", "text"), [(0.03125, 4, "0.0313"), (-0.0, 4, "0.0000"), (12.25, 1, "12.3")]
)
def test_halves_are_rounded_as_a_browser_rounds_them(number, digits, text):
    assert shown(number, digits) == text


def test_names_cannot_break_or_script_a_model_card(rows):
    X, _, y = rows
    names = ["<img src=x onerror=alert(1)>", "a|b", "two\nlines"]
    y = np.where(y == "fraud", "</td><script>alert(2)</script>", "no")
    X = X.set_axis(names, axis=1)
    model = ratewise.MeasureClassifier("f1", pos_label=y[y != "no"][0], sharpen=False, random_state=0).fit(X, y)
    card = ratewise.model_card(model, X, y).render()
    assert "<script" not in card
    assert "<img" not in card
    assert "a&#124;b" in card
    assert "two lines" in card


def test_a_report_on_a_table_says_what_each_column_was_taken_for():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y = np.arange(200) % 3 == 0
    table = pd.DataFrame({"side": np.where(y, "left", rng.choice(["left", "right"], 200)), "x": np.arange(200.0)})
    model = ratewise.MeasureClassifier(encode="auto", sharpen=False, random_state=0).fit(table, y)
    about = ratewise.report(model, table, y)
    assert about.models[0].facts["columns"] == [
        {"raw_column": "side", "taken_for": "category", "columns": 2, "why": "2 different values"},
        {"raw_column": "x", "taken_for": "number", "columns": 1, "why": "its type"},
    ]
    assert '"taken_for": "category"' in about.html() or '"taken_for":"category"' in about.html()
