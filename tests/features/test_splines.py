"""A basis is exact: coded and named columns tell the same models, and the loop agrees with a plain definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from ratewise.features import SplineBasis
from ratewise.features.pairs import all_pairs, screened_pairs
from ratewise.features.splines import FAR, NEAR, Basis, fit_basis
from ratewise.kernels.numpy_fallbacks import compiled_only


def plain_coded(basis: Basis, X: np.ndarray) -> np.ndarray:
    """Code rows one number at a time, as the definition says."""
    rows = []
    for row in X:
        z = []
        for value, centre, spread in zip(row, basis.centre, basis.spread, strict=True):
            z.append(0.0 if np.isnan(value) else min(max((float(value) - centre) / spread, -FAR), FAR))
        coded = list(z)
        for column, mean, factor in zip(*vars(basis.missing).values(), strict=True):
            coded.append((float(np.isnan(row[column])) - mean) * factor)
        for column, knot, slope, mean, factor, _ in zip(*vars(basis.hinges).values(), strict=True):
            coded.append((max(z[column] - knot, 0.0) - slope * z[column] - mean) * factor)
        for first, second, mean, factor, _ in zip(*vars(basis.products).values(), strict=True):
            left, right = (min(max(z[column], -NEAR), NEAR) for column in (first, second))
            coded.append((left * right - mean) * factor)
        rows.append(coded)
    return np.array(rows)


def rows_of(seed: int, n_rows: int = 60) -> np.ndarray:
    """Draw columns of every sort: heavy tails, few values, two values, one value, gaps."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.normal(1e6, 3.0, n_rows),
            rng.standard_cauchy(n_rows),
            rng.integers(0, 4, n_rows),
            rng.integers(0, 2, n_rows),
            np.full(n_rows, 7.0),
            rng.exponential(size=n_rows),
        ]
    )
    X[rng.random(n_rows) < 0.2, 5] = np.nan
    return X


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 9), st.booleans())
def test_the_loop_and_numpy_code_rows_as_the_definition_does(seed: int, n_knots: int, pairs: bool) -> None:
    X = rows_of(seed)
    basis = SplineBasis(n_knots, pairs=pairs).fit(X).basis_
    other = rows_of(seed + 1, 20)
    expected = plain_coded(basis, other)
    np.testing.assert_allclose(basis.code(other, dtype=np.float64), expected, atol=1e-9)
    with compiled_only():
        np.testing.assert_allclose(basis.code(other, dtype=np.float64), expected, atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 8), st.booleans())
def test_a_model_of_coded_columns_is_one_of_named_columns(seed: int, n_knots: int, pairs: bool) -> None:
    X = rows_of(seed)
    basis = SplineBasis(n_knots, pairs=pairs).fit(X).basis_
    weights, intercept = np.random.default_rng(seed).normal(size=basis.width), 0.7
    coef, constant = basis.inverse_coef(weights, intercept)
    other = rows_of(seed + 1, 20)
    scores = basis.code(other, dtype=np.float64) @ weights + intercept
    size = 1e-9 * (1.0 + np.abs(basis.named(other) * coef).sum(axis=1).max())
    np.testing.assert_allclose(basis.scores(other, coef, constant), scores, atol=size)
    back, there = basis.transform_coef(coef, constant)
    np.testing.assert_allclose(np.append(back, there), np.append(weights, intercept), atol=1e-6)


def test_hinges_and_products_vary_by_what_is_asked_for() -> None:
    X = np.random.default_rng(0).normal(size=(500, 2))
    moments, pairs = (X.mean(axis=0), X.std(axis=0)), all_pairs(np.arange(2))
    usual, narrow = (
        fit_basis(X, *moments, n_knots=2, hinge_deviation=0.2, product_deviation=one, pairs=pairs)
        for one in (1.0, 0.6)
    )
    assert narrow.code(X, dtype=np.float64).std(axis=0)[[2, -1]] == pytest.approx([0.2, 0.6])
    assert narrow.scale == pytest.approx(usual.scale)  # of the named columns


def test_named_columns_are_what_their_names_say() -> None:
    X = np.column_stack([np.arange(100.0), np.arange(100.0) % 7])
    basis = SplineBasis(3, pairs=True).fit(X)
    names = basis.get_feature_names_out(["age", "day"]).tolist()
    named = dict(zip(names, basis.basis_.named(X).T, strict=True))
    assert names[:3] == ["age", "day", "age > 24.75"]
    np.testing.assert_allclose(named["age"], X[:, 0])
    np.testing.assert_allclose(named["age > 24.75"], np.maximum(X[:, 0] - 24.75, 0.0))
    age, day = ((X[:, k] - X[:, k].mean()) / X[:, k].std() for k in (0, 1))
    np.testing.assert_allclose(named["age * day"], age * day)


def test_coded_columns_have_the_deviations_that_a_penalty_is_to_see() -> None:
    X = rows_of(0, 2000)[:, [0, 2, 3]]
    basis = SplineBasis(5, hinge_deviation=0.3, pairs=True).fit(X)
    coded = dict(zip(basis.get_feature_names_out(), basis.transform(X).T.astype(np.float64), strict=True))
    for name, column in coded.items():
        assert abs(column.mean()) < 1e-3, name
        assert column.std() == pytest.approx(0.3 if ">" in name else 1.0, rel=1e-3), name
        if ">" in name:  # a hinge adds nothing to a line
            assert abs(np.corrcoef(column, coded[name.split(" > ")[0]])[0, 1]) < 1e-3


def test_curves_go_on_in_a_straight_line_and_stop_far_out() -> None:
    X = np.random.default_rng(0).normal(size=(500, 1))
    basis = SplineBasis(4).fit(X).basis_
    coef = np.ones(basis.width)
    scores = basis.scores(np.array([[8.0], [10.0], [12.0], [1e3], [1e6]]), coef, 0.0)
    assert scores[1] - scores[0] == pytest.approx(scores[2] - scores[1])
    assert scores[3] == scores[4]


def test_knots_of_few_values_lie_at_the_inner_ones() -> None:
    X = np.array([[0.0, 1.0, 5.0], [1.0, 1.0, 5.0], [2.0, 3.0, 5.0], [4.0, 3.0, 5.0]] * 5)
    knots = SplineBasis(8).fit(X).basis_.knots
    np.testing.assert_allclose(knots[0], [1.0, 2.0])
    assert knots[1].size == knots[2].size == 0


def test_values_of_one_category_make_no_product() -> None:
    one_hot = np.eye(3)[np.random.default_rng(0).integers(0, 3, 300)]
    assert SplineBasis(pairs=True).fit(one_hot).basis_.products.first.size == 0


def test_a_missing_value_is_a_level_of_its_own() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = rng.random(400) < 0.1
    X[rng.random(400) < 0.3, 0] = np.nan
    y |= np.isnan(X[:, 0])
    model = make_pipeline(SplineBasis(3), LogisticRegression()).fit(X, y)
    assert model.score(X, y) > 0.85
    assert "x0 is missing" in model[0].get_feature_names_out()
    assert "x1 is missing" not in model[0].get_feature_names_out()


def test_a_pair_is_kept_if_it_tells_something_and_seldom_otherwise() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 30))
    basis = SplineBasis(3).fit(X).basis_
    logits = 1.5 * X[:, 3] * X[:, 17] - 2.0
    signs = np.where(rng.random(3000) < 1 / (1 + np.exp(-logits)), 1.0, -1.0)
    first, second = screened_pairs(X, signs, basis, rng)
    assert (first[0], second[0]) == (3, 17)
    noise = [screened_pairs(X, rng.permutation(signs), basis, rng)[0].size for _ in range(20)]
    assert sum(size > 0 for size in noise) <= 12
    assert sum(noise) <= 30


@pytest.mark.parametrize(
    ("basis", "X", "message"),
    [
        (SplineBasis(-1), np.zeros((5, 2)), "n_knots must be a whole number"),
        (SplineBasis(hinge_deviation=0.0), np.zeros((5, 2)), "hinge_deviation must be"),
        (SplineBasis(pairs=True), np.zeros((5, 300)), "44,850 pairs"),
        (SplineBasis(), np.array([[np.inf], [1.0]]), "infinity"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(basis: SplineBasis, X: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        basis.fit(X)
