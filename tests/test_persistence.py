"""Model files: what goes in comes out, and a file made to do harm does none."""

from __future__ import annotations

import errno
import functools
import io
import json
import operator
import os
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from ratewise import MeasureClassifier, MeasureMaximizer, __version__, load_model, measures, save_model
from ratewise.features.codecs import Category, Hashed, Number
from ratewise.features.encode import Encoder
from ratewise.measures import FBeta, MacroAverage, Measure, PseudoLinear, Rates, RatesInterval
from ratewise.rewards import Logistic
from ratewise.solvers import Sharpen, Stamp
from ratewise.streams import FileSurvey

# Files written by version 0.1.0 before its classes moved, and what the models in them are.
OLD_FILES = Path(__file__).parent / "model_files"
OLD_MODELS = json.loads((OLD_FILES / "expected.json").read_text())


@dataclass(frozen=True)
class OwnMeasure(Measure):
    """A user's measure."""

    share: float = 0.5

    def value(self, tpr, tnr, prevalence=None):
        return self.share * tpr + (1 - self.share) * tnr


def rows(labels=(0, 1), n=200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.array(labels)[(X[:, 0] + 0.3 * rng.normal(size=n) > 0.4).astype(int)]


@functools.cache
def fitted():
    return MeasureClassifier("f1", sharpen=False, random_state=0).fit(*rows())


def through_a_file(classifier, tmp_path, **kwargs):
    save_model(classifier, tmp_path / "model.skops")
    return load_model(tmp_path / "model.skops", **kwargs)


@pytest.mark.parametrize(
    "labels",
    [(0, 1), (False, True), ("ham", "spam"), (-1.0, 1.0), np.array(["no", "yes"], dtype=object)],
    ids=["ints", "bools", "texts", "floats", "objects"],
)
def test_a_loaded_model_predicts_as_the_saved_one_did(labels, tmp_path):
    X, y = rows(labels)
    classifier = MeasureClassifier("f1", sharpen=False, random_state=0).fit(X, y)
    loaded = through_a_file(classifier, tmp_path)
    assert loaded.classes_.dtype == classifier.classes_.dtype
    assert np.array_equal(loaded.predict(X), classifier.predict(X))
    assert np.array_equal(loaded.decision_function(X), classifier.decision_function(X))
    assert loaded.score(X, y) == classifier.score(X, y)
    assert loaded.rates_ == classifier.rates_
    assert isinstance(loaded.rates_, Rates)


def test_parameters_and_measures_with_numbers_of_their_own_come_back(tmp_path):
    X, y = rows()
    classifier = MeasureClassifier(
        FBeta(3.0),
        solver=Stamp(passes=2, reward=Logistic()),
        sharpen=Sharpen(passes=1),
        pos_label=0,
        random_state=1,
    ).fit(X, y)
    loaded = through_a_file(classifier, tmp_path)
    assert loaded.get_params() == classifier.get_params()
    assert loaded.measure_ == FBeta(3.0)
    assert loaded.solver_ == classifier.solver_
    assert loaded.stages_ == classifier.stages_
    assert list(loaded.history_) == list(classifier.history_)


@pytest.mark.parametrize("several", ["classes", "labels"])
def test_many_classes_and_labels_come_back(several, tmp_path):
    X, y = rows()
    second = (X[:, 1] > 0).astype(int)
    target = np.array(["a", "b", "c"])[y + second] if several == "classes" else np.column_stack([y, second])
    classifier = MeasureClassifier("f1", sharpen=Sharpen(passes=1), random_state=0).fit(X, target)
    loaded = through_a_file(classifier, tmp_path)
    assert loaded.solver_ == classifier.solver_
    assert np.array_equal(loaded.predict(X), classifier.predict(X))
    assert loaded.score(X, target) == classifier.score(X, target)
    assert loaded.rates_ == classifier.rates_
    assert all(isinstance(rates, Rates) for rates in loaded.rates_)
    assert list(loaded.history_) == list(classifier.history_)


def test_a_ratio_of_ones_own_comes_back(tmp_path):
    measure = PseudoLinear(a=(0, 1, 1), b=(2, 0, 0))
    classifier = MeasureClassifier(measure, sharpen=False, random_state=0).fit(*rows())
    assert through_a_file(classifier, tmp_path).measure_ == measure


def test_names_of_columns_come_back_and_are_checked(tmp_path):
    X, y = rows()
    named = pd.DataFrame(X, columns=["age", "größe", "x y"])
    classifier = MeasureClassifier("f1", sharpen=False, random_state=0).fit(named, y)
    loaded = through_a_file(classifier, tmp_path)
    assert loaded.feature_names_in_.tolist() == ["age", "größe", "x y"]
    assert np.array_equal(loaded.predict(named), classifier.predict(named))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(named.rename(columns={"age": "years"}))


def test_a_loaded_model_tells_the_version_that_saved_it_and_can_be_saved_again(tmp_path):
    loaded = through_a_file(fitted(), tmp_path)
    assert loaded.saved_by_ == __version__
    again = through_a_file(loaded, tmp_path)
    assert np.array_equal(again.coef_, fitted().coef_)


def test_a_loaded_model_can_be_fitted_anew(tmp_path):
    X, y = rows()
    loaded = through_a_file(fitted(), tmp_path)
    assert np.array_equal(loaded.fit(X, y).coef_, fitted().coef_)


def test_files_and_open_files_are_both_taken():
    buffer = io.BytesIO()
    save_model(fitted(), buffer)
    buffer.seek(0)
    assert np.array_equal(load_model(buffer).coef_, fitted().coef_)


def test_what_partial_fit_keeps_is_left_out(tmp_path):
    X, y = rows()
    classifier = MeasureClassifier("f1", random_state=np.random.RandomState(0)).partial_fit(X, y, classes=[0, 1])
    loaded = through_a_file(classifier, tmp_path)
    assert not hasattr(loaded, "_online")
    assert np.array_equal(loaded.predict(X), classifier.predict(X))


@pytest.mark.parametrize("half_life", ["auto", 200, None])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_a_stream_goes_on_bit_for_bit_from_a_file_with_its_state(tmp_path, half_life, make):
    X, y = rows(n=2_000)
    X = make(X)
    straight, saved = (MeasureClassifier("f1", half_life=half_life, random_state=0) for _ in range(2))
    for start in range(0, 2_000, 90):
        if start == 990:
            save_model(saved, tmp_path / "state.skops", state=True)
            saved = load_model(tmp_path / "state.skops")
        part = slice(start, start + 90)
        for model in (straight, saved):
            model.partial_fit(X[part], y[part], classes=np.unique(y))
    assert np.array_equal(saved.coef_, straight.coef_)
    assert np.array_equal(saved.intercept_, straight.intercept_)
    assert np.array_equal(saved.calibration_, straight.calibration_)
    assert saved.rates_ == straight.rates_


def streaming(**parameters):
    X, y = rows(n=300)
    return MeasureClassifier(random_state=0, **parameters).partial_fit(X, y, classes=np.unique(y))


def test_the_state_of_a_fit_or_of_another_classifier_is_refused(tmp_path):
    with pytest.raises(ValueError, match="There is no state to save"):
        save_model(MeasureClassifier(random_state=0).fit(*rows()), tmp_path / "model.skops", state=True)
    one, other = streaming(), streaming(half_life=100)
    one._online = other._online
    save_model(one, tmp_path / "swapped.skops", state=True)
    with pytest.raises(ValueError, match="is damaged: the state is of a classifier with other parameters"):
        load_model(tmp_path / "swapped.skops")


@pytest.mark.parametrize("cut", [np.s_[:-1], np.s_[..., :-1]])
def test_a_state_whose_arrays_do_not_fit_the_model_is_refused(tmp_path, monkeypatch, cut):
    from ratewise.estimators._online import OnlineClassifier

    whole = OnlineClassifier.to_plain

    def damaged(online):
        plain = whole(online)
        return plain | {"arrays": [one[cut] if one.ndim == 3 else one for one in plain["arrays"]]}

    monkeypatch.setattr(OnlineClassifier, "to_plain", damaged)
    save_model(streaming(), tmp_path / "damaged.skops", state=True)
    with pytest.raises(ValueError, match="is damaged: the learners of the stream do not fit the model"):
        load_model(tmp_path / "damaged.skops")


def test_a_function_as_measure_is_refused_before_anything_is_written(tmp_path):
    classifier = MeasureClassifier(lambda tpr, tnr: min(tpr, tnr), random_state=0).fit(*rows())
    with pytest.raises(ValueError, match=r"plain Python function.*frozen dataclass"):
        save_model(classifier, tmp_path / "model.skops")
    assert list(tmp_path.iterdir()) == []


def test_an_unfitted_classifier_is_refused(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        save_model(MeasureClassifier(), tmp_path / "model.skops")
    with pytest.raises(ValueError, match="Pipeline that ends in one of them; got dict"):
        save_model({}, tmp_path / "model.skops")
    assert list(tmp_path.iterdir()) == []


def test_a_users_own_measure_is_loaded_only_if_trusted(tmp_path):
    classifier = MeasureClassifier(OwnMeasure(0.25), random_state=0).fit(*rows())
    with pytest.raises(ValueError, match=r"OwnMeasure, which ratewise does not trust.*pass trusted=\['"):
        through_a_file(classifier, tmp_path)
    assert through_a_file(classifier, tmp_path, trusted=[OwnMeasure]).measure_ == OwnMeasure(0.25)
    assert through_a_file(classifier, tmp_path, trusted=[f"{__name__}.OwnMeasure"]).measure_ == OwnMeasure(0.25)


@pytest.mark.parametrize("name", OLD_MODELS)
def test_files_of_earlier_versions_load(name, tmp_path):
    loaded, expected = load_model(OLD_FILES / f"{name}.skops"), OLD_MODELS[name]
    measure = loaded.measure_  # of many classes files of version 0.1 had the measure that is averaged
    before = eval(expected["measure"], vars(measures))  # parameters that came later have their defaults
    assert (measure.measure if isinstance(measure, MacroAverage) else measure) == before
    assert loaded.classes_.tolist() == expected["classes"]
    assert loaded.coef_.tolist() == expected["coef"]
    assert loaded.intercept_.tolist() == expected["intercept"]
    assert json.loads(json.dumps(loaded.rates_)) == expected["rates"]
    assert {column: len(values) for column, values in loaded.history_.items()} == expected["history"]
    again = through_a_file(loaded, tmp_path)
    assert np.array_equal(again.coef_, loaded.coef_)
    assert again.get_params() == loaded.get_params()


def hostile_things(mark):
    """Things that a model never holds; some touch a file if anybody calls them."""
    return {
        "partial": functools.partial(os.system, f"touch {mark}"),
        "methodcaller": operator.methodcaller("__reduce__"),
        "function": os.system,
        "type": io.FileIO,
        "estimator": MeasureClassifier(),
        "generator": np.random.default_rng(0),
    }


def schema_of(classifier):
    buffer = io.BytesIO()
    save_model(classifier, buffer)
    return zipfile.ZipFile(buffer).read("schema.json")


@pytest.mark.parametrize("kind", ["partial", "methodcaller", "function", "type", "estimator", "generator"])
def test_a_file_with_anything_strange_in_it_is_refused_and_runs_nothing(kind, tmp_path):
    hostile = {"format": "ratewise model", "parameters": hostile_things(tmp_path / "mark")[kind]}
    skops.io.dump(hostile, tmp_path / "hostile.skops")
    with pytest.raises(ValueError, match="which ratewise does not trust; nothing was loaded"):
        load_model(tmp_path / "hostile.skops")
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    "spoiled",
    [
        # A call of os.system dressed as one of our classes, or as a plain dict.
        {"__class__": "GMean", "__module__": "ratewise.measures.gmean", "__loader__": "PartialNode"},
        {"__class__": "dict", "__module__": "builtins", "__loader__": "ConstructorFromReduceNode"},
        {"__class__": "system", "__module__": "os", "__loader__": "ConstructorFromReduceNode"},
        {"__class__": "system", "__module__": "os", "__loader__": "DictNode"},
        {"__class__": "methodcaller", "__module__": "operator", "__loader__": "OperatorFuncNode"},
        {"__class__": "system", "__module__": "os", "__loader__": "ObjectNode"},
        {
            "__class__": "LogisticRegression",
            "__module__": "sklearn.linear_model._logistic",
            "__loader__": "ObjectNode",
        },
    ],
    ids=lambda node: node["__loader__"] + "-" + node["__class__"],
)
def test_a_tampered_table_of_contents_is_refused(spoiled, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "system", lambda command: pytest.fail("ran " + str(command)))
    schema = json.loads(schema_of(fitted()))
    command = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": '"true"'}
    schema["content"]["parameters"]["content"]["measure"] = {**spoiled, "content": [command], "attrs": [command]}
    with zipfile.ZipFile(tmp_path / "hostile.skops", "w") as archive:
        archive.writestr("schema.json", json.dumps(schema))
    with pytest.raises(ValueError, match="does not trust; nothing was loaded"):
        load_model(tmp_path / "hostile.skops")


def test_a_skops_file_of_somebody_else_is_named_as_such(tmp_path):
    skops.io.dump({"weights": [1, 2]}, tmp_path / "other.skops")
    with pytest.raises(ValueError, match=r"other.skops is a skops file, but not a model saved by ratewise"):
        load_model(tmp_path / "other.skops")


def test_a_file_of_a_later_format_asks_for_an_update(tmp_path):
    skops.io.dump(
        {"format": "ratewise model", "format_version": 99, "ratewise_version": "7.0"}, tmp_path / "model.skops"
    )
    with pytest.raises(ValueError, match=r"saved by ratewise 7.0 in format 99.*pip install --upgrade ratewise"):
        load_model(tmp_path / "model.skops")


@pytest.mark.parametrize("content", [b"", b"label,x\n1,2\n", b"PK\x03\x04 and then nothing"])
def test_a_file_that_is_no_model_is_refused_by_name(content, tmp_path):
    (tmp_path / "model.skops").write_bytes(content)
    with pytest.raises(ValueError, match=r"model.skops is not a model file, or is damaged"):
        load_model(tmp_path / "model.skops")


def test_a_file_cut_short_or_spoiled_anywhere_is_refused_in_one_sentence(tmp_path):
    buffer = io.BytesIO()
    save_model(fitted(), buffer)
    whole = buffer.getvalue()
    path = tmp_path / "model.skops"
    for share in (0.1, 0.5, 0.9, 0.99):
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(ValueError, match=r"model.skops is"):
            load_model(path)
    rng = np.random.default_rng(0)
    for _ in range(30):
        spoiled = bytearray(whole)
        for place in rng.integers(0, len(whole), size=5):
            spoiled[place] ^= 0xFF
        path.write_bytes(spoiled)
        try:
            loaded = load_model(path)
        except ValueError as error:
            assert "model.skops" in str(error)  # noqa: PT017
        else:  # the bytes were of no consequence, such as a date
            assert np.array_equal(loaded.coef_, fitted().coef_)


def encoder_of(*codecs, names=None):
    encoder = Encoder(list(names or [codec.name for codec in codecs]))
    encoder.codecs, encoder.fitted = list(codecs), True
    return encoder


def changed(encoder, **attributes):
    for name, value in attributes.items():
        assert hasattr(encoder, name)
        setattr(encoder, name, value)
    return encoder


@pytest.mark.parametrize(
    "change",
    [
        {"coef_": np.ones((1, 7))},
        {"coef_": np.full((1, 3), np.nan)},
        {"intercept_": "0"},
        {"classes_": np.array([0, 1, 2])},
        {"classes_": np.array([1, 1])},
        {"rates_": Rates(0.5, 2.0, 0.1)},
        {"rates_interval_": 5},
        {"rates_interval_": RatesInterval((0.1, 0.2), (0.1, None), (0.1, 0.2), 0.95)},
        {"survey_": FileSurvey(None, {0: 1, 1: 2}, {}, False, {})},
        {"measure_": "f1"},
        {"measure": FBeta(1.0)},
        {"stages_": 3},
        {"stages_": ["start", 4]},
        {"solver_": "amp"},
        {"history_": {"pass": np.ones(2), "tpr": np.ones(3)}},
        {"history_": 5},
        {"feature_spread_": np.ones(2)},
        {"target_": 7},
        {"encoder_": "text"},
        {"encoder_": Encoder(4)},
        {"encoder_": encoder_of(Number("a", "", 0.0), Category("b", "", [], False, False))},
        {"encoder_": changed(Encoder(3), means=np.ones(2))},
        {"encoder_": changed(Encoder(3), kinds=["number"])},
        {"encoder_": changed(Encoder(3), means=np.full(3, np.nan))},
        {"encoder_": changed(Encoder(["a", "b", "c"]), kinds={"a": 7})},
        {"encoder_": encoder_of(*(Number(name, "", 0.0, centre="1") for name in "abc"))},
        {"encoder_": encoder_of(*(Number(name, "", np.nan) for name in "abc"))},
        {"encoder_": changed(Encoder(["a", "b", "c"]), codecs=["a", "b", "c"])},
        {"encoder_": encoder_of(Number("a", "", 0.0), Number("c", "", 0.0), Number("b", "", 0.0), names="abc")},
        {"encoder_": changed(Encoder(["a", "b", "c"]), sparse_input=True)},
        {"encoder_": changed(Encoder(["a", "b", "c"]), _names=["a", "b"])},
        {"encoder_": encoder_of(Number("a", "", 0.0), Category("b", "", ("x", "y"), False, False))},
        {"encoder_": encoder_of(Number("a", "", 0.0), Hashed("b", "", [], False, False, 2.0))},
        {"fitted_to_costs_": "yes"},
        {"cost_columns_": ["amount"]},
        {"cost_columns_": {"false_negative": None}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_parts_that_do_not_fit_together_are_refused(change, tmp_path):
    spoiled = MeasureClassifier("f1", sharpen=False, random_state=0).fit(*rows())
    for name, value in change.items():
        if name == "measure":
            value = FBeta(1.0)
            object.__setattr__(value, "beta", -1.0)  # as no constructor would allow
        setattr(spoiled, name, value)
    with pytest.raises(ValueError, match=r"model.skops is damaged"):
        through_a_file(spoiled, tmp_path)


def bomb(tmp_path, member, size):
    """A model file in which one member unpacks to so many zeros."""
    save_model(fitted(), tmp_path / "model.skops")
    with zipfile.ZipFile(tmp_path / "model.skops") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "bomb.skops", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            if name != member:
                archive.writestr(name, content)
        with archive.open(member, "w", force_zip64=True) as file:
            for _ in range(size >> 20):
                file.write(bytes(1 << 20))
    return tmp_path / "bomb.skops"


@pytest.mark.parametrize(("member", "megabytes"), [("schema.json", 10), ("other.npy", 400)])
def test_a_file_that_unpacks_to_far_more_than_it_holds_is_refused_unread(member, megabytes, tmp_path, monkeypatch):
    path = bomb(tmp_path, member, megabytes << 20)
    assert path.stat().st_size < 1 << 20
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *args, **kwargs: pytest.fail("was read"))
    with pytest.raises(ValueError, match=r"bomb.skops is refused: it would unpack to .* far more than"):
        load_model(path)


def test_a_model_of_many_categories_is_not_taken_for_a_bomb(tmp_path):
    names = [f"column {number}" for number in range(40)]
    levels = [f"value {value}" for value in range(200)]
    encoder = encoder_of(*(Category(name, "", levels, False, False) for name in names))
    rng = np.random.default_rng(0)
    model = MeasureClassifier(sharpen=False, random_state=0).fit(rng.normal(size=(40, 8000)), np.arange(40) % 2)
    model.encoder_ = encoder
    assert through_a_file(model, tmp_path).encoder_.codecs == encoder.codecs


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no /dev/zero here")
def test_a_device_without_end_is_not_read():
    with pytest.raises(ValueError, match="/dev/zero is not a model file"):
        load_model("/dev/zero")


def test_a_missing_file_is_an_os_error_that_names_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere.skops"):
        load_model(tmp_path / "nowhere.skops")


def test_a_full_disk_leaves_the_old_model_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "model.skops"
    path.write_bytes(b"the old model")

    def no_space(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match=r"No space left on device: .*model.skops'") as raised:
        save_model(fitted(), path)
    assert raised.value.errno == errno.ENOSPC
    assert path.read_bytes() == b"the old model"
    assert list(tmp_path.iterdir()) == [path]


def test_a_device_that_is_full_is_an_os_error_that_names_it():
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    with pytest.raises(OSError, match=r"No space left on device: '/dev/full'"):
        save_model(fitted(), "/dev/full")


def test_missing_skops_gives_the_pip_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "ratewise\[persistence\]"'):
        save_model(fitted(), io.BytesIO())


def test_a_pipeline_comes_back_with_its_steps(tmp_path):
    table = pd.DataFrame(rows()[0], columns=["a", "b", "c"]).assign(colour=["red", "blue"] * 100)
    encode = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b"]),
            ("text", OneHotEncoder(), ["colour"]),
        ]
    )
    pipeline = make_pipeline(encode, MeasureClassifier("f1", sharpen=False, random_state=0)).fit(table, rows()[1])
    loaded = through_a_file(pipeline, tmp_path)
    assert [name for name, _ in loaded.steps] == [name for name, _ in pipeline.steps]
    assert np.array_equal(loaded.decision_function(table), pipeline.decision_function(table))


def test_a_maximizer_comes_back(tmp_path):
    X, y = rows()
    maximizer = MeasureMaximizer(LogisticRegression(), "f1", cv=2).fit(X, y)
    loaded = through_a_file(maximizer, tmp_path)
    assert np.array_equal(loaded.predict(X), maximizer.predict(X))
    assert loaded.rates_ == maximizer.rates_


def test_trees_are_loaded_only_if_trusted(tmp_path):
    X, y = rows()
    forest = MeasureMaximizer(RandomForestClassifier(2, random_state=0), "f1", rounds=1, cv=2).fit(X, y)
    with pytest.raises(ValueError, match=r"holds sklearn.tree._tree.Tree, which ratewise does not trust"):
        through_a_file(forest, tmp_path)
    loaded = through_a_file(forest, tmp_path, trusted=["sklearn.tree._tree.Tree"])
    assert np.array_equal(loaded.predict(X), forest.predict(X))


@pytest.mark.parametrize("estimator", [SVC(), KMeans(2, n_init=1)], ids=lambda one: type(one).__name__)
def test_estimators_whose_compiled_code_trusts_its_arrays_are_loaded_only_if_trusted(estimator, tmp_path):
    """Numbers of support vectors that a file made up ended the process by a signal."""
    X, y = rows()
    classifier = MeasureClassifier("f1", sharpen=False, random_state=0)
    model = MeasureMaximizer(estimator, "f1", cv=2) if isinstance(estimator, SVC) else None
    model = (model or make_pipeline(estimator, classifier)).fit(X, y)
    path = f"{type(estimator).__module__}.{type(estimator).__name__}"
    with pytest.raises(ValueError, match=rf"holds {path}, which ratewise does not trust; nothing was loaded"):
        through_a_file(model, tmp_path)
    loaded = through_a_file(model, tmp_path, trusted=[path])
    assert np.array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize(
    "change",
    [
        {"_n_features_outs": [1]},
        {"_n_features_outs": [3, 2]},
        {"categories_": [np.array([2.0, 1.0, 0.0])]},
        {"categories_": [np.array([np.nan, 1.0, 2.0])]},
        {"_drop_idx_after_grouping": np.array([7], dtype=object), "_n_features_outs": [2]},
        {"_infrequent_enabled": True},
    ],
    ids=str,
)
def test_a_one_hot_encoder_that_would_write_outside_of_its_rows_is_refused(change, tmp_path):
    X, y = np.arange(60.0).reshape(-1, 1) % 3, np.arange(60) % 3 == 0
    pipeline = make_pipeline(OneHotEncoder(), MeasureClassifier("f1", sharpen=False, random_state=0)).fit(X, y)
    assert np.array_equal(through_a_file(pipeline, tmp_path).predict(X), pipeline.predict(X))
    vars(pipeline.steps[0][1]).update(change)
    with pytest.raises(ValueError, match=r"model.skops holds a OneHotEncoder that does not fit together"):
        through_a_file(pipeline, tmp_path)


@pytest.mark.parametrize("drop", [None, "first", "if_binary"])
def test_one_hot_encoders_of_every_kind_come_back_those_that_group_with_trust(drop, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.choice(["x", "y", None], 90), "b": rng.choice([1.0, 2.0, np.nan], 90)})
    y = (table["a"] == "x").to_numpy()
    plain = make_pipeline(OneHotEncoder(drop=drop), MeasureClassifier("f1", sharpen=False, random_state=0))
    assert np.array_equal(through_a_file(plain.fit(table, y), tmp_path).predict(table), plain.predict(table))
    plain.set_params(onehotencoder__min_frequency=31).fit(table, y)
    with pytest.raises(
        ValueError, match=r"groups rare categories, which cannot be checked.* pass trusted=\['sklearn"
    ):
        through_a_file(plain, tmp_path)
    loaded = through_a_file(plain, tmp_path, trusted=[OneHotEncoder])
    assert np.array_equal(loaded.predict(table), plain.predict(table))


def test_a_pipeline_with_a_function_is_refused_and_one_that_ends_in_something_else_not_saved(tmp_path):
    X, y = rows()
    pipeline = make_pipeline(FunctionTransformer(os.system), MeasureClassifier("f1", sharpen=False))
    pipeline.steps[-1][1].fit(X, y)
    save_model(pipeline, tmp_path / "model.skops")
    with pytest.raises(ValueError, match="which ratewise does not trust; nothing was loaded"):
        load_model(tmp_path / "model.skops")
    with pytest.raises(ValueError, match="Pipeline that ends in one of them; got LogisticRegression"):
        save_model(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y), tmp_path / "other.skops")
