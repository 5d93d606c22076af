"""Bad input is refused in one sentence that names it, and the model is left as it was."""

from __future__ import annotations

import contextlib
import copy
import math
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LogisticRegression

from ratewise import MeasureClassifier, MeasureMaximizer, UnknownRateWarning, open_stream
from ratewise.measures import FBeta, PseudoLinear
from ratewise.solvers import Amp, Spade, Stamp
from ratewise.training import config

VANISHING = PseudoLinear(a=(0, 1, 0), b=(1, 0, -1))  # 1 - N is 0 at N = 1
FALLING = PseudoLinear(a=(0, 1, -1), b=(2, 0, 0))

# Parameters that both fit and partial_fit must refuse, and words of the refusal.
BAD_PARAMETERS = [
    ({"measure": "f11"}, "There is no measure 'f11'. Did you mean .*'f1'"),
    ({"measure": "g-men"}, "There is no measure 'g-men'. Did you mean .*'gmean'"),
    ({"measure": FBeta}, "measure=FBeta is a class"),
    ({"measure": None}, "measure must be a name, a Measure or a function"),
    ({"solver": "stemp"}, "There is no solver 'stemp'. Did you mean 'stamp'"),
    ({"solver": None}, "There is no solver None"),
    ({"threshold": "best"}, "threshold must be 'tune' or 'zero'; got 'best'"),
    ({"threshold": 0.5}, "threshold must be 'tune' or 'zero'; got 0.5"),
    ({"threshold": None}, "threshold must be 'tune' or 'zero'; got None"),
    ({"sharpen": "yes"}, "sharpen must be 'auto', True, False or a Sharpen; got 'yes'"),
    ({"sharpen": None}, "sharpen must be 'auto', True, False or a Sharpen; got None"),
    ({"alpha": -1e-6}, "alpha must be a finite number of 0 or more; got -1e-06"),
    ({"alpha": math.nan}, "alpha must be a finite number of 0 or more; got nan"),
    ({"alpha": math.inf}, "alpha must be a finite number of 0 or more; got inf"),
    ({"alpha": "small"}, "alpha must be a finite number of 0 or more; got 'small'"),
    ({"alpha": None}, "alpha must be a finite number of 0 or more; got None"),
    ({"pos_label": 7}, r"pos_label=7 is not among the classes \[0, 1\]"),
    ({"pos_label": "yes"}, r"pos_label='yes' is not among the classes \[0, 1\]"),
    ({"measure": VANISHING}, "its denominator can become 0"),
    ({"measure": FALLING}, "does not grow with both TPR and TNR"),
    ({"measure": "f1", "solver": "spade"}, "Spade maximizes concave .* FBeta.* use solver='stamp', 'amp'"),
    ({"measure": "gmean", "solver": "stamp"}, "Stamp maximizes pseudo-linear .* GMean.* use solver='spade'"),
]


def rows():
    """Sixty rows of which about a third are positive."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, (X[:, 0] + 0.3 * rng.normal(size=60) > 0.4).astype(int)


def spoiled(value, column=1):
    """The rows with one bad entry."""
    X, _ = rows()
    X[5, column] = value
    return X


def named(X):
    return pd.DataFrame(X, columns=["age", "income", "height"])


def weights_of(value, where=slice(0, 1)):
    weights = np.ones(60)
    weights[where] = value
    return weights


def bad_data():
    """Arguments that both fit and partial_fit must refuse, and words of the refusal."""
    X, y = rows()
    return [
        pytest.param((spoiled(np.nan), y), r"X contains NaN in column 1\b", id="NaN"),
        pytest.param((spoiled(-np.inf, 2), y), r"X contains infinity in column 2\. Replace it", id="infinity"),
        pytest.param((sparse.csr_array(spoiled(np.nan, 2)), y), "X contains NaN in column 2", id="NaN, CSR"),
        pytest.param((sparse.csr_array(spoiled(np.inf, 0)), y), "X contains infinity in column 0", id="inf, CSR"),
        pytest.param((X, np.where(y == 1, np.nan, 0.0)), "y contains NaN", id="NaN label"),
        pytest.param((X, None), "requires y to be passed", id="no y"),
        pytest.param((X, y[:-1]), "60 rows in X, 59 labels in y", id="too few labels"),
        pytest.param((X[:0], y[:0]), "0 sample", id="no rows"),
        pytest.param((X[:, :0], y), "0 feature", id="no columns"),
        pytest.param((X[0], y), "Expected 2D array", id="one row as a vector"),
    ]


def bad_weights():
    return [
        pytest.param(weights_of(-1.0, slice(0, 2)), r"sample_weight has 2 negative value", id="negative"),
        pytest.param(weights_of(np.nan), "sample_weight contains NaN", id="NaN"),
        pytest.param(weights_of(np.inf), "sample_weight contains infinity", id="infinite"),
        pytest.param(np.zeros(60), "(?i)sample.weight.*(non-zero|0 everywhere)", id="all zero"),
        pytest.param(np.ones(59), "sample_weight.shape", id="too few"),
    ]


def fitted(**parameters):
    """A fitted classifier to spoil: a copy, since one fit will do."""
    return copy.deepcopy(_fitted(**parameters))


@cache
def _fitted(**parameters):
    return MeasureClassifier(**({"random_state": 0} | parameters)).fit(*rows())


def partly_fitted():
    X, y = rows()
    return MeasureClassifier(random_state=0).partial_fit(X, y, classes=[0, 1])


def picture(classifier):
    """Everything a fit leaves behind, as plain values."""
    return {
        "attributes": sorted(vars(classifier)),
        "coef": classifier.coef_.tolist(),
        "intercept": classifier.intercept_.tolist(),
        "classes": classifier.classes_.tolist(),
        "features": (classifier.n_features_in_, list(getattr(classifier, "feature_names_in_", []))),
        "history": {
            name: np.nan_to_num(column, nan=-1.0).tolist() for name, column in classifier.history_.items()
        },
        "chosen": (classifier.rates_, classifier.measure_, classifier.solver_),
    }


def assert_refused(classifier, words, call):
    """The call is refused with these words, and nothing of the fit before has changed."""
    before = picture(classifier)
    with pytest.raises(ValueError, match=words):
        call()
    assert picture(classifier) == before


def assert_next_piece_is_learned_as_if_nothing_had_been_refused(classifier):
    X, y = rows()
    X = 1.0 + X * (2.0, 1.0, 0.5)  # other means and spreads, so that a doubled count of the first rows would show
    untroubled = partly_fitted().partial_fit(X, y)
    classifier.partial_fit(X, y)
    assert classifier.coef_.tolist() == untroubled.coef_.tolist()
    assert classifier.intercept_.tolist() == untroubled.intercept_.tolist()


@pytest.mark.parametrize(("parameters", "words"), BAD_PARAMETERS)
def test_fit_refuses_bad_parameters(parameters, words):
    classifier = fitted().set_params(**parameters)
    assert_refused(classifier, words, lambda: classifier.fit(*rows()))


@pytest.mark.parametrize(("parameters", "words"), BAD_PARAMETERS)
def test_a_first_partial_fit_refuses_bad_parameters_and_stays_unfitted(parameters, words):
    classifier = MeasureClassifier(**parameters)
    before = sorted(vars(classifier))
    with pytest.raises(ValueError, match=words):
        classifier.partial_fit(*rows(), classes=[0, 1])
    assert sorted(vars(classifier)) == before


@pytest.mark.parametrize(("parameters", "words"), BAD_PARAMETERS)
def test_a_later_partial_fit_refuses_bad_parameters_and_learns_nothing(parameters, words):
    classifier = partly_fitted()
    before = classifier.get_params()
    classifier.set_params(**parameters)
    assert_refused(classifier, words, lambda: classifier.partial_fit(*rows()))
    assert_next_piece_is_learned_as_if_nothing_had_been_refused(classifier.set_params(**before))


@pytest.mark.parametrize(("arguments", "words"), bad_data())
def test_fit_refuses_bad_data(arguments, words):
    classifier = fitted()
    assert_refused(classifier, words, lambda: classifier.fit(*arguments))


@pytest.mark.parametrize(("arguments", "words"), [one for one in bad_data() if one.id != "no rows"])
def test_partial_fit_refuses_bad_data_and_learns_nothing_from_it(arguments, words):
    classifier = partly_fitted()
    assert_refused(classifier, words, lambda: classifier.partial_fit(*arguments))
    assert_next_piece_is_learned_as_if_nothing_had_been_refused(classifier)


@pytest.mark.parametrize(("weights", "words"), bad_weights())
def test_fit_refuses_bad_weights(weights, words):
    classifier = fitted()
    assert_refused(classifier, words, lambda: classifier.fit(*rows(), sample_weight=weights))


@pytest.mark.parametrize(("weights", "words"), [one for one in bad_weights() if one.id != "all zero"])
def test_partial_fit_refuses_bad_weights_and_learns_nothing_from_them(weights, words):
    classifier = partly_fitted()
    assert_refused(classifier, words, lambda: classifier.partial_fit(*rows(), sample_weight=weights))
    assert_next_piece_is_learned_as_if_nothing_had_been_refused(classifier)


@pytest.mark.parametrize("label", [0, 1])
def test_fit_refuses_weights_that_leave_one_class_out(label):
    classifier = fitted()
    X, y = rows()
    words = "All rows of one class have sample_weight 0"
    assert_refused(classifier, words, lambda: classifier.fit(X, y, sample_weight=(y != label) * 1.0))


@pytest.mark.parametrize("label", [0, 1, "spam"])
def test_fit_refuses_labels_of_one_class(label):
    classifier = fitted()
    words = f"y holds one class only \\({label!r}\\)"
    assert_refused(classifier, words, lambda: classifier.fit(rows()[0], np.full(60, label)))


def test_fit_refuses_a_target_of_numbers():
    classifier = fitted()
    assert_refused(classifier, "continuous", lambda: classifier.fit(rows()[0], np.linspace(0.0, 1.0, 60)))


@pytest.mark.parametrize(("bad", "kind"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_fit_names_the_bad_column_of_a_frame(bad, kind):
    classifier = fitted()
    words = f"X contains {kind} in column 1 \\('income'\\)"
    assert_refused(classifier, words, lambda: classifier.fit(named(spoiled(bad)), rows()[1]))


def test_fit_names_the_first_five_of_many_bad_columns():
    X = np.full((60, 8), np.nan)
    with pytest.raises(ValueError, match="X contains NaN in columns 0, 1, 2, 3, 4 and 3 more"):
        MeasureClassifier().fit(X, rows()[1])


def test_a_warm_start_refuses_another_number_of_columns():
    X, y = rows()
    classifier = fitted(warm_start=True)
    words = "X has 2 features and the fit before had 3"
    assert_refused(classifier, words, lambda: classifier.fit(X[:, :2], y))


def test_partial_fit_takes_batches_of_no_rows_and_of_weight_zero_and_learns_nothing_from_them():
    classifier, (X, y) = partly_fitted(), rows()
    before = picture(classifier)
    classifier.partial_fit(X[:0], y[:0]).partial_fit(X, y, sample_weight=np.zeros(60))
    assert picture(classifier) == before
    assert_next_piece_is_learned_as_if_nothing_had_been_refused(classifier)


# What partial_fit alone must refuse.


def test_the_first_partial_fit_needs_the_classes():
    classifier = MeasureClassifier()
    with pytest.raises(ValueError, match="first call of partial_fit needs classes="):
        classifier.partial_fit(*rows())
    assert not hasattr(classifier, "classes_")


@pytest.mark.parametrize("make", [fitted, partly_fitted])
def test_partial_fit_refuses_labels_that_classes_did_not_name(make):
    classifier = make()
    X, y = rows()
    words = r"labels that the first partial_fit did not name: \[2\]; the classes are \[0, 1\]"
    assert_refused(classifier, words, lambda: classifier.partial_fit(X, np.where(y == 1, 2, 0)))


def test_the_first_partial_fit_refuses_labels_that_are_not_among_its_classes():
    classifier = MeasureClassifier()
    with pytest.raises(ValueError, match=r"partial_fit did not name: \[0\]"):
        classifier.partial_fit(*rows(), classes=[1, 2])
    assert not hasattr(classifier, "classes_")


def test_partial_fit_refuses_one_announced_class_without_talk_of_many():
    X, _ = rows()
    with pytest.raises(ValueError, match=r"(?i)two classes") as refusal:
        MeasureClassifier().partial_fit(X, np.zeros(60, dtype=int), classes=[0])
    assert "OneVsRestClassifier" not in str(refusal.value)


def test_partial_fit_refuses_other_classes_than_at_first():
    classifier = partly_fitted()
    words = r"classes=\[0, 2\] differ from those of the first call, \[0, 1\]"
    assert_refused(classifier, words, lambda: classifier.partial_fit(*rows(), classes=[0, 2]))


@pytest.mark.parametrize("make", [fitted, partly_fitted])
def test_partial_fit_refuses_another_number_of_columns(make):
    classifier = make()
    X, y = rows()
    words = "X has 2 features, but MeasureClassifier is expecting 3 features"
    assert_refused(classifier, words, lambda: classifier.partial_fit(X[:, :2], y))


@pytest.mark.parametrize(("bad", "kind"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_partial_fit_names_the_bad_column_of_a_frame(bad, kind):
    X, y = rows()
    classifier = MeasureClassifier(random_state=0).partial_fit(named(X), y, classes=[0, 1])
    words = f"X contains {kind} in column 1 \\('income'\\)"
    assert_refused(classifier, words, lambda: classifier.partial_fit(named(spoiled(bad)), y))


def test_a_first_partial_fit_of_weight_zero_is_refused_and_leaves_the_model_unfitted():
    classifier = MeasureClassifier()
    with pytest.raises(ValueError, match=r"(?i)sample.weight"):
        classifier.partial_fit(*rows(), classes=[0, 1], sample_weight=np.zeros(60))
    assert not hasattr(classifier, "classes_")


def test_a_solver_that_sees_all_rows_at_once_has_no_partial_fit():
    assert not hasattr(MeasureClassifier(solver="amp"), "partial_fit")
    assert hasattr(MeasureClassifier(solver="stamp"), "partial_fit")


# What predict must refuse.


@pytest.mark.parametrize("method", ["predict", "decision_function"])
def test_predict_refuses_another_number_of_columns(method):
    classifier = fitted()
    words = "X has 2 features, but MeasureClassifier is expecting 3 features"
    assert_refused(classifier, words, lambda: getattr(classifier, method)(rows()[0][:, :2]))


def test_predict_refuses_columns_of_other_names():
    X, y = rows()
    classifier = MeasureClassifier(random_state=0).fit(named(X), y)
    strange = named(X).rename(columns={"income": "debt"})
    assert_refused(classifier, "(?s)feature names should match.*debt", lambda: classifier.predict(strange))


def test_predict_refuses_columns_in_another_order():
    X, y = rows()
    classifier = MeasureClassifier(random_state=0).fit(named(X), y)
    reordered = named(X)[["income", "age", "height"]]
    assert_refused(classifier, "(?s)feature names.*same order", lambda: classifier.predict(reordered))


def test_predict_names_the_bad_column():
    X, y = rows()
    plain, with_names = fitted(), MeasureClassifier(random_state=0).fit(named(X), y)
    assert_refused(plain, "NaN in column 1", lambda: plain.predict(spoiled(np.nan)))
    words = r"infinity in column 1 \('income'\)"
    assert_refused(with_names, words, lambda: with_names.predict(named(spoiled(np.inf))))


# Settings that a measure or a solver refuses by itself.


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: FBeta(beta=-1), "FBeta: beta must be a finite number above 0; got -1"),
        (lambda: Spade(passes=0), "Spade: passes must be a whole number above 0; got 0"),
        (lambda: Spade(passes=2.5), "Spade: passes must be a whole number above 0; got 2.5"),
        (lambda: Spade(step=-1), "Spade: step must be a number above 0; got -1"),
        (lambda: Spade(dual_step=0), "Spade: dual_step must be a number above 0; got 0"),
        (lambda: Spade(radius=math.nan), "Spade: radius must be a number above 0; got nan"),
        (lambda: Spade(reward="sigmoid"), "Spade needs a concave reward"),
        (lambda: Spade(reward="hing"), "There is no reward 'hing'. Did you mean 'hinge'"),
        (lambda: Stamp(passes=0), "Stamp: passes must be a whole number above 0; got 0"),
        (lambda: Stamp(passes=True), "Stamp: passes must be a whole number above 0; got True"),
        (lambda: Stamp(step=-1), "Stamp: step must be a number above 0; got -1"),
        (lambda: Stamp(step="1"), "Stamp: step must be a number above 0; got '1'"),
        (lambda: Stamp(growth=1), "Stamp: growth must be a number above 1; got 1"),
        (lambda: Stamp(first_epoch=0), "Stamp: first_epoch must be a whole number above 0; got 0"),
        (lambda: Stamp(level="best"), "Stamp: level must be 'actual' or 'fresh'; got 'best'"),
        (lambda: Amp(passes=0), "Amp: passes must be a whole number above 0; got 0"),
        (lambda: Amp(tolerance=0), "Amp: tolerance must be a number above 0; got 0"),
        (lambda: Amp(level="fresh"), "Amp: level must be 'actual' or 'reward'; got 'fresh'"),
        (lambda: Amp(reward="sigmoid"), "Amp needs a concave reward"),
    ],
)
def test_settings_out_of_range_are_refused_by_name(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_numpys_whole_numbers_are_whole_numbers():
    assert Spade(passes=np.int64(3)).passes == 3
    assert Stamp(first_epoch=np.int32(50), step=np.float32(0.5)).first_epoch == 50


def test_amp_too_names_the_alternative_for_a_concave_measure():
    classifier = fitted().set_params(measure="gmean", solver="amp")
    words = "Amp maximizes pseudo-linear measures, and GMean.* use solver='spade'"
    assert_refused(classifier, words, lambda: classifier.fit(*rows()))


# Data that once gave models of NaN, or rates that no model has.


@pytest.mark.parametrize("measure", ["f1", "gmean", "min"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_equal_rows_give_a_finite_model_with_the_rates_of_one_answer_for_all(measure, form):
    classifier = MeasureClassifier(measure, random_state=0).fit(form(np.ones((60, 3))), rows()[1])
    assert np.isfinite(classifier.coef_).all()
    assert np.abs(classifier.intercept_) < 1e6
    assert (classifier.rates_.tpr, classifier.rates_.tnr) in ((0.0, 1.0), (1.0, 0.0))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("measure", ["f1", "recall-at-precision-0.9"])
@pytest.mark.filterwarnings("ignore::ratewise.ConstraintWarning")
def test_of_equal_rows_all_get_the_better_of_the_two_answers(measure, form):
    for number in (30, 90, 150):
        y = np.arange(number) % 3 == 0
        fitted = MeasureClassifier(measure, random_state=0).fit(form(np.ones((number, 2))), y)
        value = fitted.measure_.value
        best = max(value(1.0, 0.0, 1 / 3), value(0.0, 1.0, 1 / 3))
        assert value(*fitted.rates_) == pytest.approx(best) == fitted.score(form(np.ones((number, 2))), y)


@pytest.mark.parametrize("number", [2, 3, 60])
def test_one_row_of_a_class_is_enough_to_fit(number):
    X = rows()[0][:number]
    for y in (np.arange(number) == 0, np.arange(number) != 0):
        with pytest.warns(UnknownRateWarning, match="on new rows is not known"):
            fitted = MeasureClassifier("gmean", random_state=0).fit(X, y)
        assert fitted.rates_.tpr + fitted.rates_.tnr > 1.0


@pytest.mark.parametrize(
    "estimator", [MeasureClassifier(sharpen=False), MeasureMaximizer(LogisticRegression(), cv=2)]
)
def test_tables_and_labels_that_are_not_whole_are_refused_in_a_sentence(estimator):
    X, y = rows()
    table = pd.DataFrame(X).iloc[:, :3].set_axis(list("abc"), axis=1)
    gap = np.arange(y.size) == 5
    for labels in (
        pd.Series(y.astype(bool)).astype("boolean").mask(gap),
        np.where(gap, None, y.astype(bool).astype(object)),
        pd.Series(np.where(y, "yes", "no")).mask(gap, None),
    ):
        with pytest.raises(ValueError, match="every row needs a label"):
            estimator.fit(table, labels)
    with pytest.raises(ValueError, match=r"two columns 'a'\. Rename one of them"):
        estimator.fit(table.set_axis(list("aab"), axis=1), y)
    estimator = clone(estimator).fit(table, y)
    with pytest.raises(ValueError, match=r"two columns 'a'\. Rename one of them"):
        estimator.predict(table.set_axis(list("aab"), axis=1))
    with pytest.raises(ValueError, match="every row needs a label"):
        estimator.score(table, np.where(gap, None, y.astype(object)))
    with pytest.raises(ValueError, match="every row needs a label"):
        estimator.fit(table, pd.to_datetime(np.where(y, "2024-01-01", "2025-01-01")).where(~gap))
    with pytest.raises(TypeError, match=r"X is a dict, .* pandas\.DataFrame\(X\)"):
        estimator.fit(table.to_dict("list"), y)
    masked = np.ma.masked_array(table.to_numpy(), table.to_numpy() > 1)
    for ask in (estimator.predict, lambda X: clone(estimator).fit(X, y)):
        with pytest.raises(ValueError, match=r"X is a masked array with \d+ masked values"):
            ask(masked)
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"give X.collect\(\)"):
        estimator.predict(polars.from_pandas(table).lazy())
    with pytest.raises(TypeError, match=r"give X.collect\(\)"):
        estimator.fit(polars.from_pandas(table).lazy(), y)


@pytest.mark.parametrize("weight", [np.nan, -1.0, np.inf, np.ma.masked])
def test_score_refuses_weights_that_fit_refuses(weight):
    X, y = rows()
    weights = np.ma.ones(60) if weight is np.ma.masked else np.ones(60)
    weights[3] = weight
    for use in (fitted().score, fitted().fit):
        with pytest.raises(ValueError, match="sample_weight"):
            use(X, y, sample_weight=weights)


def test_columns_that_float32_cannot_tell_apart_end_in_a_sentence_where_they_are_not_centred():
    X, y = np.random.default_rng(0).normal(size=(300, 3)), np.arange(300) % 3 == 0
    with pytest.raises(ValueError, match=r"No model could be learned.*standardize=True does"):
        MeasureClassifier("f1", random_state=0, standardize=False).fit(X + 1e9, y)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("value", [1e9, 1e30])
def test_a_value_far_from_all_others_gives_a_finite_model_or_a_sentence(value, standardize):
    classifier = MeasureClassifier("f1", standardize=standardize, random_state=0)
    with contextlib.suppress(ValueError):  # which says that columns of one scale are needed
        classifier.fit(spoiled(value), rows()[1])
        assert np.isfinite([*classifier.coef_[0], *classifier.intercept_, *classifier.rates_]).all()


def test_a_value_whose_square_is_infinite_is_refused_by_its_column():
    classifier = fitted()
    words = r"X contains 1e\+200 in column 1, whose square is beyond all numbers"
    assert_refused(classifier, words, lambda: classifier.fit(spoiled(1e200), rows()[1]))


@pytest.mark.parametrize("as_rows", [named, sparse.csr_matrix])
@pytest.mark.parametrize(("size", "dtype"), [(1e-170, np.float64), (1e-300, np.float64), (1e-40, np.float32)])
def test_a_column_too_small_to_be_scaled_is_refused_by_its_number_and_name(size, dtype, as_rows):
    X, y = rows()
    X[:, 1] *= size
    name = r" \('income'\)" if as_rows is named else ""
    words = rf"^X contains nothing beyond \S+ in column 1{name}, whose values differ too little for float"
    for fit in (MeasureClassifier().fit, MeasureClassifier().partial_fit):
        with pytest.raises(ValueError, match=words):
            fit(as_rows(X.astype(dtype)), y)


@pytest.mark.parametrize("in_windows", [False, True])
def test_a_column_of_a_file_that_is_too_small_to_be_scaled_is_refused_by_its_name(
    in_windows, tmp_path, monkeypatch
):
    if in_windows:
        monkeypatch.setattr(config, "IN_MEMORY_BYTES", 0)
    X, y = rows()
    X[:, 1] *= 1e-170
    pd.DataFrame(X[:, :3], columns=list("abc")).assign(label=y).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ValueError, match=r"nothing beyond \S+ in column 1.*differ too little for float64"):
        MeasureClassifier(random_state=0).fit_stream(open_stream(tmp_path / "rows.csv", target="label"))


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_rows_of_float64_may_be_of_any_size_that_can_be_squared(size):
    X, y = rows()
    for form in (np.asarray, sparse.csr_matrix):
        scaled = MeasureClassifier(random_state=0).fit(form(X * size), y)
        plain = MeasureClassifier(random_state=0).fit(form(X), y)
        np.testing.assert_allclose(scaled.coef_ * size, plain.coef_, rtol=1e-3)


@pytest.mark.parametrize("size", [1e-25, 1e25])
def test_sparse_rows_of_float32_may_be_of_any_size_that_their_numbers_can_have(size):
    X, y = rows()
    scaled = MeasureClassifier(random_state=0).fit(sparse.csr_matrix((X * size).astype(np.float32)), y)
    plain = MeasureClassifier(random_state=0).fit(sparse.csr_matrix(X.astype(np.float32)), y)
    np.testing.assert_allclose(scaled.coef_ * size, plain.coef_, rtol=1e-3)


@pytest.mark.parametrize("weight", [5e-324, 1e-200, 1e306])
def test_only_the_proportions_of_weights_matter_however_small_or_large(weight):
    X, y = rows()
    expected = MeasureClassifier(sharpen=False, random_state=0).fit(X, y)
    weighted = MeasureClassifier(sharpen=False, random_state=0).fit(X, y, sample_weight=np.full(60, weight))
    assert np.array_equal(weighted.coef_, expected.coef_)
    again = MeasureClassifier(random_state=0).partial_fit(X, y, [0, 1], sample_weight=np.full(60, weight))
    assert np.array_equal(again.coef_, partly_fitted().coef_)


def test_a_result_that_is_not_finite_is_refused_and_partial_fit_goes_on_from_before(monkeypatch):
    from ratewise.training.live import LiveFit

    classifier, (X, y) = partly_fitted(), rows()
    before = picture(classifier)
    result = LiveFit.result
    monkeypatch.setattr(
        LiveFit, "result", lambda run: result(run)._replace(intercept=np.array([np.nan])).checked()
    )
    classifier.partial_fit(X, y)
    with pytest.raises(ValueError, match="No model could be learned: numbers beyond the range"):
        classifier.predict(X)
    assert picture(classifier) == before
    monkeypatch.undo()
    assert np.isfinite(classifier.partial_fit(X, y).coef_).all()


# Labels in the forms people have them in.


def test_labels_of_one_column_fit_and_score_as_a_vector_does():
    X, y = rows()
    classifier = fitted()
    with pytest.warns(DataConversionWarning):
        again = MeasureClassifier(random_state=0).fit(X, y[:, np.newaxis])
    assert np.array_equal(again.coef_, classifier.coef_)
    with pytest.warns(DataConversionWarning):
        assert again.score(X, y[:, np.newaxis]) == classifier.score(X, y)


@pytest.mark.parametrize(
    ("form", "classes"),
    [
        (lambda y: np.where(y == 1, "yes", "no").astype(object), ["no", "yes"]),
        (lambda y: (y == 1).astype(object), [False, True]),
        (lambda y: y.astype(object), [0, 1]),
        (lambda y: pytest.importorskip("polars").Series(np.where(y == 1, "yes", "no")), ["no", "yes"]),
        (lambda y: pytest.importorskip("polars").Series(y == 1), [False, True]),
        (lambda y: pytest.importorskip("pyarrow").array(np.where(y == 1, "yes", "no")), ["no", "yes"]),
        (lambda y: pd.Series(np.where(y == 1, "yes", "no"), dtype="category"), ["no", "yes"]),
        (lambda y: pd.array(y, dtype="Int64"), [0, 1]),
    ],
)
def test_labels_of_any_library_are_taken(form, classes):
    X, y = rows()
    classifier = MeasureClassifier(sharpen=False, random_state=0).fit(X, form(y))
    assert classifier.classes_.tolist() == classes
    assert classifier.score(X, form(y)) > 0.5


@pytest.mark.parametrize(
    ("label", "words"),
    [(None, "y contains NaN, None or NA; every row needs a label"), ("yes", r"y mixes labels of .* \(int, str\)")],
)
def test_a_list_of_labels_is_not_made_into_texts(label, words):
    X, y = rows()
    classifier, other = fitted(), float("nan") if label is None else 1
    mixed = ["yes" if one else "no" for one in y[:-1]] + [other]
    assert_refused(classifier, words, lambda: classifier.fit(X, mixed))


@pytest.mark.parametrize(
    ("label", "words"),
    [(None, "y contains NaN, None or NA; every row needs a label"), ("yes", r"y mixes labels of .* \(int, str\)")],
)
def test_labels_that_are_missing_or_of_many_types_are_refused(label, words):
    X, y = rows()
    mixed = y.astype(object)
    mixed[3] = label
    classifier = fitted()
    assert_refused(classifier, words, lambda: classifier.fit(X, mixed))
    masked = np.ma.masked_array(y, mask=np.arange(60) == 3)
    assert_refused(classifier, "y contains masked values", lambda: classifier.fit(X, masked))


@pytest.mark.parametrize(("classes", "unknown"), [((0, 1), "1"), (("bad", "good"), "Good")])
@pytest.mark.parametrize("make", [MeasureClassifier, lambda: MeasureMaximizer(LogisticRegression())])
def test_a_label_that_the_model_does_not_know_is_not_scored(make, classes, unknown):
    """A batch of one class, predicted as one class, had the score 0."""
    X = np.random.default_rng(0).standard_normal((200, 2))
    model = make().fit(X, np.where(X[:, 0] > 0.5, classes[1], classes[0]))
    rows = X[model.predict(X) == classes[1]]
    with pytest.raises(ValueError, match=r"y holds the label .* which is not among the classes"):
        model.score(rows, np.full(len(rows), unknown))


def test_nor_is_one_that_a_model_of_three_classes_does_not_know():
    X = np.random.default_rng(0).standard_normal((200, 2))
    codes = np.digitize(X[:, 0], [-0.5, 0.5])
    model = MeasureClassifier(random_state=0).fit(X, codes)
    with pytest.raises(ValueError, match=r"y holds the label 7, which is not among the classes \[0, 1, 2\]"):
        model.score(X, np.where(codes == 2, 7, codes))


@pytest.mark.parametrize("kind", ["datetime64[ns]", "datetime64[s]", "timedelta64[s]"])
def test_dates_are_not_taken_for_numbers(kind):
    _, y = rows()
    dates = np.arange(60)[:, None].astype(kind)
    classifier = fitted()
    for table, name in ((dates, "0"), (pd.DataFrame(dates, columns=["when"]), "'when'")):
        words = f"column {name} holds dates or times. Make numbers of them"
        with pytest.raises(TypeError, match=words):
            MeasureClassifier().fit(table, y)
        with pytest.raises(TypeError, match=words):
            classifier.predict(table)


def test_rows_without_a_group_are_one_group():
    X, y = rows()
    names = np.array(["a", "b", "c", None, "e", "f"], dtype=object)[np.arange(60) // 10]
    given = np.where(names == None, "None", names)  # noqa: E711
    found, expected = (MeasureClassifier(random_state=0).fit(X, y, groups=one) for one in (names, given))
    assert (found.coef_ == expected.coef_).all()


def test_folds_in_a_list_are_not_printed_row_by_row():
    X, y = rows()
    with pytest.raises(ValueError, match=r"cv=\[list of splits\] gives 1 fold: at least 2 are needed"):
        MeasureClassifier(cv=[(np.arange(30), np.arange(30, 60))]).fit(X, y)
