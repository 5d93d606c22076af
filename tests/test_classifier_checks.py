"""scikit-learn's own checks, with every solver."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import check_classifier_multioutput, parametrize_with_checks

from ratewise import MeasureClassifier
from ratewise.solvers import Amp, Spade, Stamp

_ESTIMATORS = [
    MeasureClassifier("f1"),
    MeasureClassifier("gmean"),
    MeasureClassifier("qmean", solver=Spade(passes=10)),
    MeasureClassifier("jaccard", solver=Stamp(level="fresh")),
    MeasureClassifier("f2", solver=Amp(passes=5)),
]
_PLAIN = MeasureClassifier("min", threshold="zero", sharpen=False)


def _expected_failures(estimator: object) -> dict[str, str]:
    reason = "a weight of 2 and a row twice are not the same to a method that visits points in random order"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@pytest.mark.filterwarnings("default")  # the checks themselves provoke warnings
@parametrize_with_checks([_PLAIN], expected_failed_checks=_expected_failures)
def test_scikit_learn_check_of_a_plain_fit(estimator, check):
    check(estimator)


@pytest.mark.slow  # hundreds of fits with the choice between models
@pytest.mark.filterwarnings("default")
@parametrize_with_checks(_ESTIMATORS, expected_failed_checks=_expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("estimator", [*_ESTIMATORS, _PLAIN], ids=lambda one: one.measure)
def test_scikit_learns_check_of_several_outputs(estimator):
    """Asked for by hand: our tags promise several labels, not several outputs of many classes each."""
    check_classifier_multioutput("MeasureClassifier", estimator)
