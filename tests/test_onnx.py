"""ONNX graphs say what the models say, row by row."""

from __future__ import annotations

import io
import json
import os
import sys

import numpy as np
import onnxruntime
import pandas as pd
import pytest
import skl2onnx
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ratewise import MeasureClassifier, MeasureMaximizer, __version__, export_onnx
from ratewise.onnx import register_converter

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # skl2onnx and onnx have their own


def rows(n=400, labels=(0, 1), columns=5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, columns))
    return X, np.array(labels)[(X[:, 0] + 0.3 * rng.normal(size=n) > 0.4).astype(int)]


def fitted(X, y, **parameters):
    return MeasureClassifier("f1", sharpen=False, random_state=0, **parameters).fit(X, y)


def session_of(classifier):
    buffer = io.BytesIO()
    export_onnx(classifier, buffer)
    return session_from(buffer.getvalue())


def session_from(content):
    return onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize(
    "labels",
    [
        (0, 1),
        (-7, 10**12),
        np.array([3, 4], dtype=np.uint8),
        (False, True),
        (-1.0, 1.0),
        ("ham", "späm"),
        np.array(["no", "yes"], dtype=object),
        np.array([1, 2], dtype=object),
    ],
    ids=["ints", "long ints", "bytes", "bools", "floats", "texts", "objects", "ints as objects"],
)
def test_labels_and_scores_agree_on_every_row(labels):
    X, y = rows(labels=labels)
    if y.dtype == object and not isinstance(y[0], str):
        classifier = fitted(X, y.astype(int))
        classifier.classes_ = np.array(labels, dtype=object)
    else:
        classifier = fitted(X, y)
    more, _ = rows(20_000)
    predicted, scores = session_of(classifier).run(["label", "score"], {"X": more})
    assert predicted.shape == scores.shape == (20_000,)
    assert np.array_equal(predicted, classifier.predict(more))
    assert predicted[0] in list(labels)
    np.testing.assert_allclose(scores, classifier.decision_function(more), rtol=1e-12, atol=1e-12)


def test_labels_agree_within_a_hair_of_the_boundary():
    X, y = rows()
    classifier = fitted(X, y)
    direction = classifier.coef_[0] / (classifier.coef_[0] @ classifier.coef_[0])
    on_it = X - np.outer(classifier.decision_function(X), direction)
    distances = np.repeat([-1e-9, 1e-9], len(X))  # no single-precision score could tell them apart
    near = np.vstack([on_it, on_it]) + np.outer(distances, direction)
    predicted, *_ = session_of(classifier).run(None, {"X": near})
    assert np.array_equal(predicted, classifier.predict(near))
    assert np.array_equal(predicted, (distances > 0).astype(int))


def test_a_score_of_exactly_zero_is_the_first_class_in_both():
    X, y = rows(columns=2)
    classifier = fitted(X, y)
    classifier.coef_, classifier.intercept_ = np.array([[1.0, -2.0]]), np.array([0.5])
    ties = np.array([[0.5, 0.5], [1.5, 1.0], [-0.5, 0.0]])
    predicted, scores, _ = session_of(classifier).run(None, {"X": ties})
    assert scores.tolist() == [0.0, 0.0, 0.0]
    assert predicted.tolist() == classifier.predict(ties).tolist() == [0, 0, 0]


def test_the_positive_class_may_be_the_first():
    X, y = rows(labels=("a", "b"))
    classifier = fitted(X, y, pos_label="a")
    predicted, *_ = session_of(classifier).run(None, {"X": X})
    assert np.array_equal(predicted, classifier.predict(X))


@pytest.mark.parametrize("labels", [(0, 1, 2), ("ape", "bee", "cat")], ids=["ints", "texts"])
def test_many_classes_agree_on_every_row(labels):
    X, _ = rows()
    y = np.array(labels)[(X[:, 0] > 0.5).astype(int) + (X[:, 1] > 0.2)]
    classifier = fitted(X, y)
    more, _ = rows(5_000)
    predicted, scores = session_of(classifier).run(["label", "score"], {"X": more})
    assert np.array_equal(predicted, classifier.predict(more))
    np.testing.assert_allclose(scores, classifier.decision_function(more), rtol=1e-12, atol=1e-12)


def test_several_labels_are_refused():
    X, y = rows()
    with pytest.raises(ValueError, match="several labels cannot be exported"):
        export_onnx(fitted(X, np.column_stack([y, 1 - y])), io.BytesIO())


def test_a_pipeline_converts_in_single_and_double_precision():
    X, y = rows(labels=("no", "yes"))
    pipeline = make_pipeline(StandardScaler(), fitted(X, y)).fit(X, y)
    register_converter()
    for kind, width in (("Double", np.float64), ("Float", np.float32)):
        tensor = getattr(skl2onnx.common.data_types, f"{kind}TensorType")
        graph = skl2onnx.convert_sklearn(pipeline, initial_types=[("X", tensor([None, X.shape[1]]))])
        label, score, _ = session_from(graph.SerializeToString()).run(None, {"X": X.astype(width)})
        assert np.array_equal(label, pipeline.predict(X))
        np.testing.assert_allclose(score, pipeline.decision_function(X), atol=1e-4)


def test_the_file_tells_what_it_is(tmp_path):
    X, y = rows(columns=2)
    classifier = fitted(pd.DataFrame(X, columns=["age", "height"]), y)
    export_onnx(classifier, tmp_path / "model.onnx")
    session = session_from((tmp_path / "model.onnx").read_bytes())
    metadata = session.get_modelmeta().custom_metadata_map
    assert json.loads(metadata["feature_names"]) == ["age", "height"]
    assert metadata["ratewise_version"] == __version__
    assert metadata["measure"] == "FBeta(beta=1.0)"
    assert [one.type for one in session.get_inputs()] == ["tensor(double)"]
    assert os.listdir(tmp_path) == ["model.onnx"]


def test_an_unfitted_classifier_is_refused(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        export_onnx(MeasureClassifier(), tmp_path / "model.onnx")
    assert os.listdir(tmp_path) == []


def test_missing_skl2onnx_gives_the_pip_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "ratewise\[onnx\]"'):
        export_onnx(fitted(*rows()), io.BytesIO())


@pytest.mark.parametrize("positive", ["a", "b"])
def test_probabilities_agree_on_every_row(positive):
    X, y = rows(labels=("a", "b"))
    classifier = fitted(X, y, pos_label=positive)
    line, curve = [[1.5, -0.3]], [[1.5, -0.3, -1.0, -1.2, 0.5, 2.0]]
    for calibration in (classifier.calibration_, np.array(line), np.array(curve)):
        classifier.calibration_ = calibration
        found = session_of(classifier).run(["probability"], {"X": X})[0]
        np.testing.assert_allclose(found, classifier.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_probabilities_of_many_classes_agree_too():
    X, _ = rows()
    classifier = fitted(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    found = session_of(classifier).run(["probability"], {"X": X})[0]
    np.testing.assert_allclose(found, classifier.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_a_model_that_knows_no_probabilities_has_no_such_output():
    X, y = rows()
    classifier = fitted(X, y)
    del classifier.calibration_
    assert [one.name for one in session_of(classifier).get_outputs()] == ["label", "score"]


def test_gaps_are_filled_in_the_graph_as_the_model_fills_them():
    X, y = rows()
    table = pd.DataFrame(X, columns=list("abcde")).assign(e=np.where(np.arange(400) % 3, X[:, 4], np.nan))
    for given in (table, table.to_numpy()):
        classifier = fitted(given, y, encode="auto")
        predicted, scores = session_of(classifier).run(["label", "score"], {"X": table.to_numpy()})
        assert np.array_equal(predicted, classifier.predict(given))
        np.testing.assert_allclose(scores, classifier.decision_function(given), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_predict_refuses_ends_a_run_of_the_graph_with_an_error(value):
    X, y = rows()
    session = session_of(fitted(X, y))
    X[7, 2] = value
    with pytest.raises(Exception, match="X_contains_NaN_or_infinity"):
        session.run(["score"], {"X": X})


@pytest.mark.parametrize("positive", ["a", "b"])
@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), RidgeClassifier(), GaussianNB(), make_pipeline(StandardScaler(), LogisticRegression())],
    ids=["decision_function", "one row of coefficients", "probabilities", "pipeline"],
)
def test_a_maximizer_and_a_pipeline_with_one_agree_on_every_row(estimator, positive):
    X, y = rows(labels=("a", "b"))
    maximizer = MeasureMaximizer(estimator, "f1", cv=2, rounds=1, pos_label=positive)
    more, _ = rows(5_000)
    for model in (maximizer.fit(X, y), make_pipeline(StandardScaler(), maximizer).fit(X, y)):
        predicted, scores = session_of(model).run(["label", "score"], {"X": more})
        assert np.array_equal(predicted, model.predict(more))
        np.testing.assert_allclose(scores, model.decision_function(more), rtol=1e-5, atol=1e-6)


def test_a_pipeline_with_an_imputer_takes_floats_and_fills_gaps():
    X, y = rows()
    X[::3, 4] = np.nan
    pipeline = make_pipeline(SimpleImputer(), fitted(np.nan_to_num(X), y)).fit(X, y)
    predicted, scores = session_of(pipeline).run(["label", "score"], {"X": X.astype(np.float32)})
    assert np.mean(predicted == pipeline.predict(X)) > 0.99
    np.testing.assert_allclose(scores, pipeline.decision_function(X), atol=1e-4)


def test_what_cannot_be_exported_is_said_in_one_sentence(tmp_path):
    X, y = rows()
    boosting = MeasureMaximizer(HistGradientBoostingClassifier(max_iter=3), "f1", cv=2).fit(X, y)
    by_name = make_column_transformer((StandardScaler(), ["a"]))
    table = make_pipeline(by_name, fitted(X, y)).fit(pd.DataFrame(X, columns=list("abcde")), y)
    refused = {
        "cannot be exported to ONNX: HistGradientBoostingClassifier votes by some of its trees": boosting,
        "This MeasureMaximizer cannot be exported to ONNX: SVC has scores that are not linear": MeasureMaximizer(
            SVC(), "f1", cv=2
        ).fit(X, y),
        "This Pipeline cannot be exported to ONNX: ": table,
        "ends in one of them; got LogisticRegression": LogisticRegression().fit(X, y),
    }
    for words, model in refused.items():
        with pytest.raises(ValueError, match=words):
            export_onnx(model, tmp_path / "model.onnx")
    assert os.listdir(tmp_path) == []
