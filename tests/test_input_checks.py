"""Arrays from outside are checked before compiled code uses them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ratewise import MeasureClassifier, open_stream
from ratewise._input_checks import FarColumnWarning, is_text, trusted_csr, warn_of_far_columns
from ratewise.distributed.inputs import ArrayShard
from ratewise.streams import DataError

Y = np.arange(60) % 2


def rows(kind=sparse.csr_matrix):
    """Half of the entries, those of the second class about 1 larger."""
    rng = np.random.default_rng(0)
    return kind(np.where(rng.random((60, 5)) < 0.5, rng.random((60, 5)) + Y[:, None], 0.0))


def with_an_index(value, where):
    def broken():
        X = rows()
        X.indices[where] = value
        return X

    return broken


def with_indptr(change):
    def broken():
        X = rows()
        X.indptr = change(X.indptr)
        return X

    return broken


def falling(indptr):
    indptr = indptr.copy()
    indptr[7] = indptr[20]
    return indptr


def csc_with_an_index():
    X = rows(sparse.csc_matrix)
    X.indices[3] = 60
    return X


def coo_with_an_index():
    X = rows(sparse.coo_matrix)
    X.row[3] = 1 << 30
    return X


BROKEN = {
    "column too large": with_an_index(5, 10),
    "column far too large": with_an_index(1 << 30, -1),
    "column below 0": with_an_index(-1, 0),
    "indptr falls": with_indptr(falling),
    "indptr ends outside": with_indptr(lambda indptr: indptr + np.r_[np.zeros(60, int), 10**6]),
    "indptr begins after 0": with_indptr(lambda indptr: indptr + 1),
    "indptr too short": with_indptr(lambda indptr: indptr[:30]),
    "CSC, row too large": csc_with_an_index,
    "COO, row too large": coo_with_an_index,
}


@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.parametrize("use", ["fit", "partial_fit", "predict", "stream", "shard"])
def test_a_sparse_matrix_that_points_outside_is_refused(what, use):
    X = BROKEN[what]()
    model = MeasureClassifier(random_state=0)
    if use == "predict":
        model.coef_, model.intercept_, model.classes_ = np.ones((1, 5)), np.zeros(1), np.array([0, 1])
        model.n_features_in_, model.multilabel_ = 5, False
    calls = {
        "fit": lambda: model.fit(X, Y),
        "partial_fit": lambda: model.partial_fit(X, Y, classes=[0, 1]),
        "predict": lambda: model.predict(X),
        "stream": lambda: open_stream([(X, Y)]).survey(),
        "shard": lambda: ArrayShard(X, Y).read(),
    }
    with pytest.raises(ValueError, match="not a whole sparse matrix"):
        calls[use]()


@given(
    st.integers(0, 6),
    st.integers(1, 6),
    st.lists(st.integers(-2, 7), max_size=12),
    st.lists(st.integers(-2, 14), min_size=1, max_size=8),
)
def test_what_is_trusted_lies_inside_and_is_sorted(n_rows, n_columns, indices, indptr):
    X = sparse.csr_matrix((n_rows, n_columns))
    X.data, X.indices, X.indptr = np.ones(len(indices)), np.array(indices, np.int32), np.array(indptr, np.int32)
    try:
        found = trusted_csr(X)
    except ValueError:
        return
    assert found.indptr[0] == 0
    assert found.indptr.size == n_rows + 1
    assert found.indptr[-1] == found.data.size == found.indices.size
    for i in range(n_rows):
        row = found.indices[found.indptr[i] : found.indptr[i + 1]]
        assert np.all(np.diff(row) > 0)
        assert np.all((row >= 0) & (row < n_columns))
    for i, j in zip(*found.nonzero(), strict=True):
        assert found[i, j] == indices[indptr[i] : indptr[i + 1]].count(j)


def test_entries_that_are_stored_twice_count_as_their_sum():
    whole = rows()
    double = sparse.csr_matrix(
        (np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), 2 * whole.indptr), shape=whole.shape
    )
    models = [MeasureClassifier(random_state=0).fit(X, Y) for X in (whole, double)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    assert double.nnz == 2 * whole.nnz, "the caller's matrix is left as it is"
    stream = open_stream([(double, Y)])
    (window,) = stream.windows()
    np.testing.assert_allclose(window.X.toarray(), whole.toarray().astype(np.float32))


def test_masked_and_complex_values_are_refused():
    dense = rows().toarray()
    masked = np.ma.masked_greater(dense, 1.5)
    for X, words in ((masked, "masked array with"), (dense * 1j, "Complex data"), (rows() * 1j, "Complex data")):
        with pytest.raises(ValueError, match=words):
            MeasureClassifier().fit(X, Y)
        with pytest.raises(DataError, match=f"batch 1: .*{words}"):
            open_stream([(X, Y)]).survey()
    nothing_masked = np.ma.array(dense)
    same = [MeasureClassifier(random_state=0).fit(X, Y).coef_ for X in (dense, nothing_masked)]
    np.testing.assert_array_equal(*same)


def test_columns_without_an_entry_change_nothing_and_cost_nothing():
    narrow = rows()
    places = np.array([3, 1_000, 70_000, 900_000, 999_999])
    wide = sparse.csr_matrix((narrow.data, places[narrow.indices], narrow.indptr), shape=(60, 1_000_000))
    models = [MeasureClassifier(random_state=0).fit(X, Y) for X in (narrow, wide)]
    np.testing.assert_array_equal(models[1].coef_[:, places], models[0].coef_)
    assert np.count_nonzero(models[1].coef_) == np.count_nonzero(models[0].coef_)
    np.testing.assert_array_equal(models[0].predict(narrow), models[1].predict(wide))
    assert models[1].feature_spread_.shape == (1_000_000,)
    streamed = MeasureClassifier(random_state=0).fit_stream(open_stream([(wide, Y)]))
    assert streamed.coef_.shape == (1, 1_000_000)
    assert set(np.flatnonzero(streamed.coef_[0])) <= set(places)


@pytest.mark.parametrize("byte_order", ["<", ">"])
def test_texts_are_made_of_characters(byte_order):
    texts = np.array(["ape", "\U0010ffff", ""]).astype(f"{byte_order}U3")
    assert is_text(texts)
    assert is_text(texts[:0])
    damaged = texts.copy()
    damaged.view(f"{byte_order}u4")[2] = 0x110000
    assert not is_text(damaged)


@pytest.mark.parametrize("offset", [1e3, 1e9, 1e12])
def test_a_column_of_sparse_rows_that_lies_far_from_0_is_said_to_tell_little(offset):
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[:, 1] += offset
    with pytest.warns(FarColumnWarning, match=r"Column 1 of the sparse rows: all values are near"):
        MeasureClassifier(sharpen=False, random_state=0).fit(sparse.csr_matrix(X), Y)
    with pytest.warns(FarColumnWarning):
        MeasureClassifier(sharpen=False, random_state=0).fit_stream(open_stream([(sparse.csr_matrix(X), Y)]))


def test_columns_of_ones_and_numbers_of_rows_are_no_reason_to_warn():
    X = np.column_stack([np.ones(300), np.arange(300.0) + 1.0, np.full(300, 1e9), np.arange(300.0) % 2])
    warn_of_far_columns(sparse.csr_matrix(X))  # a warning would be an error


def test_ready_sparse_rows_are_predicted_as_all_others_are():
    fitted = MeasureClassifier(sharpen=False, random_state=0).fit(rows(), Y)
    for X in (rows(), rows().astype(np.float32), rows().tocsc(), rows().astype(np.float64).tocoo()):
        np.testing.assert_array_equal(fitted.predict(X), fitted.predict(rows().toarray()))
    for X, words in ((rows()[:0], "0 sample"), (sparse.csr_matrix(np.ones((2, 9))), "9 features")):
        with pytest.raises(ValueError, match=words):
            fitted.predict(X)
