"""Rows in memory, read pass after pass from a copy or where they lie, and the sums that describe them."""

from __future__ import annotations

import copy
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ratewise.decisions.cuts import rates_at
from ratewise.solvers.state import NOTHING_SEEN, LinearModel, RowTotals
from ratewise.training import rows as rows_module
from ratewise.training import storage
from ratewise.training.answers import curvature_is_cheap, model_shift
from ratewise.training.rows import ArrayRows, ShuffledBlocks
from ratewise.transforms import Standardizer, Whitener

quick = settings(deadline=None, max_examples=60)


def numbered_rows(n, seed=0, as_sparse=False):
    """Row i holds i + 1 (so that none is empty) and weighs i + 1, negative for every third."""
    X = np.arange(1.0, n + 1)[:, None]
    signed_weights = X[:, 0] * np.where(np.arange(n) % 3 == 0, -1.0, 1.0)
    if as_sparse:
        X = sparse.csr_array(X)
    return ArrayRows(X, signed_weights, Standardizer(1, active=False), np.random.default_rng(seed))


def numbers_in(chunk):
    """The numbers of a chunk's rows, in the order they are read."""
    values = chunk.rows[0] if isinstance(chunk.rows, tuple) else chunk.rows[:, 0]
    return in_ranges(chunk, values).astype(int)


def in_ranges(chunk, values):
    """What a kernel reads of an array that has an entry per row, in its order."""
    ranges = zip(chunk.starts, chunk.stops, strict=True)
    return np.concatenate([values[start:stop] for start, stop in ranges])


def points_of(chunk):
    return int((chunk.stops - chunk.starts).sum())


def taken(rows, points):
    return np.concatenate([numbers_in(chunk) for chunk in rows.take(points)] or [np.empty(0, dtype=int)])


@quick
@given(n=st.integers(1, 400), sizes=st.lists(st.integers(0, 900), max_size=6), seed=st.integers(0, 1000))
def test_any_sequence_of_takes_gives_whole_passes_one_after_another(n, sizes, seed):
    rows = numbered_rows(n, seed)
    parts = [taken(rows, size) for size in sizes]
    assert [part.size for part in parts] == sizes
    total = sum(sizes)
    visited = np.concatenate([*parts, taken(rows, -total % n)])  # up to the end of the pass
    for one_pass in visited.reshape(-1, n):
        assert np.array_equal(np.sort(one_pass), np.arange(1, n + 1))


@pytest.mark.parametrize("as_sparse", [False, True])
def test_a_pass_reads_every_row_once_in_random_order(as_sparse):
    visited = taken(numbered_rows(500, as_sparse=as_sparse), 500)
    assert np.array_equal(np.sort(visited), np.arange(1, 501))
    assert not np.array_equal(visited, np.arange(1, 501))


def test_the_order_changes_from_pass_to_pass():
    rows = numbered_rows(500)
    assert not np.array_equal(taken(rows, 500), taken(rows, 500))


def test_rows_are_shuffled_within_blocks_too():
    # Neighbors in the file must not stay neighbors, or a sorted file would be learned block by block.
    visited = taken(numbered_rows(5000), 5000)
    assert np.mean(np.abs(np.diff(visited)) == 1) < 0.01


def test_the_same_seed_gives_the_same_order():
    first, second, other = numbered_rows(300, 7), numbered_rows(300, 7), numbered_rows(300, 8)
    order = taken(first, 1000)
    assert np.array_equal(order, taken(second, 1000))
    assert not np.array_equal(order, taken(other, 1000))


@quick
@given(n=st.integers(1, 200), first=st.integers(1, 400))
def test_how_points_are_asked_for_does_not_change_their_order(n, first):
    in_pieces, whole = numbered_rows(n), numbered_rows(n)
    assert np.array_equal(
        np.concatenate([taken(in_pieces, first), taken(in_pieces, 50)]), taken(whole, first + 50)
    )


def test_chunks_never_exceed_the_limit(monkeypatch):
    monkeypatch.setattr(rows_module, "_LARGEST_CHUNK", 10)
    sizes = [points_of(chunk) for chunk in numbered_rows(97).take(250)]
    assert sum(sizes) == 250
    assert max(sizes) == 10


def test_a_long_pass_comes_in_several_chunks_as_it_is():
    sizes = [points_of(chunk) for chunk in numbered_rows(300_000).take(300_000)]
    assert sizes == [1 << 18, 300_000 - (1 << 18)]


def test_short_passes_come_in_one_chunk():
    (chunk,) = numbered_rows(40).take(100)
    assert points_of(chunk) == 100


@pytest.mark.parametrize("as_sparse", [False, True])
def test_weights_stay_with_their_rows(as_sparse):
    rows = numbered_rows(50, as_sparse=as_sparse)
    numbers = np.asarray(rows.X.sum(axis=1)).ravel().astype(int)
    expected = np.where((numbers - 1) % 3 == 0, -numbers, numbers)
    assert rows.signed_weights.tolist() == expected.tolist()


def test_chunks_of_sparse_rows_hold_three_arrays():
    X = sparse.csr_array(np.array([[0.0, 2.0, 1.0], [0.0, 0.0, 0.0], [3.0, 0.0, 0.0]]))
    rows = ArrayRows(X, np.ones(3), Standardizer(3, active=False), np.random.default_rng(0))
    (chunk,) = rows.take(3)
    rebuilt = sparse.csr_array(chunk.rows, shape=(3, 3)).toarray()
    assert sorted(rebuilt.tolist()) == sorted(X.toarray().tolist())
    assert (rows.n_points, rows.n_features) == (3, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_standardised_in_the_width_asked_for(dtype):
    X = np.random.default_rng(0).normal(3.0, 9.0, size=(200, 2))
    rows = ArrayRows(X, np.ones(200), Standardizer(2).update(X), np.random.default_rng(0), dtype)
    assert rows.X.dtype == dtype
    assert rows.X.mean(axis=0) == pytest.approx([0.0, 0.0], abs=1e-5)
    assert rows.X.std(axis=0) == pytest.approx([1.0, 1.0], abs=1e-5)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_scores_are_the_models_of_the_standardised_rows(as_sparse):
    rows = numbered_rows(20, as_sparse=as_sparse)
    numbers = np.asarray(rows.X.sum(axis=1)).ravel()
    scores = rows.scores(np.array([2.0]), -1.0)
    assert scores.tolist() == (2.0 * numbers - 1.0).tolist()


@pytest.mark.parametrize("as_sparse", [False, True])
def test_the_summary_counts_points_weights_and_squares(as_sparse):
    # Rows 1..4 weigh -1, 2, 3, -4; squares 1 + 4 + 9 + 16 = 30.
    summary = numbered_rows(4, as_sparse=as_sparse).summary
    assert summary[:4] == (4, 5.0, 5.0, 30.0)
    assert summary.entry_square == 7.5  # 30 / 4 entries that are not 0: the columns are as the user gave them
    assert summary.prevalence == 0.5
    assert summary.leverage == 15.0  # 30 / 4 and the intercept's 7.5


def test_summaries_of_parts_add_up_to_the_summary_of_the_whole():
    first, second = RowTotals(2, 1.0, 1.0, 5.0, 2.0), RowTotals(3, 2.0, 1.0, 10.0, 4.0)
    assert first.merge(second) == RowTotals(5, 3.0, 2.0, 15.0, 16.0 / 5.0)


def test_nothing_seen_adds_nothing():
    summary = RowTotals(4, 5.0, 5.0, 30.0)
    assert NOTHING_SEEN.merge(summary) == summary
    assert NOTHING_SEEN.prevalence == 0.5
    assert NOTHING_SEEN.leverage == 1.0  # the intercept's own entry


@quick
@given(points=st.integers(1, 10**6))
def test_the_prevalence_is_kept_off_zero_and_one_until_both_classes_are_seen(points):
    only_negatives = RowTotals(points, 0.0, float(points), 1.0).prevalence
    only_positives = RowTotals(points, float(points), 0.0, 1.0).prevalence
    assert 0.0 < only_negatives < 1.0 / points
    assert only_positives == pytest.approx(1.0 - only_negatives)


@quick
@given(positives=st.integers(1, 10**6), negatives=st.integers(1, 10**6))
def test_once_both_classes_are_seen_the_prevalence_is_their_share(positives, negatives):
    points = positives + negatives
    assert RowTotals(points, float(positives), float(negatives), 1.0).prevalence == positives / points


@quick
@given(positive=st.floats(1e-6, 1e6), negative=st.floats(1e-6, 1e6))
def test_once_both_classes_are_seen_the_prevalence_is_their_share_of_the_weight(positive, negative):
    share = positive / (positive + negative)
    assert RowTotals(10, positive, negative, 1.0).prevalence == pytest.approx(share, rel=1e-12)


def row_numbers(starts, stops):
    return [row for start, stop in zip(starts, stops, strict=True) for row in range(start, stop)]


@st.composite
def disjoint_ranges(draw):
    edges = sorted(draw(st.sets(st.integers(0, 1000), min_size=2, max_size=6)))
    return list(zip(edges[:-1:2], edges[1::2], strict=True))


@given(disjoint_ranges(), st.lists(st.integers(1, 700), min_size=1, max_size=12))
def test_every_pass_meets_every_row_once_however_it_is_taken(ranges, amounts):
    blocks = ShuffledBlocks(ranges, np.random.default_rng(0))
    met = [row for amount in amounts for row in row_numbers(*blocks.take(amount))]
    assert len(met) == sum(amounts)
    rows = sorted(row for start, stop in ranges for row in range(start, stop))
    for begin in range(0, len(met), len(rows)):
        one_pass = met[begin : begin + len(rows)]
        assert len(set(one_pass)) == len(one_pass)
        assert set(one_pass) <= set(rows)
        if len(one_pass) == len(rows):
            assert sorted(one_pass) == rows


@given(st.lists(st.integers(1, 700), min_size=1, max_size=12))
def test_the_order_is_the_same_in_one_piece_or_in_many(amounts):
    at_once = row_numbers(*ShuffledBlocks([(5, 300), (400, 650)], np.random.default_rng(1)).take(sum(amounts)))
    blocks = ShuffledBlocks([(5, 300), (400, 650)], np.random.default_rng(1))
    assert [row for amount in amounts for row in row_numbers(*blocks.take(amount))] == at_once


def test_passes_have_orders_of_their_own_and_keep_blocks_whole():
    blocks = ShuffledBlocks([(0, 6400)], np.random.default_rng(0))
    first, second = (row_numbers(*blocks.take(6400)) for _ in range(2))
    assert first != second
    assert sum(after == before + 1 for before, after in pairwise(first)) >= 6400 - 64


KINDS = ["dense", "sparse", "whitened"]


def rows_and_transform(kind, n=3000, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32) * 3.0 + 1.0
    if kind == "sparse":
        X = sparse.csr_matrix(np.where(rng.random((n, d)) < 0.4, X, 0.0).astype(np.float32))
    transform = Standardizer(d).update(X)
    return X, transform if kind != "whitened" else Whitener.of_rows(transform, X, np.random.default_rng(1))


@pytest.fixture
def small_cache(monkeypatch):
    """So few rows at a time that a pass takes several chunks."""
    monkeypatch.setattr(storage, "_CACHED_BYTES", 1 << 13)


def both_storages(kind):
    X, transform = rows_and_transform(kind)
    weights = np.random.default_rng(2).choice([-2.0, -1.0, 1.0], size=X.shape[0])
    return [
        ArrayRows(X, weights, transform, np.random.default_rng(3), low_memory=low_memory)
        for low_memory in (False, True)
    ]


def read(stored, points):
    """The rows and weights of the next points, in the order a kernel reads them."""
    rows, weights = [], []
    for chunk in stored.take(points):
        matrix = chunk.rows
        if isinstance(matrix, tuple):
            matrix = sparse.csr_matrix(matrix, shape=(matrix[2].size - 1, stored.n_features)).toarray()
        rows.append(in_ranges(chunk, matrix))
        weights.append(in_ranges(chunk, chunk.targets))
    return np.concatenate(rows), np.concatenate(weights)


@pytest.mark.parametrize("kind", KINDS)
def test_materialized_and_lazy_rows_are_the_same_in_the_same_order(kind, small_cache):
    materialized, lazy = both_storages(kind)
    for points in (1000, 4000, 7):
        rows, weights = read(materialized, points)
        same_rows, same_weights = read(lazy, points)
        # A block of other rows goes through the matrix product in another way.
        tolerance = 1e-5 if kind == "whitened" else 0.0
        np.testing.assert_allclose(same_rows, rows, rtol=0, atol=tolerance)
        assert np.array_equal(same_weights, weights)


@pytest.mark.parametrize("kind", KINDS)
def test_lazy_rows_come_in_several_chunks(kind, small_cache):
    _, lazy = both_storages(kind)
    assert len(list(lazy.take(3000))) > 3
    assert sum(points_of(chunk) for chunk in lazy.take(3000)) == 3000


@pytest.mark.parametrize("kind", KINDS)
def test_sums_scores_and_limits_of_lazy_rows_agree(kind, small_cache):
    materialized, lazy = both_storages(kind)
    model = np.arange(1.0, 7.0), -0.5
    values = np.linspace(-1.0, 1.0, 3000)
    assert lazy.summary == pytest.approx(materialized.summary, rel=1e-5)
    np.testing.assert_allclose(lazy.scores(*model), materialized.scores(*model), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(lazy.weighted_sum(values), materialized.weighted_sum(values), rtol=1e-4, atol=1e-3)
    assert lazy.limit_rows(1.5) == pytest.approx(materialized.limit_rows(1.5), rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_parts_and_other_orders_of_lazy_rows_agree(kind, small_cache):
    stored = both_storages(kind)
    parts = [rows.part((100, 900), (2000, 2500), rng=np.random.default_rng(5)) for rows in stored]
    other = [rows.reshuffled(np.random.default_rng(6)) for rows in stored]
    for materialized, lazy in (parts, other):
        rows, weights = read(materialized, materialized.n_points)
        same_rows, same_weights = read(lazy, lazy.n_points)
        np.testing.assert_allclose(same_rows, rows, rtol=0, atol=1e-5)
        assert np.array_equal(same_weights, weights)


@pytest.mark.parametrize("low_memory", [False, True])
def test_given_folds_part_the_rows(low_memory):
    X = np.arange(1.0, 301.0)[:, None]
    fold_of_row = np.arange(300) % 7 % 3
    rows = ArrayRows(
        X,
        np.where(np.arange(300) % 5 == 0, 1.0, -1.0),
        Standardizer(1, active=False),
        np.random.default_rng(0),
        fold_of_row=fold_of_row,
        n_folds=3,
        low_memory=low_memory,
    )
    for k in range(3):
        inside, outside = rows.fold(k), rows.without_fold(k)
        assert np.array_equal(np.sort(taken(inside, inside.n_points)), np.flatnonzero(fold_of_row == k) + 1)
        assert np.array_equal(np.sort(taken(outside, outside.n_points)), np.flatnonzero(fold_of_row != k) + 1)


def test_rows_without_folds_are_one_fold_that_nothing_is_left_out_of():
    rows = numbered_rows(50)
    assert rows.without_fold(0) is rows
    assert rows.fold(0).n_points == 50


def test_of_rows_of_very_many_columns_enough_are_measured(monkeypatch):
    monkeypatch.setattr(rows_module, "_SAMPLED_VALUES", 1)
    X = np.random.default_rng(0).normal(size=(3_000, 4))
    rows = ArrayRows(X, np.ones(3_000), Standardizer(4, active=False), np.random.default_rng(0))
    assert rows.summary.squared_rows == pytest.approx((X**2).sum(), rel=0.1)


@pytest.mark.parametrize(
    ("values", "most", "measured"), [(4_000, 10**6, 2_000), (10**9, 150, 150), (10**9, 10**6, 3_000)]
)
def test_the_usual_row_is_that_of_the_first_thousand_and_more_if_they_have_few_values(
    values, most, measured, monkeypatch
):
    """Of four columns: 4,000 values are a thousand rows beyond the first."""
    monkeypatch.setattr(rows_module, "_SAMPLED_VALUES", values)
    monkeypatch.setattr(rows_module, "_SAMPLED_ROWS", most)
    X = np.random.default_rng(0).normal(size=(3_000, 4))
    for low_memory in (False, True):
        rows = ArrayRows(
            X, np.ones(3_000), Standardizer(4, active=False), np.random.default_rng(0), low_memory=low_memory
        )
        expected = (rows.X[:measured].astype(np.float64) ** 2).sum() / measured
        assert rows.summary.squared_rows == pytest.approx(3_000 * expected, rel=1e-5)
        assert rows.summary.entry_square == pytest.approx(expected / 4, rel=1e-5)


@pytest.mark.parametrize(("columns", "at_once"), [(6, 8_192 // 24), (100, 64), (1, 8_192 // 4)])
def test_lazy_rows_are_gathered_as_many_at_a_time_as_fit_in_the_cache(columns, at_once, small_cache):
    X = np.random.default_rng(0).normal(size=(5_000, columns))
    rows = ArrayRows(X, np.ones(5_000), Standardizer(columns), np.random.default_rng(0), low_memory=True)
    sizes = [chunk.targets.size for chunk in rows.take(5_000)]
    assert set(sizes[:-1]) == {at_once}
    assert sum(sizes) == 5_000
    pieces = [piece.shape[0] for piece in rows._stored.pieces([(0, 5_000)])]
    assert pieces == [at_once] * (5_000 // at_once) + [5_000 % at_once] * (5_000 % at_once > 0)


def test_the_length_of_rows_as_the_user_gave_them_counts_an_intercept_of_their_own_size():
    X = np.array([[3.0, 0.0], [0.0, 4.0], [10.0, 10.0], [1.0, 1.0]])
    rows = ArrayRows(X, np.ones(4), Standardizer(2, active=False), np.random.default_rng(0))
    usual = (9 + 16 + 200 + 2) / 6
    lengths = np.array([9.0, 16.0, 200.0, 2.0]) + usual
    assert rows.limit_rows(0.5) == pytest.approx(lengths.mean())
    (chunk,) = rows.take(4)
    expected = np.minimum(0.5 * lengths.mean() / lengths, 1.0)
    np.testing.assert_allclose(np.sort(chunk.targets), np.sort(expected), rtol=1e-5)


@quick
@given(ranges=disjoint_ranges(), size=st.integers(1, 300))
def test_blocks_are_so_many_rows_of_each_range(ranges, size):
    rows = numbered_rows(1_000)
    parts = [part.signed_weights.tolist() for part in rows.part(*ranges).blocks(size)]
    expected = [
        rows.signed_weights[begin : min(begin + size, stop)].tolist()
        for start, stop in ranges
        for begin in range(start, stop, size)
    ]
    assert parts == expected


def weighted_rows(kind, n=700, seed=4):
    X = rows_and_transform(kind)[0][:n]
    X = sparse.csr_matrix(X) if kind == "sparse" else X
    rng = np.random.default_rng(seed)
    weights = rng.choice([-1.0, 1.0], size=n) * (0.5 + rng.random(n))
    rows = ArrayRows(X, weights, Standardizer(6).update(X), np.random.default_rng(3))
    return rows, rows.X.toarray() if kind == "sparse" else rows.X


def test_few_rows_are_one_matrix_with_an_entry_of_one_added():
    whole, dense = weighted_rows("dense")
    rows = whole.part((20, 200), (300, 650))
    values = np.linspace(0.1, 2.0, rows.n_points)
    with_one = np.column_stack([dense, np.ones(700)])[np.r_[20:200, 300:650]].astype(np.float64)
    matrix, transpose = rows.with_ones
    np.testing.assert_allclose(matrix, with_one, rtol=1e-6)
    np.testing.assert_allclose(transpose, with_one.T, rtol=1e-6)
    np.testing.assert_allclose(rows.weighted_sum(values), values @ with_one[:, :-1], rtol=1e-4, atol=1e-3)


def test_a_share_is_of_the_weight_of_the_rows_own_class():
    rows = numbered_rows(30)
    rows.targets = rows.targets * np.float32(1e-6)  # whatever their unit
    signs, shares = rows.signs_and_shares
    weights = rows.signed_weights
    assert (signs == np.sign(weights)).all()
    for sign in (1.0, -1.0):
        mine = weights[signs == sign]
        np.testing.assert_allclose(shares[signs == sign], mine / mine.sum(), rtol=1e-6)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_part_standardised_apart_is_as_if_there_were_no_other_rows(kind):
    whole, dense = weighted_rows(kind)
    part = whole.part((0, 100), (400, 700))
    apart, own = part.standardized_apart()
    mine = dense[np.r_[0:100, 400:700]].astype(np.float64)
    assert apart.n_points == 400
    assert (apart.signed_weights == part.signed_weights).all()
    centre = 0.0 if kind == "sparse" else mine.mean(axis=0)  # zeros of sparse rows stay zeros
    scale = own.scale
    got = apart.X.toarray() if kind == "sparse" else apart.X
    np.testing.assert_allclose(got, (mine - centre) / scale, atol=1e-4)
    if kind == "dense":
        np.testing.assert_allclose(scale, mine.std(axis=0), rtol=1e-4)
    model = np.arange(1.0, 7.0), 0.5
    back = own.inverse_coef(*model)
    np.testing.assert_allclose(part.scores(*back), apart.scores(*model), atol=1e-3)


@pytest.mark.parametrize(("points", "expected"), [(1, 1), (10, 10), (12, 12), (19, 19), (20, 20), (500, 20)])
def test_the_first_rows_are_those_of_the_first_ranges(points, expected):
    rows = numbered_rows(60).part((5, 15), (40, 50))
    some = rows.first(points)
    assert some.n_points == expected
    assert some.signed_weights.tolist() == rows.signed_weights[:expected].tolist()


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("mean", [None, 2.0])
def test_rows_of_more_than_the_limit_pull_in_proportion_less(kind, mean):
    rows, dense = weighted_rows(kind)
    lengths = (dense.astype(np.float64) ** 2).sum(axis=1) + 1.0
    found = rows.limit_rows(1.5, mean)
    assert found == pytest.approx(lengths.mean() if mean is None else 2.0, rel=1e-5)
    expected = rows.signed_weights * np.minimum(1.5 * found / lengths, 1.0)
    pulls = np.concatenate([in_ranges(chunk, chunk.targets) for chunk in rows.part((0, 700)).take(700)])
    np.testing.assert_allclose(np.sort(pulls), np.sort(expected), rtol=1e-4)
    assert (expected != rows.signed_weights).any()


def test_curvature_is_cheap_for_dense_rows_of_up_to_128_columns():
    assert curvature_is_cheap(128, sparse=False)
    assert not curvature_is_cheap(129, sparse=False)
    assert not curvature_is_cheap(5, sparse=True)


def test_the_usual_entry_is_that_of_entries_which_are_not_zero():
    X = np.array([[3.0, 0.0], [0.0, 0.0], [4.0, 0.0], [0.0, 5.0]])
    for of in (np.asarray, sparse.csr_matrix):
        rows = ArrayRows(of(X), np.ones(4), Standardizer(2, active=False), np.random.default_rng(0))
        assert rows.summary.squared_rows == pytest.approx(50.0)
        assert rows.summary.entry_square == pytest.approx(50.0 / 3)


def test_rows_in_another_order_keep_weights_pulls_and_groups():
    X = np.arange(1.0, 41.0)[:, None]
    groups = np.arange(40) // 4
    signed = np.where(np.arange(40) % 3 == 0, -1.0, 1.0) * X[:, 0]
    rows = ArrayRows(X, signed, Standardizer(1, active=False), np.random.default_rng(0), groups=groups)
    rows.limit_rows(0.1)
    order = np.random.default_rng(1).permutation(40)
    other = rows.reordered(order, np.random.default_rng(2))
    numbers = other.X[:, 0].astype(int)
    assert numbers.tolist() == rows.X[order, 0].astype(int).tolist()
    assert (np.abs(other.signed_weights) == numbers).all()
    assert other.groups.tolist() == ((numbers - 1) // 4).tolist()
    assert other.n_groups == 10
    (before,), (after,) = rows.take(40), other.take(40)
    assert after.targets.tolist() == before.targets[order].tolist()


def test_a_model_is_compared_with_those_of_the_folds_on_the_rows_that_they_learned():
    """Rows 0 to 7, two folds of four; the later half is positive, and a model calls what lies above its cut."""
    X, signed = np.arange(8.0)[:, None], np.where(np.arange(8) < 4, -1.0, 1.0)
    rows = ArrayRows(X, signed, Standardizer(1, active=False), np.random.default_rng(0))
    numbers = rows.X[:, 0]
    order = np.argsort(numbers % 2, kind="stable")  # even rows are the first fold, odd ones the second
    rows = rows.reordered(order, np.random.default_rng(0))
    parts = [rows.part((0, 4)), rows.part((4, 8))]
    cut_at = [LinearModel(np.array([1.0]), -cut) for cut in (1.5, 5.5, 3.5)]  # of the two folds, and their mean
    found = model_shift(parts, cut_at[2], cut_at[:2], 0.0, 2)
    tiny = [copy.copy(part) for part in parts]
    for part in tiny:
        part._all_targets = part._all_targets * np.float32(1e-6)
    same = model_shift([part.part(*part._ranges) for part in tiny], cut_at[2], cut_at[:2], 0.0, 2)
    np.testing.assert_allclose(np.concatenate(same[:3]), np.concatenate(found[:3]), rtol=1e-5)
    # The first has learned the odd rows: it finds 5 and 7, and passes 1 but not 3. The second has learned the even
    # rows: it finds 6 but not 4, and passes 0 and 2. The mean parts the classes.
    assert found.of_training == pytest.approx((0.75, 0.75))
    assert found.rates == pytest.approx((0.25, 0.25))
    # A positive is learned right three times in four: own - learned is 0, 0, 0, 1; out-of-fold 1, 1, 0, 1.
    assert found.variance[0] == pytest.approx(3 / 16 + 2 * 1 / 16)
    assert found.folds == 2


def test_models_that_are_equal_have_no_shift():
    rng = np.random.default_rng(0)
    X, signed = rng.standard_normal((60, 3)), rng.choice([-1.0, 2.0], 60)
    rows = ArrayRows(X, signed, Standardizer(3, active=False), rng)
    model = LinearModel(np.array([1.0, -1.0, 0.5]), 0.1)
    found = model_shift([rows.part((0, 20)), rows.part((20, 60))] * 2, model, [model] * 4, 0.3, 2)
    assert found.rates == (0.0, 0.0)
    assert found.variance == pytest.approx((0.0, 0.0))
    expected = rates_at(rows.scores(*model), rows.signed_weights, 0.3)
    assert found.of_training == pytest.approx(expected[:2])


@pytest.mark.parametrize("of", [np.asarray, sparse.csr_matrix])
def test_entries_of_standardised_rows_are_of_usual_size_one(of):
    X, transform = rows_and_transform("sparse")
    X = of(X.toarray())
    assert ArrayRows(X, np.ones(3000), transform, np.random.default_rng(0)).summary.entry_square == 1.0
    nothing = ArrayRows(of(np.zeros((4, 2))), np.ones(4), Standardizer(2, active=False), np.random.default_rng(0))
    assert nothing.summary.entry_square == 1.0


@pytest.mark.parametrize("of", [np.asarray, sparse.csr_matrix])
def test_ranges_of_rows_are_those_rows_however_many_there_are(of):
    X = np.arange(1.0, 31.0).reshape(10, 3)
    stored = storage.MaterializedRows(of(X))
    for start, stop in ((2, 5), (0, 10), (9, 10), (4, 4), (0, 3)):
        (piece,) = stored.pieces([(start, stop)])
        assert (piece.toarray() if sparse.issparse(piece) else piece).tolist() == X[start:stop].tolist()
