"""SVMPerf as a classifier: what it learns, and why its C must be tuned."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from toy_problems import two_clouds

from ratewise.baselines import SVMPerf
from ratewise.baselines.svmperf import C_GRID
from ratewise.measures import FunctionMeasure

ANSWERS = {"f1": 0.7, "jaccard": 0.55, "qmean": 0.8, "min": 0.8, "gmean": 0.8, "hmean": 0.8}


@pytest.mark.parametrize("name", ANSWERS)
def test_it_learns_what_sets_the_classes_apart(name):
    X, positive = two_clouds(distance=2.5)
    test_X, test_positive = two_clouds(4000, distance=2.5, seed=1)
    model = SVMPerf(name, random_state=0).fit(X, positive)
    assert model.score(test_X, test_positive) > ANSWERS[name]
    weights = np.abs(model.coef_[0] * (1.0 + np.arange(4)))
    assert weights[0] > 3 * weights[1:].max()


def test_at_the_customary_C_no_measure_enters_the_fit():
    X, positive = two_clouds(distance=2.5)
    small = {name: SVMPerf(name, C=0.01, random_state=0).fit(X, positive) for name in ("f1", "jaccard")}
    # Every labelling found misses all positives, so its loss is 1 under either measure ...
    for model in small.values():
        assert model.tables_.shape[0] > 0
        assert (model.tables_[:, 0] == 0).all()
    # ... and both fits are one and the same.
    assert np.array_equal(small["f1"].coef_, small["jaccard"].coef_)


def test_with_a_tuned_C_the_measure_enters_the_fit_and_scores_are_better():
    X, positive = two_clouds(distance=2.5)
    test_X, test_positive = two_clouds(4000, distance=2.5, seed=1)
    customary = SVMPerf("f1", C=0.01, threshold="zero", random_state=0).fit(X, positive)
    tuned = SVMPerf("f1", threshold="zero", random_state=0).fit(X, positive)
    assert tuned.C_ > 0.01
    assert (tuned.tables_[:, 0] > 0).any()
    assert tuned.score(test_X, test_positive) > customary.score(test_X, test_positive) + 0.1


def test_C_may_be_one_number_several_or_tuned():
    X, positive = two_clouds(400)
    assert SVMPerf(C=5.0).fit(X, positive).C_ == 5.0
    assert SVMPerf(C=[50.0, 5.0], random_state=0).fit(X, positive).C_ in (5.0, 50.0)
    assert SVMPerf(C="tune", random_state=0).fit(X, positive).C_ in C_GRID


def test_sparse_rows_are_learned_from_as_dense_ones_are():
    X, positive = two_clouds(500, distance=3.0)
    X = np.maximum(X, 0.0)
    model = SVMPerf("f1", C=100.0, random_state=0)
    dense = model.fit(X, positive).score(X, positive)
    assert model.fit(sparse.csr_matrix(X), positive).score(X, positive) == pytest.approx(dense, abs=0.1)
    assert dense > 0.6


def test_a_budget_of_no_time_still_gives_a_model():
    X, positive = two_clouds()
    model = SVMPerf("f1", max_seconds=1e-9, random_state=0).fit(X, positive)
    assert not model.converged_
    assert np.isfinite(model.coef_).all()


def test_without_a_limit_the_fit_converges():
    X, positive = two_clouds()
    assert SVMPerf("f1", C=100.0).fit(X, positive).converged_


def test_a_fit_again_on_all_rows_uses_all_rows():
    X, positive = two_clouds(400)
    again = SVMPerf("f1", C=100.0, random_state=0).fit(X, positive)
    once = SVMPerf("f1", C=100.0, refit=False, random_state=0).fit(X, positive)
    assert again.tables_[:, 0].max() + again.tables_[:, 1].max() > 0.8 * 400
    assert once.tables_.sum(axis=1).max() <= 0.8 * 400
    assert not np.array_equal(again.coef_, once.coef_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": -1.0}, "C must be a number above 0; got -1.0"),
        ({"C": "auto"}, "C must be 'tune', a number or several"),
        ({"C": []}, "C is empty"),
        ({"epsilon": 0.0}, "epsilon must be a number above 0"),
        ({"max_planes": 2.5}, "max_planes must be a whole number"),
        ({"max_seconds": 0}, "max_seconds must be a number above 0"),
        ({"threshold": 0.5}, "threshold must be 'tune' or 'zero'"),
        ({"validation_fraction": 1.0}, "validation_fraction must be a number of 0 or more and below 1"),
        ({"on_checkpoint": 3}, "on_checkpoint must be None or a function"),
        ({"measure": FunctionMeasure(lambda tpr, tnr: tpr * tnr)}, "PlugIn takes any measure"),
        ({"measure": "f3"}, "There is no measure 'f3'"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters, message):
    X, positive = two_clouds(60, 0.5)
    model = SVMPerf(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, positive)
    assert not hasattr(model, "coef_")
