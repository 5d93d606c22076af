"""MeasureMaximizer: its reweighting iterations, its ensemble, its errors and its use within scikit-learn."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from ratewise import MeasureMaximizer
from ratewise.decisions.intervals import rates_interval
from ratewise.estimators._crossfit import cost_weights_at
from ratewise.estimators._folds import make_folds
from ratewise.measures import ConstraintWarning, Rates, TPRAtTNR, get_measure


@pytest.fixture(scope="module")
def small(rings):
    X, y = rings
    return X[:600], y[:600]


def boosting(**settings):
    return HistGradientBoostingClassifier(**({"max_iter": 15, "random_state": 0} | settings))


class Recorder(ClassifierMixin, BaseEstimator):
    """A classifier that records the arguments of its fits."""

    seen: list[dict] = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None, mark=None):
        Recorder.seen.append({"y": y, "weights": sample_weight, "rows": X[:, 0], "mark": mark})
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 1]


class OfAnotherLibrary(Recorder):
    """Boosting whose fit takes the model to continue from."""

    def fit(self, X, y, sample_weight=None, init_model=None):
        super().fit(X, y, sample_weight)
        Recorder.seen[-1]["start"] = self.start_ = init_model
        return self

    def decision_function(self, X):
        return X[:, 1] if self.start_ is None else np.hypot(X[:, 0], X[:, 1])


@pytest.fixture
def seen():
    Recorder.seen.clear()
    return Recorder.seen


@pytest.mark.parametrize("name", ["f1", "gmean", "min"])
def test_it_is_no_worse_than_a_tuned_threshold_around_the_same_learner(rings, name):
    X, y = rings
    measure = get_measure(name)
    ours = MeasureMaximizer(boosting(max_iter=40), name).fit(X[:2_000], y[:2_000])
    tuned = TunedThresholdClassifierCV(boosting(max_iter=40), scoring=measure.scorer()).fit(X[:2_000], y[:2_000])
    assert ours.score(X[2_000:], y[2_000:]) > measure.score(y[2_000:], tuned.predict(X[2_000:])) - 0.02


def test_reweighting_helps_boosting_that_fails_on_rare_positives():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30_000, 6))
    y = X[:, 0] + X[:, 1] * X[:, 2] > 4.0
    learner = boosting(max_iter=30, learning_rate=0.5)
    settings = {"cv": 2, "response_method": "decision_function"}  # boosting like any other classifier
    once = MeasureMaximizer(learner, "gmean", rounds=1, **settings).fit(X[:10_000], y[:10_000])
    twice = MeasureMaximizer(learner, "gmean", rounds=2, **settings).fit(X[:10_000], y[:10_000])
    assert twice.score(X[10_000:], y[10_000:]) > once.score(X[10_000:], y[10_000:]) + 0.02


def test_the_rates_are_those_of_out_of_fold_predictions():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((400, 3)), rng.random(400) < 0.3
    maximizer = MeasureMaximizer(DecisionTreeClassifier(random_state=0), "gmean").fit(X, y)
    assert maximizer.score(X, y) > 0.9
    assert get_measure("gmean").value(*maximizer.rates_) < 0.65


@pytest.mark.parametrize("name", ["f1", "gmean"])
def test_the_second_iteration_has_the_cost_weights_at_the_rates_of_the_first(small, seen, name):
    X, y = small
    maximizer = MeasureMaximizer(Recorder(), name, cv=2).fit(X, y)
    assert [fit["weights"] is None for fit in seen[:4]] == [True, True, False, False]
    history = maximizer.history_
    rates = Rates(history["tpr"][0], history["tnr"][0], y.mean())
    ratio = cost_weights_at(get_measure(name), rates).tempered_ratio(y.mean())
    for fit in seen[2:4]:
        assert np.ptp(fit["weights"][fit["y"] == 1]) == 0
        assert fit["weights"][fit["y"] == 1][0] / fit["weights"][fit["y"] == 0][0] == pytest.approx(ratio)
        assert fit["weights"].mean() == pytest.approx(1.0)
    assert history["weight_positive"][1] / history["weight_negative"][1] == pytest.approx(ratio)


def test_history_has_a_row_per_iteration(small):
    maximizer = MeasureMaximizer(LogisticRegression(), "f1", rounds=3).fit(*small)
    lengths = {column.size for column in maximizer.history_.values()}
    assert lengths in ({2}, {3})
    assert list(maximizer.history_) == [
        "round",
        "weight_positive",
        "weight_negative",
        "level",
        "tpr",
        "tnr",
        "value",
        "kept",
    ]
    assert maximizer.history_["level"][1] == maximizer.history_["value"][0]
    concave = MeasureMaximizer(LogisticRegression(), "gmean").fit(*small)
    assert np.isfinite([concave.history_["alpha"][1], concave.history_["beta"][1]]).all()


def test_on_balanced_classes_one_iteration_is_enough():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 2))
    maximizer = MeasureMaximizer(LogisticRegression(), "gmean").fit(X, X[:, 0] > np.median(X[:, 0]))
    assert maximizer.history_["round"].size == 1
    assert len(maximizer.estimators_) == 5 + 1


def test_an_iteration_that_is_clearly_worse_is_not_in_the_ensemble(rings):
    X, y = rings

    class WorseWithWeights(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            return super().fit(X if sample_weight is None else np.zeros_like(X), y)

    ring = np.column_stack([X, X**2])
    maximizer = MeasureMaximizer(WorseWithWeights(), "f1").fit(ring, y)
    assert maximizer.history_["kept"].tolist() == [True, False]
    assert len(maximizer.estimators_) == 5 + 1


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("cv", [3, StratifiedKFold(3)], ids=["own folds", "splitter"])
def test_rows_of_weight_0_are_as_if_they_were_not_there(small, n_classes, cv):
    X, y = small
    y = y.astype(int) + (n_classes - 2) * (X[:, 1] > 1.0)
    weights = (np.arange(y.size) % 3 > 0).astype(float)
    kept = weights > 0
    given, left = np.where(kept[:, None], X, X + 7.0), cv
    if cv != 3:  # splits of a splitter are those of all rows
        place = np.cumsum(kept) - 1
        left = [(place[a[kept[a]]], place[b[kept[b]]]) for a, b in cv.split(X, y)]
    with_them = MeasureMaximizer(boosting(), cv=cv).fit(given, y, sample_weight=weights)
    without = MeasureMaximizer(boosting(), cv=left).fit(X[kept], y[kept], sample_weight=weights[kept])
    assert (with_them.predict_proba(X) == without.predict_proba(X)).all()
    assert with_them.threshold_ == without.threshold_
    with pytest.raises(ValueError, match="All rows of class 1 have weight 0"):
        with_them.fit(X, y, sample_weight=(y != 1) * 1.0)


def test_names_that_are_missing_are_warned_of_once(small):
    X, y = small
    table = pytest.importorskip("pandas").DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])])
    maximizer = MeasureMaximizer(boosting()).fit(table, y)
    for method in (maximizer.predict, maximizer.predict_proba, maximizer.explain):
        with pytest.warns(UserWarning, match="does not have valid feature names") as said:
            method(X)
        assert len(said) == 1


def test_with_few_rows_a_model_of_all_rows_has_half_the_weight(small, seen):
    X, y = small
    maximizer = MeasureMaximizer(Recorder(), cv=3, rounds=1).fit(X, y)
    assert [fit["y"].size for fit in seen] == [400, 400, 400, 600]
    assert [member.weight for member in maximizer._members] == [1, 1, 1, 3]
    many = np.tile(X, (34, 1))
    assert len(MeasureMaximizer(Recorder(), cv=3, rounds=1).fit(many, np.tile(y, 34)).estimators_) == 3


def test_the_model_of_all_rows_is_fitted_once_unless_its_iterations_continue_from_each_other(small, seen):
    X, y = small
    MeasureMaximizer(OfAnotherLibrary(), "gmean", cv=2, ensemble=False).fit(X, y)
    assert [fit["y"].size for fit in seen].count(600) == 1
    seen.clear()
    MeasureMaximizer(OfAnotherLibrary(), "gmean", cv=2, ensemble=False, warm_start=True).fit(X, y)
    assert [fit["start"] is None for fit in seen if fit["y"].size == 600] == [True, False]


def test_without_ensemble_one_model_is_fitted_to_all_rows(small, seen):
    X, y = small
    maximizer = MeasureMaximizer(Recorder(), cv=2, ensemble=False).fit(X, y)
    assert seen[-1]["y"].size == y.size
    assert maximizer.estimators_ == [maximizer.estimator_]
    assert not hasattr(MeasureMaximizer(Recorder(), cv=2).fit(X, y), "estimator_")


def test_the_threshold_is_near_one_half_where_many_do_equally_well():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((300, 2))
    y = np.arange(300) < 60
    X[y] += 12.0  # far apart
    for learner in (boosting(), LogisticRegression(), RandomForestClassifier(n_estimators=10, random_state=0)):
        maximizer = MeasureMaximizer(learner, "f1", cv=2).fit(X, y)
        assert maximizer.threshold_ == pytest.approx(0.5, abs=0.05)
        np.testing.assert_array_equal(maximizer.predict_proba(X)[:, 1] > 0.5, y)
        np.testing.assert_array_equal(maximizer.predict(X), y)


@pytest.mark.parametrize("name", ["f1", "min"])
@pytest.mark.parametrize(
    "learner",
    [
        LogisticRegression(),
        LinearSVC(),
        RandomForestClassifier(n_estimators=10, random_state=0),
        SGDClassifier(random_state=0),
        make_pipeline(StandardScaler(), LogisticRegression()),
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_it_works_around_many_learners(small, learner, name):
    X, y = small
    ring = np.column_stack([X, X**2])
    maximizer = MeasureMaximizer(learner, name, cv=3).fit(ring, y)
    assert maximizer.score(ring, y) > 0.6
    np.testing.assert_array_equal(maximizer.predict(ring) == 1, maximizer.decision_function(ring) > 0)
    assert hasattr(maximizer, "predict_proba") == hasattr(learner, "predict_proba")
    assert maximizer.n_features_in_ == 8
    again = pickle.loads(pickle.dumps(maximizer))
    np.testing.assert_array_equal(again.decision_function(ring), maximizer.decision_function(ring))


def test_probabilities_are_those_of_unweighted_rows_whatever_the_class_weights(rings):
    X, y = rings
    ring = np.column_stack([X, X**2])
    maximizer = MeasureMaximizer(LogisticRegression(), "gmean").fit(ring, y)
    assert maximizer.history_["kept"].all()
    probabilities = maximizer.predict_proba(ring)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert probabilities[:, 1].mean() == pytest.approx(y.mean(), rel=0.1)


def test_the_positive_class_may_be_the_first(small):
    X, y = small
    ring = np.column_stack([X, X**2])
    plain = MeasureMaximizer(LogisticRegression(), "f1").fit(ring, y)
    named = np.where(y == 1, "a rare one", "common")
    first_positive = MeasureMaximizer(LogisticRegression(), "f1", pos_label="a rare one").fit(ring, named)
    np.testing.assert_array_equal(first_positive.predict(ring) == "a rare one", plain.predict(ring) == 1)
    np.testing.assert_allclose(
        first_positive.predict_proba(ring)[:, 0], plain.predict_proba(ring)[:, 1], atol=1e-3
    )
    assert first_positive.score(ring, named) == pytest.approx(plain.score(ring, y))


def test_other_libraries_boosting_takes_its_previous_model_with_warm_start(small, seen):
    X, y = small
    MeasureMaximizer(OfAnotherLibrary(), cv=2).fit(X, y)
    assert {fit["start"] for fit in seen} == {None}
    seen.clear()
    MeasureMaximizer(OfAnotherLibrary(), cv=2, warm_start=True).fit(X, y)
    assert [fit["start"] is None for fit in seen[:4]] == [True, True, False, False]


def test_a_linear_model_continues_from_the_previous_one_and_leaves_it_unchanged(small):
    X, y = small
    ring = np.column_stack([X, X**2])
    learner = LogisticRegression()
    warm = MeasureMaximizer(learner, "gmean", cv=2).fit(ring, y)
    cold = MeasureMaximizer(learner, "gmean", cv=2, warm_start=False).fit(ring, y)
    assert warm.history_["kept"].all()
    for mine, other in zip(warm.estimators_[:2], cold.estimators_[:2], strict=True):
        np.testing.assert_array_equal(mine.coef_, other.coef_)
    np.testing.assert_allclose(warm.estimators_[2].coef_, cold.estimators_[2].coef_, atol=0.05)


def test_sample_weight_counts_in_learning_and_in_scoring(small, seen):
    X, y = small
    weights = np.linspace(1.0, 3.0, y.size)
    maximizer = MeasureMaximizer(Recorder(), cv=2).fit(X, y, sample_weight=weights)
    by_row = dict(zip(X[:, 0], weights, strict=True))
    np.testing.assert_array_equal(seen[0]["weights"], [by_row[row] for row in seen[0]["rows"]])
    shares = seen[2]["weights"] / seen[0]["weights"]
    assert np.unique(shares.round(9)).size == 2
    assert seen[2]["weights"].sum() == pytest.approx(seen[0]["weights"].sum())
    assert maximizer.rates_.prevalence == pytest.approx(weights[y == 1].sum() / weights.sum())


def test_rows_of_a_group_stay_together(small, seen):
    X, y = small
    groups = np.arange(y.size) // 20
    MeasureMaximizer(Recorder(), cv=3).fit(X, y, groups=groups)
    group_of = dict(zip(X[:, 0], groups, strict=True))
    for fit in seen:
        learned = {group_of[row] for row in fit["rows"]}
        assert sum(np.isin(groups, list(learned))) == fit["rows"].size
    MeasureMaximizer(Recorder(), cv=GroupKFold(3)).fit(X, y, groups=groups)


def as_arrays(X):
    return X


def as_sparse(X):
    return sparse.csr_array(X)


def as_pandas(X):
    return pytest.importorskip("pandas").DataFrame(X)


def as_polars(X):
    return pytest.importorskip("polars").DataFrame(X, orient="row")


@pytest.mark.parametrize("table", [as_arrays, as_sparse, as_pandas, as_polars])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_copies_of_a_row_share_a_fold(table, dtype):
    rng = np.random.default_rng(0)
    distinct = rng.integers(-1000, 1000, (200, 3)).astype(dtype)
    which = rng.permutation(np.repeat(np.arange(200), 3))
    folds, copies = make_folds(4, table(distinct[which]), which % 5 == 0, None)
    assert np.unique(copies).size == 200
    assert sorted(np.concatenate([held for _, held in folds])) == list(range(600))
    for train, held in folds:
        assert not set(which[train]) & set(which[held])
        assert np.mean(which[held] % 5 == 0) == pytest.approx(0.2, abs=0.02)


def test_rows_that_all_differ_are_split_as_scikit_learn_does_with_shuffling(small):
    X, y = small
    theirs = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
    for (train, held), (other_train, other_held) in zip(make_folds(None, X, y, None)[0], theirs, strict=True):
        np.testing.assert_array_equal(train, other_train)
        np.testing.assert_array_equal(held, other_held)


def test_other_parameters_of_fit_reach_the_learner_cut_to_its_rows(small, seen):
    X, y = small
    MeasureMaximizer(Recorder(), cv=2).fit(X, y, mark=X[:, 0])
    for fit in seen:
        np.testing.assert_array_equal(fit["mark"], fit["rows"])


def test_rows_may_be_validation_rows_more_than_once_or_never(small):
    X, y = small
    cv = ShuffleSplit(4, test_size=0.4, random_state=0)
    assert len(MeasureMaximizer(boosting(), cv=cv).fit(X, y).estimators_) == 4
    assert len(MeasureMaximizer(LogisticRegression(), rounds=1, cv=cv).fit(X, y).estimators_) == 4 + 1


def test_it_works_in_a_pipeline_a_grid_search_and_cross_validation(small):
    X, y = small
    learner = MeasureMaximizer(LogisticRegression(), "gmean", cv=2)
    pipeline = make_pipeline(StandardScaler(), learner)
    search = GridSearchCV(pipeline, {"measuremaximizer__estimator__C": [0.1, 1.0]}, cv=2).fit(X**2, y)
    assert search.best_score_ > 0.7
    assert cross_val_score(clone(learner), X**2, y, cv=2).min() > 0.7
    assert pipeline.fit(X**2, y, measuremaximizer__groups=np.arange(y.size) // 10).score(X**2, y) > 0.7


def test_intervals_count_groups_and_rows_held_out_twice_once(small):
    X, y = small
    positives, negatives = int(y.sum()), int((~y.astype(bool)).sum())
    groups = np.where(y, np.arange(y.size), y.size + np.cumsum(y == 0) // 10)  # ten negatives per group
    of_groups = MeasureMaximizer(Recorder(), cv=3).fit(X, y, groups=groups)
    sizes = np.bincount(np.cumsum(y == 0)[y == 0] // 10)
    points = (float(positives), negatives**2 / float((sizes**2).sum()))
    alone = rates_interval(of_groups.rates_, of_groups.measure_, points)
    assert np.ptp(of_groups.rates_interval_.tnr) == pytest.approx(np.ptp(alone.tnr), rel=0.2)
    twice = MeasureMaximizer(Recorder(), cv=RepeatedStratifiedKFold(n_splits=3, n_repeats=2)).fit(X, y)
    assert twice.rates_interval_ == rates_interval(twice.rates_, twice.measure_, (positives, negatives))


@pytest.mark.slow
class OnItsOwnScale(ClassifierMixin, BaseEstimator):
    """A classifier whose scores are the first column; the one that has not seen row 0 adds to them."""

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.offset_ = np.unique(y), 0.0 if 0.0 in X[:, 1] else -3.0
        return self

    def decision_function(self, X):
        return X[:, 0] + self.offset_


def test_a_fold_whose_scores_are_on_another_scale_is_not_a_surprise_on_new_rows():
    held = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = np.arange(3_000) < 300
        X = np.column_stack([rng.normal(1.5 * y), np.arange(3_000.0)])
        fitted = MeasureMaximizer(OnItsOwnScale(), TPRAtTNR(0.7)).fit(X, y)
        new = np.column_stack([rng.standard_normal(20_000), np.ones(20_000)])
        low, high = fitted.rates_interval_.tnr
        held += low <= np.mean(~fitted.predict(new)) <= high < low + 0.06
    assert held >= 17  # 90% intervals


class NearlyTied(ClassifierMixin, BaseEstimator):
    """A classifier of three scores, which differ in their last digits from row to row."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return np.round(X[:, 0]).clip(-1, 1) * (1.0 + 1e-15 * np.sign(X[:, 1]))


def test_no_threshold_lies_between_scores_that_are_equal_but_for_rounding(rings):
    """A TNR of 0.8 was promised by a threshold among equal scores; those of new rows lie on either side of it."""
    X, y = rings
    with pytest.warns(ConstraintWarning, match="no useful threshold"):
        fitted = MeasureMaximizer(NearlyTied(), TPRAtTNR(0.8)).fit(X[:600], y[:600])
    assert np.abs(fitted.decision_function(X)).min() > 1e-13


@pytest.mark.slow
def test_intervals_are_those_of_the_ensemble_not_of_single_folds():
    """With 30 positives the ensemble has fewer false positives than the models whose votes were cut."""
    lightgbm = pytest.importorskip("lightgbm")

    def draw(seed, rows):
        rng = np.random.default_rng(seed)
        y = rng.random(rows) < 0.01
        return rng.standard_normal((rows, 6)) + 1.9 * np.multiply.outer(y, [1, 1, 0, 0, 0, 0]), y

    X_new, y_new = draw(999, 100_000)
    held = []
    for seed in range(20):
        booster = lightgbm.LGBMClassifier(n_estimators=40, num_leaves=15, n_jobs=1, verbose=-1, random_state=seed)
        fitted = MeasureMaximizer(booster, "min").fit(*draw(seed, 3_000))
        low, high = fitted.rates_interval_.tnr
        held.append(low <= 1.0 - fitted.predict(X_new)[~y_new].mean() <= high)
    assert sum(held) >= 17  # 10 where the rates are those of single folds


def test_metadata_routing_passes_sample_weight_and_groups(small, seen):
    X, y = small
    groups, weights = np.arange(y.size) // 20, np.linspace(1, 2, y.size)
    with config_context(enable_metadata_routing=True):
        maximizer = MeasureMaximizer(Recorder(), cv=2).set_fit_request(sample_weight=True)
        maximizer.set_score_request(sample_weight=False)
        search = GridSearchCV(maximizer, {"measure": ["f1"]}, cv=GroupKFold(2))
        search.fit(X, y, sample_weight=weights, groups=groups)
    assert all(fit["weights"] is not None for fit in seen)
    group_of = dict(zip(X[:, 0], groups, strict=True))
    assert all(fit["rows"].size % 20 == 0 for fit in seen)
    assert all(len({group_of[row] for row in fit["rows"]}) == fit["rows"].size / 20 for fit in seen)


def test_a_pipeline_as_base_estimator_is_weighted_at_its_last_step_with_routing_or_without(small):
    X, y = small
    base = make_pipeline(StandardScaler(), LogisticRegression())
    plain = MeasureMaximizer(base, "gmean", cv=2).fit(X**2, y)
    with config_context(enable_metadata_routing=True):
        routed = MeasureMaximizer(base, "gmean", cv=2).fit(X**2, y)
    assert plain.history_["round"].size == 2
    np.testing.assert_array_equal(plain.decision_function(X**2), routed.decision_function(X**2))


def test_several_jobs_give_the_same_model(small):
    X, y = small
    one = MeasureMaximizer(LogisticRegression(), cv=2).fit(X, y)
    with parallel_config("threading"):
        two = MeasureMaximizer(LogisticRegression(), cv=2, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def test_a_learner_without_sample_weight_is_refused_unless_rounds_is_one(small):
    X, y = small
    with pytest.raises(ValueError, match=r"KNeighborsClassifier takes no sample_weight in fit.*rounds=1"):
        MeasureMaximizer(KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ValueError, match=r"KNeighborsClassifier takes no sample_weight in fit.*give none"):
        MeasureMaximizer(KNeighborsClassifier(), rounds=1).fit(X, y, sample_weight=np.ones(y.size))
    assert MeasureMaximizer(KNeighborsClassifier(), rounds=1).fit(X, y).score(X, y) > 0.5


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"measure": "fx"}, "There is no measure 'fx'"),
        ({"rounds": 0}, "rounds must be 'auto' or a whole number of 1 or more; got 0"),
        ({"rounds": True}, "rounds must be .*; got True"),
        ({"warm_start": "yes"}, "warm_start must be 'auto', True or False; got 'yes'"),
        ({"response_method": "predict"}, "response_method must be one of"),
        ({"estimator": "forest"}, "estimator must be a classifier"),
        ({"cv": 1}, "cv must be 2 folds or more"),
        ({"pos_label": 7}, r"pos_label=7 is not among the classes \[0, 1\]"),
    ],
)
def test_a_wrong_parameter_is_named(small, settings, words):
    with pytest.raises(ValueError, match=words):
        MeasureMaximizer(LogisticRegression()).set_params(**settings).fit(*small)


def test_a_class_of_one_row_is_refused_and_one_of_three_gets_three_folds(small):
    X, _ = small
    with pytest.raises(ValueError, match="only 1 row of class 1"):
        MeasureMaximizer(LogisticRegression()).fit(X, (np.arange(X.shape[0]) == 5).astype(int))
    few = MeasureMaximizer(LogisticRegression(), rounds=1).fit(X, np.arange(X.shape[0]) < 3)
    assert len(few.estimators_) == 3 + 1


def test_a_fold_without_a_class_is_named(small):
    X, y = small
    order = np.argsort(y, kind="stable")
    halves = [(np.arange(300), np.arange(300, 600)), (np.arange(300, 600), np.arange(300))]
    with pytest.raises(ValueError, match="Fold 1 of 2 leaves no row of class 1 to learn from"):
        MeasureMaximizer(LogisticRegression(), cv=halves).fit(X[order], y[order])


def test_a_class_whose_rows_all_have_weight_zero_is_refused(small):
    X, y = small
    with pytest.raises(ValueError, match=r"All rows of class .*1.* have weight 0"):
        MeasureMaximizer(LogisticRegression()).fit(X, y, sample_weight=1 - y)


def test_a_refused_fit_leaves_the_model_as_it_was(small):
    X, y = small
    maximizer = MeasureMaximizer(LogisticRegression(), cv=2).fit(X, y)
    before = maximizer.decision_function(X)
    with pytest.raises(ValueError, match="NaN"):
        maximizer.fit(np.full_like(X, np.nan), y)
    np.testing.assert_array_equal(maximizer.decision_function(X), before)


HOSTILE = {
    "NaN or infinity": {"decision_function": lambda self, X: np.where(X[:, 0] > 0, np.nan, 1.0)},
    "which are not probabilities": {"predict_proba": lambda self, X: 9.0 * X[:, :2]},
    r"float64 of shape \(\d+, 3\)": {"predict_proba": lambda self, X: np.full((len(X), 3), 0.3)},
    r"float64 of shape \(\d+, 2\) for": {"decision_function": lambda self, X: X[:, :2]},
    r"object of shape \(\)": {"predict_proba": lambda self, X: None},
    "complex128": {"decision_function": lambda self, X: X[:, 0] * 1j},
    r"its classes_ are \['a', 'b'\], without": {"decision_function": lambda self, X: X[:, 0]},
}


@pytest.mark.parametrize("words", HOSTILE)
def test_scores_that_are_none_are_refused_by_the_name_of_the_estimator(small, words):
    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.array(["a", "b"]) if "classes_" in words else np.unique(y)
        return self

    hostile = type("Hostile", (ClassifierMixin, BaseEstimator), {"fit": fit, **HOSTILE[words]})
    with pytest.raises(ValueError, match=f"Hostile gives no scores to choose a threshold by: .*{words}"):
        MeasureMaximizer(hostile(), "f1").fit(*small)
