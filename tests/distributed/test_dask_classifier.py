"""DaskMeasureClassifier: what it takes, what it gives, and what it says to mistakes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from ratewise import MeasureClassifier, load_model, save_model
from ratewise.distributed import DaskMeasureClassifier
from ratewise.measures import ConstraintWarning, RecallAtPrecision, TPRAtFPR
from ratewise.solvers import Stamp, WeightedLogistic
from ratewise.training import config

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")

FAST = {"random_state": 0, "passes": 4, "merging": "models", "solver": WeightedLogistic(passes=2)}


@pytest.fixture(scope="module")
def arrays(rows):
    X, y = rows
    return da.from_array(X, chunks=(5_000, -1)), da.from_array(y, chunks=5_000)


@pytest.fixture(scope="module")
def frame(rows):
    import pandas as pd

    X, y = rows
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(6)])
    frame["label"] = np.where(y, "yes", "no")
    return frame


@pytest.fixture(scope="module")
def fitted(arrays):
    """In this process."""
    return DaskMeasureClassifier(**FAST).fit(*arrays)


@pytest.mark.parametrize("merging", ["models", "gradients", "auto"])
def test_processes_come_to_the_same_model_as_one_process(arrays, merging, client):
    asked = FAST | {"merging": merging}
    here, elsewhere = (DaskMeasureClassifier(**asked, client=one).fit(*arrays) for one in (None, client))
    assert here.merging_ == elsewhere.merging_ == ("none" if merging == "auto" else merging)
    np.testing.assert_array_equal(elsewhere.coef_, here.coef_)
    np.testing.assert_array_equal(elsewhere.intercept_, here.intercept_)


def test_few_rows_are_gathered_and_fitted_as_on_one_machine(arrays, rows, monkeypatch):
    asked = {"random_state": 0, "solver": Stamp(passes=3), "sharpen": False}
    gathered = DaskMeasureClassifier(**asked).fit(*arrays)
    assert gathered.merging_ == "none"
    assert gathered.n_partitions_ == 4
    single = MeasureClassifier(**asked).fit(*rows)
    assert gathered.score(*rows) == pytest.approx(single.score(*rows), abs=0.01)
    monkeypatch.setattr(config, "IN_MEMORY_BYTES", 0)
    assert DaskMeasureClassifier(**asked).fit(*arrays).merging_ == "models"


def test_a_frame_is_learned_from_by_a_series_or_by_the_name_of_a_column(frame, fitted, client):
    dd = pytest.importorskip("dask.dataframe")
    parts = dd.from_pandas(frame, npartitions=4, sort=False)
    features = [f"c{j}" for j in range(6)]
    by_series = DaskMeasureClassifier(**FAST).fit(parts[features], parts["label"])
    by_name = DaskMeasureClassifier(**FAST).fit(parts, target="label")
    np.testing.assert_array_equal(by_series.coef_, by_name.coef_)
    assert by_name.classes_.tolist() == ["no", "yes"]
    assert by_name.feature_names_in_.tolist() == features
    assert by_name.rates_.tpr == pytest.approx(fitted.rates_.tpr, abs=0.05)
    predicted = by_name.predict(parts)
    assert predicted.npartitions == 4
    np.testing.assert_array_equal(predicted.compute(), by_name.to_local().predict(frame[features]))
    shares = by_name.predict_proba(parts).compute()
    assert shares.columns.tolist() == ["no", "yes"]
    np.testing.assert_allclose(shares, by_name.to_local().predict_proba(frame[features]), rtol=1e-6)
    assert by_name.score(parts, parts["label"]) == by_name.score(frame[features], frame["label"])


def test_delayed_partitions_are_learned_from(rows, fitted):
    from dask import delayed

    X, y = rows
    cut = delayed(lambda start: (X[start : start + 5_000], y[start : start + 5_000]))
    found = DaskMeasureClassifier(**FAST).fit([cut(start) for start in range(0, 20_000, 5_000)])
    np.testing.assert_array_equal(found.coef_, fitted.coef_)


def test_a_folder_of_parquet_files_is_read_by_the_workers(frame, client, tmp_path):
    rng = np.random.default_rng(0)
    table = frame.assign(colour=rng.choice(["red", "green"], len(frame)))
    table.loc[::100, "c2"] = np.nan
    for number in range(3):
        table.iloc[number::3].to_parquet(tmp_path / f"{number}.parquet", row_group_size=2_000)
    found = DaskMeasureClassifier(**FAST).fit(tmp_path, target="label")
    assert found.feature_names_in_.tolist() == [*(f"c{j}" for j in range(6)), "colour=green", "colour=red"]
    assert found.survey_.missing == {"c2": 200}
    assert found.target_ == "label"
    save_model(found.to_local(), tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.coef_, found.coef_)
    assert again.encoder_.codecs == found.encoder_.codecs


def test_encoders_of_shards_agree_on_means_and_values(frame, tmp_path):
    from ratewise import open_stream
    from ratewise.distributed import LocalEngine
    from ratewise.distributed.files import ParquetShard, encode, parquet_shards

    table = frame.assign(colour=np.where(np.arange(len(frame)) < 12_000, "early", "late"))
    table.loc[::7, "c1"] = np.nan
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=500)
    shards = parquet_shards(tmp_path, "label")
    (name, groups), columns = shards[0].groups[0], shards[0].columns
    halves = [ParquetShard(((name, groups[k::2]),), columns, "label", None) for k in (0, 1)]
    seen = encode(LocalEngine(halves))
    whole = open_stream(tmp_path, target="label")
    survey = whole.survey()
    assert seen.encoder.codecs == whole.encoder.codecs
    assert (seen.rows, seen.missing) == (survey.rows, survey.missing)


def test_predictions_of_dask_arrays_are_lazy_and_those_of_one_machine(arrays, rows, fitted):
    X, y = rows
    scores, labels = fitted.decision_function(arrays[0]), fitted.predict(arrays[0])
    assert scores.chunks == labels.chunks == arrays[1].chunks
    local = fitted.to_local()
    np.testing.assert_allclose(scores.compute(), local.decision_function(X), rtol=1e-6)
    np.testing.assert_array_equal(labels.compute(), local.predict(X))
    shares = fitted.predict_proba(arrays[0])
    assert shares.chunks == (*arrays[1].chunks, (2,))
    np.testing.assert_allclose(shares.compute(), local.predict_proba(X), rtol=1e-6)
    assert fitted.score(*arrays) == fitted.score(X, y) == local.score(X, y)


def test_to_local_gives_an_ordinary_classifier(fitted, tmp_path):
    local = fitted.to_local()
    assert type(local) is MeasureClassifier
    assert local.get_params()["measure"] == "f1"
    assert {"pass", "points", "seconds", "tpr", "tnr", "value"} <= set(local.history_)
    save_model(local, tmp_path / "model.skops")
    np.testing.assert_array_equal(load_model(tmp_path / "model.skops").coef_, fitted.coef_)


def test_columns_cut_into_blocks_are_joined(rows, fitted):
    X, y = rows
    found = DaskMeasureClassifier(**FAST).fit(da.from_array(X, chunks=(5_000, 2)), y)
    np.testing.assert_array_equal(found.coef_, fitted.coef_)


def test_a_threshold_left_at_zero_has_its_rates_counted(arrays, rows):
    X, y = rows
    found = DaskMeasureClassifier("min", threshold="zero", random_state=0, passes=4, merging="models").fit(*arrays)
    predicted = found.predict(X)
    assert found.stages_ == ()
    assert found.rates_.tpr == pytest.approx(predicted[y].mean(), abs=1e-3)
    assert found.rates_.tnr == pytest.approx(1.0 - predicted[~y].mean(), abs=1e-3)


def test_a_constraint_is_kept_or_warned_of(arrays):
    kept = DaskMeasureClassifier(TPRAtFPR(0.1), **FAST).fit(*arrays)
    assert kept.constraints_met_
    assert kept.rates_.tnr >= 0.9
    with pytest.warns(ConstraintWarning, match="no useful threshold"):
        DaskMeasureClassifier(RecallAtPrecision(0.9999), **FAST).fit(*arrays)


def test_weights_are_given_as_an_array_or_by_the_name_of_a_column(arrays, frame, rows):
    dd = pytest.importorskip("dask.dataframe")
    y = rows[1]
    weights = np.where(y, 2.0, 1.0)
    by_array = DaskMeasureClassifier(**FAST).fit(*arrays, sample_weight=da.from_array(weights, chunks=5_000))
    assert by_array.rates_.prevalence == pytest.approx(weights[y].sum() / weights.sum())
    parts = dd.from_pandas(frame.assign(weight=weights), npartitions=4, sort=False)
    by_name = DaskMeasureClassifier(**FAST).fit(parts, target="label", sample_weight="weight")
    assert by_name.n_features_in_ == 6
    assert by_name.rates_.prevalence == pytest.approx(by_array.rates_.prevalence)


def test_a_positive_label_may_be_chosen(arrays):
    X, y = arrays
    found = DaskMeasureClassifier(**FAST, pos_label=0).fit(X, y.astype(int))
    assert found.rates_.prevalence > 0.5
    assert found.score(X, y.astype(int)) > 0.8


def test_parameters_are_kept_by_clones_and_the_client_is_shared(client):
    first = DaskMeasureClassifier("min", solver=Stamp(passes=3), client=client, timeout=5)
    second = clone(first)
    assert second.client is client
    assert second.get_params()["solver"] == Stamp(passes=3)
    assert second.set_params(passes=7).passes == 7


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"merging": "median"}, "merging must be"),
        ({"passes": 0}, "passes must be"),
        ({"passes": 2.5}, "passes must be"),
        ({"timeout": -1}, "timeout must be"),
        ({"threshold": "half"}, "threshold must be"),
        ({"threshold": "zero", "sharpen": True}, "needs sharpen=False"),
        ({"sharpen": "yes"}, "sharpen must be"),
        ({"alpha": -1}, "alpha must be"),
        ({"pos_label": 7}, "pos_label=7"),
        ({"solver": "spade", "measure": "f1"}, "Spade maximizes concave"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(arrays, parameters, message):
    with pytest.raises(ValueError, match=message):
        DaskMeasureClassifier(**parameters).fit(*arrays)


def test_input_that_is_not_partitioned_is_refused_with_advice(rows, arrays, frame):
    dd = pytest.importorskip("dask.dataframe")
    parts = dd.from_pandas(frame, npartitions=2)
    with pytest.raises(TypeError, match=r"dask\.array\.from_array"):
        DaskMeasureClassifier().fit(*rows)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        DaskMeasureClassifier().fit(arrays[0], arrays[1][:100])
    with pytest.raises(ValueError, match="Give the labels once"):
        DaskMeasureClassifier().fit(parts)
    with pytest.raises(ValueError, match="Name the column"):
        DaskMeasureClassifier().fit("folder")
    with pytest.raises(ValueError, match=r"no \.parquet files"):
        DaskMeasureClassifier().fit("folder/*.parquet", target="label")


def test_the_status_line_is_for_terminals_only(arrays, capsys):
    import io

    from ratewise.distributed.classifier import StatusLine

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    with StatusLine(wanted=True, stream=terminal) as line:
        line({"stage": "learning", "tpr": 0.5, "tnr": 0.75})
    assert "learning: round 1, 0 s  tpr 0.5000  tnr 0.7500" in terminal.getvalue()
    DaskMeasureClassifier(**FAST).fit(*arrays)
    assert capsys.readouterr().err == ""
