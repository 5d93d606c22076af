"""Learning from a stream of windows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import killed_fit
import numpy as np
import pytest
from scipy import sparse

from ratewise import MeasureClassifier, open_stream
from ratewise.solvers import Stamp, WeightedLogistic
from ratewise.solvers.logistic import PenalizedLogistic
from ratewise.streams import DataError
from ratewise.training import config
from ratewise.training.checkpoint import CheckpointWarning

HERE = Path(__file__).parent


def rows(n=20_000, d=5, seed=0, share=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32) * np.arange(1.0, d + 1.0, dtype=np.float32)
    scores = X @ np.linspace(1.0, -1.0, d) + rng.normal(size=n)
    return X, (scores > np.quantile(scores, 1.0 - share)).astype(int)


def batches(X, y, size=1000):
    return [(X[start : start + size], y[start : start + size]) for start in range(0, X.shape[0], size)]


def streamed(X, y, **how):
    return open_stream(batches(X, y), **{"window_rows": 4000} | how)


def same_bits(first, second):
    return (
        first.coef_.tobytes() == second.coef_.tobytes()
        and first.intercept_.tobytes() == second.intercept_.tobytes()
    )


@pytest.fixture
def windows_only(monkeypatch):
    """As if no stream were so small that it is better read into memory."""
    monkeypatch.setattr(config, "IN_MEMORY_BYTES", 0)


@pytest.mark.parametrize("measure", ["f1", "gmean", "min"])
def test_a_fit_from_windows_comes_close_to_a_fit_in_memory(measure, windows_only):
    X, y = rows()
    X, y, X_new, y_new = X[:14_000], y[:14_000], X[14_000:], y[14_000:]
    from_stream = MeasureClassifier(measure, random_state=0).fit_stream(streamed(X, y))
    in_memory = MeasureClassifier(measure, random_state=0, validation_fraction=0.5).fit(X, y)
    assert from_stream.score(X_new, y_new) == pytest.approx(in_memory.score(X_new, y_new), abs=0.02)
    assert np.corrcoef(from_stream.coef_, in_memory.coef_)[0, 1] > 0.99


def test_a_small_stream_is_read_into_memory_and_fitted_there():
    X, y = rows(1500)
    classifier = MeasureClassifier(random_state=0, validation_fraction=0.5).fit_stream(streamed(X, y))
    in_memory = MeasureClassifier(random_state=0, validation_fraction=0.5).fit(X, y)
    assert classifier.score(X, y) == pytest.approx(in_memory.score(X, y), abs=0.02)
    assert classifier.survey_.rows == 1500


def test_the_same_seed_gives_the_same_model_bit_for_bit(windows_only):
    X, y = rows()
    first, second, other = (
        MeasureClassifier(random_state=seed).fit_stream(streamed(X, y), 3) for seed in (1, 1, 2)
    )
    assert same_bits(first, second)
    assert first.rates_ == second.rates_
    assert not same_bits(first, other)


def test_parameters_are_left_as_they_were():
    X, y = rows(1500)
    rng = np.random.RandomState(0)
    classifier = MeasureClassifier(validation_fraction=0.5, random_state=rng)
    classifier.fit_stream(streamed(X, y))
    assert classifier.random_state is rng
    assert classifier.get_params()["validation_fraction"] == 0.5


def test_what_a_fit_from_a_stream_leaves_behind(windows_only):
    X, y = rows()
    classifier = MeasureClassifier(random_state=0).fit_stream(streamed(X, y), 2)
    assert classifier.coef_.shape == (1, 5)
    assert classifier.n_features_in_ == 5
    assert classifier.classes_.tolist() == [0, 1]
    assert classifier.survey_.label_counts == {0: 18_000, 1: 2000}
    assert classifier.rates_.prevalence == pytest.approx(0.1)
    assert classifier.history_["value"].size >= 2
    assert classifier.feature_spread_ == pytest.approx(X.std(axis=0), rel=1e-3)
    assert classifier.predict(X[:3]).shape == (3,)


@pytest.mark.parametrize("in_windows", [False, True])
def test_the_history_of_a_plain_fit_has_a_row_per_pass(in_windows, monkeypatch):
    if in_windows:
        monkeypatch.setattr(config, "IN_MEMORY_BYTES", 0)
    classifier = MeasureClassifier("gmean", sharpen=False, random_state=0).fit_stream(streamed(*rows()), 3)
    assert classifier.history_["pass"].tolist() == [1.0, 2.0, 3.0]
    assert classifier.history_["points"].tolist() == [20_000.0, 40_000.0, 60_000.0]


@pytest.mark.parametrize(
    ("settings", "kind"), [({}, WeightedLogistic | PenalizedLogistic), ({"sharpen": False}, Stamp)]
)
def test_solver_names_what_made_the_model(settings, kind, windows_only):
    classifier = MeasureClassifier("f1", random_state=0, **settings).fit_stream(streamed(*rows()), 2)
    assert isinstance(classifier.solver_, kind)


def test_a_later_fit_in_memory_forgets_the_stream():
    X, y = rows(1500)
    classifier = MeasureClassifier(sharpen=False, random_state=0).fit_stream(streamed(X, y))
    assert classifier.survey_.rows == 1500
    classifier.fit(X[:, :3], y)
    assert not any(hasattr(classifier, name) for name in ("encoder_", "survey_", "target_"))


@pytest.mark.parametrize("labels", [("no", "yes"), (False, True), (1.0, 2.0)])
def test_labels_may_be_of_any_kind_and_the_positive_one_may_be_named(labels):
    X, y = rows(2000, share=0.3)
    y = np.array(labels)[y]
    for positive in (None, labels[0]):
        classifier = MeasureClassifier("f1", sharpen=False, pos_label=positive, random_state=0)
        classifier.fit_stream(streamed(X, y))
        assert classifier.classes_.tolist() == list(labels)
        assert classifier.score(X, y) > 0.8


def test_a_stream_that_can_be_read_once_is_learned_from_as_it_comes():
    X, y = rows()
    reports = []
    stream = open_stream(iter(batches(X, y)), window_rows=4000)
    classifier = MeasureClassifier("gmean", random_state=0).fit_stream(stream, progress=reports.append)
    assert classifier.score(X, y) > 0.85
    assert [one["done_rows"] for one in reports] == [4000, 8000, 12_000, 16_000, 20_000]
    assert all(0 <= one["tpr"] <= 1 for one in reports)
    assert not hasattr(classifier, "survey_")


def test_windows_of_one_class_wait_for_the_other():
    X, y = rows(4000, share=0.4)
    order = np.argsort(y, kind="stable")
    stream = open_stream(iter(batches(X[order], y[order])), window_rows=1000)
    classifier = MeasureClassifier("gmean", random_state=0).fit_stream(stream)
    assert classifier.classes_.tolist() == [0, 1]
    assert classifier.score(X, y) > 0.5


def test_a_third_label_in_a_stream_that_is_read_once_is_refused():
    X, y = rows(4000)
    y[3500] = 2
    with pytest.raises(ValueError, match=r"\[2\]"):
        MeasureClassifier().fit_stream(open_stream(iter(batches(X, y)), window_rows=1000))
    y[3] = 2
    with pytest.raises(ValueError, match="3 classes"):
        MeasureClassifier().fit_stream(open_stream(iter(batches(X, y)), window_rows=1000))


@pytest.mark.parametrize("make", [list, iter], ids=["again", "once"])
def test_rows_of_one_class_are_refused(make):
    X, _ = rows(2000)
    with pytest.raises(DataError, match="class"):
        MeasureClassifier().fit_stream(open_stream(make(batches(X, np.zeros(2000, dtype=int)))))


@pytest.mark.parametrize("make", [list, iter], ids=["again", "once"])
def test_a_stream_without_labels_is_refused(make):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frames = [pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 1.0]})]
    with pytest.raises(DataError, match="no labels"):
        MeasureClassifier().fit_stream(open_stream(make(frames)))


@pytest.mark.parametrize("passes", [0, -1, 2.5, True, "many", None])
def test_a_wrong_number_of_passes_is_refused(passes):
    with pytest.raises(ValueError, match="passes must be"):
        MeasureClassifier().fit_stream(streamed(*rows(1000)), passes)


@pytest.mark.parametrize("every", [0, -5, 2.5])
def test_a_wrong_number_of_rows_between_checkpoints_is_refused(every, tmp_path):
    with pytest.raises(ValueError, match="checkpoint_every must be"):
        MeasureClassifier().fit_stream(streamed(*rows(1000)), checkpoint=tmp_path / "kept", checkpoint_every=every)


def test_rows_in_memory_are_pointed_to_fit():
    with pytest.raises(TypeError, match="Rows in memory: fit"):
        MeasureClassifier().fit_stream(np.ones((3, 2)))


def test_a_checkpoint_of_a_stream_that_is_read_once_is_refused(tmp_path):
    stream = open_stream(iter(batches(*rows(1000))))
    with pytest.raises(ValueError, match="once only"):
        MeasureClassifier().fit_stream(stream, checkpoint=tmp_path / "kept")


def test_amp_learns_from_a_fair_sample():
    X, y = rows(5000)
    classifier = MeasureClassifier("f1", solver="amp", sharpen=False, random_state=0).fit_stream(streamed(X, y))
    assert type(classifier.solver_).__name__ == "Amp"
    assert classifier.score(X, y) > 0.7


def test_amp_cannot_learn_from_a_stream_that_is_read_once():
    stream = open_stream(iter(batches(*rows(1000))))
    with pytest.raises(ValueError, match="all rows at once"):
        MeasureClassifier("f1", solver="amp").fit_stream(stream)


@pytest.mark.parametrize(("solver", "measure"), [("spade", "gmean"), ("stamp", "f1")])
@pytest.mark.parametrize("threshold", ["zero", "tune"])
def test_the_plain_algorithms_learn_from_streams(solver, measure, threshold):
    X, y = rows()
    settings = {"solver": solver, "sharpen": False, "threshold": threshold, "random_state": 0}
    from_stream = MeasureClassifier(measure, **settings).fit_stream(streamed(X, y))
    in_memory = MeasureClassifier(measure, **settings).fit(X, y)
    assert from_stream.score(X, y) == pytest.approx(in_memory.score(X, y), abs=0.03)
    assert from_stream.stages_ == ()


def test_weights_of_rows_count(windows_only):
    X, y = rows()
    weights = np.where(X[:, 0] > 0, 5.0, 0.2)
    triples = [(X[i : i + 1000], y[i : i + 1000], weights[i : i + 1000]) for i in range(0, 20_000, 1000)]
    from_stream = MeasureClassifier(random_state=0).fit_stream(open_stream(triples, window_rows=4000))
    assert from_stream.rates_.prevalence == pytest.approx(np.average(y, weights=weights), rel=1e-5)
    value = from_stream.measure_.score(y, from_stream.predict(X), sample_weight=weights)
    assert value == pytest.approx(float(from_stream.measure_.value(*from_stream.rates_)), abs=5e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_of_weight_0_are_as_if_they_were_not_there(n_classes):
    X, y = rows(600, share=0.3)
    y = y.astype(int) + (n_classes - 2) * (X[:, 1] > 1.0)
    weights = (np.arange(600) % 3 > 0).astype(float)
    with_them = MeasureClassifier("f1", random_state=0).fit_stream(open_stream([(X, y, weights)]))
    without = MeasureClassifier("f1", random_state=0).fit_stream(open_stream([(X[weights > 0], y[weights > 0])]))
    assert (with_them.coef_ == without.coef_).all()
    assert with_them.rates_ == without.rates_


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_of_weight_0_in_large_files_count_in_no_statistic(windows_only, n_classes):
    X, y = rows(6000, share=0.3)
    y = y.astype(int) + (n_classes - 2) * (X[:, 1] > 1.0)
    weights = np.repeat([1.0, 0.0], 3000)
    far = np.where(weights[:, None] > 0, X, 50.0 + X)
    halves = [slice(3000), slice(3000, 6000)]
    settings = {"solver": "stamp", "sharpen": False, "random_state": 0} if n_classes == 2 else {"random_state": 0}
    with_them = MeasureClassifier("f1", **settings)
    with_them.fit_stream(open_stream([(far[k], y[k], weights[k]) for k in halves], window_rows=3000))
    without = MeasureClassifier("f1", **settings)
    without.fit_stream(open_stream([(X[:3000], y[:3000], weights[:3000])], window_rows=3000))
    np.testing.assert_allclose(with_them.feature_mean_, without.feature_mean_, rtol=1e-6)
    np.testing.assert_allclose(with_them.feature_spread_, without.feature_spread_, rtol=1e-6)
    assert with_them.score(X, y) == pytest.approx(without.score(X, y), abs=0.02)


def test_weights_of_a_small_stream_count_too():
    X, y = rows(1500)
    weights = np.where(X[:, 0] > 0, 5.0, 0.2)
    classifier = MeasureClassifier(random_state=0, validation_fraction=0.5)
    classifier.fit_stream(open_stream([(X, y, weights)]))
    assert classifier.rates_.prevalence == pytest.approx(np.average(y, weights=weights), rel=1e-5)


def test_sparse_rows_are_learned_from():
    X, y = rows(4000)
    X = sparse.csr_matrix(np.where(np.random.default_rng(1).random(X.shape) < 0.7, X, 0.0).astype(np.float32))
    stream = open_stream([(X[:2500], y[:2500]), (X[2500:], y[2500:])], window_rows=1000)
    assert stream.sparse
    from_stream = MeasureClassifier("gmean", random_state=0).fit_stream(stream)
    in_memory = MeasureClassifier("gmean", random_state=0, validation_fraction=0.5).fit(X, y)
    assert from_stream.score(X, y) == pytest.approx(in_memory.score(X, y), abs=0.02)


def table(n, seed):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"age": rng.normal(40.0, 9.0, size=n), "colour": rng.choice(["red", "blue", None], size=n)}
    )
    score = (frame["age"] - 40.0) / 9.0 + 2.0 * (frame["colour"] == "red") + 0.3 * rng.normal(size=n)
    frame["label"] = np.where(score > 2.0, "yes", "no")
    frame.loc[:9, "age"] = np.nan
    return frame


def test_columns_of_text_go_from_a_file_into_a_model_and_new_rows_through_its_encoder(tmp_path, windows_only):
    pytest.importorskip("pyarrow")
    table(9000, 0).to_parquet(tmp_path / "train.parquet", row_group_size=1000)
    new = table(500, 1).sample(frac=1, random_state=0)[["colour", "label", "age"]]  # other columns first
    new.to_parquet(tmp_path / "new.parquet")
    stream = open_stream(tmp_path / "train.parquet", target="label", window_rows=2000)
    classifier = MeasureClassifier("f1", random_state=0).fit_stream(stream, 3)
    assert classifier.feature_names_in_.tolist()[:2] == ["age", "colour=blue"]
    assert classifier.target_ == "label"
    assert classifier.survey_.missing == {"age": 10}
    again = open_stream(tmp_path / "new.parquet", target="label", encoder=classifier.encoder_)
    (window,) = again.windows()
    predicted = classifier.predict(pd_frame(window.X, classifier))
    assert classifier.measure_.score(window.labels, predicted, pos_label="yes") > 0.8


def pd_frame(X, classifier):
    import pandas as pd

    return pd.DataFrame(X, columns=classifier.feature_names_in_)


def test_progress_reports_where_the_fit_stands(windows_only):
    X, y = rows()
    reports = []
    MeasureClassifier(random_state=0).fit_stream(streamed(X, y), 3, progress=reports.append)
    stages = list(dict.fromkeys(one["stage"] for one in reports))
    assert stages == [
        "survey",
        "statistics, pass 1",
        "learning, pass 2",
        "learning, pass 3",
        "learning, pass 4",
        "threshold, pass 5",
    ]
    for stage in stages:
        done = [one["done_rows"] for one in reports if one["stage"] == stage]
        assert done == sorted(set(done))
        assert done[-1] == 20_000
    assert all(one["total_rows"] == 20_000 for one in reports)
    learning = [one for one in reports if one["stage"].startswith("learning")]
    assert all(0 <= one[name] <= 1 for one in learning for name in ("tpr", "tnr", "value"))
    assert learning[-1]["value"] > 0.6


# Stopping, and going on


def interrupted_after(calls):
    """A progress function during whose n-th call, surveying left out, Ctrl-C is pressed."""
    counted = 0

    def progress(report):
        nonlocal counted
        counted += report["stage"] != "survey"
        if counted == calls:
            signal.raise_signal(signal.SIGINT)

    return progress


@pytest.mark.parametrize(
    "calls", [2, 5, 8, 20]
)  # in statistics, at the end of a pass, in learning, at the very end
def test_ctrl_c_keeps_what_was_learned_and_the_next_fit_goes_on_from_there(calls, tmp_path, windows_only):
    X, y = rows()
    kept = tmp_path / "kept"
    whole = MeasureClassifier(random_state=0).fit_stream(streamed(X, y), 2)
    handler = signal.getsignal(signal.SIGINT)
    classifier = MeasureClassifier(random_state=0)
    with pytest.raises(KeyboardInterrupt):
        classifier.fit_stream(streamed(X, y), 2, checkpoint=kept, progress=interrupted_after(calls))
    assert signal.getsignal(signal.SIGINT) is handler
    assert kept.exists()
    assert not hasattr(classifier, "coef_")
    reports = []
    classifier.fit_stream(streamed(X, y), 2, checkpoint=kept, progress=reports.append)
    assert same_bits(classifier, whole)
    assert classifier.rates_ == whole.rates_
    done = [one["done_rows"] for one in reports if one["stage"] != "survey"]
    assert done == [4000 * (window % 5 + 1) for window in range(calls, 20)]  # none is taken twice


def test_ctrl_c_without_a_checkpoint_stops_at_once(windows_only):
    X, y = rows()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            MeasureClassifier(random_state=0).fit_stream(streamed(X, y), 2, progress=interrupted_after(3))
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_finished_fit_leaves_its_checkpoint_and_can_be_had_again(tmp_path, windows_only):
    X, y = rows()
    kept = tmp_path / "kept"
    first, second = (
        MeasureClassifier(random_state=0).fit_stream(streamed(X, y), 2, checkpoint=kept) for _ in range(2)
    )
    assert kept.exists()
    assert same_bits(first, second)


@pytest.mark.parametrize("damage", ["truncated", "flipped"])
def test_a_damaged_checkpoint_is_warned_of_and_the_one_before_it_gives_the_same_model(
    damage, tmp_path, windows_only
):
    X, y = rows()
    kept = tmp_path / "kept"
    whole = MeasureClassifier(random_state=0).fit_stream(streamed(X, y), 2)
    with pytest.raises(KeyboardInterrupt):
        MeasureClassifier(random_state=0).fit_stream(
            streamed(X, y), 2, checkpoint=kept, progress=interrupted_after(13)
        )
    content = bytearray(kept.read_bytes())
    content[len(content) // 2] ^= 4
    kept.write_bytes(bytes(content) if damage == "flipped" else bytes(content[:-100]))
    classifier = MeasureClassifier(random_state=0)
    with pytest.warns(RuntimeWarning, match="is damaged.*and was not used"):
        classifier.fit_stream(streamed(X, y), 2, checkpoint=kept)
    assert same_bits(classifier, whole)


@pytest.mark.parametrize(
    ("settings", "how", "named"),
    [
        ({"random_state": 1}, {}, "seed"),
        ({"measure": "gmean"}, {}, "measure"),
        ({"alpha": 0.1}, {}, "l2"),
        ({}, {"passes": 3}, "passes"),
        ({}, {"window_rows": 5000}, "window_rows"),
    ],
)
def test_a_checkpoint_of_another_fit_is_refused(settings, how, named, tmp_path, windows_only):
    X, y = rows(6000)
    kept = tmp_path / "kept"
    MeasureClassifier(random_state=0).fit_stream(streamed(X, y), 2, checkpoint=kept)
    stream = streamed(X, y, window_rows=how.get("window_rows", 4000))
    with pytest.raises(ValueError, match=f"another fit: {named} was"):
        MeasureClassifier(**{"random_state": 0} | settings).fit_stream(
            stream, how.get("passes", 2), checkpoint=kept
        )


@pytest.mark.parametrize(
    "change", [lambda X, y: (X[:-500], y[:-500]), lambda X, y: (X + np.float32(1), y), lambda X, y: (X, 1 - y)]
)
def test_a_fit_of_batches_that_have_changed_begins_anew_and_says_so(change, tmp_path, windows_only):
    X, y = rows(6000)
    kept = tmp_path / "kept"
    MeasureClassifier(random_state=0).fit_stream(streamed(X, y), 2, checkpoint=kept)
    again = MeasureClassifier(random_state=0)
    with pytest.warns(CheckpointWarning, match=r"starts again: the rows have changed since"):
        again.fit_stream(streamed(*change(X, y)), 2, checkpoint=kept)
    assert same_bits(again, MeasureClassifier(random_state=0).fit_stream(streamed(*change(X, y)), 2))


def mend(file, other):
    file.write_bytes(file.read_bytes().replace(b"0.5", b"5.5"))


def mend_within_the_same_second(file, other):
    about = file.stat()
    mend(file, other)
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))


def shorten(file, other):
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-9]))


def swap(file, other):
    one, two = file.read_bytes(), other.read_bytes()
    file.write_bytes(two)
    other.write_bytes(one)


def touch(file, other):
    os.utime(file, ns=(1, 1))


@pytest.mark.parametrize("change", [mend, mend_within_the_same_second, shorten, swap, touch])
def test_a_fit_of_a_file_that_has_changed_begins_anew_and_says_so(change, tmp_path, windows_only):
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for number, file in enumerate(files):
        X, y = rows(3000, seed=number)
        np.savetxt(file, np.column_stack([X, y]), delimiter=",", header="a,b,c,d,e,y", comments="", fmt="%.4f")

    def fit(**more):
        stream = open_stream(list(map(str, files)), target="y", window_rows=1000)
        return MeasureClassifier(random_state=0).fit_stream(stream, 2, **more)

    with pytest.raises(KeyboardInterrupt):
        fit(checkpoint=tmp_path / "kept", checkpoint_every=1, progress=interrupted_after(20))
    change(*files)
    with pytest.warns(CheckpointWarning, match=r"starts again: the rows have changed since \(.*a\.csv"):
        again = fit(checkpoint=tmp_path / "kept")
    assert same_bits(again, fit())


@pytest.mark.parametrize(
    ("how", "named"),
    [({"files": ["b.csv", "a.csv"]}, "files"), ({"positive": 0}, "positive class"), ({"weight": "w"}, "weight")],
)
def test_a_checkpoint_of_other_files_classes_or_weights_is_refused(
    how, named, tmp_path, windows_only, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    X, y = rows(2000)
    table = np.column_stack([X, 1.0 + y, y])
    for name in ("a.csv", "b.csv"):
        np.savetxt(name, table, delimiter=",", header="a,b,c,d,e,w,y", comments="", fmt="%.4f")

    def fit(files=("a.csv", "b.csv"), weight=None, positive=None):
        stream = open_stream(list(files), target="y", weight=weight, features=["a", "b"], window_rows=1000)
        MeasureClassifier(random_state=0, pos_label=positive).fit_stream(stream, 2, checkpoint="kept")

    fit()
    with pytest.raises(ValueError, match=f"another fit: {named} was"):
        fit(**how)


def test_a_fit_that_failed_leaves_no_checkpoint(tmp_path, windows_only):
    def fail(report):
        if report["stage"].startswith("learning"):
            raise ValueError("as for a row that cannot be read")

    with pytest.raises(ValueError, match="as for a row"):
        MeasureClassifier(random_state=0).fit_stream(
            streamed(*rows(6000)), 2, checkpoint=tmp_path / "kept", checkpoint_every=1, progress=fail
        )
    assert list(tmp_path.iterdir()) == []


def test_a_measure_that_is_a_function_is_taken_from_the_fit_that_goes_on(tmp_path, windows_only):
    def mean(tpr, tnr):
        return (tpr + tnr) / 2

    X, y = rows(6000)
    with pytest.raises(KeyboardInterrupt):
        MeasureClassifier(mean, random_state=0).fit_stream(
            streamed(X, y), 2, checkpoint=tmp_path / "kept", checkpoint_every=1, progress=interrupted_after(8)
        )
    resumed = MeasureClassifier(mean, random_state=0).fit_stream(streamed(X, y), 2, checkpoint=tmp_path / "kept")
    assert same_bits(resumed, MeasureClassifier(mean, random_state=0).fit_stream(streamed(X, y), 2))
    with pytest.raises(ValueError, match="another fit: measure was"):
        MeasureClassifier(lambda tpr, tnr: tpr * tnr, random_state=0).fit_stream(
            streamed(X, y), 2, checkpoint=tmp_path / "kept"
        )


@pytest.mark.slow
def test_a_killed_fit_goes_on_to_the_same_model(tmp_path, windows_only):
    X, y = rows(52_000)
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    whole = killed_fit.fit(tmp_path / "rows.npz")
    words = [
        sys.executable,
        HERE / "killed_fit.py",
        *(tmp_path / name for name in ("rows.npz", "kept", "model.npy")),
    ]
    rng, codes = np.random.default_rng(), []
    for stage in ("statistics", "learning, pass 3", "threshold"):
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                if line.startswith(stage):
                    break
            time.sleep(rng.uniform(0.0, 0.02))
            process.kill()
        codes.append(process.returncode)
    assert codes[:2] == [-signal.SIGKILL] * 2  # the last may have come to its end
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    assert np.load(tmp_path / "model.npy").tobytes() == np.append(whole.coef_, whole.intercept_).tobytes()
