"""Contributions of columns to the scores of boosting and of the stack: they sum to the scores."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ratewise import MeasureMaximizer, report


def rows(number=500, seed=0):
    """Two columns tell the class, with gaps in one of the other two."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(number, 4))
    X[::9, 3] = np.nan
    return X, (2.0 * X[:, 0] + X[:, 1] + rng.logistic(size=number) > 1.5).astype(int)


def histogram(**settings):
    return HistGradientBoostingClassifier(**{"max_iter": 10, "random_state": 0} | settings)


def lightgbm():
    return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=8, n_jobs=1, verbose=-1)


def xgboost():
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=8, n_jobs=1)


def catboost():
    settings = {"iterations": 8, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    return pytest.importorskip("catboost").CatBoostClassifier(**settings)


@pytest.mark.parametrize("stack", [True, False])
@pytest.mark.parametrize("make", [histogram, lightgbm, xgboost, catboost])
def test_contributions_sum_to_the_scores_and_name_what_matters(make, stack):
    X, y = rows()
    model = MeasureMaximizer(make(), "f1", cv=2, stack=stack).fit(X, y)
    found = model.explain(X)
    np.testing.assert_allclose(found.scores, model.decision_function(X), atol=1e-6)
    assert found.names == ["x0", "x1", "x2", "x3"]
    sizes = np.abs(found.contributions).mean(axis=0)
    assert sizes[:2].min() > sizes[2:].max()
    assert np.corrcoef(found.contributions[:, 0], X[:, 0])[0, 1] > 0.8
    assert found.largest(row=int(np.argmax(X[:, 0])), number=1)[0][0] == "x0"


def test_contributions_speak_for_the_positive_class():
    X, y = rows()
    first = MeasureMaximizer(histogram(), cv=2, stack=True, pos_label=0).fit(X, 1 - y)
    second = MeasureMaximizer(histogram(), cv=2, stack=True).fit(X, y)
    np.testing.assert_allclose(first.explain(X).scores, -first.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(first.explain(X).contributions, second.explain(X).contributions, atol=0.02)


def test_categories_count_as_one_column_for_trees_and_curves():
    pandas = pytest.importorskip("pandas")
    X, _ = rows()
    rng = np.random.default_rng(1)
    city = rng.choice(["Bergen", "Oslo", "Rome"], 500)
    y = (1.5 * (city == "Rome") + X[:, 0] + 0.5 * rng.logistic(size=500) > 1.5).astype(int)
    table = pandas.DataFrame(X, columns=list("abcd")).assign(city=pandas.Categorical(city))[["a", "city", "b"]]
    for stack in (True, False):
        model = MeasureMaximizer(histogram(max_iter=20), cv=2, stack=stack).fit(table, y)
        new = table.assign(city=pandas.Categorical(np.where(np.arange(500) % 7, city, "Bath")))
        for of in (table, new):  # a category that was not there in training counts as missing
            found = model.explain(of)
            np.testing.assert_allclose(found.scores, model.decision_function(of), atol=1e-9)
            assert found.names == ["a", "city", "b"]
        added = model.explain(table).contributions[:, 1]
        assert added[city == "Rome"].mean() > added[city != "Rome"].mean() + 0.1


def test_sparse_rows_have_sparse_contributions_and_a_linear_member_as_of_dense_rows():
    X, y = rows()
    X = np.where(np.abs(X) > 0.7, X * [1.0, 100.0, 0.01, 1.0], 0.0)
    model = MeasureMaximizer(lightgbm(), cv=2, stack=True).fit(sparse.csr_matrix(X), y)
    found = model.explain(sparse.csr_matrix(X))
    assert sparse.issparse(found.contributions)
    np.testing.assert_allclose(found.scores, model.decision_function(sparse.csr_matrix(X)), atol=1e-9)
    plain = make_pipeline(StandardScaler(with_mean=False), LogisticRegression()).fit(X, y)
    linear = MeasureMaximizer(lightgbm().set_params(n_estimators=1, num_leaves=2), cv=2, stack=True)
    scores = linear.fit(sparse.csr_matrix(X), y).decision_function(sparse.csr_matrix(X))
    assert np.corrcoef(scores, plain.predict_proba(X)[:, 1])[0, 1] > 0.95


def test_boosting_of_other_columns_is_one_term_named_after_it():
    X, y = rows()
    X = np.nan_to_num(X)
    kept = MeasureMaximizer(make_pipeline(StandardScaler(), lightgbm()), cv=2, stack=True).fit(X, y)
    assert kept.explain(X).names == ["x0", "x1", "x2", "x3"]
    turned = MeasureMaximizer(make_pipeline(PCA(2, random_state=0), lightgbm()), cv=2, stack=True).fit(X, y)
    found = turned.explain(X)
    assert found.names == ["x0", "x1", "x2", "x3", "LGBMClassifier"]
    np.testing.assert_allclose(found.scores, turned.decision_function(X), atol=1e-9)


def test_what_has_no_contributions_is_refused_in_a_sentence():
    X, y = np.nan_to_num(rows()[0]), rows()[1]
    other = MeasureMaximizer(LogisticRegression(), rounds=1, cv=2).fit(X, y)
    with pytest.raises(ValueError, match="for boosting and the stack, and the models are of LogisticRegression"):
        other.explain(X)
    three = MeasureMaximizer(histogram(max_iter=3), "gmean", cv=2).fit(X, np.arange(500) % 3)
    with pytest.raises(ValueError, match="explain is for two classes"):
        three.explain(X)


def test_a_report_shows_which_columns_add_most():
    X, y = rows()
    model = MeasureMaximizer(histogram(), cv=2, stack=True).fit(X, y)
    page = report(model, X, y).html()
    assert "What each column adds to a score" in page
    assert page.index('<th scope="row">x0</th>') < page.index('<th scope="row">x2</th>')
    other = report(LogisticRegression().fit(np.nan_to_num(X), y), np.nan_to_num(X), y).html()
    assert "What each column adds to a score" not in other
