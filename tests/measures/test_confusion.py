"""Measures of whole confusion matrices: against scikit-learn, imbalanced-learn and their own derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from imblearn.metrics import geometric_mean_score
from sklearn import metrics

from ratewise.counts import Counts
from ratewise.measures import (
    ClassCosts,
    FBeta,
    FunctionOfCounts,
    GMean,
    GMeanOfRecalls,
    MacroAverage,
    MicroFBeta,
    MicroJaccard,
    WeightedKappa,
    WorstRecall,
    confusion_measure,
    get_measure,
)
from ratewise.measures.recalls import SoftWorstRecall

quick = settings(deadline=None, max_examples=40)
COSTS = ((0, 1, 2, 3), (4, 0, 1, 1), (2, 2, 1, 2), (9, 1, 1, 0))


def recalls(y, predicted, **options):
    return metrics.recall_score(y, predicted, average=None, zero_division=0, **options)


def micro(score, **more):
    return lambda y, p, **o: score(y, p, average="micro", labels=[1, 2, 3], zero_division=0, **more, **o)


REFERENCES = {
    "min": lambda y, p, **o: recalls(y, p, **o).min(),
    "hmean": lambda y, p, **o: 0.0 if recalls(y, p, **o).min() == 0 else 4 / (1 / recalls(y, p, **o)).sum(),
    "qmean": lambda y, p, **o: 1 - np.sqrt(np.mean((1 - recalls(y, p, **o)) ** 2)),
    "gmean": lambda y, p, **o: geometric_mean_score(y, p, average="multiclass", **o),
    "f1": lambda y, p, **o: metrics.f1_score(y, p, average="macro", **o),
    "macro-f2": lambda y, p, **o: metrics.fbeta_score(y, p, beta=2, average="macro", **o),
    "jaccard": lambda y, p, **o: metrics.jaccard_score(y, p, average="macro", **o),
    "micro-f1": lambda y, p, **o: metrics.f1_score(y, p, average="micro", **o),
    "micro-jaccard": lambda y, p, **o: metrics.jaccard_score(y, p, average="micro", **o),
    "balanced-accuracy": metrics.balanced_accuracy_score,
    "micro-f2 without 0": micro(metrics.fbeta_score, beta=2),
    "micro-jaccard without 0": micro(metrics.jaccard_score),
    "accuracy": metrics.accuracy_score,
    "mcc": metrics.matthews_corrcoef,
    "kappa": metrics.cohen_kappa_score,
    "linear-kappa": lambda y, p, **o: metrics.cohen_kappa_score(y, p, weights="linear", **o),
    "quadratic-kappa": lambda y, p, **o: metrics.cohen_kappa_score(y, p, weights="quadratic", **o),
}
MEASURES = {
    **{name: confusion_measure(name) for name in REFERENCES if " " not in name},
    "micro-f2 without 0": MicroFBeta(2.0, without=0),
    "micro-jaccard without 0": MicroJaccard(without=0),
    "costs": ClassCosts(COSTS),
    "soft worst recall": SoftWorstRecall(),
    "macro mcc": MacroAverage(get_measure("mcc")),
}


@st.composite
def labels(draw):
    """Four classes that all occur, with predictions and weights."""
    row = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 4))
    rows = draw(st.lists(row, min_size=4, max_size=50))
    true, predicted, weights = np.array([*rows, *((k, (k + 1) % 4, 1) for k in range(4))]).T
    return true, predicted, weights.astype(float)


@quick
@given(labels())
def test_names_mean_what_scikit_learn_and_imbalanced_learn_report(rows):
    true, predicted, weights = rows
    for name, reference in REFERENCES.items():
        expected = reference(true, predicted, sample_weight=weights)
        found = MEASURES[name].score(true, predicted, sample_weight=weights)
        assert found == pytest.approx(expected, abs=1e-12), name
    assert MEASURES["costs"].score(true, predicted) == pytest.approx(-np.array(COSTS)[true, predicted].mean())


@pytest.mark.parametrize("name", MEASURES)
def test_counts_of_a_million_rows_are_whole_numbers_that_do_not_overflow(name):
    table = 100_000 * (np.arange(16).reshape(4, 4) % 5 + 9 * np.eye(4, dtype=int))
    assert MEASURES[name].value(table) == pytest.approx(MEASURES[name].value(table.astype(float)), rel=1e-12)


@pytest.mark.parametrize("name", MEASURES)
@quick
@given(st.lists(st.floats(0.5, 20.0), min_size=16, max_size=16))
def test_gains_are_the_derivative_by_every_cell(name, cells):
    measure, table = MEASURES[name], np.array(cells).reshape(4, 4)
    gains, expected = measure.gains(table), np.zeros((4, 4))
    if name == "min" and np.diff(np.sort(np.diag(table) / table.sum(axis=1))[:2])[0] < 1e-3:
        return  # a corner
    for i, j in np.ndindex(4, 4):
        step = np.zeros((4, 4))
        step[i, j] = 1e-5
        expected[i, j] = (measure.value(table + step) - measure.value(table - step)) / 2e-5
    if isinstance(measure, MacroAverage):  # what all predictions of a class have in common does not matter
        gains, expected = (one - one[:, :1] for one in (gains, expected))
    np.testing.assert_allclose(gains, expected, atol=2e-6)


@pytest.mark.parametrize("name", MEASURES)
def test_many_tables_at_once_have_the_values_of_each(name):
    tables = np.random.default_rng(0).integers(0, 9, (5, 3, 4, 4)).astype(float)
    tables[0, 0] = np.diag([3.0, 1, 2, 1])  # perfect
    tables[0, 1] = 0.0
    tables[0, 1, :, 2] = 1.0  # all predicted as one class
    found = MEASURES[name].value(tables)
    assert found.shape == (5, 3)
    for place in np.ndindex(5, 3):
        assert found[place] == pytest.approx(float(MEASURES[name].value(tables[place])))
    assert np.isfinite(found).all()


def test_a_function_of_the_table_has_exact_gains_or_differences():
    table = np.random.default_rng(1).uniform(1, 9, (3, 3))
    smooth = FunctionOfCounts(lambda C: np.trace(C) ** 2 / C.sum() ** 2)
    share = np.trace(table) / table.sum()
    exact = 2 * share * (np.eye(3) - share) / table.sum()
    np.testing.assert_allclose(smooth.gains(table), exact, rtol=1e-13)
    with_a_corner = FunctionOfCounts(lambda C: min(float(C[k, k] / C[k].sum()) for k in range(3)))
    np.testing.assert_allclose(with_a_corner.gains(table), WorstRecall().gains(table), atol=1e-7)
    assert confusion_measure(smooth.function) == smooth


@quick
@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 30), st.integers(1, 30))
def test_the_gains_of_two_rates_are_those_of_the_table_of_two_classes(tp, fn, fp, tn):
    counts = Counts.of_two(tp, fn, fp, tn)
    for measure in (get_measure("f1"), get_measure("gmean"), get_measure("mcc")):
        lifted = FunctionOfCounts(lambda C, measure=measure: float(measure.value(*Counts(C).rates)))
        gains = lifted.gains(counts.weights) * counts.weights.sum()
        expected = gains[1, 1] - gains[1, 0], gains[0, 0] - gains[0, 1]
        assert measure.gains(counts.rates) == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_the_soft_minimum_is_near_the_worst_recall_and_smooth():
    table = np.array([[8.0, 2, 0], [1, 5, 4], [0, 1, 9]])
    assert WorstRecall().softened.value(table) == pytest.approx(0.5, abs=0.03)
    assert WorstRecall().softened.smooth
    assert (SoftWorstRecall().gains(table).argmax()) == 4


def test_names_and_objects_are_resolved():
    assert confusion_measure("F1") == MacroAverage(FBeta(1.0)) == confusion_measure(FBeta(1.0))
    assert confusion_measure(GMean()) == GMeanOfRecalls()
    assert confusion_measure("macro-f3") == MacroAverage(FBeta(3.0))
    assert confusion_measure("micro-f0.5") == MicroFBeta(0.5)
    assert confusion_measure("Quadratic Kappa") == WeightedKappa("quadratic")
    assert confusion_measure("fowlkes-mallows") == MacroAverage(get_measure("fowlkes-mallows"))
    with pytest.raises(ValueError, match="more than two classes"):
        get_measure("quadratic-kappa")
    with pytest.raises(ValueError, match="no measure 'nonsense'"):
        confusion_measure("nonsense")


def test_a_scorer_takes_labels_of_any_type():
    from sklearn.dummy import DummyClassifier

    y = ["a", "b", "c", "c"]
    dummy = DummyClassifier(strategy="constant", constant="c").fit(np.zeros((4, 1)), y)
    assert confusion_measure("accuracy").scorer()(dummy, np.zeros((4, 1)), y) == 0.5
    assert confusion_measure("min").score(y, y, labels=["c", "b", "a"]) == 1.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ClassCosts(((0, 1), (1, 0, 2))), "square table of finite numbers"),
        (lambda: ClassCosts(((0, np.inf), (1, 0))), "square table of finite numbers"),
        (lambda: ClassCosts(((0, 1), (-1, 0))), "costs must be 0 or more"),
        (lambda: ClassCosts(COSTS).score([0, 1, 2], [0, 1, 2]), "the costs are of 4 classes, and there are 3"),
        (lambda: WeightedKappa("cubic"), "weights must be None, 'linear' or 'quadratic'"),
        (lambda: MicroFBeta(0.0), "beta must be"),
        (lambda: WorstRecall().score([0, 1], [0]), "equally long"),
        (lambda: WorstRecall().score([0, 1], [0, 2], labels=[0, 1]), "not among labels"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()
