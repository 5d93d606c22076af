"""Few rows are learned from at once: what is chosen, what is not let through, and what is not imported."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import ttest_ind
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from ratewise import MeasureClassifier
from ratewise.measures import FBeta, GMean, MinRate
from ratewise.solvers import LinearModel, Task, best_threshold
from ratewise.solvers.batch import Batch
from ratewise.solvers.centroids import ShrunkenCentroids
from ratewise.solvers.logistic import PenalizedLogistic
from ratewise.training import config
from ratewise.training.folds import ALL_ROWS, folds_of_rows
from ratewise.training.memory import ArraySource
from ratewise.training.selection import SelectionPlan, batch_starts
from ratewise.training.source import DataShape
from ratewise.training.trainer import beside_frequent_rows, is_wide


def a_problem(n=600, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, 0] - X[:, 1] + rng.standard_normal(n) > 1.5


def trained(starts, X, positive, *, wanted=None, rounds=(1, 2)):
    source = ArraySource(X, np.where(positive, 1.0, -1.0), np.random.default_rng(0))
    transform = source.transform(standardize=True, whiten=False)
    rows = source.transformed(transform, 5)
    run = Batch(tuple(starts), 0.05, rounds, wanted).start(Task(FBeta(), X.shape[1]))
    return rows.train([(ALL_ROWS, run)])[0].result


@pytest.mark.parametrize("of", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("C", [0.003, 3.0])
def test_a_penalized_start_is_scikit_learns_solution(of, C):
    X, positive = a_problem()
    X /= X.std(axis=0) if of is np.asarray else np.sqrt((X * X).mean(axis=0))
    X -= X.mean(axis=0) if of is np.asarray else 0.0
    (candidate,) = trained([PenalizedLogistic(0.0, C)], of(X), positive, rounds=())
    theirs = LogisticRegression(C=C, tol=1e-8).fit(X, positive)
    assert candidate.model.weights == pytest.approx(theirs.coef_[0], abs=0.02)
    assert candidate.model.intercept == pytest.approx(theirs.intercept_[0], abs=0.02)


def test_only_the_wanted_stages_are_made_and_as_they_would_be_among_all():
    X, positive = a_problem()
    starts = [PenalizedLogistic(1.0, 3.0), PenalizedLogistic(0.0, 3.0)]
    everything = {one.stage: one.model for one in trained(starts, X, positive)}
    assert len(everything) == 4
    last = f"{starts[-1].label}, sharpened 2"
    (only,) = trained(starts, X, positive, wanted=(last,))
    assert only.stage == last
    assert only.model.weights == pytest.approx(everything[last].weights, rel=0.05, abs=0.01)


def test_wide_rows_have_a_sparse_start_and_one_that_takes_a_little_of_all():
    wide = statistics_of(200, 1_000)
    assert batch_starts(GMean(), wide, wide=True) == [ShrunkenCentroids(), PenalizedLogistic(1.0, 0.003)]
    assert is_wide(wide)
    assert not is_wide(statistics_of(200, 999))
    assert not is_wide(wide._replace(sparse=True))


def test_shrunken_centroids_keep_the_columns_in_which_the_classes_differ():
    rng = np.random.default_rng(0)
    X, positive = rng.standard_normal((200, 400)), np.arange(200) < 40
    X[positive, :20] += 2.0
    (candidate,) = trained([ShrunkenCentroids()], X, positive, rounds=())
    weights, intercept = candidate.model
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    centroids = scaled[positive].mean(axis=0), scaled[~positive].mean(axis=0)
    assert (weights[:20] > 0).all()
    assert np.count_nonzero(weights) < 25
    assert intercept == pytest.approx(-0.5 * weights @ (centroids[0] + centroids[1]), abs=1e-4)
    # By the t statistic of each column, less three.
    t = ttest_ind(X[positive], X[~positive]).statistic * np.sqrt(200 / 198)
    kept = np.maximum(np.abs(t) - 3.0, 0.0)
    np.testing.assert_allclose(np.abs(weights) / np.abs(weights).max() > 0, kept > 0)


def test_ten_columns_are_kept_where_the_classes_do_not_differ():
    rng = np.random.default_rng(0)
    X, positive = rng.standard_normal((60, 30)), np.arange(60) % 3 == 0
    (candidate,) = trained([ShrunkenCentroids(50.0)], X, positive, rounds=())
    assert np.count_nonzero(candidate.model.weights) == 10


def test_a_fit_finds_the_few_columns_of_wide_rows_that_tell():
    rng = np.random.default_rng(0)
    y = rng.random(1_200) < 0.2
    X = rng.standard_normal((1_200, 1_000)).astype(np.float32)
    X[y, :10] += 1.0
    classifier = MeasureClassifier("gmean", random_state=0).fit(X[:200], y[:200])
    assert classifier.stages_ == (ShrunkenCentroids().label,)
    assert isinstance(classifier.solver_, ShrunkenCentroids)
    assert classifier.score(X[200:], y[200:]) > 0.8


def statistics_of(rows, columns=5, share=0.1, *, in_memory=True):
    positive = round(share * rows)
    weights = float(positive), float(rows - positive)
    return DataShape(rows, positive, *weights, weights, columns, rows * columns, False, None, in_memory)


def test_the_start_to_sharpen_from_suits_the_measure():
    few = statistics_of(900)
    assert batch_starts(FBeta(), few)[-1] == PenalizedLogistic(0.0, 3.0)
    assert batch_starts(GMean(), few)[-1] == PenalizedLogistic(1.0, 3.0)


def test_only_scarce_points_are_penalized_strongly():
    assert {start.C for start in batch_starts(GMean(), statistics_of(900))} == {0.003, 3.0}
    assert {start.C for start in batch_starts(GMean(), statistics_of(9000))} == {3.0}


@pytest.mark.parametrize(
    ("statistics", "folds"),
    [
        (statistics_of(2_000), 5),
        (statistics_of(30_000), 3),  # points in plenty
        (statistics_of(40_000), 2),
        (statistics_of(40_000, share=0.001), 5),
        (statistics_of(41_000), None),
        (statistics_of(2_000, in_memory=False), None),
        (statistics_of(20_000, columns=1_000), None),  # 80 MB
    ],
)
def test_few_rows_in_memory_are_learned_from_at_once(statistics, folds):
    plan = SelectionPlan.of(statistics, FBeta(), None)
    assert plan.batch == (folds is not None)
    assert folds is None or plan.folds == folds
    assert not SelectionPlan.of(statistics, FBeta(), None, own_choice=False).batch


def test_a_bound_is_certified_in_batches_too_and_by_the_models_of_the_folds():
    rng = np.random.default_rng(0)
    y = rng.random(3_000) < 0.2
    X = rng.standard_normal((3_000, 4)) + 1.5 * y[:, np.newaxis]
    new_y = rng.random(200_000) < 0.2
    new_X = rng.standard_normal((200_000, 4)) + 1.5 * new_y[:, np.newaxis]
    fitted = MeasureClassifier("recall-at-precision-0.9", random_state=0).fit(X, y)
    called = fitted.predict(new_X)
    assert fitted.constraints_met_
    assert new_y[called].mean() >= 0.9
    assert called[new_y].mean() > 0.8


def test_copies_share_a_fold_and_different_rows_are_dealt_evenly():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 3)).astype(np.float32)[np.arange(4_000) // 5]
    codes = rng.random(4_000) < 0.1
    for rows in (X, sparse.csr_matrix(X)):
        given = folds_of_rows(rows, None, codes, 5, np.random.default_rng(0))
        assert (given.fold_of_row.reshape(-1, 5) == given.fold_of_row[::5, None]).all()
        assert np.unique(given.groups).size == 800
        assert np.bincount(given.fold_of_row) == pytest.approx(np.full(5, 800), rel=0.1)
        assert np.bincount(given.fold_of_row[codes]) == pytest.approx(np.full(5, codes.sum() / 5), rel=0.2)
        assert given.common.size == 0


def test_rows_that_are_equal_by_chance_are_no_copies():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, size=(4_000, 3)).astype(np.float32)  # 729 different rows
    for rows in (X, sparse.csr_matrix(X)):
        given = folds_of_rows(rows, None, np.arange(4_000) < 400, 5, rng)
        assert given.fold_of_row is None
        assert given.groups is None
    # Two rows alone that agree in every column, among many that agree in some, are copies.
    X = rng.integers(0, 60, size=(4_000, 6)).astype(np.float32)
    X[1] = X[0]
    given = folds_of_rows(X, None, np.arange(4_000) < 400, 5, rng)
    assert np.unique(given.groups).size == 3_999


def test_rows_that_come_often_are_spread_over_the_folds():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_000, 3)).astype(np.float32)
    X[:500], X[500:510] = 0.0, 1.0
    given = folds_of_rows(X, None, np.arange(2_000) % 2 == 0, 5, rng)
    assert np.bincount(given.fold_of_row[:500]).min() > 70
    assert np.unique(given.fold_of_row[500:510]).size == 1
    assert given.common.tolist() == [0]


def test_different_rows_may_lie_anywhere_and_so_may_a_class_of_one_row():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 2))
    codes = np.arange(100) < 10
    assert folds_of_rows(X, None, codes, 5, rng).fold_of_row is None
    X[:10] = 1.0
    assert folds_of_rows(np.repeat(X, 20, axis=0), None, np.repeat(codes, 20), 5, rng).fold_of_row is not None
    few = np.concatenate([np.ones((3, 2)), rng.standard_normal((997, 2))])
    assert folds_of_rows(few, None, np.arange(1_000) < 3, 5, rng).fold_of_row is None


def test_a_threshold_keeps_common_rows_on_the_side_where_folds_put_them():
    folds = [LinearModel(np.array([1.0]), shift) for shift in (-0.1, 0.0, 0.1)]
    row = np.array([[1.0]])
    assert beside_frequent_rows(0.9, LinearModel(np.array([1.0]), 0.0), folds, row) == 0.9
    called = beside_frequent_rows(0.9, LinearModel(np.array([1.0]), -0.2), folds, row)
    assert 0.7 < called < 0.8
    not_called = beside_frequent_rows(1.05, LinearModel(np.array([1.0]), 0.2), folds, row)
    assert 1.2 < not_called < 1.3
    assert beside_frequent_rows(0.5, folds[0], folds, None) == 0.5
    # On the threshold itself a row is not called: just beyond it, if the folds' models call it not.
    assert 1.0 < beside_frequent_rows(1.0, folds[1], folds, row) < 1.01
    assert beside_frequent_rows(0.9, LinearModel(np.array([1.0]), -0.1), folds, row) < 0.9


@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_matrix])
def test_copies_of_a_common_row_have_one_score_in_all_folds(as_rows):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3)).astype(np.float32)
    X[:200], X[200:300] = 0.5, -0.5
    source = ArraySource(as_rows(X), np.where(np.arange(600) % 3 == 0, 1.0, -1.0), rng)
    rows = source.transformed(source.transform(standardize=True, whiten=False), 5, 2)
    models = [LinearModel(rng.standard_normal(3), float(rng.standard_normal())) for _ in range(10)]
    values = rows.validation_scores(models).values
    for draw in np.split(values, 2):  # folds were drawn twice
        values, counts = np.unique(draw, return_counts=True)
        assert sorted(counts[counts > 1]) == [100, 200]


# Aboard the Titanic: class (0 the crew), child, male; how many survived, how many died.
ABOARD = [
    *[(1, 0, 0, 140, 4), (1, 0, 1, 57, 118), (1, 1, 0, 1, 0), (1, 1, 1, 5, 0), (2, 0, 0, 80, 13)],
    *[(2, 0, 1, 14, 154), (2, 1, 0, 13, 0), (2, 1, 1, 11, 0), (3, 0, 0, 76, 89), (3, 0, 1, 75, 387)],
    *[(3, 1, 0, 14, 17), (3, 1, 1, 13, 35), (0, 0, 0, 20, 3), (0, 0, 1, 192, 670)],
]


@pytest.mark.parametrize("seed", [0, 3, 6])
def test_a_table_of_few_different_rows_is_cut_between_them(seed):
    """A cut that parts the copies of a row, by fold, promises rates between those that a model can have."""
    people = np.array(ABOARD)
    X = np.repeat(people[:, :3], people[:, 3:].sum(axis=1), axis=0)
    y = np.concatenate([np.arange(survived + died) < survived for *_, survived, died in ABOARD])
    some, _ = train_test_split(np.arange(y.size), test_size=0.3, stratify=y, random_state=seed)
    X, y = X[some], y[some]
    fitted = MeasureClassifier("min", random_state=seed).fit(X, y)
    plain = LogisticRegression().fit(X, y)
    best = best_threshold(plain.decision_function(X), np.where(y, 1.0, -1.0), MinRate()).value
    assert fitted.score(X, y) > best - 0.01
    assert MinRate().value(*fitted.rates_) == pytest.approx(fitted.score(X, y), abs=0.02)


def test_the_rates_of_wide_rows_are_those_of_new_rows():
    """More columns than rows: centered with the validation rows, scores of those would all be shifted."""
    gaps = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        positive = rng.random(1_200) < 0.15
        X = rng.standard_normal((1_200, 1_500))
        X[positive, :40] += 0.5
        fitted = MeasureClassifier("gmean", random_state=0).fit(X[:200], positive[:200])
        called, new = fitted.predict(X[200:]), positive[200:]
        gaps.append([fitted.rates_.tpr - called[new].mean(), fitted.rates_.tnr - (~called[~new]).mean()])
    assert np.abs(np.mean(gaps, axis=0)).max() < 0.15


def test_numba_is_not_imported_for_few_rows():
    code = (
        "import sys, numpy as np\n"
        "from ratewise import MeasureClassifier\n"
        "X = np.random.default_rng(0).normal(size=(300, 4))\n"
        "model = MeasureClassifier(random_state=0).fit(X, X[:, 0] > 1)\n"
        "model.predict(X), model.score(X, X[:, 0] > 1)\n"
        "sys.exit('numba' in sys.modules)\n"
    )
    path = os.pathsep.join(path for path in sys.path if path)
    assert subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path}).returncode == 0


def test_the_history_counts_the_rows_of_each_round():
    X, positive = a_problem()
    history = MeasureClassifier(random_state=0).fit(X, positive).history_
    assert history["points"].tolist() == (600 * history["pass"]).tolist()


def test_equal_rows_stay_together_where_each_class_is_still_in_two_folds():
    rng = np.random.default_rng(0)
    X = np.concatenate([np.repeat(rng.standard_normal((2, 2)), 2, axis=0), rng.standard_normal((996, 2))])
    given = folds_of_rows(X, None, np.arange(1_000) < 4, 5, rng)
    assert given.fold_of_row[0] == given.fold_of_row[1] != given.fold_of_row[2] == given.fold_of_row[3]


def test_rows_of_many_columns_have_fewer_folds():
    narrow, broad = statistics_of(20_000, 64), statistics_of(20_000, 128)
    plans = [SelectionPlan.of(shape, FBeta(), None) for shape in (narrow, broad)]
    assert [plan.folds for plan in plans] == [5, 3]


def test_some_rows_tell_the_curvature_of_many_columns_in_any_order_of_the_classes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9_000, 70)).astype(np.float32)
    positive = X[:, :10].sum(axis=1) + rng.logistic(size=9_000) > 3.0
    for order in (np.arange(9_000), np.argsort(positive, kind="stable")):
        fitted = MeasureClassifier("f1", random_state=0).fit(X[order], positive[order])
        assert fitted.score(X, positive) > 0.7


@pytest.mark.parametrize("measure", ["f1", "recall-at-precision-0.6"])
def test_folds_that_learn_side_by_side_choose_about_the_model_of_those_that_learn_in_turn(measure, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((16_500, 65)) * rng.uniform(0.1, 10.0, size=65) + 5.0
    y = ((X - 5.0) / X.std(axis=0)) @ rng.standard_normal(65) + 6.0 * rng.standard_normal(16_500) > 8.0
    together = MeasureClassifier(measure, random_state=0).fit(X, y)
    monkeypatch.setattr(config, "TOGETHER_VALUES", X.size + 1)
    in_turn = MeasureClassifier(measure, random_state=0).fit(X, y)
    assert not np.array_equal(together.coef_, in_turn.coef_)
    assert np.mean(together.predict(X) == in_turn.predict(X)) > 0.98


def test_folds_that_are_drawn_twice_learn_side_by_side_too(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 400))
    y = X[:, :40].sum(axis=1) + rng.standard_normal(900) > 11.0  # 38 positives
    in_turn = MeasureClassifier("f1", random_state=0).fit(X, y)
    monkeypatch.setattr(config, "IN_MEMORY_BYTES", 1 << 20)
    monkeypatch.setattr(config, "TOGETHER_VALUES", 1 << 18)
    together = MeasureClassifier("f1", random_state=0).fit(X, y)
    assert not np.array_equal(together.coef_, in_turn.coef_)
    assert together.rates_.tpr == pytest.approx(in_turn.rates_.tpr, abs=0.08)  # out of fold, of both draws
    new = rng.standard_normal((4_000, 400))
    assert np.corrcoef(together.decision_function(new), in_turn.decision_function(new))[0, 1] > 0.95
