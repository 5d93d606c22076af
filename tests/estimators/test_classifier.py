"""MeasureClassifier as its users meet it."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ratewise import MeasureClassifier
from ratewise.measures import FBeta, GMean, get_measure, measure_names
from ratewise.solvers import Amp, Spade, Stamp, WeightedLogistic
from ratewise.solvers.logistic import PenalizedLogistic
from ratewise.training import trainer


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        3_000, n_features=8, n_informative=4, weights=[0.9], flip_y=0.02, class_sep=1.2, random_state=0
    )
    return train_test_split(X, y, stratify=y, random_state=0)


SOLVERS = [("f1", "stamp"), ("f1", "amp"), ("gmean", "spade")]


@pytest.mark.filterwarnings("ignore::ratewise.ConstraintWarning")  # so few rows promise no high precision
@pytest.mark.parametrize("name", measure_names())
def test_every_registered_measure_is_learned(name, data):
    X_train, X_test, y_train, y_test = data
    classifier = MeasureClassifier(name, random_state=0).fit(X_train, y_train)
    majority = get_measure(name).score(y_test, np.where(np.arange(y_test.size) == 0, 1, 0))
    everyone = get_measure(name).score(y_test, np.where(np.arange(y_test.size) == 0, 0, 1))
    assert classifier.score(X_test, y_test) > max(majority, everyone) + 0.01


@pytest.mark.parametrize(
    ("measure", "solver", "kind"),
    [
        ("qmean", "auto", Spade),
        ("jaccard", "auto", Stamp),
        ("f1", "amp", Amp),
        ("mcc", "logistic", WeightedLogistic),
    ],
)
def test_a_plain_fit_stores_its_solver(measure, solver, kind, data):
    """SPADE for concave and STAMP for pseudo-linear measures, unless another is named."""
    X_train, _, y_train, _ = data
    fitted = MeasureClassifier(measure, solver=solver, sharpen=False, random_state=0).fit(X_train, y_train)
    assert type(fitted.solver_) is kind


@pytest.mark.parametrize("measure", ["f1", "gmean"])
def test_a_sharpened_fit_stores_the_start_of_its_best_stage(measure, data, monkeypatch):
    X_train, _, y_train, _ = data
    selected, select = [], trainer.select
    monkeypatch.setattr(trainer, "select", lambda *a, **k: selected.append(select(*a, **k)) or selected[-1])
    fitted = MeasureClassifier(measure, random_state=0).fit(X_train, y_train)
    assert isinstance(fitted.solver_, WeightedLogistic | PenalizedLogistic)  # neither SPADE nor STAMP ran
    (selected,) = selected
    assert selected.best.startswith(fitted.solver_.label)
    assert selected.best in fitted.stages_ == selected.stages


@pytest.mark.parametrize(("measure", "solver"), SOLVERS)
def test_a_sharpened_fit_from_a_named_solver_stores_that(measure, solver, data):
    X_train, _, y_train, _ = data
    fitted = MeasureClassifier(measure, solver=solver, random_state=0).fit(X_train, y_train)
    assert fitted.solver_.name == solver
    assert all(stage.startswith(fitted.solver_.label) for stage in fitted.stages_)


def test_a_solver_whose_steps_were_shortened_is_stored_as_it_ran(data):
    X_train, _, y_train, _ = data
    asked = Spade(step=1e37, passes=2)
    with np.errstate(all="ignore"):
        fitted = MeasureClassifier("gmean", solver=asked, sharpen=False, random_state=0).fit(X_train, y_train)
    assert fitted.solver_.step < asked.step
    assert fitted.solver == asked


def test_score_is_the_measure_itself(data):
    X_train, X_test, y_train, y_test = data
    classifier = MeasureClassifier("f1", random_state=0).fit(X_train, y_train)
    assert classifier.score(X_test, y_test) == pytest.approx(f1_score(y_test, classifier.predict(X_test)))


def test_rates_are_those_of_the_training_rows(data):
    X_train, _, y_train, _ = data
    classifier = MeasureClassifier("gmean", sharpen=False, random_state=0).fit(X_train, y_train)
    predicted = classifier.predict(X_train)
    assert classifier.rates_.tpr == pytest.approx((predicted == 1)[y_train == 1].mean(), abs=1e-3)
    assert classifier.rates_.tnr == pytest.approx((predicted == 0)[y_train == 0].mean(), abs=1e-3)


@pytest.mark.parametrize(("measure", "solver"), SOLVERS)
def test_a_tuned_threshold_is_no_worse_on_the_training_rows_than_zero(measure, solver, data):
    X_train, _, y_train, _ = data
    values = {
        threshold: MeasureClassifier(measure, solver=solver, sharpen=False, threshold=threshold, random_state=0)
        .fit(X_train, y_train)
        .score(X_train, y_train)
        for threshold in ("tune", "zero")
    }
    assert values["tune"] >= values["zero"] - 1e-6


@pytest.mark.parametrize(("measure", "solver"), SOLVERS)
def test_the_same_random_state_gives_the_same_model_bit_for_bit(measure, solver, data):
    X_train, _, y_train, _ = data
    first, second = (
        MeasureClassifier(measure, solver=solver, random_state=3).fit(X_train, y_train) for _ in range(2)
    )
    np.testing.assert_array_equal(first.coef_, second.coef_)
    np.testing.assert_array_equal(first.intercept_, second.intercept_)


@pytest.mark.parametrize(("measure", "solver"), SOLVERS)
def test_float32_and_float64_input_agree(measure, solver, data):
    X_train, X_test, y_train, _ = data
    X_train, X_test = X_train.astype(np.float32), X_test.astype(np.float32)
    narrow, wide = (
        MeasureClassifier(measure, solver=solver, random_state=0).fit(X_train.astype(dtype), y_train)
        for dtype in (np.float32, np.float64)
    )
    np.testing.assert_allclose(narrow.coef_, wide.coef_, atol=2e-2)
    np.testing.assert_allclose(narrow.decision_function(X_test), wide.decision_function(X_test), atol=2e-2)


@pytest.mark.parametrize(("measure", "solver"), SOLVERS)
def test_csr_and_dense_rows_give_nearly_the_same_model_when_columns_are_left_alone(measure, solver, data):
    X_train, _, y_train, _ = data
    X_train = np.where(np.abs(X_train) < 0.5, 0.0, X_train)
    dense, csr = (
        MeasureClassifier(measure, solver=solver, standardize=False, sharpen=False, random_state=0).fit(X, y_train)
        for X in (X_train, sparse.csr_matrix(X_train))
    )
    np.testing.assert_allclose(csr.coef_, dense.coef_, atol=1e-3, rtol=1e-3)


def test_coefficients_are_in_the_users_units(data):
    """Columns in other units, same predictions: the coefficients carry the change."""
    X_train, X_test, y_train, _ = data
    units = 10.0 ** np.arange(-4, 4)
    shift = np.arange(8) * units
    plain = MeasureClassifier("qmean", random_state=0).fit(X_train, y_train)
    scaled = MeasureClassifier("qmean", random_state=0).fit(X_train * units + shift, y_train)
    np.testing.assert_allclose(scaled.coef_ * units, plain.coef_, rtol=1e-3, atol=1e-4)
    agree = scaled.predict(X_test * units + shift) == plain.predict(X_test)
    assert agree.mean() > 0.995
    scores = X_test @ plain.coef_[0] + plain.intercept_[0]
    np.testing.assert_allclose(plain.decision_function(X_test), scores)


@pytest.mark.parametrize("labels", [("no", "yes"), (-1, 1), (False, True), (3.0, 7.0)])
def test_any_two_labels_will_do(labels, data):
    X_train, X_test, y_train, y_test = data
    named = np.array(labels)[y_train]
    classifier = MeasureClassifier("f1", sharpen=False, random_state=0).fit(X_train, named)
    plain = MeasureClassifier("f1", sharpen=False, random_state=0).fit(X_train, y_train)
    assert classifier.classes_.tolist() == list(labels)
    np.testing.assert_array_equal(classifier.predict(X_test), np.array(labels)[plain.predict(X_test)])
    assert classifier.score(X_test, np.array(labels)[y_test]) == pytest.approx(plain.score(X_test, y_test))


@pytest.mark.slow
def test_pos_label_changes_the_measure_but_not_what_the_decision_function_stands_for(data):
    X_train, X_test, y_train, y_test = data
    flipped = MeasureClassifier("f1", pos_label=1, random_state=0).fit(X_train, 1 - y_train)
    plain = MeasureClassifier("f1", random_state=0).fit(X_train, y_train)
    # In the flipped problem class 0 is the rare one; training for it gives the plain model, mirrored.
    mirrored = MeasureClassifier("f1", pos_label=0, random_state=0).fit(X_train, 1 - y_train)
    np.testing.assert_allclose(mirrored.coef_, -plain.coef_)
    np.testing.assert_array_equal(mirrored.predict(X_test), 1 - plain.predict(X_test))
    np.testing.assert_array_equal(mirrored.predict(X_test), (mirrored.decision_function(X_test) > 0).astype(int))
    assert mirrored.score(X_test, 1 - y_test) == pytest.approx(plain.score(X_test, y_test))
    assert flipped.score(X_test, 1 - y_test) > mirrored.score(X_test, 1 - y_test)


def test_feature_names_are_kept_and_checked_for_pandas_and_polars(data):
    X_train, X_test, y_train, _ = data
    names = [f"column {i}" for i in range(8)]
    plain = MeasureClassifier("gmean", sharpen=False, random_state=0).fit(X_train, y_train)
    for frame in (pd.DataFrame, lambda X, columns: pl.DataFrame(X, schema=columns)):
        classifier = MeasureClassifier("gmean", sharpen=False, random_state=0).fit(
            frame(X_train, columns=names), y_train
        )
        assert classifier.feature_names_in_.tolist() == names
        np.testing.assert_array_equal(classifier.coef_, plain.coef_)
        np.testing.assert_array_equal(classifier.predict(frame(X_test, columns=names)), plain.predict(X_test))
        with pytest.raises(ValueError, match="feature names"):
            classifier.predict(frame(X_test, columns=[name.upper() for name in names]))


def test_sample_weights_shift_what_is_learned(data):
    """Weight on the positives makes them the common class: F1 then pays for recall."""
    X_train, X_test, y_train, y_test = data
    plain = MeasureClassifier("f1", random_state=0).fit(X_train, y_train)
    heavy = MeasureClassifier("f1", random_state=0).fit(X_train, y_train, np.where(y_train == 1, 20.0, 1.0))
    positive = y_test == 1
    assert (heavy.predict(X_test) == 1)[positive].mean() > (plain.predict(X_test) == 1)[positive].mean()


def test_only_the_proportions_of_sample_weights_matter(data):
    X_train, X_test, y_train, _ = data
    weights = np.random.default_rng(0).uniform(0.5, 2.0, y_train.size)
    once, thrice = (
        MeasureClassifier("gmean", random_state=0).fit(X_train, y_train, factor * weights) for factor in (1, 1024)
    )
    np.testing.assert_array_equal(once.predict(X_test), thrice.predict(X_test))


def test_rows_of_weight_zero_are_as_if_not_there(data):
    X_train, _, y_train, _ = data
    weights = np.where(np.arange(y_train.size) % 3 == 0, 0.0, 1.0)
    kept = weights > 0
    with_zeros = MeasureClassifier("jaccard", random_state=0).fit(X_train, y_train, weights)
    without = MeasureClassifier("jaccard", random_state=0).fit(X_train[kept], y_train[kept])
    np.testing.assert_array_equal(with_zeros.coef_, without.coef_)


@pytest.mark.parametrize("measure", ["f1", "gmean"])
def test_partial_fit_in_pieces_comes_near_fit(measure, data):
    X_train, X_test, y_train, y_test = data
    pieces = MeasureClassifier(measure, random_state=0)
    for _ in range(5):
        for start in range(0, y_train.size, 150):
            part = slice(start, start + 150)
            pieces.partial_fit(X_train[part], y_train[part], classes=[0, 1])
    whole = MeasureClassifier(measure, random_state=0).fit(X_train, y_train)
    assert pieces.score(X_test, y_test) > whole.score(X_test, y_test) - 0.06


def test_partial_fit_works_on_csr_rows_and_survives_pickling_half_way(data):
    X_train, X_test, y_train, _ = data
    X_train = sparse.csr_matrix(np.where(np.abs(X_train) < 0.3, 0.0, X_train))
    straight = MeasureClassifier("qmean", random_state=0)
    pickled = MeasureClassifier("qmean", random_state=0)
    for start in range(0, 2_000, 200):
        part = slice(start, start + 200)
        straight.partial_fit(X_train[part], y_train[part], classes=[0, 1])
        pickled = pickle.loads(pickle.dumps(pickled)).partial_fit(X_train[part], y_train[part], classes=[0, 1])
    np.testing.assert_array_equal(straight.coef_, pickled.coef_)
    np.testing.assert_array_equal(straight.predict(X_test), pickled.predict(X_test))


def test_partial_fit_accepts_a_first_piece_of_one_class(data):
    X_train, X_test, y_train, y_test = data
    negatives = X_train[y_train == 0][:100]
    classifier = MeasureClassifier("gmean", random_state=0)
    classifier.partial_fit(negatives, np.zeros(100, dtype=int), classes=[0, 1])
    for _ in range(3):
        classifier.partial_fit(X_train, y_train)
    assert classifier.score(X_test, y_test) > 0.6


def test_amp_says_why_it_has_no_partial_fit(data):
    with pytest.raises(AttributeError):
        _ = MeasureClassifier("f1", solver="amp").partial_fit
    assert hasattr(MeasureClassifier("f1"), "partial_fit")


def test_warm_start_goes_on_from_the_model_before(data):
    X_train, _, y_train, _ = data
    warm = MeasureClassifier("gmean", solver=Spade(passes=1), warm_start=True, sharpen=False, random_state=0)
    first = warm.fit(X_train, y_train).coef_.copy()
    second = warm.fit(X_train, y_train).coef_.copy()
    cold = clone(warm).set_params(warm_start=False).fit(X_train, y_train).coef_
    np.testing.assert_array_equal(cold, first)
    assert not np.array_equal(first, second)


def test_history_is_a_table_with_the_dual_pair_or_the_level(data):
    X_train, _, y_train, _ = data
    spade = MeasureClassifier("hmean", sharpen=False, random_state=0).fit(X_train, y_train).history_
    stamp = MeasureClassifier("f2", sharpen=False, random_state=0).fit(X_train, y_train).history_
    for table, own in ((spade, {"alpha", "beta"}), (stamp, {"level"})):
        assert set(table) >= {"pass", "points", "seconds", "tpr", "tnr", "value"} | own
        assert len({len(column) for column in table.values()}) == 1


def test_verbose_reports_progress_on_stderr_only(data, capsys):
    X_train, _, y_train, _ = data
    MeasureClassifier("f1", verbose=1).fit(X_train, y_train)
    written = capsys.readouterr()
    assert "tpr" in written.err
    assert written.out == ""


@pytest.mark.slow
def test_it_is_at_home_in_pipelines_and_searches():
    X, y = load_digits(return_X_y=True)
    model = make_pipeline(StandardScaler(), MeasureClassifier("f1", random_state=0))
    search = GridSearchCV(
        model, {"measureclassifier__measure": [FBeta(0.5), FBeta(1.0), "gmean"]}, scoring=GMean().scorer(), cv=3
    )
    search.fit(X, y == 8)
    assert search.best_score_ > 0.8
    assert cross_val_score(MeasureClassifier("gmean", random_state=0), X, y == 8, cv=3).min() > 0.8


def test_a_users_own_pseudo_linear_measure_needs_no_compiling(data):
    X_train, _, y_train, _ = data

    class MyF1(FBeta):
        """A plain Python subclass, not even a dataclass of its own."""

    mine = MeasureClassifier(MyF1(1.0), random_state=0).fit(X_train, y_train)
    plain = MeasureClassifier("f1", random_state=0).fit(X_train, y_train)
    np.testing.assert_array_equal(mine.coef_, plain.coef_)
