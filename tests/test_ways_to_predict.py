"""All ways to predict give the same labels, scores and probabilities, to float32, or the same refusal.

A new way is a line of WAYS, a new kind of data or of model is a line of DATA.
"""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import onnxruntime
import pandas as pd
import polars
import pyarrow as pa
import pytest
from click.testing import CliRunner
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from ratewise import MeasureClassifier, MeasureMaximizer, export_onnx, load_model, save_model
from ratewise.cli.app import app
from ratewise.distributed import DaskMeasureClassifier
from ratewise.measures import Constrained

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning",  # skl2onnx and onnx have their own
    "ignore:X does not have valid feature names",
)
N = 300


class Case(NamedTuple):
    """A table to fit on, rows to predict, and the words of the refusal where there must be one."""

    train: pd.DataFrame
    new: pd.DataFrame
    encode: str | None = "auto"
    refusal: str | None = None
    refused_by: tuple[str, ...] = ()
    """The ways that must refuse, where others need not."""
    make: Callable[..., Any] = MeasureClassifier
    settings: dict[str, Any] = {}  # noqa: RUF012 - read only


class Answers(NamedTuple):
    """What a way to predict gives; None for what it does not give."""

    labels: Any
    scores: Any
    probability: Any
    """Of the positive class; of more than two classes, of the label."""


def numbers(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "c"])
    return table.assign(label=np.where(table["a"] + 0.3 * rng.normal(size=N) > 0.5, "yes", "no"))


def gaps(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(c=table["c"].where(np.arange(N) % 3 > 0))


def texts(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(colour=np.where(table["a"] + table["b"] > 0.2, "red", "blue"))


def dates(table: pd.DataFrame) -> pd.DataFrame:
    days = pd.to_timedelta(np.round(50 * table["b"] + 100 * table["a"]).astype(int), unit="D")
    return table.assign(day=pd.Timestamp("2024-05-01") + days)


def unseen(table: pd.DataFrame) -> pd.DataFrame:
    return texts(table).assign(colour=np.where(np.arange(N) % 4, texts(table)["colour"], "green"))


def some_missing(table: pd.DataFrame) -> pd.DataFrame:
    return table.where((np.arange(N) % 3 > 0)[:, None] | (table.columns == "label"))


def backwards(table: pd.DataFrame) -> pd.DataFrame:
    return table[table.columns[::-1]]


def sexes(table: pd.DataFrame) -> pd.DataFrame:
    """With a column that bounds are about, and no feature."""
    return table.assign(sex=np.where(table["b"] + table["c"] > 0.5, "f", "m"))


def thirds(table: pd.DataFrame) -> pd.DataFrame:
    """With three classes."""
    return table.assign(label=np.where((table["b"] > 0.7) & (table["label"] == "no"), "maybe", table["label"]))


def linear(measure: Any, **settings: Any) -> MeasureMaximizer:
    return MeasureMaximizer(LogisticRegression(), measure, rounds=1, cv=2, **settings)


def stack(measure: Any, **settings: Any) -> MeasureMaximizer:
    boosting = HistGradientBoostingClassifier(max_iter=10, random_state=0)
    return MeasureMaximizer(boosting, measure, cv=2, **settings)


def with_value(value: float) -> pd.DataFrame:
    table = numbers(1)
    table.loc[N - 1, "c"] = value
    return table


train, new = numbers(0), numbers(1)
NOT_FINITE = r"NaN|infinit|missing"
EACH_GROUP = r"threshold for each group|cannot be exported to ONNX"
NO_COMMAND = "is a MeasureMaximizer, and commands take a MeasureClassifier|is a dask DataFrame"
NO_BOOSTING = f"{NO_COMMAND}|ratewise does not trust|cannot be exported to ONNX: HistGradientBoosting"
NO_GROUPS = ("Dask array", "ONNX")
TREES = ("numpy.random._generator.Generator", "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor")
COMMANDS = ("CSV", "Parquet", "Dask frame")  # of a maximizer
DATA = {
    "dense": Case(train, new),
    "dense, not encoded": Case(train, new, None),
    "gaps": Case(gaps(train), gaps(new)),
    "gaps in new rows only": Case(train, gaps(new)),
    "text": Case(texts(train), texts(new)),
    "gaps and text": Case(gaps(texts(train)), gaps(texts(new))),
    "dates": Case(dates(train), dates(new)),
    "unseen categories": Case(texts(train), unseen(new)),
    "reordered columns": Case(texts(train), backwards(texts(new))),
    "a column more": Case(texts(train), texts(new).assign(more=1.0)),
    "a column less": Case(train, new.drop(columns="b"), "auto", r"'b'"),
    "text for a number": Case(
        texts(train), texts(new).assign(b="two"), "auto", r"column 'b': .*(text|is not a number)"
    ),
    "text for a number, not encoded": Case(
        train, new.assign(b="two"), None, r"column 'b'.* holds|to float: 'two'"
    ),
    "gaps in text and dates": Case(dates(texts(train)), some_missing(dates(texts(new)))),
    "true and false": Case(train.assign(b=train["b"] > 0), new.assign(b=new["b"] > 0)),
    "true and false, not encoded": Case(train.assign(b=train["b"] > 0), new.assign(b=new["b"] > 0), None),
    "NaN, not encoded": Case(train, with_value(np.nan), None, NOT_FINITE),
    "a threshold for each group": Case(
        sexes(train),
        sexes(new),
        "auto",
        r"threshold for each group|cannot be exported to ONNX",
        ("Dask frame", "Dask array", "ONNX"),
    ),
    "curves": Case(train, new, settings={"basis": "splines"}),
    "curves, gaps and text": Case(gaps(texts(train)), gaps(texts(new)), settings={"basis": "splines"}),
    "curves of gaps, not encoded": Case(gaps(train), gaps(new), None, settings={"basis": "splines"}),
    "products": Case(train, new, settings={"basis": "pairs"}),
    "any basis": Case(gaps(train), gaps(new), settings={"basis": "auto"}),
    "many classes": Case(thirds(train), thirds(new)),
    "many classes, gaps and text": Case(thirds(gaps(texts(train))), thirds(gaps(texts(new)))),
    "many classes, a column less": Case(thirds(train), new.drop(columns="b"), "auto", r"'b'"),
    "maximizer": Case(train, new, None, NO_COMMAND, COMMANDS, linear),
    "maximizer, NaN": Case(train, with_value(np.nan), None, NOT_FINITE + f"|{NO_COMMAND}", make=linear),
    "maximizer, a threshold for each group": Case(
        sexes(train), sexes(new), None, f"{NO_COMMAND}|{EACH_GROUP}", (*COMMANDS, *NO_GROUPS), linear
    ),
    "maximizer, many classes": Case(
        thirds(train), thirds(new), None, rf"{NO_COMMAND}|exports no decision rule", (*COMMANDS, "ONNX"), linear
    ),
    "stack": Case(train, new, None, NO_BOOSTING, (*COMMANDS, "ONNX"), stack, {"stack": True}),
    "stack, gaps": Case(gaps(train), gaps(new), None, NO_BOOSTING, (*COMMANDS, "ONNX"), stack, {"stack": True}),
    "stack, reordered columns": Case(
        train, backwards(new), None, rf"should match|{NO_BOOSTING}", (), stack, {"stack": True}
    ),
    "infinity": Case(train, with_value(np.inf), "auto", NOT_FINITE),
    "infinity, not encoded": Case(train, with_value(-np.inf), None, NOT_FINITE),
}


@functools.cache
def fitted(data: str) -> MeasureClassifier:
    case, sex = DATA[data], DATA[data].train.get("sex")
    measure = "f1" if case.train["label"].nunique() == 2 else "macro-f1"
    settings = case.settings
    if case.make is MeasureClassifier:
        settings = {"sharpen": False, "random_state": 0, "encode": case.encode} | settings
    measure = measure if sex is None else Constrained("f1", tpr_gap=0.2, confidence=None)
    X = case.train.drop(columns=["label", "sex"], errors="ignore")
    return case.make(measure, **settings).fit(X, case.train["label"], sensitive_features=sex)


def features(model: Any, table: pd.DataFrame) -> pd.DataFrame:
    """What is given as rows: an encoder finds its columns, others need those of the fit."""
    return table if hasattr(model, "encoder_") else table.drop(columns="sex", errors="ignore")


def asked(model: Any, X: Any, sex: Any = None) -> Answers:
    groups = {} if sex is None else {"sensitive_features": sex}
    found = (model.predict(X, **groups), model.decision_function(X), model.predict_proba(X))
    return answers(model, *map(np.asarray, found))


def answers(model: Any, labels: Any, scores: Any, proba: Any) -> Answers:
    places = np.searchsorted(model.classes_, labels) if model.classes_.size > 2 else 1
    return Answers(labels, scores, None if proba is None else proba[np.arange(labels.size), places])


def matrix(model: Any, table: pd.DataFrame) -> Any:
    """The rows as an array; of a table with texts or dates, as the model's encoder makes it."""
    columns = table[model.feature_names_in_.tolist()]
    return (
        columns.to_numpy(dtype=np.float64)
        if getattr(model, "encode", None) is None or is_numeric(columns)
        else model.encoder_.transform(columns)
    )


def is_numeric(table: pd.DataFrame) -> bool:
    return all(kind.kind in "bf" for kind in table.dtypes)


def on_a_cluster(model: Any) -> Any:
    """The same model, as a fit on a cluster would leave it."""
    if not isinstance(model, MeasureClassifier):
        return model
    found = DaskMeasureClassifier(model.measure)
    found.__dict__.update({name: value for name, value in vars(model).items() if name.endswith("_")})
    return found


def by_array(model: Any, table: pd.DataFrame, folder: Any) -> Answers:
    return asked(model, matrix(model, table), table.get("sex"))


def by_dask_array(model: Any, table: pd.DataFrame, folder: Any) -> Answers:
    return asked(on_a_cluster(model), da.from_array(matrix(model, table), chunks=(N // 2, -1)))


def by_dask_frame(model: Any, table: pd.DataFrame, folder: Any) -> Answers:
    return asked(on_a_cluster(model), dd.from_pandas(table, npartitions=2, sort=False))


def by_file(kind: str, model: Any, table: pd.DataFrame, folder: Any) -> Answers:
    save_model(model, folder / "model.skops")
    write = {"csv": table.to_csv, "parquet": table.to_parquet}[kind]
    write(folder / f"rows.{kind}", index=False)
    sensitive = ["--sensitive", "sex"] if "sex" in table else []
    files = [f"{folder}/model.skops", f"{folder}/rows.{kind}"]
    found = CliRunner().invoke(app, ["predict", *files, *sensitive, "--quiet"])
    if found.exit_code:
        raise ValueError(found.output)
    written = pd.read_csv(io.StringIO(found.stdout))
    return Answers(
        *(written[name].to_numpy() if name in written else None for name in ("label", "score", "probability"))
    )


def by_saved_model(model: Any, table: pd.DataFrame, folder: Any) -> Answers:
    save_model(model, folder / "model.skops")
    loaded = load_model(folder / "model.skops", trusted=TREES)
    return asked(loaded, features(model, table), table.get("sex"))


def by_onnx(model: Any, table: pd.DataFrame, folder: Any) -> Answers:
    graph = io.BytesIO()
    export_onnx(model, graph)
    session = onnxruntime.InferenceSession(graph.getvalue(), providers=["CPUExecutionProvider"])
    given = [output.name for output in session.get_outputs()]
    found = dict(zip(given, session.run(given, {"X": matrix(model, table).astype(np.float64)}), strict=True))
    return answers(model, found["label"], found["score"], found.get("probability"))


WAYS: dict[str, Callable[..., Answers]] = {
    "array": by_array,
    "pandas": lambda model, table, folder: asked(model, features(model, table), table.get("sex")),
    "polars": lambda model, table, folder: asked(
        model, polars.from_pandas(features(model, table)), table.get("sex")
    ),
    "Arrow": lambda model, table, folder: asked(
        model, pa.Table.from_pandas(features(model, table), preserve_index=False), table.get("sex")
    ),
    "CSV": functools.partial(by_file, "csv"),
    "Parquet": functools.partial(by_file, "parquet"),
    "Dask frame": by_dask_frame,
    "Dask array": by_dask_array,
    "saved model": by_saved_model,
    "ONNX": by_onnx,
}


def can_hold(way: str, case: Case) -> bool:
    """An array holds numbers only, without names. On a cluster, models fitted on arrays do not fill gaps."""
    rows = case.new.drop(columns="label")
    curves = "splines" in case.settings.values()  # which take a gap as a value
    filled = case.refusal is None and not curves and bool(rows.isna().to_numpy().any())
    rows = rows.drop(columns="sex", errors="ignore")
    in_order = case.encode is not None or list(rows) == sorted(rows)
    return way not in ("array", "Dask array") or (
        is_numeric(rows) and in_order and not (filled and way == "Dask array" and case.make is MeasureClassifier)
    )


@pytest.mark.parametrize(
    ("data", "way"), [(data, way) for data in DATA for way in WAYS if can_hold(way, DATA[data])]
)
def test_every_way_to_predict_gives_the_same_answers_or_the_same_refusal(data, way, tmp_path):
    case, model = DATA[data], fitted(data)
    rows = case.new.drop(columns="label")
    if case.refusal is not None and (not case.refused_by or way in case.refused_by):
        with pytest.raises(Exception, match=re.compile(case.refusal)):
            WAYS[way](model, rows, tmp_path)
        return
    expected = asked(model, features(model, rows), rows.get("sex"))
    assert len(set(expected.labels)) == case.train["label"].nunique()
    found = WAYS[way](model, rows, tmp_path)
    np.testing.assert_array_equal(found.labels, expected.labels)
    for mine, of_memory in zip(found[1:], expected[1:], strict=True):
        if mine is not None:
            np.testing.assert_allclose(mine, of_memory, rtol=1e-5, atol=1e-5)
