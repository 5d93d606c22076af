"""Contributions of columns and pairs: they sum to the score of the positive class, whatever the columns were."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from ratewise import MeasureClassifier, load_model, save_model


def people(rows=600, seed=0):
    """Numbers, a category, a date and a truth value; risk falls on both sides of 50, "red" is worse."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.uniform(18, 80, rows),
            "color": rng.choice(["red", "blue", "green"], rows),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.uniform(0, 365, rows), unit="D"),
            "member": rng.random(rows) < 0.4,
        }
    )
    risk = 1.5 * (table["color"] == "red") - ((table["age"] - 50) / 15) ** 2
    return table, np.where(risk + 0.3 * rng.normal(size=rows) > 0.5, "bad", "fine")


def towards(classifier, X):
    """The decision function, turned towards the positive class."""
    sign = -1.0 if classifier.pos_label == "bad" else 1.0
    return sign * classifier.decision_function(X)


@pytest.mark.parametrize("basis", [None, "splines", "pairs"])
@pytest.mark.parametrize("pos_label", ["bad", "fine"])
def test_contributions_of_a_table_sum_to_the_score_of_the_positive_class(basis, pos_label):
    X, y = people()
    classifier = MeasureClassifier("f1", encode="auto", basis=basis, pos_label=pos_label, random_state=0).fit(X, y)
    found = classifier.explain(X)
    assert found.names[:4] == ["age", "color", "when", "member"]
    assert found.contributions.shape == (len(X), len(found.names))
    np.testing.assert_allclose(found.scores, towards(classifier, X), rtol=0, atol=1e-9)
    predicted = np.where(found.scores > 0, pos_label, "fine" if pos_label == "bad" else "bad")
    assert (predicted == classifier.predict(X)).all()


def test_a_contribution_depends_on_its_columns_alone():
    X, y = people()
    classifier = MeasureClassifier("f1", encode="auto", basis="pairs", random_state=0).fit(X, y)
    other = X.assign(age=X["age"].to_numpy()[::-1])
    before, after = classifier.explain(X), classifier.explain(other)
    moved = np.abs(before.contributions - after.contributions).max(axis=0) > 1e-9
    assert "age * color" in before.names
    assert [name for name, one in zip(before.names, moved, strict=True) if one and "age" not in name] == []
    assert moved[before.names.index("age")]


@pytest.mark.parametrize("basis", [None, "splines"])
def test_contributions_are_counted_from_the_mean(basis):
    X, y = people()
    numbers = X[["age"]].assign(double=2 * X["age"] + np.sin(X["age"]))
    classifier = MeasureClassifier("f1", basis=basis, pos_label="bad", random_state=0).fit(numbers, y)
    found = classifier.explain(numbers)
    np.testing.assert_allclose(found.contributions.mean(axis=0), 0.0, atol=1e-5)
    assert found.base == pytest.approx(found.scores.mean(), abs=1e-5)
    name, largest = found.largest(row=7, number=1)[0]
    assert abs(largest) == np.abs(found.contributions[7]).max()
    assert found.contributions[7, found.names.index(name)] == largest


def test_missing_values_and_columns_without_names():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = X[:, 0] > 0.5
    X[rng.random(500) < 0.2, 0] = np.nan
    classifier = MeasureClassifier("f1", basis="splines", random_state=0).fit(X, y)
    found = classifier.explain(X)
    assert found.names == ["x0", "x1", "x2"]
    np.testing.assert_allclose(found.scores, classifier.decision_function(X), rtol=0, atol=1e-9)
    missing = np.isnan(X[:, 0])
    assert np.ptp(found.contributions[missing, 0]) == 0.0


def test_sparse_rows_keep_their_zeros():
    rng = np.random.default_rng(0)
    X = sparse.random_array((400, 50), density=0.1, format="csr", rng=rng)
    y = np.asarray(X.sum(axis=1)).ravel() > 2.4
    classifier = MeasureClassifier("f1", sharpen=False, random_state=0).fit(X, y)
    found = classifier.explain(X)
    assert sparse.issparse(found.contributions)
    assert found.contributions.nnz <= X.nnz
    np.testing.assert_allclose(found.scores, classifier.decision_function(X), rtol=0, atol=1e-9)
    assert len(found.largest(row=3, number=2)) == 2


@pytest.mark.parametrize("basis", [None, "splines"])
def test_of_many_classes_there_are_contributions_to_each(basis):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=400), [-0.5, 0.5])
    classifier = MeasureClassifier("f1", basis=basis, sharpen=False, random_state=0).fit(X, y)
    found = classifier.explain(X)
    assert found.contributions.shape == (400, 3, 3)
    np.testing.assert_allclose(found.scores, classifier.decision_function(X), rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match="two classes"):
        found.largest()


@pytest.mark.parametrize("basis", [None, "splines"])
def test_a_model_file_explains_as_the_model_does(basis):
    X, y = people()
    classifier = MeasureClassifier("f1", encode="auto", basis=basis, sharpen=False, random_state=0).fit(X, y)
    file = io.BytesIO()
    save_model(classifier, file)
    file.seek(0)
    loaded = load_model(file)
    np.testing.assert_array_equal(loaded.explain(X).contributions, classifier.explain(X).contributions)


def test_rows_that_do_not_fit_are_refused_in_a_sentence():
    X, y = people()
    classifier = MeasureClassifier("f1", encode="auto", sharpen=False, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="color"):
        classifier.explain(X.drop(columns="color"))
