"""scikit-learn's own checks of every baseline."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from ratewise.baselines import LogisticBaseline, OnePMB, PlugIn, SVMPerf

_ESTIMATORS = [
    LogisticBaseline(),
    PlugIn("gmean"),
    SVMPerf("f1", C=[1.0, 100.0], max_planes=50),
    OnePMB("qmean", step=[10.0, 100.0], buffer=20, passes=5),
]


def _expected_failures(estimator: object) -> dict[str, str]:
    if not isinstance(estimator, LogisticBaseline | PlugIn):
        return {}  # they take no weights
    reason = "columns are standardised by rows, and rows held out by number, whatever the rows weigh"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@pytest.mark.filterwarnings("default")  # the checks themselves provoke warnings
@parametrize_with_checks(_ESTIMATORS, expected_failed_checks=_expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)
