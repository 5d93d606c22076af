"""The shapes of a report in a real browser: its score of any row is the model's, and values can be changed."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import ratewise
from ratewise import MeasureClassifier

SCORES = """
const shapes = ratewise.data.models[0].shapes;
return arguments[0].map((row) => {
  const values = shapes.columns.map(({ labels, name }) => labels ? labels.indexOf(row[name]) : row[name]);
  const { score } = ratewise.Shapes.scoreOf(shapes, values);
  return [score, ratewise.Shapes.probabilityOf(shapes.calibration, score)];
});
"""


def people(rows, seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.uniform(18, 80, rows),
            "income": rng.lognormal(10, 0.4, rows),
            "color": rng.choice(["red", "blue", "green"], rows),
        }
    )
    age, income = (table["age"] - 50) / 15, (np.log(table["income"]) - 10) / 0.4
    risk = 1.2 * (table["color"] == "red") - age**2 + age * income
    return table, np.where(risk + 0.3 * rng.normal(size=rows) > 0.3, "bad", "fine")


@pytest.fixture(scope="module", params=[None, "pairs"], ids=["plain", "pairs"])
def model(request):
    settings = {"encode": "auto", "basis": request.param, "pos_label": "bad", "random_state": 0}
    return MeasureClassifier("f1", **settings).fit(*people(900, 0))


def shapes_in(report):
    data = re.search(r'id="data">(.*?)</script>', report.html(), flags=re.DOTALL)
    return [one["shapes"] for one in json.loads(data[1])["models"]]


def test_a_report_has_the_shapes_of_our_models_and_not_of_others(model):
    X, y = people(600, 1)
    numbers = X[["age", "income"]]
    models = {
        "ratewise": MeasureClassifier("f1", sharpen=False, random_state=0).fit(numbers, y),
        "logistic": LogisticRegression(max_iter=500).fit(numbers / [50, 20_000], y),
    }
    mine, other = shapes_in(ratewise.report(models, numbers, y))
    assert [one["name"] for one in mine["columns"]] in (["age", "income"], ["income", "age"])
    assert other is None
    one = ratewise.report(model, X, y)
    assert len(one.html()) < 200_000
    assert "95%" in shapes_in(one)[0]["note"]


def test_the_largest_coefficients_are_named(model):
    X, y = people(600, 1)
    names = [one["name"] for one in ratewise.report(model, X, y).models[0].facts["influences"]["rows"]]
    assert set(names) <= set(model.get_feature_names_out())


@pytest.fixture
def page(browser, model, tmp_path):
    X, y = people(600, 1)
    ratewise.report(model, X, y).save(tmp_path / "shapes.html")
    browser.open(tmp_path / "shapes.html")
    yield browser
    assert browser.errors() == []


@pytest.mark.slow
def test_the_page_scores_every_row_as_the_model_does(page, model):
    X, _ = people(50, 2)
    X.loc[0, ["age", "income"]] = [-500.0, 1e7]  # far outside
    found = np.array(page.run(SCORES, X.to_dict(orient="records")))
    expected = model.explain(X).scores
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found[:, 1], model.predict_proba(X)[:, 0], atol=1e-3)


@pytest.mark.slow
def test_a_changed_value_changes_the_score_and_a_button_takes_it_back(page, model):
    before, place = page.text("#row-score"), page.run(
        "return ratewise.data.models[0].shapes.columns.findIndex((one) => one.name === 'age')"
    )  # fmt: skip
    page.run("document.getElementById(arguments[0]).value = ''", f"value-{place}")
    page.press(f"#value-{place}", "50")
    values = page.run("""
        const { columns } = ratewise.data.models[0].shapes, row = ratewise.state.row;
        return Object.fromEntries(columns.map(({ labels, name }, i) => [name, labels ? labels[row[i]] : row[i]]));
    """)
    assert values["age"] == 50
    score = float(model.explain(pd.DataFrame([values])).scores[0])
    told = page.text("#row-score")
    assert told != before
    assert float(re.search(r"Score (-?[\d.]+)", told)[1]) == pytest.approx(score, abs=2e-3)
    assert f"predicted {'bad' if score > 0 else 'fine'}" in told
    page.click("#row-typical")
    assert page.text("#row-score") == before


@pytest.mark.slow
def test_pointing_at_a_curve_tells_its_value(page):
    page.run("""
        const svg = document.querySelector("#shapes .panel svg"), area = svg.getBoundingClientRect();
        svg.dispatchEvent(new PointerEvent("pointermove", {clientX: area.left + area.width / 2,
                                                           clientY: area.top + area.height / 2}));""")
    number = r"[+\N{MINUS SIGN}][\d.e-]+"
    reading = rf"\S+: {number} \({number} to {number}\)"
    assert re.fullmatch(reading, page.text("#shapes .panel .reading").strip())


@pytest.mark.slow
@pytest.mark.parametrize("width", [420, 1200])
def test_nothing_is_wider_than_the_window(page, width):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page._call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": size})
    page.settle()
    assert page.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    page._call("POST", "/goog/cdp/execute", {"cmd": "Emulation.clearDeviceMetricsOverride", "params": {}})


@pytest.mark.slow
def test_a_missing_value_is_an_empty_field(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=800) > 0.5
    X[(rng.random(800) < 0.3) & y, 0] = np.nan
    model = MeasureClassifier("f1", basis="splines", random_state=0).fit(X, y)
    ratewise.report(model, X, y).save(tmp_path / "missing.html")
    browser.open(tmp_path / "missing.html")
    found = browser.run(SCORES, [{"x0": None, "x1": 0.5}, {"x0": 0.1, "x1": -0.5}])
    expected = model.decision_function([[np.nan, 0.5], [0.1, -0.5]])
    assert [one for one, _ in found] == pytest.approx(expected, abs=1e-4)
    assert browser.errors() == []
