"""Shapes: curves that are the model's own, with the data's density, a band and heat maps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ratewise import MeasureClassifier
from ratewise.plots import shapes


def people(rows=1200, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.uniform(18, 80, rows),
            "income": rng.lognormal(10, 0.4, rows),
            "color": rng.choice(["red", "blue", "green"], rows),
            "member": rng.random(rows) < 0.4,
            "noise": rng.normal(size=rows),
        }
    )
    age, income = (table["age"] - 50) / 15, (np.log(table["income"]) - 10) / 0.4
    risk = 1.2 * (table["color"] == "red") - age**2 + age * income
    return table, np.where(risk + 0.3 * rng.normal(size=rows) > 0.3, "bad", "fine")


@pytest.fixture(scope="module")
def table():
    return people()


@pytest.fixture(scope="module")
def fitted(table):
    X, y = table
    settings = {"encode": "auto", "pos_label": "bad", "random_state": 0}
    return {basis: MeasureClassifier("f1", basis=basis, **settings).fit(X, y) for basis in (None, "pairs")}


def curve_of(display, name):
    return next(one for one in display.curves if one.name == name)


@pytest.mark.parametrize("basis", [None, "pairs"])
def test_a_curve_is_what_explain_says_of_each_row(fitted, table, basis):
    X, _ = table
    display, found = shapes(fitted[basis], X, most=50), fitted[basis].explain(X)
    for name in ("age", "income"):
        curve, mine = curve_of(display, name), found.contributions[:, found.names.index(name)]
        inside = X[name].between(curve.points[0], curve.points[-1]).to_numpy()
        drawn = np.interp(X[name], curve.points, curve.values)
        np.testing.assert_allclose(drawn[inside], mine[inside], atol=1e-6)
        assert inside.mean() > 0.95
    colors = curve_of(display, "color")
    for label, value in zip(colors.labels, colors.values, strict=True):
        rows = (X["color"] == label).to_numpy()
        np.testing.assert_allclose(found.contributions[rows, found.names.index("color")], value, atol=1e-6)


def test_a_heat_map_is_what_explain_says_of_a_pair(fitted, table):
    X, _ = table
    display = shapes(fitted["pairs"], X, most=50)
    pair = next(one for one in display.pairs if one.name == "age * income")
    rows = pd.DataFrame(
        {"age": np.tile(pair.first.points, len(pair.second.points)),
         "income": np.repeat(pair.second.points, len(pair.first.points))}
    ).assign(color="red", member=True, noise=0.0)  # fmt: skip
    found = fitted["pairs"].explain(rows)
    expected = found.contributions[:, found.names.index("age * income")]
    np.testing.assert_allclose(pair.values.ravel(), expected, atol=1e-6)


def test_the_most_important_come_first_and_what_tells_nothing_comes_last(fitted, table):
    display = shapes(fitted["pairs"], table[0], most=50)
    sizes = [one.importance for one in display.curves]
    assert sizes == sorted(sizes, reverse=True)
    assert display.curves[0].name == "age"
    assert display.pairs[0].name == "age * income"
    assert shapes(fitted["pairs"], table[0], most=3).axes_.keys() <= display.axes_.keys()
    assert len(shapes(fitted["pairs"], table[0], most=3).axes_) == 3


def test_without_rows_there_are_a_density_of_quantiles_and_no_band(fitted, table):
    X, _ = table
    known, kept = shapes(fitted["pairs"], X, columns="age"), shapes(fitted["pairs"], columns="age")
    assert list(kept.axes_) == list(known.axes_) == ["age"]
    assert known.curves[0].deviations is not None
    assert kept.curves[0].deviations is None
    assert "Give rows (X) for a band" in kept.note
    (edges, shares), (known_edges, known_shares) = kept.curves[0].density(8), known.curves[0].density(8)
    np.testing.assert_allclose(edges, known_edges, rtol=1e-6)
    np.testing.assert_allclose(shares, known_shares, atol=0.02)


def test_a_plain_model_without_rows_says_what_is_missing(fitted):
    display = shapes(fitted[None])
    assert curve_of(display, "age").density() is None
    assert "keeps no quantiles" in display.note
    assert display.figure_.get_supxlabel() == display.note


def test_the_band_narrows_with_the_rows_of_the_fit_not_with_those_drawn():
    X, y = people(4000)
    X = X[["age", "noise"]]
    few = MeasureClassifier("f1", basis="splines", random_state=0).fit(X[:500], y[:500])
    many = MeasureClassifier("f1", basis=few.basis_, random_state=0).fit(X, y)

    def width(model, rows):
        curve = curve_of(shapes(model, rows), "noise")
        slope = model.explain(X).contributions.std()  # scores have a scale of their own
        return float(np.median(curve.deviations) / slope)

    assert width(few, X[:400]) == pytest.approx(width(few, X), rel=0.2)
    assert 1.5 < width(few, X) / width(many, X) < 6.0


def test_missing_values_have_a_mark_of_their_own():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=800) > 0.5
    X[(rng.random(800) < 0.3) & y, 0] = np.nan
    model = MeasureClassifier("f1", basis="splines", random_state=0).fit(X, y)
    curve = curve_of(shapes(model, X), "x0")
    assert curve.missing == pytest.approx(model.explain([[np.nan, 0.0]]).contributions[0, 0])
    assert curve_of(shapes(model, X), "x1").missing is None


def test_pipelines_dates_and_classes():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(500, 2)), columns=["age", "height"])
    y = (X["age"] > 0.5).to_numpy()
    pipeline = make_pipeline(StandardScaler(), MeasureClassifier("f1", sharpen=False, random_state=0)).fit(X, y)
    assert set(shapes(pipeline, X).axes_) == {"age", "height"}

    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.uniform(0, 365, 500), unit="D")
    dated = MeasureClassifier("f1", encode="auto", sharpen=False, random_state=0)
    dated.fit(X.assign(when=when), (when.hour > 12) & y)
    assert "when: hour of the day" in shapes(dated).axes_

    classes = MeasureClassifier("f1", sharpen=False, random_state=0).fit(X, np.digitize(X["age"], [-0.5, 0.5]))
    rising = curve_of(shapes(classes, X, label=2), "age")
    assert rising.values[0] < 0 < rising.values[-1]
    with pytest.raises(ValueError, match="label must be one of"):
        shapes(classes, X)


def test_what_cannot_be_drawn_is_refused_in_a_sentence(fitted, table):
    X, y = table
    with pytest.raises(ValueError, match="LogisticRegression is not a MeasureClassifier"):
        shapes(LogisticRegression().fit(X[["age"]], y))
    with pytest.raises(ValueError, match="no column 'agee'"):
        shapes(fitted[None], columns=["agee"])
    with pytest.raises(ValueError, match="most must be"):
        shapes(fitted[None], most=0)
    with pytest.raises(ValueError, match="label is for more than two classes"):
        shapes(fitted[None], label="bad")


def test_of_many_sparse_columns_some_can_be_drawn():
    rng = np.random.default_rng(0)
    X = sparse.random_array((300, 5_000), density=0.01, format="csr", rng=rng)
    y = np.ravel(X[:, :100].sum(axis=1)) > 0.5
    model = MeasureClassifier("f1", sharpen=False, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="5,000 columns: name those to draw"):
        shapes(model, X)
    display = shapes(model, X, columns=["x3", "x7"])
    assert set(display.axes_) == {"x3", "x7"}
    assert "No band" in display.note


def test_a_truth_value_may_be_missing_and_gaps_of_a_date_are_not_dates():
    rng = np.random.default_rng(0)
    hours = pd.Series(pd.Timestamp("2024-01-01 00:30") + pd.to_timedelta(np.arange(600) % 24, unit="h"))
    gone = rng.random(600) < 0.2
    asked = pd.array(np.where(gone, None, rng.random(600) < 0.5), dtype="boolean")
    table = pd.DataFrame({"asked": asked, "when": hours.mask(rng.random(600) < 0.2)})
    y = gone ^ (rng.random(600) < 0.1)
    model = MeasureClassifier("f1", basis="splines", encode="auto", random_state=0).fit(table, y)
    display = shapes(model, table)
    curve = curve_of(display, "asked")
    assert curve.labels == ["no", "yes", "missing"]
    assert curve.missing is None
    assert curve.axis.shares == pytest.approx(
        [1.0 - gone.mean() - asked.sum() / 600, asked.sum() / 600, gone.mean()]
    )
    explained = model.explain(table[gone][:1])
    assert curve.values[2] == pytest.approx(explained.contributions[0, explained.names.index("asked")])
    _, shares = curve_of(display, "when: hour of the day").density(24)
    assert shares == pytest.approx(np.full(24, 1 / 24), abs=0.02)
    named = {curve.name: [text for _, text in curve.axis.ticks] for curve in display.curves}
    assert named["when: hour of the day"] == ["0", "6", "12", "18", "24"]
    assert named["asked"] == []


def test_days_are_named_by_their_dates_and_names_below_a_panel_do_not_overlap():
    rng = np.random.default_rng(0)
    days = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(600), unit="D"))
    table = pd.DataFrame({"when": days, "town": rng.choice([f"a long name {k}" for k in range(6)], 600)})
    y = (np.arange(600) > 400) ^ (table["town"] == "a long name 2") ^ (rng.random(600) < 0.05)
    model = MeasureClassifier("f1", basis="pairs", encode="auto", random_state=0).fit(table, y)
    display = shapes(model, table)
    (elapsed,) = (curve for curve in display.curves if "in days since" in curve.name)
    ticks = {text: value for value, text in elapsed.axis.ticks}
    assert ticks["2024-01-01"] == 0.0
    assert all(pd.Timestamp(text) - days[0] == pd.Timedelta(days=value) for text, value in ticks.items())
    shown = display.density_axes_["town"].get_xticklabels()
    assert all(label.get_rotation() > 0 for label in shown)
