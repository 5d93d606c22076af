"""Fits to rows in memory: from a copy or from where they lie, in one thread or in several."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from scipy import sparse

from ratewise import MeasureClassifier
from ratewise.measures import FBeta
from ratewise.solvers import LinearModel, Stamp, Task
from ratewise.training import storage
from ratewise.training.folds import equal_ranges, folds_of_rows, order_by_group
from ratewise.training.memory import ArraySource, ArrayTrainingRows, in_threads
from ratewise.transforms import Standardizer


@pytest.fixture
def small_cache(monkeypatch):
    """So few rows at a time that a pass takes several chunks."""
    monkeypatch.setattr(storage, "_CACHED_BYTES", 1 << 13)


def a_problem(kind, seed=0):
    n = 20_000 if kind == "whitened" else 2000  # so many rows are whitened
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)).astype(np.float32) * 3.0 + 1.0
    if kind == "sparse":
        X = sparse.csr_matrix(np.where(rng.random((n, 6)) < 0.4, X, 0.0).astype(np.float32))
    scores = np.asarray(X @ np.array([1.0, -1.0, 0.5, 0.0, 0.0, 2.0]))
    noise = np.random.default_rng(seed + 1).normal(size=n)
    return X, scores + noise > np.quantile(scores, 0.9)


def both_fits(X, y, **settings):
    return [
        MeasureClassifier("f1", random_state=0, low_memory=low_memory, **settings).fit(X, y)
        for low_memory in (False, True)
    ]


def assert_close(fit, other, X, y):
    # Chunks of another length are summed up in another order: the last digits differ, and steps make them more.
    assert np.linalg.norm(fit.coef_ - other.coef_) < 0.01 * np.linalg.norm(fit.coef_)
    assert fit.score(X, y) == pytest.approx(other.score(X, y), abs=3e-3)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_plain_fit_in_low_memory_agrees(kind, small_cache):
    X, y = a_problem(kind)
    assert_close(*both_fits(X, y, sharpen=False), X, y)


@pytest.mark.parametrize("kind", ["dense", "sparse", "whitened"])
def test_a_sharpened_fit_in_low_memory_agrees(kind):
    X, y = a_problem(kind)
    assert_close(*both_fits(X, y, validation_fraction=0.5), X, y)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_threads_come_to_the_same_model(kind):
    X, y = a_problem(kind)
    settings = {"validation_fraction": 0.5, "random_state": 0}
    one, two = (MeasureClassifier("gmean", n_jobs=jobs, **settings).fit(X, y) for jobs in (1, 2))
    assert two.coef_.tobytes() == one.coef_.tobytes()
    assert two.intercept_.tobytes() == one.intercept_.tobytes()
    assert two.stages_ == one.stages_
    assert two.history_["value"].tolist() == one.history_["value"].tolist()


def test_the_first_folds_are_of_the_rows_as_they_lie_and_the_next_of_others():
    X, y = a_problem("dense")
    source = ArraySource(X, np.where(y, 1.0, -1.0), np.random.default_rng(0))
    rows = source.transformed(source.transform(standardize=True, whiten=False), 4)._rows
    split = ArrayTrainingRows(rows, 4, 2)
    weights = np.concatenate([fold.signed_weights for fold in split._validation])
    assert (weights[:2000] == rows.signed_weights).all()
    assert not (weights[2000:] == rows.signed_weights).all()


def source_of(X, y, **more):
    return ArraySource(X, np.where(y, 1.0, -1.0), np.random.default_rng(0), **more)


def test_progress_is_told_before_the_first_run_and_after_each():
    X, y = a_problem("dense")
    told = []
    source = source_of(X, y, progress=told.append)
    rows = source.transformed(source.transform(standardize=True, whiten=False), 2)
    runs = [(fold, Stamp(passes=1).start(Task(FBeta(), 6))) for fold in range(2)]
    rows.train(runs)
    assert [(one["stage"], one["done_rows"], one["total_rows"]) for one in told] == [
        ("learning", 0, 4000),
        ("learning", 2000, 4000),
        ("learning", 4000, 4000),
    ]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_statistics_count_rows_weights_and_values(kind):
    X, y = a_problem(kind)
    weights = np.where(y, 1.0, -1.0) * np.linspace(0.5, 1.5, 2000)
    groups = np.arange(2000) // 100
    found = ArraySource(X, weights, np.random.default_rng(0), groups=groups).statistics()
    assert (found.rows, found.positive_rows, found.n_features, found.n_groups) == (2000, y.sum(), 6, 20)
    assert found.n_values == (X.nnz if kind == "sparse" else 12_000)
    assert found.sparse == (kind == "sparse")
    assert found.positive_weight == pytest.approx(weights[y].sum())
    assert found.negative_weight == pytest.approx(-weights[~y].sum())
    assert found.in_memory
    alone = ArraySource(X, np.where(y, 1.0, -1.0), np.random.default_rng(0)).statistics()
    assert alone.points == pytest.approx((y.sum(), (~y).sum()))
    assert alone.n_groups is None
    weights[np.flatnonzero(y)[0]] = 0.0
    assert ArraySource(X, weights, np.random.default_rng(0)).statistics().positive_rows == y.sum() - 1


def test_rows_that_all_train_and_choose_are_not_searched_for_copies():
    X = np.ones((300, 2), dtype=np.float32)
    source = source_of(X, np.arange(300) % 2 == 0)
    assert source.transformed(Standardizer(2, active=False), 1).frequent_rows is None
    assert source.transformed(Standardizer(2, active=False), 3).frequent_rows.tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize("n_groups", [7, 40, 3000])
def test_folds_of_groups_have_about_their_share_of_every_class(n_groups):
    rng = np.random.default_rng(n_groups)
    groups = np.concatenate([np.arange(n_groups), rng.integers(n_groups, size=9000 - n_groups)])
    codes = (rng.random(9000) < 0.2).astype(int)
    order, ranges = order_by_group(groups, codes, 3, rng)
    assert sorted(order) == list(range(9000))
    assert [stop for _, stop in ranges[:-1]] == [start for start, _ in ranges[1:]]
    folds = [order[start:stop] for start, stop in ranges]
    assert sum(len(set(groups[fold])) for fold in folds) == n_groups  # none is parted
    for fold in folds:
        assert fold.size == pytest.approx(3000, rel=0.35 if n_groups == 7 else 0.06)
        assert codes[fold].mean() == pytest.approx(codes.mean(), rel=0.2 if n_groups == 7 else 0.1)


def test_a_large_group_has_a_fold_to_itself_where_it_is_as_large_as_the_others_together():
    groups = np.repeat(np.arange(11), [1000, *[100] * 10])
    codes = np.tile([0, 1], 1000)
    order, ranges = order_by_group(groups, codes, 2, np.random.default_rng(0))
    assert {tuple(sorted(set(groups[order[a:b]]))) for a, b in ranges} == {(0,), tuple(range(1, 11))}


def test_folds_are_ranges_of_equal_length_that_leave_no_row_out():
    assert equal_ranges(10, 3) == [(0, 3), (3, 6), (6, 10)]
    assert equal_ranges(6, 2) == [(0, 3), (3, 6)]


def test_work_in_threads_comes_back_in_the_order_of_its_jobs():
    for threads in (1, 3):
        assert in_threads(lambda job: 2 * job, range(20), threads) == list(range(0, 40, 2))


def test_several_jobs_are_done_by_other_threads_and_a_lone_one_by_this():
    here = threading.get_ident()
    assert in_threads(lambda _: threading.get_ident(), [1], 3) == [here]
    assert in_threads(lambda _: threading.get_ident(), [1, 2], 1) == [here, here]
    assert here not in in_threads(lambda _: threading.get_ident(), [1, 2], 3)


def test_a_source_whitens_its_rows_if_asked_to():
    X, y = a_problem("dense")
    X[:, 1] += X[:, 0]
    source = source_of(X, y)
    assert isinstance(source.transform(standardize=True, whiten=False), Standardizer)
    whitened = source.transform(standardize=True, whiten=True).transform(X, np.arange(2000), np.float64)
    np.testing.assert_allclose(np.cov(whitened.T), np.eye(6), atol=0.1)


@pytest.mark.parametrize(("copies", "common"), [(10, 0), (11, 1)])
def test_rows_are_common_that_come_once_more_than_a_hundredth_of_all(copies, common):
    X = np.random.default_rng(0).normal(size=(1_000, 2)).astype(np.float32)
    X[100 : 100 + copies] = X[100]
    X[500:503] = X[500]
    given = folds_of_rows(X, None, np.arange(1_000) % 4 == 0, 5, np.random.default_rng(1))
    assert given.common.tolist() == [100] * common
    # Copies share a number, but for common ones; every other row has one of its own.
    assert np.unique(given.groups).size == 1_000 - 2 - (0 if common else copies - 1)
    assert np.unique(given.groups[500:503]).size == 1
    assert np.unique(given.fold_of_row[500:503]).size == 1


def test_common_rows_come_with_the_most_frequent_first():
    X = np.random.default_rng(0).normal(size=(400, 1)).astype(np.float32)
    X[:30], X[30:90], X[90:140] = 1.0, 2.0, 3.0
    order = np.random.default_rng(2).permutation(400)
    given = folds_of_rows(X[order], None, np.arange(400) % 2 == 0, 4, np.random.default_rng(1))
    assert X[order][given.common, 0].tolist() == [2.0, 3.0, 1.0]


@pytest.mark.parametrize("seed", range(5))
def test_groups_go_where_they_make_the_folds_least_uneven(seed):
    """Ten groups of positives and ten of negatives, of all sizes: classes are balanced one by one."""
    rng = np.random.default_rng(seed)
    sizes = np.tile([100, 90, 80, 70, 60, 50, 40, 30, 20, 10], 2)
    groups, codes = np.repeat(np.arange(20), sizes), np.repeat([0, 1], 550)
    found = folds_of_rows(None, groups, codes, 2, rng).fold_of_row
    for code in (0, 1):
        assert abs(np.count_nonzero(found[codes == code] == 0) - 275) <= 15


def test_rows_on_their_own_fill_up_the_folds_that_have_least_of_their_class():
    groups = np.concatenate([np.zeros(60, dtype=int), np.arange(1, 141)])
    codes = np.tile([0, 1], 100)
    found = folds_of_rows(None, groups, codes, 2, np.random.default_rng(0)).fold_of_row
    assert np.unique(found[:60]).size == 1
    for code in (0, 1):
        assert np.bincount(found[codes == code]).tolist() == [50, 50]


def test_a_fold_that_leaves_a_class_out_is_refused_by_the_name_of_the_class():
    X = np.random.default_rng(0).normal(size=(100, 2))
    groups = np.repeat([0, 1, 2, 3], 25)
    for label, missing in ((1.0, "positive"), (-1.0, "negative")):
        signed = np.where(groups == 0, label, -label)
        source = ArraySource(X, signed, np.random.default_rng(0), groups=groups)
        transform = source.transform(standardize=True, whiten=False)
        with pytest.raises(ValueError, match=f"leaves no row of the {missing} class to learn from"):
            source.transformed(transform, 2)


def test_every_fold_is_validated_by_the_rows_it_has_not_learned_from():
    X, y = a_problem("dense")
    X = np.column_stack([np.arange(2000.0), X]).astype(np.float32)
    source = source_of(X, y)
    rows = source.transformed(Standardizer(7, active=False), 5, 2)
    assert rows.n_folds == 10
    number = LinearModel(np.eye(7)[0], 0.0)
    scores = rows.validation_scores([number] * 10)
    assert scores.folds == (400,) * 10
    for repeat in range(2):
        assert sorted(scores.values[2000 * repeat : 2000 * (repeat + 1)].astype(int)) == list(range(2000))
    for fold in range(10):
        mine = set(scores.values[400 * fold : 400 * (fold + 1)].astype(int))
        learned = set(rows._training[fold].scores(*number).astype(int))
        assert learned == set(range(2000)) - mine
        assert rows.summary(fold).points == 1600
    assert sorted(rows.own_scores(number).values.astype(int)) == list(range(2000))
    assert (scores.signed_weights > 0).sum() == 2 * y.sum()


def test_groups_stay_together_in_every_draw_of_the_folds():
    X, y = a_problem("dense")
    X[:, 0] = np.arange(2000) // 20  # tells its group
    source = source_of(X, y, groups=np.arange(2000) // 20)
    rows = source.transformed(Standardizer(6, active=False), 3, 2)
    number = LinearModel(np.eye(6)[0], 0.0)
    parts = []
    for training, validation in zip(rows._training, rows._validation, strict=True):
        mine = set(validation.scores(*number).astype(int))
        assert not mine & set(training.scores(*number).astype(int))
        parts.append(frozenset(mine))
    assert len(set(parts)) == 6  # the second draw is another one
    assert set().union(*parts[3:]) == set(range(100))
