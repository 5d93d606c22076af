"""More than two classes from a stream: as in memory, window by window, and resumed to the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from ratewise import MeasureClassifier, load_model, open_stream, save_model
from ratewise.measures import confusion_measure
from ratewise.solvers import Stamp
from ratewise.streams import DataError
from ratewise.training import config


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        24_000,
        n_features=10,
        n_informative=6,
        n_redundant=0,
        n_classes=4,
        weights=[0.45, 0.3, 0.2, 0.05],
        class_sep=1.0,
        random_state=1,
    )
    return train_test_split(X.astype(np.float32), y, stratify=y, test_size=1 / 3, random_state=0)


@pytest.fixture
def windows_only(monkeypatch):
    """As if the rows took more than a sample."""
    monkeypatch.setattr(config, "IN_MEMORY_BYTES", 1 << 10)
    monkeypatch.setattr(config, "SAMPLE_BYTES", 1 << 17)


def streamed(X, y, weights=None, size=2_000):
    starts = range(0, y.size, size)
    parts = [(X[one : one + size], y[one : one + size]) for one in starts]
    if weights is not None:
        parts = [(*part, weights[one : one + size]) for part, one in zip(parts, starts, strict=True)]
    return open_stream(parts, window_rows=2_000)


@pytest.mark.parametrize("name", ["f1", "gmean", "min", "quadratic-kappa"])
def test_windows_do_about_as_well_as_rows_in_memory(name, data, windows_only):
    X_train, X_test, y_train, y_test = data
    memory = MeasureClassifier(name, random_state=0).fit(X_train, y_train)
    windows = MeasureClassifier(name, random_state=0).fit_stream(streamed(X_train, y_train))
    # So few rows are learned from all at once in memory, and pass by pass from a stream.
    assert windows.score(X_test, y_test) > memory.score(X_test, y_test) - 0.04
    assert windows.measure_ == confusion_measure(name)
    assert windows.measure_.value(windows.confusion_) == pytest.approx(windows.score(X_test, y_test), abs=0.04)
    assert windows.survey_.rows == y_train.size
    assert windows.predict_proba(X_test).sum(axis=1) == pytest.approx(1.0)


def test_few_rows_are_fitted_as_in_memory(data):
    X, y = data[0][:1_000], data[2][:1_000]
    from_stream = MeasureClassifier(random_state=0).fit_stream(streamed(X, y))
    memory = MeasureClassifier(random_state=0).fit(X, y)
    assert from_stream.score(X, y) == pytest.approx(memory.score(X, y), abs=0.03)
    assert from_stream.stages_


@pytest.mark.parametrize("parameters", [{"sharpen": False}, {"solver": Stamp(passes=2)}, {"basis": "splines"}])
def test_other_ways_to_learn_work_too(parameters, data, windows_only):
    X_train, X_test, y_train, y_test = data
    classifier = MeasureClassifier("f1", random_state=0, **parameters).fit_stream(streamed(X_train, y_train))
    assert classifier.score(X_test, y_test) > 0.45


def test_sparse_rows_and_texts_for_labels(data, windows_only):
    X_train, X_test, y_train, y_test = data
    names = np.array(["ape", "bee", "cat", "dog"])
    kept = [X_train * (np.abs(X_train) > 0.5), X_test * (np.abs(X_test) > 0.5)]
    parts = [sparse.csr_matrix(one) for one in kept]
    classifier = MeasureClassifier("f1", random_state=0).fit_stream(streamed(parts[0], names[y_train]))
    assert classifier.classes_.tolist() == names.tolist()
    assert classifier.score(parts[1], names[y_test]) > 0.45


def test_a_class_that_weighs_more_is_predicted_more_often(data, windows_only):
    X_train, X_test, y_train, _ = data
    plain, heavy = (
        MeasureClassifier("f1", random_state=0).fit_stream(streamed(X_train, y_train, weights)).predict(X_test)
        for weights in (None, np.where(y_train == 3, 20.0, 1.0))
    )
    assert (heavy == 3).sum() > (plain == 3).sum()


def test_a_class_without_weight_is_refused(data, windows_only):
    X_train, _, y_train, _ = data
    for rows in (500, y_train.size):
        stream = streamed(X_train[:rows], y_train[:rows], 1.0 * (y_train != 2)[:rows])
        with pytest.raises(ValueError, match="All rows of class 2 have sample_weight 0"):
            MeasureClassifier().fit_stream(stream)


def test_what_many_classes_do_not_take_is_refused(data, windows_only):
    stream = streamed(data[0], data[2])
    with pytest.raises(ValueError, match="pos_label=1 is for two classes"):
        MeasureClassifier(pos_label=1).fit_stream(stream)
    with pytest.raises(ValueError, match="basis='auto' chooses for two classes"):
        MeasureClassifier(basis="auto").fit_stream(stream)
    with pytest.raises(DataError, match="are not classes: there are fractions"):
        MeasureClassifier().fit_stream(streamed(data[0], data[2] / 4.0))


def test_a_fit_that_is_stopped_and_resumed_comes_to_the_same_bits(data, windows_only, tmp_path):
    X_train, _, y_train, _ = data

    def fit(kept, progress=None):
        return MeasureClassifier("gmean", random_state=0).fit_stream(
            streamed(X_train, y_train), 1, checkpoint=kept, checkpoint_every=2_000, progress=progress
        )

    stops = 0
    while True:
        left = [11]

        def stop(report, left=left):
            left[0] -= report["stage"] != "survey"
            if left[0] == 0:
                raise KeyboardInterrupt

        try:
            resumed = fit(tmp_path / "kept", stop)
            break
        except KeyboardInterrupt:
            stops += 1
            assert stops < 50, "a resumed fit does not get further"
    whole = fit(tmp_path / "whole")
    assert stops > 3
    np.testing.assert_array_equal(resumed.coef_, whole.coef_)
    np.testing.assert_array_equal(resumed.confusion_, whole.confusion_)


def test_the_model_is_saved_and_loaded(data, windows_only, tmp_path):
    X_train, X_test, y_train, _ = data
    classifier = MeasureClassifier("worst-recall", random_state=0).fit_stream(streamed(X_train, y_train))
    save_model(classifier, tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops")
    np.testing.assert_array_equal(loaded.predict(X_test), classifier.predict(X_test))
    np.testing.assert_array_equal(loaded.confusion_, classifier.confusion_)
    assert loaded.measure_ == classifier.measure_
