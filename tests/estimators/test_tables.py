"""Tables as people have them: text, categories, dates and gaps, from pandas, polars and Arrow."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from ratewise import ColumnWarning, MeasureClassifier, load_model, open_stream, save_model
from ratewise.streams import DataError

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

N = 1500
QUICK = {"random_state": 0, "sharpen": False}


def a_table(seed=0, n=N):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.25).astype(int)
    moments = pd.Timestamp("2024-05-01") + pd.to_timedelta(rng.integers(0, 10_000, n) - 5_000 * y, unit="s")
    table = pd.DataFrame(
        {
            "amount": rng.standard_normal(n) + y,
            "count": rng.integers(0, 100, n),
            "city": rng.choice(["Oslo", "Rome", None], n),
            "tariff": pd.Categorical(np.where(rng.random(n) < 0.3 + 0.4 * y, "day", "night")),
            "known": rng.random(n) < 0.5,
            "when": moments,
            "gaps": np.where(rng.random(n) < 0.1, np.nan, rng.standard_normal(n)),
        }
    )
    return table, y


def from_pandas(table):
    return table


def from_polars(table):
    return pytest.importorskip("polars").from_pandas(table)


def from_arrow(table):
    return pa.Table.from_pandas(table, preserve_index=False)


class OnlyTheProtocol:
    """A table of some other library, which hands its columns over as Arrow streams do."""

    def __init__(self, table):
        self._table = pa.Table.from_pandas(table, preserve_index=False)

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


every_library = pytest.mark.parametrize("of", [from_pandas, from_polars, from_arrow, OnlyTheProtocol])


def classifier(**parameters):
    return MeasureClassifier("f1", **QUICK, encode="auto", **parameters)


@pytest.fixture(scope="module")
def from_a_file(tmp_path_factory):
    table, y = a_table()
    path = tmp_path_factory.mktemp("tables") / "rows.parquet"
    table.assign(label=y).to_parquet(path)
    return MeasureClassifier("f1", **QUICK).fit_stream(open_stream(path, target="label"))


@every_library
def test_a_table_gives_the_model_that_the_same_rows_give_from_a_file(of, from_a_file):
    table, y = a_table()
    fitted = classifier().fit(of(table), y)
    assert np.array_equal(fitted.coef_, from_a_file.coef_)
    assert np.array_equal(fitted.intercept_, from_a_file.intercept_)
    assert fitted.rates_ == from_a_file.rates_
    test, truth = a_table(seed=1)
    assert fitted.score(of(test), truth) == from_a_file.score(of(test), truth) > 0.5
    assert np.array_equal(fitted.predict(of(test)), from_a_file.predict(test))


def test_the_names_say_what_went_in_and_what_each_coefficient_is_of():
    table, y = a_table()
    fitted = classifier().fit(table, y)
    assert fitted.n_features_in_ == 7
    assert fitted.feature_names_in_.tolist() == list(table.columns)
    names = fitted.get_feature_names_out().tolist()
    assert fitted.coef_.shape == (1, len(names))
    assert names == [
        *("amount", "count", "city=Oslo", "city=Rome", "city is missing", "tariff=day", "tariff=night"),
        *("known", "when in days since 2024-04-30", "when: sine of the hour", "when: cosine of the hour", "gaps"),
    ]
    coefficients = dict(zip(names, fitted.coef_[0], strict=True))
    assert coefficients["tariff=day"] > coefficients["tariff=night"]
    assert coefficients["amount"] > 0


def test_columns_are_found_by_name_and_values_never_seen_are_no_trouble():
    table, y = a_table()
    fitted = classifier().fit(table, y)
    other = table[list(table.columns)[::-1]].assign(more=1)
    assert np.array_equal(fitted.predict(other), fitted.predict(table))
    assert fitted.predict(table.assign(city="Bergen")).shape == (N,)
    with pytest.raises(DataError, match="X: there is no column 'tariff', which the model was trained on"):
        fitted.predict(table.drop(columns="tariff"))
    with (
        pytest.warns(UserWarning, match="valid feature names"),
        pytest.raises(ValueError, match="of which 'city', 'tariff', 'when' became other columns: give a table"),
    ):
        fitted.predict(np.zeros((3, 7)))


def test_columns_that_numbers_name_are_found_by_name_with_encode_and_by_position_without():
    X = np.random.default_rng(0).standard_normal((600, 3))
    y = X[:, 0] + 2.0 * X[:, 1] > 1.0
    table = pd.DataFrame(X, columns=[10, 2, 7])
    mixed = table[[7, 10, 2]]
    encoded, plain = classifier().fit(table, y), MeasureClassifier("f1", **QUICK).fit(table, y)
    assert np.array_equal(encoded.predict(mixed), encoded.predict(table))
    assert np.array_equal(plain.predict(mixed), plain.predict(mixed.to_numpy()))
    assert not np.array_equal(plain.predict(mixed), plain.predict(table))


def test_categories_written_in_another_way_are_pointed_out(tmp_path):
    table, y = a_table()
    classifier = MeasureClassifier("f1", encode="auto", **QUICK).fit(table, y)
    coded = table.assign(tariff=table.tariff.cat.codes)
    with pytest.warns(
        ColumnWarning, match=r"'tariff': no row has a value of the fit \('day', 'night'\); there are '"
    ):
        classifier.predict(coded)
    coded.to_csv(tmp_path / "coded.csv", index=False)
    stream = open_stream(str(tmp_path / "coded.csv"), encoder=classifier.encoder_)
    with pytest.warns(ColumnWarning, match="'tariff': no row has a value of the fit"):
        next(iter(stream.windows()))
    classifier.predict(coded[:10])  # few rows may all have rare values
    classifier.predict(table.assign(tariff="dusk"))  # one new value may be just that


def test_without_encode_a_column_of_text_is_refused_by_name_and_nothing_is_kept():
    table, y = a_table()
    for of in (from_pandas, from_polars, from_arrow):
        unfitted = MeasureClassifier("f1")
        with pytest.raises((TypeError, ValueError), match=r"column 'city' holds 'Rome'.*encode='auto'"):
            unfitted.fit(of(table[["amount", "city"]].dropna()), y[table["city"].notna()])
        assert not hasattr(unfitted, "n_features_in_")
    with pytest.raises((TypeError, ValueError), match="column 1 holds 'Rome'"):
        MeasureClassifier("f1").fit(table[["amount", "city"]].fillna("Oslo").to_numpy(dtype=object), y)
    with pytest.raises(ValueError, match=r"NaN in column 1 \('gaps'\).*encode='auto'"):
        MeasureClassifier("f1").fit(table[["amount", "gaps"]], y)


def test_numbers_that_are_missing_from_an_array_are_filled_with_the_mean():
    table, y = a_table()
    X = table[["amount", "gaps"]].to_numpy()
    by_hand = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    fitted, expected = classifier().fit(X, y), MeasureClassifier("f1", **QUICK).fit(by_hand, y)
    assert np.array_equal(fitted.coef_, expected.coef_)
    assert fitted.decision_function(X) == pytest.approx(expected.decision_function(by_hand))
    masked = np.ma.masked_invalid(X)
    assert np.array_equal(classifier().fit(masked, y).coef_, expected.coef_)
    whole = classifier().fit(by_hand, y)
    assert np.array_equal(whole.coef_, expected.coef_)


def test_partial_fit_learns_the_encoding_from_its_first_rows():
    table, y = a_table(n=6_000)
    fitted = classifier()
    for start in range(0, 6_000, 1_000):
        fitted.partial_fit(table[start : start + 1_000], y[start : start + 1_000], classes=[0, 1])
    assert fitted.coef_.shape[1] == fitted.get_feature_names_out().size == 12
    assert fitted.score(*a_table(seed=1)) > 0.5
    before = fitted.coef_.copy()
    with pytest.raises(DataError, match="no column 'city'"):
        fitted.partial_fit(table.drop(columns="city"), y)
    assert np.array_equal(fitted.coef_, before)


def test_many_values_make_a_sparse_matrix_in_which_numbers_far_from_0_keep_what_they_tell():
    rng = np.random.default_rng(0)
    table, y = a_table()
    table = table[["amount", "count"]].assign(
        **{f"code{j}": [f"v{value}" for value in rng.integers(0, 90, N)] for j in range(4)}
    )
    near = classifier().fit(table, y)
    moved = table.assign(amount=table["amount"] + 1e9)
    far = classifier().fit(moved, y)
    assert far.encoder_.sparse
    assert far.score(moved, y) == pytest.approx(near.score(table, y), abs=0.02)
    assert far.coef_.shape[1] == far.get_feature_names_out().size


def test_it_works_where_scikit_learn_clones_and_cuts():
    table, y = a_table()
    assert cross_val_score(classifier(), table, y, cv=3).min() > 0.5
    polars = pytest.importorskip("polars")
    assert cross_val_score(classifier(), polars.from_pandas(table), y, cv=3).min() > 0.5
    assert clone(classifier()).encode == "auto"
    with pytest.raises(ValueError, match="encode must be 'auto' or None; got True"):
        MeasureClassifier("f1", encode=True).fit(table, y)


def test_a_fit_to_numbers_after_one_to_a_table_forgets_the_table():
    table, y = a_table()
    fitted = classifier().fit(table, y)
    fitted.set_params(encode=None).fit(table[["amount", "count"]], y)
    assert not hasattr(fitted, "encoder_")
    assert fitted.get_feature_names_out().tolist() == ["amount", "count"]
    assert fitted.fit(table[["amount"]].to_numpy(), y).get_feature_names_out().tolist() == ["x0"]


def test_columns_with_one_name_and_columns_of_many_types_are_refused():
    table, y = a_table()
    twice = pd.concat([table[["amount"]], table[["amount"]]], axis=1)
    with pytest.raises(DataError, match="X: there are two columns 'amount'"):
        classifier().fit(twice, y)
    with pytest.raises(DataError, match="different types"):
        classifier().fit(pd.DataFrame({"a": [1, "b", 2.5, None] * 10}), [0, 1] * 20)
    for column in (np.ones(40) * 1j, [10**30] * 40, pd.arrays.SparseArray(np.eye(40)[0])):
        with pytest.raises(DataError, match="or of one that is neither number, text nor time"):
            classifier().fit(pd.DataFrame({"a": column}), [0, 1] * 20)
    with pytest.raises(TypeError, match="X: a Series is one column"):
        classifier().fit(table["amount"], y)
    with pytest.raises(DataError, match="X: there are no rows"):
        classifier().fit(table[:0], y[:0])
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match="LazyFrame is not a table of rows yet; call collect"):
        classifier().fit(polars.from_pandas(table).lazy(), y)


def test_a_saved_model_predicts_tables_and_files(tmp_path):
    from click.testing import CliRunner

    from ratewise.cli.app import app

    table, y = a_table()
    fitted = classifier().fit(table, pd.Series(y, name="label"))
    file = io.BytesIO()
    save_model(fitted, file)
    file.seek(0)
    loaded = load_model(file)
    assert np.array_equal(loaded.predict(table), fitted.predict(table))
    assert loaded.get_feature_names_out().tolist() == fitted.get_feature_names_out().tolist()

    save_model(fitted, tmp_path / "model.skops")
    table.assign(label=y).to_parquet(tmp_path / "rows.parquet")
    model, rows = str(tmp_path / "model.skops"), str(tmp_path / "rows.parquet")
    done = CliRunner().invoke(app, ["predict", model, rows, "-q"])
    assert done.exit_code == 0, done.output
    labels = [int(line.split(",")[0]) for line in done.stdout.splitlines()[1:]]
    assert labels == fitted.predict(table).tolist()
    done = CliRunner().invoke(app, ["inspect", model, "--json"])
    assert "tariff=day" in [one["column"] for one in json.loads(done.stdout)["coefficients"]]
    done = CliRunner().invoke(app, ["evaluate", model, rows, "--json", "-q"])  # y had the name of the target
    assert json.loads(done.stdout)["measures"]["f1"]["value"] == pytest.approx(fitted.score(table, y))


SUITE = Path(__file__).parents[3] / "shared" / "data" / "suite"
SUITE_NAMES = ["chess", "climate_simulation_crashes", "seismic_bumps", "thoracic_surgery", "wilt", "auction"]


@pytest.mark.slow
@pytest.mark.parametrize("name", SUITE_NAMES)
def test_real_tables_give_the_model_of_their_file(name):
    """Needs the data sets beside the checkout."""
    path = SUITE / f"{name}.parquet"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    polars = pytest.importorskip("polars")
    from_file = MeasureClassifier("gmean", random_state=0).fit_stream(open_stream(path, target="target"))
    for table in (pd.read_parquet(path), polars.read_parquet(path)):
        y = table["target"]
        table = table.drop(columns="target") if isinstance(table, pd.DataFrame) else table.drop("target")
        fitted = MeasureClassifier("gmean", random_state=0, encode="auto").fit(table, y)
        assert np.array_equal(fitted.coef_, from_file.coef_)
        assert np.array_equal(fitted.intercept_, from_file.intercept_)
        assert fitted.score(table, y) == from_file.score(table, y)
