"""Every measure is the number its formula says, however it is asked for."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from derivatives import assert_slopes_are_derivatives
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    balanced_accuracy_score,
    cohen_kappa_score,
    f1_score,
    fbeta_score,
    jaccard_score,
    matthews_corrcoef,
    recall_score,
)
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, cross_val_score

from ratewise import MeasureClassifier
from ratewise.measures import (
    Constrained,
    FBeta,
    GowerLegendre,
    HMean,
    Jaccard,
    PseudoLinear,
    RecallAtPrecision,
    TPRAtFPR,
    TPRAtTNR,
    confusion_measure,
    get_measure,
    measure_name,
    measure_names,
    rates_from_labels,
)

# Each in the entries of the confusion table, as textbooks print it.
FORMULAS = {
    "min": lambda tp, fp, fn, tn: min(tp / (tp + fn), tn / (tn + fp)),
    "hmean": lambda tp, fp, fn, tn: 0.0 if tp * tn == 0 else 2 / ((tp + fn) / tp + (tn + fp) / tn),
    "qmean": lambda tp, fp, fn, tn: 1 - math.sqrt(((fn / (tp + fn)) ** 2 + (fp / (tn + fp)) ** 2) / 2),
    "gmean": lambda tp, fp, fn, tn: math.sqrt(tp / (tp + fn) * tn / (tn + fp)),
    "f1": lambda tp, fp, fn, tn: 2 * tp / (2 * tp + fp + fn),
    "f0.5": lambda tp, fp, fn, tn: 5 * tp / (5 * tp + 4 * fp + fn),
    "f2": lambda tp, fp, fn, tn: 5 * tp / (5 * tp + 4 * fn + fp),
    "jaccard": lambda tp, fp, fn, tn: tp / (tp + fp + fn),
    "gower-legendre": lambda tp, fp, fn, tn: (tp + tn) / (tp + tn + (fp + fn) / 2),
    "accuracy": lambda tp, fp, fn, tn: (tp + tn) / (tp + fp + fn + tn),
    "tversky": lambda tp, fp, fn, tn: tp / (tp + 0.3 * fp + 0.7 * fn),
    "kappa": lambda tp, fp, fn, tn: kappa_by_chance(tp, fp, fn, tn),
    "mcc": lambda tp, fp, fn, tn: ratio(
        tp * tn - fp * fn, math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    ),
    "fowlkes-mallows": lambda tp, fp, fn, tn: math.sqrt(ratio(tp, tp + fp) * tp / (tp + fn)),
    "balanced-accuracy": lambda tp, fp, fn, tn: (tp / (tp + fn) + tn / (tn + fp)) / 2,
    "weighted-min": lambda tp, fp, fn, tn: 1 - max(fn / (tp + fn), 0.5 * fp / (tn + fp)),
    "net-benefit": lambda tp, fp, fn, tn: (tp - fp / 9) / (tp + fp + fn + tn),
    "cost": lambda tp, fp, fn, tn: -(fp + 10 * fn) / (tp + fp + fn + tn),
    # Twice the allowed 1% of false alarms costs 2; nine hits pay for one false alarm; a recall of 0 costs 2.
    "tpr-at-tnr-0.99": lambda tp, fp, fn, tn: tp / (tp + fn) - 2 * max(0, 100 * fp / (fp + tn) - 1),
    "tpr-at-fpr-0.01": lambda tp, fp, fn, tn: tp / (tp + fn) - 2 * max(0, 100 * fp / (fp + tn) - 1),
    "recall-at-precision-0.9": lambda tp, fp, fn, tn: (tp - 2 * max(0, 9 * fp - tp)) / (tp + fn),
    "precision-at-recall-0.8": lambda tp, fp, fn, tn: ratio(tp, tp + fp) - 2 * max(0, 1 - tp / (tp + fn) / 0.8),
    "recall-at-alert-rate-0.02": lambda tp, fp, fn, tn: (
        tp / (tp + fn) * min(1, 0.02 * (tp + fp + fn + tn) / max(tp + fp, 1))
    ),
}


def ratio(part, whole):
    return part / whole if whole else 0.0


def kappa_by_chance(tp, fp, fn, tn):
    n = tp + fp + fn + tn
    chance = ((tp + fp) * (tp + fn) + (tn + fn) * (tn + fp)) / n**2
    return ratio((tp + tn) / n - chance, 1 - chance)


# What total failure and perfection are worth, for measures that do not go from 0 to 1.
RANGES = {
    "kappa": lambda p: (-2 * p * (1 - p) / (p**2 + (1 - p) ** 2), 1.0),
    "mcc": lambda p: (-1.0, 1.0),
    "net-benefit": lambda p: (-(1 - p) / 9, p),
    "cost": lambda p: (-(1 - p) - 10 * p, 0.0),
    "tpr-at-tnr-0.99": lambda p: (-2 * 99.0, 1.0),
    "tpr-at-fpr-0.01": lambda p: (-2 * 99.0, 1.0),
    "recall-at-precision-0.9": lambda p: (-2 * 9.0 * (1 - p) / p, 1.0),
    "precision-at-recall-0.8": lambda p: (-2.0, 1.0),
    "recall-at-alert-rate-0.02": lambda p: (0.0, min(1.0, 0.02 / p)),
}


def range_of(name, prevalence):
    return RANGES[name](prevalence) if name in RANGES else (0.0, 1.0)


OWN = PseudoLinear(a=(0.5, 1.0, 2.0), b=(2.0, 0.5, 1.0))
ALL_MEASURES = [get_measure(name) for name in measure_names()] + [OWN]

quick = settings(deadline=None, max_examples=50)
rates = st.floats(0.0, 1.0)
inner_rates = st.floats(0.02, 0.98)
prevalences = st.floats(0.001, 0.999)
counts = st.integers(0, 1000)
tables = st.tuples(counts, counts, counts, counts).filter(lambda t: t[0] + t[2] > 0 and t[1] + t[3] > 0)
every_name = pytest.mark.parametrize("name", measure_names())
every_measure = pytest.mark.parametrize("measure", ALL_MEASURES, ids=repr)


def labelled_rows():
    """True labels, predicted labels and weights of 2 to 40 rows; both classes occur among the true labels."""
    row = st.tuples(st.integers(0, 1), st.integers(0, 1), st.floats(0.1, 10.0))
    columns = st.lists(row, min_size=2, max_size=40).map(
        lambda rows: [np.array(c) for c in zip(*rows, strict=True)]
    )
    return columns.filter(lambda c: 0 < c[0].sum() < c[0].size)


def as_rates(tp, fp, fn, tn):
    return tp / (tp + fn), tn / (tn + fp), (tp + fn) / (tp + fp + fn + tn)


def test_every_registry_measure_has_its_formula_here():
    assert sorted(FORMULAS) == sorted(measure_names())


@every_name
@quick
@given(table=tables)
def test_the_value_is_the_formula_in_the_confusion_table(name, table):
    value = get_measure(name).value(*as_rates(*table))
    assert value == pytest.approx(FORMULAS[name](*table), abs=1e-9)


@every_name
@quick
@given(table=tables)
def test_the_score_of_labels_is_the_formula_in_the_confusion_table(name, table):
    tp, fp, fn, tn = table = tuple(min(count, 30) for count in table)
    y_true = np.repeat([1, 0, 1, 0], [tp, fp, fn, tn])
    y_pred = np.repeat([1, 1, 0, 0], [tp, fp, fn, tn])
    assert get_measure(name).score(y_true, y_pred) == pytest.approx(FORMULAS[name](*table), abs=1e-12)


@quick
@given(columns=labelled_rows(), beta=st.floats(0.1, 10.0))
def test_f_beta_is_scikit_learns(columns, beta):
    true, predicted, weight = columns
    plain = fbeta_score(true, predicted, beta=beta, zero_division=0.0)
    weighted = fbeta_score(true, predicted, beta=beta, sample_weight=weight, zero_division=0.0)
    assert FBeta(beta).score(true, predicted) == pytest.approx(plain, abs=1e-12)
    assert FBeta(beta).score(true, predicted, sample_weight=weight) == pytest.approx(weighted, abs=1e-12)


@quick
@given(columns=labelled_rows())
def test_f1_and_jaccard_are_scikit_learns(columns):
    true, predicted, weight = columns
    for ours, theirs in ((FBeta(), f1_score), (Jaccard(), jaccard_score)):
        plain = theirs(true, predicted, zero_division=0.0)
        weighted = theirs(true, predicted, sample_weight=weight, zero_division=0.0)
        assert ours.score(true, predicted) == pytest.approx(plain, abs=1e-12)
        assert ours.score(true, predicted, sample_weight=weight) == pytest.approx(weighted, abs=1e-12)


@quick
@given(columns=labelled_rows())
def test_kappa_matthews_and_balanced_accuracy_are_scikit_learns(columns):
    true, predicted, weight = columns
    names = {"kappa": cohen_kappa_score, "mcc": matthews_corrcoef, "balanced-accuracy": balanced_accuracy_score}
    for name, theirs in names.items():
        ours = get_measure(name).score(true, predicted, sample_weight=weight)
        assert ours == pytest.approx(theirs(true, predicted, sample_weight=weight), abs=1e-9)


@pytest.mark.parametrize("name", ["f1", "f0.5", "f2", "jaccard", "tversky", "mcc", "kappa", "fowlkes-mallows"])
def test_no_positive_predicted_scores_zero(name):
    true = np.array([1, 0, 0, 1])
    assert get_measure(name).score(true, np.zeros(4, dtype=int)) == 0.0


@quick
@given(columns=labelled_rows(), factor=st.integers(2, 4))
def test_a_weight_counts_a_row_that_many_times(columns, factor):
    true, predicted, _ = columns
    weight = np.ones(true.size)
    weight[0] = factor
    again = np.repeat([0], factor - 1)
    repeated = HMean().score(np.append(true, true[again]), np.append(predicted, predicted[again]))
    assert HMean().score(true, predicted, sample_weight=weight) == pytest.approx(repeated, abs=1e-12)


@every_measure
def test_scalars_and_arrays_and_broadcasting_agree(measure):
    tpr = np.array([0.0, 0.2, 0.7, 1.0])[:, None, None]
    tnr = np.array([0.0, 0.5, 1.0])[None, :, None]
    prevalence = np.array([0.01, 0.3])[None, None, :]
    whole = measure.value(tpr, tnr, prevalence)
    whole = np.broadcast_to(whole, (4, 3, 2))  # a concave measure does not see the prevalence
    for i, j, k in np.ndindex(4, 3, 2):
        one = measure.value(float(tpr[i, 0, 0]), float(tnr[0, j, 0]), float(prevalence[0, 0, k]))
        assert np.ndim(one) == 0
        assert one == pytest.approx(whole[i, j, k], abs=1e-15)


@every_name
@quick
@given(tpr=rates, tnr=rates, prevalence=prevalences)
def test_values_lie_in_their_range(name, tpr, tnr, prevalence):
    low, high = range_of(name, prevalence)
    slack = 1e-12 * (1.0 + high - low)
    assert low - slack <= get_measure(name).value(tpr, tnr, prevalence) <= high + slack


@every_name
@pytest.mark.parametrize("prevalence", [0.001, 0.5, 0.999])
def test_perfection_and_total_failure_are_the_ends_of_the_range(name, prevalence):
    low, high = range_of(name, prevalence)
    assert get_measure(name).value(1.0, 1.0, prevalence) == pytest.approx(high, abs=1e-12)
    assert get_measure(name).value(0.0, 0.0, prevalence) == pytest.approx(low, rel=1e-12, abs=1e-12)


@every_name
@pytest.mark.parametrize("prevalence", [0.001, 0.3, 0.999])
def test_the_scale_runs_from_a_useless_model_to_a_perfect_one(name, prevalence):
    useless, perfect = get_measure(name).scale(prevalence)
    assert useless < perfect
    assert perfect == pytest.approx(range_of(name, prevalence)[1])
    if name in ("cost", "net-benefit"):
        same_for_all = [get_measure(name).value(called, 1 - called, prevalence) for called in (0.0, 1.0)]
        assert useless == pytest.approx(max(same_for_all))


@every_measure
@quick
@given(tpr=rates, tnr=rates, rise=rates, prevalence=prevalences)
def test_a_higher_rate_never_lowers_the_measure(measure, tpr, tnr, rise, prevalence):
    before = measure.value(tpr, tnr, prevalence)
    assert measure.value(min(tpr + rise, 1.0), tnr, prevalence) >= before - 1e-12
    assert measure.value(tpr, min(tnr + rise, 1.0), prevalence) >= before - 1e-12


@every_measure
@quick
@given(tpr=inner_rates, tnr=inner_rates, prevalence=prevalences)
def test_slopes_are_derivatives(measure, tpr, tnr, prevalence):
    assume(abs(tpr - tnr) > 1e-4)  # the kink of the smaller rate
    assume(abs((1.0 - tpr) - 0.5 * (1.0 - tnr)) > 1e-4)  # and of the worse error
    assume(all(abs(bound.excess(tpr, tnr)) > 1e-2 for bound in measure.constraints(prevalence)))
    assert_slopes_are_derivatives(measure, tpr, tnr, prevalence)


def test_slopes_are_derivatives_where_numerator_and_denominator_are_both_negative():
    # (-P - N) / -2 is (P + N) / 2: the common factor -1 must not matter.
    measure = PseudoLinear(a=(0.0, -1.0, -1.0), b=(-2.0, 0.0, 0.0))
    assert measure.slopes(0.3, 0.6, 0.5) == pytest.approx((0.5, 0.5))


def test_the_slopes_of_the_smaller_rate_are_shared_at_a_tie():
    assert get_measure("min").slopes(0.4, 0.4) == (0.5, 0.5)
    assert get_measure("min").slopes(0.3, 0.4) == (1.0, 0.0)
    assert get_measure("min").slopes(0.4, 0.3) == (0.0, 1.0)


@every_measure
@pytest.mark.parametrize("corner", [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)])
def test_slopes_are_finite_and_never_negative_at_the_corners(measure, corner):
    slopes = measure.slopes(*corner, 0.2)
    assert all(math.isfinite(slope) and slope >= 0.0 for slope in slopes)


# Labels. The table behind all of these is TP 2, FP 1, FN 1, TN 4, so F1 = 4 / (4 + 1 + 1) = 2/3 for the
# positive class and 8 / (8 + 2) = 4/5 for the other.
TRUE = np.array([1, 1, 1, 0, 0, 0, 0, 0])
PREDICTED = np.array([1, 1, 0, 1, 0, 0, 0, 0])


@pytest.mark.parametrize(
    "names",
    [
        np.array([0, 1]),
        np.array([-1, 1]),
        np.array([False, True]),
        np.array(["ham", "spam"]),
        np.array([2.0, 7.0]),
    ],
    ids=["0/1", "-1/1", "booleans", "strings", "floats"],
)
def test_the_last_label_in_order_is_the_positive_one(names):
    assert FBeta().score(names[TRUE], names[PREDICTED]) == pytest.approx(2 / 3)
    assert FBeta().score(names[TRUE].tolist(), names[PREDICTED].tolist()) == pytest.approx(2 / 3)


@pytest.mark.parametrize("names", [np.array([0, 1]), np.array([-1, 1]), np.array(["ham", "spam"])])
def test_pos_label_turns_the_table_round(names):
    assert FBeta().score(names[TRUE], names[PREDICTED], pos_label=names[0]) == pytest.approx(4 / 5)
    assert FBeta().score(names[TRUE], names[PREDICTED], pos_label=names[1]) == pytest.approx(2 / 3)


@pytest.mark.parametrize("negative", [0, -1, False])
def test_a_lone_negative_label_is_still_negative(negative):
    with pytest.warns(RuntimeWarning, match="no positive label in y_true"):
        rates = rates_from_labels([negative] * 3, [negative] * 3)
    assert rates == (0.0, 1.0, 0.0)


def test_truth_of_one_class_warns_and_counts_the_missing_rate_as_zero():
    with pytest.warns(RuntimeWarning, match="no negative label in y_true") as caught:
        assert get_measure("gmean").score([1, 1, 1], [1, 1, 0]) == 0.0
    assert caught[0].filename == __file__  # of whoever gave the labels
    with pytest.warns(RuntimeWarning, match="no positive label in y_true"):
        assert get_measure("f1").score([0, 0, 0], [1, 0, 0]) == 0.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"y_true": [0, 1], "y_pred": ["0", "1"]}, "y_true holds numbers and y_pred texts"),
        ({"y_true": [0, 1], "y_pred": [0, 1, 1]}, "equally long"),
        ({"y_true": [[0, 1]], "y_pred": [[0, 1]]}, "one-dimensional"),
        ({"y_true": [], "y_pred": []}, "empty"),
        ({"y_true": [0, 1, 2], "y_pred": [0, 1, 1]}, "3 different labels"),
        ({"y_true": [0, 1], "y_pred": [0, 1], "pos_label": 5}, "pos_label=5"),
        ({"y_true": [0, 1], "y_pred": [0, 1], "sample_weight": [1.0]}, "sample_weight"),
    ],
)
def test_labels_that_make_no_sense_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        FBeta().score(**arguments)


def test_texts_are_not_compared_with_numbers_by_a_measure_of_many_classes():
    for measure in (confusion_measure("f1"), confusion_measure(Constrained("f1", recall=0.5))):
        with pytest.raises(ValueError, match="y_true holds texts and y_pred numbers"):
            measure.score(["0", "1", "2"], [0, 1, 2])


@pytest.mark.filterwarnings("ignore:There is no")
def test_weights_that_sum_to_zero_are_refused():
    with pytest.raises(ValueError, match="sample_weight"):
        FBeta().score([0, 1], [0, 1], sample_weight=[0.0, 0.0])


def test_a_pseudo_linear_measure_asks_for_the_prevalence_it_needs():
    with pytest.raises(ValueError, match="prevalence"):
        FBeta().value(0.5, 0.5)
    assert OWN.value(0.5, 0.5) == pytest.approx((0.5 + 0.5 + 1.0) / (2.0 + 0.25 + 0.5))


# In scikit-learn's tools.


def imbalanced_data():
    return make_classification(300, 5, weights=[0.8], flip_y=0.1, random_state=0)


@pytest.mark.parametrize("name", ["f1", "jaccard"])
def test_the_scorer_gives_cross_val_score_what_scikit_learns_own_gives(name):
    X, y = imbalanced_data()
    ours = cross_val_score(LogisticRegression(), X, y, scoring=get_measure(name).scorer(), cv=3)
    assert ours == pytest.approx(cross_val_score(LogisticRegression(), X, y, scoring=name, cv=3))


def test_the_scorer_hands_on_pos_label():
    X, y = imbalanced_data()
    names = np.array(["common", "rare"])
    model = LogisticRegression().fit(X, names[y])
    score = FBeta().scorer(pos_label="common")(model, X, names[y])
    assert score == pytest.approx(f1_score(names[y], model.predict(X), pos_label="common"))


def test_the_scorer_chooses_in_a_grid_search_as_scikit_learns_own_does():
    X, y = imbalanced_data()
    grid = {"C": [1e-4, 1e-2, 1.0]}
    ours = GridSearchCV(LogisticRegression(), grid, scoring=FBeta().scorer(), cv=3).fit(X, y)
    theirs = GridSearchCV(LogisticRegression(), grid, scoring="f1", cv=3).fit(X, y)
    assert ours.cv_results_["mean_test_score"] == pytest.approx(theirs.cv_results_["mean_test_score"])
    assert ours.best_params_ == theirs.best_params_


def test_the_scorer_tunes_a_threshold():
    X, y = imbalanced_data()
    model = LogisticRegression().fit(X, y)
    tuned = TunedThresholdClassifierCV(
        model, scoring=get_measure("gmean").scorer(), cv="prefit", refit=False, thresholds=20
    ).fit(X, y)
    predicted = tuned.predict(X)
    by_hand = math.sqrt(recall_score(y, predicted) * recall_score(y, predicted, pos_label=0))
    assert tuned.best_score_ == pytest.approx(by_hand)
    assert tuned.best_score_ > get_measure("gmean").score(y, model.predict(X)) + 0.01


# Measures are values.


@every_measure
def test_a_measure_survives_pickling_as_an_equal(measure):
    copied = pickle.loads(pickle.dumps(measure))
    assert copied == measure
    assert hash(copied) == hash(measure)


@every_measure
def test_a_measure_survives_cloning_inside_an_estimator(measure):
    assert clone(MeasureClassifier(measure=measure)).measure == measure


def test_measures_are_equal_by_value():
    assert FBeta(2) == FBeta(2.0) == get_measure("f2")
    assert hash(FBeta(2)) == hash(FBeta(2.0))
    assert FBeta(2) != FBeta(1)
    assert FBeta(1.0) != GowerLegendre(1.0)
    assert PseudoLinear([0, 1, 1], [2, 0, 0]) == PseudoLinear((0.0, 1.0, 1.0), (2.0, 0.0, 0.0))


def test_different_measures_have_different_hashes_in_a_set():
    assert len({*ALL_MEASURES, FBeta(1.0), HMean()}) == len(ALL_MEASURES)
    assert TPRAtFPR(0.01) != TPRAtTNR(0.99)  # alike in value, but each says what it was asked for


def test_a_measure_cannot_be_changed():
    with pytest.raises(AttributeError, match="beta"):
        FBeta(1.0).beta = 2.0


@every_measure
def test_a_scorer_survives_pickling(measure):
    X, y = imbalanced_data()
    model = LogisticRegression().fit(X, y)
    scorer = measure.scorer()
    assert pickle.loads(pickle.dumps(scorer))(model, X, y) == scorer(model, X, y)


@pytest.mark.parametrize("measure", [measure for measure in ALL_MEASURES if measure.monotone], ids=repr)
@quick
@given(rates, rates, rates, rates, prevalences)
def test_a_monotone_measure_is_never_lowered_by_a_higher_rate(measure, tpr, tnr, more_tpr, more_tnr, prevalence):
    low = measure.value(min(tpr, more_tpr), min(tnr, more_tnr), prevalence)
    high = measure.value(max(tpr, more_tpr), max(tnr, more_tnr), prevalence)
    assert high >= low - 1e-12


def test_one_rate_may_be_a_number_and_the_other_a_list():
    measure = get_measure("f1")
    expected = [measure.value(0.5, tnr, 0.2) for tnr in (0.25, 0.75)]
    assert measure.value(0.5, [0.25, 0.75], 0.2) == pytest.approx(expected)
    assert measure.value([0.5, 0.5], 0.25, 0.2) == pytest.approx([expected[0]] * 2)


@pytest.mark.parametrize("name", [*measure_names(), "f3", "f0.25", "recall-at-precision-0.95", "tpr-at-fpr-0.001"])
def test_a_measure_is_found_again_by_its_name(name):
    assert measure_name(get_measure(name)) == name


def test_a_measure_without_a_name_goes_by_its_label():
    measure = RecallAtPrecision(0.8, penalty=3.0)
    assert measure_name(measure) == measure.label
