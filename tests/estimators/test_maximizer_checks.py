"""scikit-learn's own checks around several classifiers."""

from __future__ import annotations

import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from ratewise import MeasureMaximizer

_ESTIMATORS = [
    MeasureMaximizer(LogisticRegression(), cv=3),
    MeasureMaximizer(LinearSVC(), measure="gmean", cv=2, ensemble=False),
    MeasureMaximizer(HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=5), measure="min", cv=3),
]


def _expected_failures(estimator: MeasureMaximizer) -> dict[str, str]:
    if isinstance(estimator.estimator, LogisticRegression):
        return {}
    reason = "a weight of 2 is one row of one fold, a row twice may be in two"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@pytest.mark.filterwarnings("default")  # the checks themselves provoke warnings
@parametrize_with_checks(_ESTIMATORS, expected_failed_checks=_expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)
