"""Labels of many rows come from the signs of their scores, and are those that the scores give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ratewise import MeasureClassifier, kernels
from ratewise.kernels.numpy_fallbacks import compiled_only


@pytest.fixture(scope="module")
def classifier():
    assert kernels.sparse_signs  # compiled loops are used where they are loaded already
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    return MeasureClassifier("f1", random_state=0).fit(X, np.where(X[:, 0] > 0.8, "yes", "no"))


def model(coef, intercept, classifier):
    classifier.coef_, classifier.intercept_ = np.array([coef], dtype=np.float64), np.array([intercept])
    return classifier


@settings(deadline=None)  # the first call compiles
@given(
    seed=st.integers(0, 2**16),
    dtype=st.sampled_from([np.float32, np.float64]),
    is_sparse=st.booleans(),
    size=st.sampled_from([1.0, 1e-40, 1e-20, 1e20, 1e37]),
    coefs=st.lists(st.sampled_from([0.0, 1.0, -1.0, 3.0, 1e-9, 1e-45, 1e30]), min_size=6, max_size=6),
    intercept=st.sampled_from([0.0, 1.0, -1e-9]),
)
def test_labels_are_those_of_the_scores(classifier, seed, dtype, is_sparse, size, coefs, intercept):
    rng = np.random.default_rng(seed)
    X = (rng.integers(-2, 3, size=(40, 6)) * size).astype(dtype)  # many sums are 0, or cancel out
    X[::7] = (rng.normal(size=X[::7].shape) * size).astype(dtype)
    rows = sparse.csr_array(X) if is_sparse else X
    fitted = model(coefs, intercept, classifier)
    expected = np.where(fitted.decision_function(rows) > 0, "yes", "no")
    with compiled_only():
        np.testing.assert_array_equal(fitted.predict(rows), expected)


@pytest.mark.parametrize("form", ["csc", "coo", "bsr", "lil", "dok", "dia"])
def test_every_form_of_sparse_rows_has_the_same_labels(classifier, form):
    X = sparse.random_array((50, 6), density=0.3, rng=np.random.default_rng(0))
    fitted = model(np.arange(6.0) - 3.0, -0.2, classifier)
    assert fitted.predict(X.asformat(form)).tolist() == fitted.predict(X.toarray()).tolist()


def test_rows_that_are_not_whole_are_refused_as_ever(classifier):
    X = np.random.default_rng(0).normal(size=(40, 6))
    fitted = model(np.ones(6), 0.0, classifier)
    broken = []
    for value in (np.nan, np.inf):
        broken += [X.copy(), sparse.csr_array(X)]
        broken[-2][3, 2] = broken[-1].data[20] = value
    for part, place, value in (("indices", 7, 6), ("indices", 7, -1), ("indptr", 5, 40), ("indptr", -1, 10**6)):
        broken.append(sparse.csr_array(X))
        getattr(broken[-1], part)[place] = value
    for rows in broken:
        with pytest.raises(ValueError, match=r"X ") as plain:
            fitted.predict(rows)
        with compiled_only(), pytest.raises(ValueError, match=r"X ") as compiled:
            fitted.predict(rows)
        assert str(compiled.value) == str(plain.value)
