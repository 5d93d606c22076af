"""An endless stream over rows in memory, and the sums that describe it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ratewise.streams import NOTHING_SEEN, ArrayStream, Standardizer, Summary, summarize
from ratewise.streams import arrays as arrays_module

quick = settings(deadline=None, max_examples=60)


def numbered_stream(n, seed=0, as_sparse=False):
    """Row i holds i + 1 (so that none is empty) and weighs i + 1, negative for every third."""
    X = np.arange(1.0, n + 1)[:, None]
    signed_weights = X[:, 0] * np.where(np.arange(n) % 3 == 0, -1.0, 1.0)
    if as_sparse:
        X = sparse.csr_array(X)
    return ArrayStream(X, signed_weights, Standardizer(1, active=False), np.random.default_rng(seed))


def numbers_in(chunk):
    """The numbers of a chunk's rows, in the order they are read."""
    values = chunk.rows[0] if isinstance(chunk.rows, tuple) else chunk.rows[:, 0]
    spans = [values[start:stop] for start, stop in zip(chunk.starts, chunk.stops, strict=True)]
    return np.concatenate(spans).astype(int)


def taken(stream, points):
    return np.concatenate([numbers_in(chunk) for chunk in stream.take(points)] or [np.empty(0, dtype=int)])


@quick
@given(n=st.integers(1, 400), sizes=st.lists(st.integers(0, 900), max_size=6), seed=st.integers(0, 1000))
def test_any_sequence_of_takes_gives_whole_passes_one_after_another(n, sizes, seed):
    stream = numbered_stream(n, seed)
    parts = [taken(stream, size) for size in sizes]
    assert [part.size for part in parts] == sizes
    total = sum(sizes)
    visited = np.concatenate([*parts, taken(stream, -total % n)])  # up to the end of the pass
    for one_pass in visited.reshape(-1, n):
        assert np.array_equal(np.sort(one_pass), np.arange(1, n + 1))


@pytest.mark.parametrize("as_sparse", [False, True])
def test_a_pass_reads_every_row_once_in_random_order(as_sparse):
    visited = taken(numbered_stream(500, as_sparse=as_sparse), 500)
    assert np.array_equal(np.sort(visited), np.arange(1, 501))
    assert not np.array_equal(visited, np.arange(1, 501))


def test_the_order_changes_from_pass_to_pass():
    stream = numbered_stream(500)
    assert not np.array_equal(taken(stream, 500), taken(stream, 500))


def test_rows_are_shuffled_within_blocks_too():
    # Neighbours in the file must not stay neighbours, or a sorted file would be learned block by block.
    visited = taken(numbered_stream(5000), 5000)
    assert np.mean(np.abs(np.diff(visited)) == 1) < 0.01


def test_the_same_seed_gives_the_same_order():
    first, second, other = numbered_stream(300, 7), numbered_stream(300, 7), numbered_stream(300, 8)
    order = taken(first, 1000)
    assert np.array_equal(order, taken(second, 1000))
    assert not np.array_equal(order, taken(other, 1000))


@quick
@given(n=st.integers(1, 200), first=st.integers(1, 400))
def test_how_points_are_asked_for_does_not_change_their_order(n, first):
    halves, whole = numbered_stream(n), numbered_stream(n)
    assert np.array_equal(np.concatenate([taken(halves, first), taken(halves, 50)]), taken(whole, first + 50))


def test_chunks_never_exceed_the_limit(monkeypatch):
    monkeypatch.setattr(arrays_module, "_LARGEST_CHUNK", 10)
    sizes = [chunk.points for chunk in numbered_stream(97).take(250)]
    assert sum(sizes) == 250
    assert max(sizes) == 10


def test_a_long_pass_comes_in_several_chunks_as_it_is():
    sizes = [chunk.points for chunk in numbered_stream(300_000).take(300_000)]
    assert sizes == [1 << 18, 300_000 - (1 << 18)]


def test_short_passes_come_in_one_chunk():
    (chunk,) = numbered_stream(40).take(100)
    assert chunk.points == 100


@pytest.mark.parametrize("as_sparse", [False, True])
def test_weights_stay_with_their_rows(as_sparse):
    stream = numbered_stream(50, as_sparse=as_sparse)
    numbers = np.asarray(stream.X.sum(axis=1)).ravel().astype(int)
    expected = np.where((numbers - 1) % 3 == 0, -numbers, numbers)
    assert stream.signed_weights.tolist() == expected.tolist()


def test_a_sparse_stream_gives_its_rows_as_three_arrays():
    X = sparse.csr_array(np.array([[0.0, 2.0, 1.0], [0.0, 0.0, 0.0], [3.0, 0.0, 0.0]]))
    stream = ArrayStream(X, np.ones(3), Standardizer(3, active=False), np.random.default_rng(0))
    rebuilt = sparse.csr_array(stream.rows, shape=(3, 3)).toarray()
    assert sorted(rebuilt.tolist()) == sorted(X.toarray().tolist())
    assert (stream.n_points, stream.n_features) == (3, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_standardised_in_the_width_asked_for(dtype):
    X = np.random.default_rng(0).normal(3.0, 9.0, size=(200, 2))
    stream = ArrayStream(X, np.ones(200), Standardizer(2).update(X), np.random.default_rng(0), dtype)
    assert stream.X.dtype == dtype
    assert stream.X.mean(axis=0) == pytest.approx([0.0, 0.0], abs=1e-5)
    assert stream.X.std(axis=0) == pytest.approx([1.0, 1.0], abs=1e-5)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_scores_are_the_models_of_the_standardised_rows(as_sparse):
    stream = numbered_stream(20, as_sparse=as_sparse)
    numbers = np.asarray(stream.X.sum(axis=1)).ravel()
    scores = stream.scores(np.array([2.0]), -1.0)
    assert scores.tolist() == (2.0 * numbers - 1.0).tolist()


@pytest.mark.parametrize("as_sparse", [False, True])
def test_the_summary_counts_points_weights_and_squares(as_sparse):
    # Rows 1..4 weigh -1, 2, 3, -4; squares 1 + 4 + 9 + 16 = 30.
    summary = numbered_stream(4, as_sparse=as_sparse).summary
    assert summary[:4] == (4, 5.0, 5.0, 30.0)
    assert summary.entry_square == 7.5  # 30 / 4 entries that are not 0: the rows are in units of their own
    assert summary.prevalence == 0.5
    assert summary.mean_squared_row == 7.5


@quick
@given(signs=st.lists(st.sampled_from([-1.0, 1.0]), min_size=1, max_size=30), cut=st.integers(0, 30))
def test_summaries_of_parts_add_up_to_the_summary_of_the_whole(signs, cut):
    weights = np.array(signs)
    X = np.arange(2.0 * weights.size).reshape(-1, 2)
    parts = summarize(X[:cut], weights[:cut]).merge(summarize(X[cut:], weights[cut:]))
    assert tuple(parts) == pytest.approx(tuple(summarize(X, weights)))


def test_nothing_seen_adds_nothing():
    summary = Summary(4, 5.0, 5.0, 30.0)
    assert NOTHING_SEEN.merge(summary) == summary
    assert NOTHING_SEEN.prevalence == 0.5
    assert NOTHING_SEEN.mean_squared_row == 0.0


@quick
@given(points=st.integers(1, 10**6))
def test_the_prevalence_is_kept_off_zero_and_one_until_both_classes_are_seen(points):
    only_negatives = Summary(points, 0.0, float(points), 1.0).prevalence
    only_positives = Summary(points, float(points), 0.0, 1.0).prevalence
    assert 0.0 < only_negatives < 1.0 / points
    assert only_positives == pytest.approx(1.0 - only_negatives)


@quick
@given(positives=st.integers(1, 10**6), negatives=st.integers(1, 10**6))
def test_once_both_classes_are_seen_the_prevalence_is_their_share(positives, negatives):
    points = positives + negatives
    assert Summary(points, float(positives), float(negatives), 1.0).prevalence == positives / points


@quick
@given(positive=st.floats(1e-6, 1e6), negative=st.floats(1e-6, 1e6))
def test_once_both_classes_are_seen_the_prevalence_is_their_share_of_the_weight(positive, negative):
    share = positive / (positive + negative)
    assert Summary(10, positive, negative, 1.0).prevalence == pytest.approx(share, rel=1e-12)
