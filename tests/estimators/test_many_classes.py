"""More than two classes: the macro average of the measure."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    cohen_kappa_score,
    f1_score,
    jaccard_score,
    matthews_corrcoef,
    recall_score,
)
from sklearn.model_selection import GridSearchCV, train_test_split

from ratewise import ConstraintWarning, MeasureClassifier, UnknownRateWarning, load_model, save_model
from ratewise.measures import ClassCosts, Constrained, Rates, RecallAtPrecision, WorstRecall, confusion_measure
from ratewise.solvers import Sharpen, Spade, Stamp
from ratewise.solvers.softmax import MultinomialLogistic

SHORT = Sharpen(passes=4)


@pytest.fixture(scope="module")
def data():
    """Four classes that no straight lines part, one of them rare."""
    X, y = make_classification(
        1_500,
        n_features=6,
        n_informative=4,
        n_classes=4,
        weights=[0.45, 0.3, 0.2, 0.05],
        n_clusters_per_class=2,
        class_sep=1.0,
        random_state=1,
    )
    return train_test_split(X, y, stratify=y, random_state=0)


@pytest.fixture(scope="module")
def model(data):
    return MeasureClassifier("f1", random_state=0).fit(data[0], data[2])


def test_attributes_have_a_row_for_each_class(model, data):
    X_test = data[1]
    assert model.coef_.shape == (4, 6)
    assert model.intercept_.shape == (4,)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert model.decision_function(X_test).shape == (X_test.shape[0], 4)
    np.testing.assert_array_equal(model.predict(X_test), model.decision_function(X_test).argmax(axis=1))
    assert len(model.rates_) == 4
    assert all(isinstance(rates, Rates) for rates in model.rates_)
    assert sum(rates.prevalence for rates in model.rates_) == pytest.approx(1.0)
    assert len({len(column) for column in model.history_.values()}) == 1


REPORTED = {
    "f1": lambda y, predicted: f1_score(y, predicted, average="macro"),
    "min": lambda y, predicted: recall_score(y, predicted, average=None).min(),
    "worst-recall": lambda y, predicted: recall_score(y, predicted, average=None).min(),
    "gmean": lambda y, predicted: np.prod(recall_score(y, predicted, average=None)) ** 0.25,
    "mcc": matthews_corrcoef,
    "kappa": cohen_kappa_score,
    "quadratic-kappa": lambda y, predicted: cohen_kappa_score(y, predicted, weights="quadratic"),
    "accuracy": accuracy_score,
    "balanced-accuracy": balanced_accuracy_score,
    "macro-jaccard": lambda y, predicted: jaccard_score(y, predicted, average="macro"),
    "micro-f1": lambda y, predicted: f1_score(y, predicted, average="micro"),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_name_means_what_the_field_reports_and_the_fit_is_for_that(name, data):
    X_train, X_test, y_train, y_test = data
    classifier = MeasureClassifier(name, random_state=0).fit(X_train, y_train)
    reported = REPORTED[name]
    assert classifier.measure_ == confusion_measure(name)
    assert classifier.score(X_test, y_test) == pytest.approx(reported(y_test, classifier.predict(X_test)))
    assert classifier.measure_.scorer()(classifier, X_test, y_test) == pytest.approx(
        classifier.score(X_test, y_test)
    )
    plain = LogisticRegression(max_iter=1000).fit(X_train, y_train)
    assert classifier.score(X_test, y_test) > reported(y_test, plain.predict(X_test)) - 0.02
    expected = float(classifier.measure_.value(classifier.confusion_))
    assert expected == pytest.approx(classifier.score(X_test, y_test), abs=0.12)


def test_costs_and_functions_of_the_confusion_matrix_are_learned_for(data):
    X_train, X_test, y_train, y_test = data
    costs = 1.0 - np.eye(4)
    costs[3] *= 20.0  # the rare class is dear to miss
    plain = MeasureClassifier("accuracy", random_state=0).fit(X_train, y_train)
    dear = MeasureClassifier(ClassCosts(costs), random_state=0).fit(X_train, y_train)
    assert dear.score(X_test, y_test) > ClassCosts(costs).score(y_test, plain.predict(X_test)) + 0.05

    def recall_of_3(C):
        return C[3, 3] / C[3].sum()

    own = MeasureClassifier(recall_of_3, random_state=0).fit(X_train, y_train)
    assert own.score(X_test, y_test) > 0.95


@pytest.mark.parametrize("measure", ["quadratic-kappa", WorstRecall(), lambda C: C[0, 0]])
def test_measures_of_many_classes_are_refused_for_two_and_for_labels(measure, data):
    X_train, _, y_train, _ = data
    for y in (y_train > 1, np.column_stack([y_train > 0, y_train > 1]).astype(int)):
        with pytest.raises(ValueError, match="measure"):
            MeasureClassifier(measure).fit(X_train, y)


def test_score_is_the_macro_average(model, data):
    _, X_test, _, y_test = data
    assert model.score(X_test, y_test) == pytest.approx(f1_score(y_test, model.predict(X_test), average="macro"))
    weights = np.linspace(0.1, 2.0, y_test.size)
    weighted = f1_score(y_test, model.predict(X_test), average="macro", sample_weight=weights)
    assert model.score(X_test, y_test, sample_weight=weights) == pytest.approx(weighted)


def test_the_rates_are_what_new_rows_show():
    """In the mean of some fits, on new rows that are so many that they do not vary."""
    X, y = make_classification(
        20_000,
        n_features=6,
        n_informative=4,
        n_classes=4,
        weights=[0.45, 0.3, 0.2, 0.05],
        n_clusters_per_class=2,
        random_state=1,
    )
    too_high, values = np.zeros((4, 2)), []
    for rows in np.split(np.random.default_rng(0).permutation(y.size)[:4_400], 4):
        fitted = MeasureClassifier("f1", random_state=0).fit(X[rows], y[rows])
        predicted = fitted.predict(X)
        for k, rates in enumerate(fitted.rates_):
            of_k = predicted == k
            too_high[k] += rates.tpr - of_k[y == k].mean(), rates.tnr - (~of_k)[y != k].mean()
        values.append(fitted.measure_.value(fitted.confusion_) - fitted.score(X, y))
    np.testing.assert_allclose(too_high[:3] / 4, 0.0, atol=0.06)
    np.testing.assert_allclose(too_high[3] / 4, 0.0, atol=0.09)  # a rare class is seen in 55 rows
    assert np.mean(values) == pytest.approx(0.0, abs=0.025)


def test_macro_f1_beats_logistic_regression_where_classes_are_not_linear(model, data):
    X_train, X_test, y_train, y_test = data
    logistic = LogisticRegression(max_iter=1000).fit(X_train, y_train)
    theirs = f1_score(y_test, logistic.predict(X_test), average="macro")
    assert model.score(X_test, y_test) > theirs + 0.02


@pytest.mark.parametrize("parameters", [{"sharpen": SHORT}, {"sharpen": False}, {"threshold": "zero"}])
def test_labels_may_be_texts(parameters, data):
    X_train, X_test, y_train, _ = data
    names = np.array(["ape", "bee", "cat", "dog"])
    plain = MeasureClassifier(random_state=0, **parameters).fit(X_train, y_train)
    named = clone(plain).fit(X_train, names[y_train])
    assert named.classes_.tolist() == names.tolist()
    np.testing.assert_array_equal(named.predict(X_test), names[plain.predict(X_test)])


@pytest.mark.parametrize(
    ("measure", "solver"), [("f1", "auto"), ("gmean", "auto"), ("min", Spade(passes=3)), ("f2", "amp")]
)
def test_one_run_of_the_solver_per_class_learns_too(measure, solver, data):
    X_train, X_test, y_train, y_test = data
    classifier = MeasureClassifier(measure, solver=solver, sharpen=False, random_state=0).fit(X_train, y_train)
    one_class = classifier.measure_.score(y_test, np.zeros_like(y_test), labels=classifier.classes_)
    assert classifier.score(X_test, y_test) > one_class + 0.1
    assert set(classifier.history_["class"]) == {0.0, 1.0, 2.0, 3.0}


def test_a_solver_that_is_named_is_where_sharpening_starts(data):
    X_train, _, y_train, _ = data
    plain, sharpened = (
        MeasureClassifier("f1", solver=Stamp(passes=2), sharpen=sharpen, random_state=0).fit(X_train, y_train)
        for sharpen in (False, True)
    )
    assert sharpened.score(X_train, y_train) > plain.score(X_train, y_train) + 0.01
    assert not any("logistic" in stage for stage in sharpened.stages_)
    assert plain.solver_ == sharpened.solver_ == Stamp(passes=2)


def test_few_rows_of_many_classes_may_start_from_a_named_solver():
    """So few that climbing would overfit: the run learns nothing beyond the solver's own model."""
    rng = np.random.default_rng(0)
    codes = np.arange(24) % 3
    X = rng.normal(size=(24, 3)) + 3.0 * np.eye(3)[codes]
    classifier = MeasureClassifier("qmean", solver=Spade(passes=10), random_state=0)
    assert classifier.fit(X, codes).score(X, codes) > 0.8


def test_the_solver_named_is_the_logistic_regression_that_sharpening_started_from(data):
    X_train, _, y_train, _ = data
    given, chosen = (
        MeasureClassifier("f1", alpha=alpha, sharpen=SHORT, random_state=0).fit(X_train, y_train)
        for alpha in (1e-3, 0.0)
    )
    assert given.solver_ == MultinomialLogistic(l2=1e-3)
    assert chosen.solver_.l2 == pytest.approx(1.0 / (3.0 * y_train.size))


@pytest.mark.parametrize("parameters", [{"sharpen": SHORT}, {"sharpen": False}])
def test_threads_change_nothing(parameters, data):
    X_train, _, y_train, _ = data
    one, two = (
        MeasureClassifier(random_state=0, n_jobs=n_jobs, **parameters).fit(X_train, y_train) for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_sparse_rows_and_low_memory_learn_as_well(data):
    X_train, X_test, y_train, y_test = data
    scores = [
        MeasureClassifier("f1", sharpen=SHORT, random_state=0, **parameters)
        .fit(kind(X_train), y_train)
        .score(kind(X_test), y_test)
        for kind, parameters in ((np.asarray, {}), (sparse.csr_matrix, {}), (np.asarray, {"low_memory": True}))
    ]
    assert scores[1] == pytest.approx(scores[0], abs=0.05)
    assert scores[2] == scores[0]


def test_rows_of_weight_zero_are_as_if_not_there(data):
    X_train, _, y_train, _ = data
    weights = np.where(np.arange(y_train.size) % 3 == 0, 0.0, 1.0)
    with_zeros = MeasureClassifier(sharpen=SHORT, random_state=0).fit(X_train, y_train, weights)
    without = MeasureClassifier(sharpen=SHORT, random_state=0).fit(X_train[weights > 0], y_train[weights > 0])
    np.testing.assert_array_equal(with_zeros.coef_, without.coef_)


def test_weight_on_a_class_makes_it_be_predicted_more_often(data):
    X_train, X_test, y_train, _ = data
    plain = MeasureClassifier("f1", sharpen=SHORT, random_state=0).fit(X_train, y_train)
    heavy = clone(plain).fit(X_train, y_train, np.where(y_train == 3, 20.0, 1.0))
    assert (heavy.predict(X_test) == 3).sum() > (plain.predict(X_test) == 3).sum()


def test_warm_start_begins_from_the_models_before(data):
    X_train, _, y_train, _ = data
    warm = MeasureClassifier("f1", sharpen=False, solver=Stamp(passes=1), warm_start=True, random_state=0)
    first = warm.fit(X_train, y_train).coef_.copy()
    assert not np.array_equal(first, warm.fit(X_train, y_train).coef_)
    with pytest.raises(ValueError, match=r"y asks for 1 model.*before was of 4"):
        warm.fit(X_train, y_train > 1)


def test_partial_fit_learns_in_pieces_and_survives_pickling(data):
    X_train, X_test, y_train, y_test = data
    pieces = MeasureClassifier("f1", random_state=0)
    for _ in range(3):
        for start in range(0, y_train.size, 200):
            part = slice(start, start + 200)
            pieces = pickle.loads(pickle.dumps(pieces))
            pieces.partial_fit(X_train[part], y_train[part], classes=[0, 1, 2, 3])
    whole = MeasureClassifier("f1", sharpen=False, random_state=0).fit(X_train, y_train)
    assert pieces.score(X_test, y_test) > whole.score(X_test, y_test) - 0.1
    assert len(pieces.rates_) == 4
    with pytest.raises(ValueError, match=r"partial_fit did not name: \[9\]"):
        pieces.partial_fit(X_train[:2], [0, 9])


def test_a_first_piece_need_not_show_all_classes(data):
    X_train, X_test, y_train, y_test = data
    classifier = MeasureClassifier("f1", random_state=0)
    classifier.partial_fit(X_train[y_train < 2], y_train[y_train < 2], classes=[0, 1, 2, 3])
    for _ in range(3):
        classifier.partial_fit(X_train, y_train)
    assert classifier.score(X_test, y_test) > 0.3


def test_a_positive_class_is_refused(data):
    X_train, _, y_train, _ = data
    classifier = MeasureClassifier(pos_label=1)
    with pytest.raises(ValueError, match=r"pos_label=1 is for two classes; with 4 classes each is"):
        classifier.fit(X_train, y_train)
    with pytest.raises(ValueError, match="pos_label=1 is for two classes"):
        classifier.partial_fit(X_train, y_train, classes=[0, 1, 2, 3])
    assert not hasattr(classifier, "coef_")


def test_a_class_without_weight_is_refused(data):
    X_train, _, y_train, _ = data
    with pytest.raises(ValueError, match="All rows of class 2 have sample_weight 0"):
        MeasureClassifier().fit(X_train, y_train, (y_train != 2) * 1.0)


def test_a_measure_that_falls_is_refused_for_every_class(data):
    X_train, _, y_train, _ = data
    with pytest.raises(ValueError, match="Stamp maximizes pseudo-linear"):
        MeasureClassifier("gmean", solver="stamp").fit(X_train, y_train)


def test_a_class_of_one_row_does_no_harm(data):
    X_train, X_test, y_train, _ = data
    y = y_train.copy()
    y[0] = 7
    for sharpen in (SHORT, False):
        with pytest.warns(UnknownRateWarning, match="class 7: The TPR"):
            classifier = MeasureClassifier("f1", sharpen=sharpen, random_state=0).fit(X_train, y)
        assert np.isfinite(classifier.decision_function(X_test)).all()


def test_a_constraint_that_a_class_misses_is_warned_of(data):
    X_train, _, y_train, _ = data
    classifier = MeasureClassifier(RecallAtPrecision(0.999), sharpen=SHORT, random_state=0)
    with pytest.warns(ConstraintWarning, match="class 0: .*precision"):
        classifier.fit(X_train, y_train)
    assert not classifier.constraints_met_


def test_it_is_at_home_in_searches():
    X, y = load_digits(return_X_y=True)
    search = GridSearchCV(
        MeasureClassifier(sharpen=SHORT, random_state=0), {"measure": ["f1", "gmean"]}, cv=2, scoring="f1_macro"
    )
    assert search.fit(X[:600], y[:600]).best_score_ > 0.8


def test_bounds_on_classes_are_kept_by_a_linear_model():
    def rows(seed):
        centres = np.array([[0.0, 0.0, 0.0], [1.2, 0.0, 0.5], [0.0, 1.5, 0.0]])
        y = np.random.default_rng(seed).choice(3, 3_000, p=[0.7, 0.2, 0.1])
        return centres[y] + np.random.default_rng(seed + 1).normal(size=(3_000, 3)), np.array(["a", "b", "c"])[y]

    (X, y), (new_X, new_y) = rows(0), rows(2)
    free = MeasureClassifier("accuracy", random_state=0).fit(X, y)
    bounded = MeasureClassifier("accuracy-at-recall-0.55", random_state=0).fit(X, y)
    recalls = [recall_score(new_y, one.predict(new_X), average=None).min() for one in (free, bounded)]
    assert recalls[0] < 0.45
    assert recalls[1] > 0.55
    assert bounded.constraints_met_
    assert free.constraints_met_ is None
    assert bounded.score(new_X, new_y) == pytest.approx(accuracy_score(new_y, bounded.predict(new_X)))
    file = io.BytesIO()
    save_model(bounded, file)
    file.seek(0)
    assert (load_model(file).predict(new_X) == bounded.predict(new_X)).all()
    one = Constrained("accuracy", recall={"c": 0.75})
    assert MeasureClassifier(one, random_state=0).fit(X, y).rates_[2].tpr >= 0.75
    with pytest.warns(ConstraintWarning, match="the recall of 'c' is"):
        assert MeasureClassifier(Constrained("accuracy", recall=0.95), random_state=0).fit(X, y).classes_.size == 3
    with pytest.raises(ValueError, match="bounds on classes need validation rows"):
        MeasureClassifier(one, sharpen=False).fit(X, y)
    with pytest.raises(ValueError, match="Bounds on classes take rows for independent"):
        MeasureClassifier(one).fit(X, y, groups=np.arange(3_000) // 2)
    with pytest.raises(ValueError, match="Bounds on classes are for fit"):
        MeasureClassifier(one).partial_fit(X, y, classes=["a", "b", "c"])
