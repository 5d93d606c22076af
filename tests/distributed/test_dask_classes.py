"""More than two classes on Dask: as in memory, however rows are spread."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification

from ratewise import MeasureClassifier
from ratewise.distributed import DaskMeasureClassifier
from ratewise.measures import confusion_measure
from ratewise.training import config

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        9_000,
        n_features=8,
        n_informative=5,
        n_classes=4,
        weights=[0.45, 0.3, 0.2, 0.05],
        random_state=1,
    )
    X = X.astype(np.float32)
    return X[:6_000], X[6_000:], y[:6_000], y[6_000:]


@pytest.fixture
def on_shards(monkeypatch):
    """As if the rows were too many to be gathered or sampled whole."""
    monkeypatch.setattr(config, "IN_MEMORY_BYTES", 1 << 10)
    monkeypatch.setattr(config, "CODED_SAMPLE_ROWS", 4_000)


def spread(X, y):
    return da.from_array(X, chunks=(1_500, -1)), da.from_array(y, chunks=1_500)


@pytest.mark.parametrize("name", ["f1", "gmean"])
@pytest.mark.parametrize("by_class", [False, True])
def test_shards_do_as_well_as_rows_in_memory(name, by_class, data, on_shards):
    X_train, X_test, y_train, y_test = data
    order = np.argsort(y_train, kind="stable") if by_class else np.arange(y_train.size)
    memory = MeasureClassifier(name, random_state=0).fit(X_train, y_train)
    cluster = DaskMeasureClassifier(name, random_state=0).fit(*spread(X_train[order], y_train[order]))
    assert cluster.merging_ == "gradients"
    assert cluster.measure_ == confusion_measure(name)
    assert (
        cluster.score(X_test, y_test) > memory.score(X_test, y_test) - 0.03
    )  # a fifth of the rows chooses, not all
    lazy = [one.compute() for one in (cluster.predict(spread(X_test, y_test)[0]),)]
    np.testing.assert_array_equal(lazy[0], cluster.predict(X_test))
    assert float(cluster.score(*spread(X_test, y_test))) == pytest.approx(cluster.score(X_test, y_test))
    assert cluster.decision_function(spread(X_test, y_test)[0]).compute().shape == (y_test.size, 4)


def test_where_every_class_has_plenty_of_rows_all_of_the_shards_learn(data, on_shards, monkeypatch):
    X_train, X_test, y_train, y_test = data
    monkeypatch.setattr(config, "CLASS_FOLD_ROWS", 1_000)
    monkeypatch.setattr(config, "PLENTY_PER_COLUMN", 10)
    memory = MeasureClassifier("f1", random_state=0).fit(X_train, y_train)
    cluster = DaskMeasureClassifier("f1", random_state=0).fit(*spread(X_train, y_train))
    assert cluster.score(X_test, y_test) > memory.score(X_test, y_test) - 0.03


def test_few_rows_are_gathered_and_fitted_as_in_memory(data):
    X_train, X_test, y_train, y_test = data
    cluster = DaskMeasureClassifier("f1", random_state=0).fit(*spread(X_train, y_train))
    memory = MeasureClassifier("f1", random_state=0).fit(X_train, y_train)
    assert cluster.merging_ == "none"
    assert cluster.score(X_test, y_test) == pytest.approx(memory.score(X_test, y_test), abs=0.02)


def test_the_paper_s_algorithm_learns_from_a_sample(data, on_shards):
    X_train, X_test, y_train, y_test = data
    cluster = DaskMeasureClassifier("f1", sharpen=False, random_state=0).fit(*spread(X_train, y_train))
    assert cluster.score(X_test, y_test) > 0.4


def test_what_many_classes_do_not_take_is_refused(data, on_shards):
    rows = spread(data[0], data[2])
    with pytest.raises(ValueError, match="pos_label=1 is for two classes"):
        DaskMeasureClassifier(pos_label=1).fit(*rows)
    with pytest.raises(ValueError, match="merging='models' is for two classes"):
        DaskMeasureClassifier(merging="models").fit(*rows)
    with pytest.raises(ValueError, match="is a measure of more than two classes"):
        DaskMeasureClassifier("quadratic-kappa").fit(rows[0], rows[1] > 1)
