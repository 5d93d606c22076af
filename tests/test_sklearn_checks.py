"""scikit-learn's own checks: the classifier with every solver, the meta-estimator, and every baseline."""

from __future__ import annotations

import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_classifier_multioutput, parametrize_with_checks

from ratewise import MeasureClassifier, MeasureMaximizer
from ratewise.baselines import LogisticBaseline, OnePMB, PlugIn, SVMPerf
from ratewise.features import SplineBasis
from ratewise.solvers import Amp, Spade, Stamp

CLASSIFIERS = [
    MeasureClassifier("f1"),
    MeasureClassifier("qmean", solver=Spade(passes=10)),
    MeasureClassifier("jaccard", solver=Stamp(level="fresh")),
    MeasureClassifier("f2", solver=Amp(passes=5)),
    MeasureClassifier("gmean", basis="pairs"),
]
PLAIN = MeasureClassifier("min", threshold="zero", sharpen=False)
META_ESTIMATORS = [
    MeasureMaximizer(LogisticRegression(), cv=3),
    MeasureMaximizer(LinearSVC(), measure="gmean", cv=2, ensemble=False),
    MeasureMaximizer(HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=5), measure="min", cv=3),
]
BASELINES = [
    LogisticBaseline(),
    PlugIn("gmean"),
    SVMPerf("f1", C=[1.0, 100.0], max_planes=50),
    OnePMB("qmean", step=[10.0, 100.0], buffer=20, passes=5),
]


def expected_failures(estimator: object) -> dict[str, str]:
    match estimator:
        case MeasureClassifier():
            reason = "a weight of 2 is not a row twice to a method that visits points in random order"
        case MeasureMaximizer():
            reason = "a weight of 2 is one row of one fold, a row twice may be in two"
        case LogisticBaseline():  # and PlugIn, which is one
            reason = "columns are standardized by rows, and validation rows drawn by number, whatever rows weigh"
        case _:  # the other baselines take no weights
            return {}
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


def checked(check, estimator):
    """Run a check; the one that asks for labels called at a probability of one half sees no probabilities.

    A measure's own decision may lie at another one.
    """
    if check.func.__name__ == "check_classifiers_train":

        class WithoutProbabilities(type(estimator)):
            @property
            def predict_proba(self):
                raise AttributeError("predict_proba")

        estimator = WithoutProbabilities(**estimator.get_params(deep=False))
    check(estimator)


@pytest.mark.filterwarnings("default")  # the checks themselves provoke warnings
@parametrize_with_checks([PLAIN, BASELINES[0], SplineBasis()], expected_failed_checks=expected_failures)
def test_scikit_learn_check_of_a_plain_fit(estimator, check):
    checked(check, estimator)


@pytest.mark.slow  # hundreds of fits with the choice between models
@pytest.mark.filterwarnings("default")
@parametrize_with_checks(
    [*CLASSIFIERS, *META_ESTIMATORS, *BASELINES[1:]], expected_failed_checks=expected_failures
)
def test_scikit_learn_check(estimator, check):
    checked(check, estimator)


class NotByOneHalf(MeasureClassifier):
    """The tag keeps the check from asking that labels be called at a probability of one half: measures decide."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("estimator", [*CLASSIFIERS, PLAIN], ids=lambda one: one.measure)
def test_scikit_learns_check_of_several_outputs(estimator):
    """Asked for by hand: our tags promise several labels, not several outputs of many classes each."""
    check_classifier_multioutput("MeasureClassifier", NotByOneHalf(**estimator.get_params(deep=False)))
