"""MeasureMaximizer around gradient boosting: stages, limited leaves, and the same for all four libraries."""

from __future__ import annotations

import pickle
import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from ratewise import ConstraintWarning, MeasureMaximizer, load_model, save_model
from ratewise.estimators._boosters import MANY_ROWS, booster_of, prepared, staged_scores, tree_count
from ratewise.estimators._crossfit import CostWeights, CrossFit, CrossFitRows, CrossFitter
from ratewise.estimators._ensemble import Stage, VoteTransform
from ratewise.measures import Rates, RecallAtPrecision, get_measure
from ratewise.solvers import BestThreshold


def lightgbm(**settings):
    library = pytest.importorskip("lightgbm")
    return library.LGBMClassifier(**{"n_estimators": 12, "verbosity": -1, "n_jobs": 1} | settings)


def xgboost(**settings):
    library = pytest.importorskip("xgboost")
    return library.XGBClassifier(**{"n_estimators": 12, "n_jobs": 1} | settings)


def catboost(**settings):
    library = pytest.importorskip("catboost")
    quiet = {"iterations": 12, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
    return library.CatBoostClassifier(**quiet | settings)


def histogram(**settings):
    return HistGradientBoostingClassifier(**{"max_iter": 12, "random_state": 0} | settings)


MAKERS = [lightgbm, xgboost, catboost, histogram]
every_library = pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)


@pytest.fixture(scope="module")
def small(rings):
    X, y = rings
    return X[:1_500], y[:1_500]


def log_odds(model, X):
    p = model.predict_proba(X)[:, 1].astype(float)
    return np.log(p / (1 - p))


@every_library
def test_stages_end_at_the_scores_of_the_whole_model_and_grow_by_trees(make, small):
    X, y = small
    model = make().fit(X, y)
    booster = booster_of(model)
    assert tree_count(model, booster) == 12
    first, middle, last, beyond = staged_scores(model, booster, X, [1, 7, 12, 99])
    np.testing.assert_allclose(last, log_odds(model, X), atol=2e-3)
    np.testing.assert_array_equal(beyond, last)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shorter = make(
            **{{"histogram": "max_iter", "catboost": "iterations"}.get(make.__name__, "n_estimators"): 7}
        )
    if make is not catboost:  # its learning rate depends on the number of trees
        np.testing.assert_allclose(middle, log_odds(shorter.fit(X, y), X), atol=2e-3)
    assert np.std(first) < np.std(last)


@every_library
@pytest.mark.parametrize("name", ["f1", "min"])
def test_the_maximizer_fits_each_fold_once_and_keeps_the_best_stages(make, rings, name):
    X, y = rings
    maximizer = MeasureMaximizer(make(), name, cv=3, stack=False).fit(X[:1_500], y[:1_500])
    history = maximizer.history_
    assert len(maximizer.estimators_) == 3
    assert history["trees"].tolist() == sorted(set(history["trees"].tolist()))
    assert history["trees"][-1] == 12
    assert 1 <= history["kept"].sum() <= 4
    assert maximizer.score(X[1_500:], y[1_500:]) > 0.6
    np.testing.assert_array_equal(maximizer.predict(X) == 1, maximizer.decision_function(X) > 0)
    assert maximizer.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), rel=0.4)
    again = pickle.loads(pickle.dumps(maximizer))
    np.testing.assert_array_equal(again.decision_function(X), maximizer.decision_function(X))


@every_library
def test_a_pipeline_that_ends_with_boosting_is_boosting(make, small):
    X, y = small
    pipeline = make_pipeline(StandardScaler(), make())
    maximizer = MeasureMaximizer(pipeline, "gmean", cv=2).fit(X, y)
    assert "trees" in maximizer.history_
    assert maximizer.score(X, y) > 0.85


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ([0.5, 0.80, 0.81, 0.81, 0.80, 0.6, 0.4], {2, 3}),  # it overfits: neither the first stage nor the last
        ([0.5, 0.6, 0.7, 0.8, 0.9], {4}),  # it still learns
        ([0.8] * 7, {0, 3, 6}),  # nothing tells the stages apart
    ],
)
def test_stages_within_noise_of_the_best_are_kept_three_at_most(values, kept):
    assert within_noise(values) == kept


@pytest.mark.parametrize(("stack", "kept"), [(0.80, {1}), (0.79, {1}), (0.78, {0})])  # the noise is .014
def test_boosting_alone_is_kept_where_it_is_better_than_the_stack_by_more_than_noise(stack, kept):
    assert within_noise([0.8], [stack]) == kept


def within_noise(alone, stacked=()):
    y = np.arange(400) < 200
    rows = CrossFitRows(None, None, y, True, None, {}, [(np.arange(400), np.arange(400))])
    fitter = CrossFitter(None, rows, get_measure("gmean"), "auto", False, None)
    transform = VoteTransform("decision_function", 0.0, 1.0)
    stages = [
        CrossFit(
            1, 1.0, CostWeights(), [], y, BestThreshold(0.0, v, Rates(v, v, 0.5)), Stage(k + 1, transform), of
        )
        for values, of in ((alone, None), (stacked, []))
        for k, v in enumerate(values)
    ]
    return set(fitter.within_noise(stages))


def test_without_ensemble_the_model_of_all_rows_has_the_trees_of_the_best_stage(small):
    X, y = small
    maximizer = MeasureMaximizer(histogram(), "f1", cv=2, ensemble=False).fit(X, y)
    (member,) = maximizer._members
    assert [stage.trees for stage in member.stages] == maximizer.history_["trees"][
        maximizer.history_["kept"]
    ].tolist()
    assert maximizer.estimator_.n_iter_ == 12


@every_library
def test_the_first_class_may_be_the_positive_one(make, small):
    X, y = small
    plain = MeasureMaximizer(make(), "f1", cv=2).fit(X, y)
    turned = MeasureMaximizer(make(), "f1", cv=2, pos_label=0).fit(X, 1 - y)
    np.testing.assert_array_equal(plain.predict(X) == 1, turned.predict(X) == 0)


def test_leaves_are_limited_where_the_user_has_set_no_limit():
    assert prepared(histogram(), booster_of(histogram()), 100).l2_regularization > 0
    own = histogram(l2_regularization=0.3)
    assert prepared(own, booster_of(own), 100).l2_regularization == 0.3
    pipeline = Pipeline([("scale", StandardScaler()), ("boost", own)])
    assert prepared(pipeline, booster_of(pipeline), 100)["boost"].l2_regularization == 0.3
    assert own.get_params() == histogram(l2_regularization=0.3).get_params()


@pytest.mark.parametrize(("make", "usual"), [(lightgbm, 10.0), (xgboost, 10.0 / 3.0)])
def test_the_limit_of_leaves_lets_a_tree_move_log_odds_by_one(make, usual):
    def limit(model):
        return prepared(model, booster_of(model), 100).max_delta_step

    assert limit(make()) == pytest.approx(usual)
    assert limit(make(learning_rate=0.02)) == pytest.approx(50.0)
    assert limit(make(max_delta_step=0.7)) == 0.7


def test_many_rows_get_half_as_many_trees_again():
    assert prepared(histogram(), booster_of(histogram()), MANY_ROWS - 1).max_iter == 12
    assert prepared(histogram(), booster_of(histogram()), MANY_ROWS).max_iter == 18


def test_the_first_tree_does_not_overshoot_with_one_positive_in_hundreds():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((12_000, 6))
    y = X[:, 0] + 0.6 * rng.standard_normal(12_000) > 3.3
    learned = slice(0, 6_000)
    loose = lightgbm().fit(X[learned], y[learned])
    model = MeasureMaximizer(lightgbm(), "gmean", cv=3).fit(X[learned], y[learned])
    first_tree = [np.ptp(one.predict(X, raw_score=True, num_iteration=1)) for one in (loose, *model.estimators_)]
    assert first_tree[0] > 2.0  # from the log odds of one in hundreds to those of one in twenty, by one tree
    assert max(first_tree[1:]) < 1.5  # it moves log odds by 1 up at most, and down by far less
    assert model.score(X[6_000:], y[6_000:]) > 0.8


def test_a_linear_model_is_no_boosting():
    assert booster_of(LogisticRegression()) is None
    assert booster_of(make_pipeline(StandardScaler(), LogisticRegression())) is None


def test_importances_are_means_that_sum_to_one(small):
    X, y = small
    maximizer = MeasureMaximizer(lightgbm(), "f1", cv=2).fit(X, y)
    importances = maximizer.feature_importances_
    assert importances.shape == (4,)
    assert importances.sum() == pytest.approx(1.0)
    assert importances[:2].sum() > 0.6  # the ring lies in the first two columns
    with pytest.raises(AttributeError, match="feature_importances_"):
        _ = MeasureMaximizer(histogram(), cv=2).fit(X, y).feature_importances_


def test_a_target_prevalence_moves_the_threshold_and_is_reported(small):
    X, y = small
    rare = MeasureMaximizer(histogram(), "f1", cv=2).fit(X, y, target_prevalence=0.005)
    even = MeasureMaximizer(histogram(), "f1", cv=2).fit(X, y, target_prevalence=0.5)
    assert rare.rates_.prevalence == 0.005
    assert rare.predict(X).sum() < even.predict(X).sum()
    with pytest.raises(ValueError, match="target_prevalence must be the share of positives"):
        MeasureMaximizer(histogram(), "f1", cv=2).fit(X, y, target_prevalence=1.5)


def test_constraints_met_says_whether_the_bound_holds(small):
    X, y = small
    assert MeasureMaximizer(histogram(), RecallAtPrecision(0.5), cv=2).fit(X, y).constraints_met_
    noise = np.random.default_rng(0).standard_normal(X.shape)
    with pytest.warns(ConstraintWarning, match="no useful threshold"):
        hopeless = MeasureMaximizer(histogram(), RecallAtPrecision(0.95), cv=2).fit(noise, y)
    assert not hopeless.constraints_met_


def test_a_pipeline_that_resamples_is_refused_with_a_way_out(small):
    sampling, pipelines = pytest.importorskip("imblearn.over_sampling"), pytest.importorskip("imblearn.pipeline")
    X, y = small
    pipeline = pipelines.make_pipeline(sampling.RandomOverSampler(random_state=0), LogisticRegression())
    with pytest.raises(ValueError, match=r"The step 'randomoversampler' .* resamples rows.*rounds=1"):
        MeasureMaximizer(pipeline, cv=2).fit(X**2, y)
    assert MeasureMaximizer(pipeline, "gmean", cv=2, rounds=1).fit(X**2, y).score(X**2, y) > 0.8


def test_boosting_that_stops_early_has_fewer_stages(small):
    X, y = small
    stopping = histogram(max_iter=300, early_stopping=True, n_iter_no_change=3)
    maximizer = MeasureMaximizer(stopping, "f1", cv=2).fit(X, y)
    assert maximizer.history_["trees"][-1] == max(model.n_iter_ for model in maximizer.estimators_) < 300


def test_the_value_is_no_lower_than_at_the_best_of_all_cuts_of_the_same_folds(rings):
    X, y = rings
    measure = get_measure("min")
    folds = list(StratifiedKFold(5).split(X[:2_000], y[:2_000]))
    ours = MeasureMaximizer(histogram(max_iter=20), measure, cv=folds).fit(X[:2_000], y[:2_000])
    models = [histogram(max_iter=20).fit(X[train], y[train]) for train, _ in folds]
    scores = np.concatenate(
        [model.predict_proba(X[held])[:, 1] for model, (_, held) in zip(models, folds, strict=True)]
    )
    labels = np.concatenate([y[held] for _, held in folds])
    best = max(np.unique(scores), key=lambda cut: measure.score(labels, (scores > cut).astype(int)))
    mean = np.mean([model.predict_proba(X[2_000:])[:, 1] for model in models], axis=0)
    assert ours.score(X[2_000:], y[2_000:]) > measure.score(y[2_000:], (mean > best).astype(int)) - 0.01


def a_table_with_a_category():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y = (rng.random(400) < 0.3).astype(int)
    side = np.where(rng.random(400) < 0.2 + 0.6 * y, "left", "right")
    return pd.DataFrame({"x": rng.standard_normal(400), "side": pd.Categorical(side)}), y


@pytest.mark.slow
@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost", "sklearn"])
def test_categories_of_pandas_reach_boosters_as_they_are(library):
    module = pytest.importorskip(library)
    estimators = {
        "lightgbm": lambda: module.LGBMClassifier(n_estimators=10, n_jobs=1, verbose=-1),
        "xgboost": lambda: module.XGBClassifier(n_estimators=10, n_jobs=1, enable_categorical=True),
        "catboost": lambda: module.CatBoostClassifier(
            iterations=10, cat_features=("side",), verbose=0, allow_writing_files=False
        ),
        "sklearn": lambda: HistGradientBoostingClassifier(max_iter=10, categorical_features="from_dtype"),
    }
    X, y = a_table_with_a_category()
    maximizer = MeasureMaximizer(estimators[library](), "gmean", stack=True).fit(X, y)
    assert maximizer.stacked_
    assert maximizer.score(X, y) > 0.75
    assert maximizer.score(X[::-1], y[::-1]) == maximizer.score(X, y)


@pytest.mark.parametrize(
    ("make", "dtype"), [(xgboost, "Categorical"), (histogram, "Categorical"), (catboost, "String")]
)
def test_categories_of_polars_reach_the_boosters_that_take_them(make, dtype):
    polars = pytest.importorskip("polars")
    X, y = a_table_with_a_category()
    table = polars.from_pandas(X).with_columns(polars.col("side").cast(getattr(polars, dtype)))
    settings = {
        xgboost: {"enable_categorical": True},
        histogram: {"categorical_features": "from_dtype"},
        catboost: {"cat_features": ("side",)},
    }
    maximizer = MeasureMaximizer(make(**settings[make]), "gmean", cv=2).fit(table, y)
    assert maximizer.score(table, y) > 0.75


def test_what_boosters_cannot_take_is_refused_in_a_sentence():
    polars = pytest.importorskip("polars")
    X, y = a_table_with_a_category()
    categories, texts = polars.from_pandas(X), polars.from_pandas(X.astype({"side": str}))
    advice = r"X\.to_pandas\(\)\.astype\({'side': 'category'}\)"
    for make, table, holds in [
        (lightgbm, categories, "categories"),
        (lightgbm, texts, "text"),
        (lightgbm, texts.to_arrow(), "text"),
        (catboost, categories, "categories"),
        (histogram, texts, "text"),
    ]:
        with pytest.raises(TypeError, match=rf"column 'side' holds {holds}.*{advice}"):
            MeasureMaximizer(make()).fit(table, y)
    days = texts.with_columns(day=polars.date(2024, 5, 31)).drop("side")
    lists = texts.select("x", side=polars.concat_list("x", "x"))
    cents = texts.select("x", side=polars.col("x").cast(polars.Decimal(20, 2)))
    nothing = texts.select("x", side=None)
    for make, table, problem in [
        (lightgbm, days, "column 'day' holds dates or times, which LGBM.*days since the first"),
        (lightgbm, days.to_arrow(), "column 'day' holds dates or times"),
        (lightgbm, X.assign(day=np.datetime64("2024-05-31")), "column 'day' holds dates or times"),
        (catboost, days, "column 'day' holds dates or times, which CatBoost"),
        (histogram, days, "column 'day' holds dates or times"),
        (lightgbm, lists, "column 'side' is of type List, which LGBMClassifier does not take from polars"),
        (lightgbm, cents, "column 'side' is of type Decimal"),
        (lightgbm, cents.to_arrow(), r"column 'side' is of type decimal128\(20, 2\), which .* from pyarrow"),
        (catboost, nothing, "column 'side' is of type Null"),
        (lightgbm, nothing.to_arrow(), "column 'side' is of type null"),
    ]:
        with pytest.raises(TypeError, match=problem):
            MeasureMaximizer(make()).fit(table, y)
    fitted = MeasureMaximizer(lightgbm(), cv=2).fit(X, y)
    for predict in (fitted.predict, fitted.predict_proba, fitted.decision_function):
        with pytest.raises(TypeError, match=rf"column 'side' holds text.*{advice}"):
            predict(texts)
    with pytest.raises(ValueError, match=r"cat_features is a list.*Give a tuple, cat_features=\('city',\)"):
        MeasureMaximizer(catboost(cat_features=["side"])).fit(X, y)


def test_without_an_estimator_what_cannot_be_learned_from_is_refused_in_a_sentence():
    pandas = pytest.importorskip("pandas")
    X, y = a_table_with_a_category()
    texts = X.assign(side=X["side"].astype(str))
    dates = X.assign(side=pandas.Timestamp("2020-01-01"))
    model = MeasureMaximizer(cv=2)
    for table, message in [
        (texts, r"column 'side' holds '(left|right)'.*give it as a category: X\.astype\({'side': 'category'}\)"),
        (texts.to_numpy(), r"column 1 holds '(left|right)'.*pandas\.DataFrame\(X\)\.astype\({1: 'category'}\)"),
        (dates, "column 'side' holds dates or times"),
        (sparse.csr_matrix(X[["x"]]), "X is sparse.*use MeasureClassifier, which takes sparse rows"),
        (X.to_dict("records"), r"list of dicts.*pandas\.DataFrame\(X\)"),
    ]:
        with pytest.raises(TypeError, match=message):
            model.fit(table, y)
        assert not hasattr(model, "classes_")
    fitted = MeasureMaximizer(histogram(max_iter=3), cv=2).fit(X, y)
    with pytest.raises(TypeError, match=r"column 'side' holds '(left|right)'"):
        fitted.predict(texts)


def test_arrow_tables_of_numbers_are_taken(small):
    pa = pytest.importorskip("pyarrow")
    X, y = small
    table = pa.table({f"x{k}": X[:400, k] for k in range(X.shape[1])})
    assert MeasureMaximizer(lightgbm(n_estimators=3), cv=2).fit(table, y[:400]).score(table, y[:400]) > 0.3


def test_lightgbm_stops_early_by_rows_that_fit_is_given(small):
    early_stopping = pytest.importorskip("lightgbm").early_stopping
    X, y = small
    aside = {"eval_set": [(X[1_000:], y[1_000:])]}
    by_callback = {"callbacks": [early_stopping(3, verbose=False)]}
    for settings, more in (({}, by_callback), ({"early_stopping_rounds": 3}, {})):
        booster = lightgbm(n_estimators=300, **settings)
        maximizer = MeasureMaximizer(booster, "f1", cv=2).fit(X[:1_000], y[:1_000], **aside, **more)
        trees = [model.best_iteration_ for model in maximizer.estimators_]
        assert 0 < maximizer.history_["trees"].max() == max(trees) < 300


@pytest.mark.parametrize("make", [lightgbm, xgboost])
def test_early_stopping_without_rows_to_stop_by_is_refused(make, small):
    for estimator in (
        make(early_stopping_rounds=5),
        make_pipeline(StandardScaler(), make(early_stopping_rounds=5)),
    ):
        with pytest.raises(ValueError, match=r"early_stopping_rounds=5 .*eval_set=\[\(X_stop, y_stop\)\]"):
            MeasureMaximizer(estimator).fit(*small)


@every_library
def test_columns_in_another_order_or_of_other_names_are_refused(make, small):
    pandas = pytest.importorskip("pandas")
    X, y = small
    names = [f"c{k}" for k in range(X.shape[1])]
    table = pandas.DataFrame(X, columns=names)
    fitted = MeasureMaximizer(make(), "f1", cv=2).fit(table, y)
    assert fitted.feature_names_in_.tolist() == names
    for other in (table[names[::-1]], table.set_axis([*names[1:], "new"], axis=1), table.assign(more=1.0)):
        with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
            fitted.predict(other)
    fitted.fit(X, y)
    assert not hasattr(fitted, "feature_names_in_")


@every_library
def test_a_saved_model_loads_with_the_trust_that_the_refusal_names(make, small, tmp_path):
    X, y = small
    fitted = MeasureMaximizer(make(), "f1", cv=2).fit(X, y)
    save_model(fitted, tmp_path / "model.skops")
    with pytest.raises(ValueError, match=r"pass trusted=\[") as refused:
        load_model(tmp_path / "model.skops")
    trusted = re.findall(r"'([\w.]+)'", str(refused.value).partition("pass trusted=")[2])
    loaded = load_model(tmp_path / "model.skops", trusted=trusted)
    np.testing.assert_array_equal(loaded.decision_function(X), fitted.decision_function(X))
