"""Many classes learned together, and each against the rest."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ratewise.decisions.class_offsets import best_offsets
from ratewise.measures import confusion_measure, get_measure
from ratewise.solvers import Sharpen, Stamp
from ratewise.solvers.base import History
from ratewise.solvers.softmax import ClassTask, ClimbMeasure, MaximizeLikelihood, at_once, in_passes
from ratewise.training import FitConfig, config
from ratewise.training.labelled import MulticlassRows
from ratewise.training.multiclass import ClassPlan, learn_classes, one_against_the_rest
from ratewise.training.source import ALL_ROWS
from ratewise.transforms import Standardizer


def ring(n=900, seed=0):
    """Three classes in a plane; a fifth of the rows of each lie far on the wrong side, which log loss minds."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(3, size=n)
    angle = 2 * np.pi * codes / 3
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.4 * rng.normal(size=(n, 2))
    astray = (codes == 0) & (rng.random(n) < 0.3)
    X[astray] *= -6.0
    return X, codes


def labelled(X, codes, seed=0, weights=None, n_classes=3):
    weights = np.ones(codes.size) if weights is None else weights
    standardizer = Standardizer(X.shape[1]).update(X)
    return MulticlassRows(X, codes, weights, n_classes, standardizer, np.random.default_rng(seed))


def asked(passes="auto", name="f1", **more):
    return FitConfig(
        get_measure("f1"), Stamp(), None, Sharpen(passes=passes), of_many=confusion_measure(name), **more
    )


def task_of(rows, name="f1"):
    return ClassTask(confusion_measure(name), rows.shape())


def value_of(model, rows, name="f1"):
    return float(confusion_measure(name).value(rows.scored(model).table()))


def cut(model, rows, name):
    """The model with the best offsets."""
    return model.plus(best_offsets(rows.scored(model), confusion_measure(name)))


def models_of(path, rows):
    (found,) = rows.follow([(ALL_ROWS, path)], np.random.default_rng(0), 1)
    return {one.stage: one.model for one in found}


@pytest.mark.parametrize("C", [0.1, 3.0])
def test_the_likelihood_at_once_is_scikit_learns_logistic_regression(C):
    X, codes = ring()
    rows = labelled(X, codes)
    (ours,) = models_of(at_once(task_of(rows), [0.0], [C], []), rows).values()
    theirs = LogisticRegression(C=C, tol=1e-8).fit((X - X.mean(axis=0)) / X.std(axis=0), codes)
    np.testing.assert_allclose(ours.weights - ours.weights.mean(axis=0), theirs.coef_, atol=0.02)


def test_class_weights_at_once_are_scikit_learns_balanced_ones():
    X, codes = ring()
    kept = (codes != 2) | (np.arange(codes.size) % 5 == 0)
    X, codes = X[kept], codes[kept]
    rows = labelled(X, codes)
    (ours,) = models_of(at_once(task_of(rows), [1.0], [1.0], []), rows).values()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    theirs = LogisticRegression(class_weight="balanced", tol=1e-8).fit(Z, codes)
    np.testing.assert_allclose(ours.weights - ours.weights.mean(axis=0), theirs.coef_, atol=0.02)


def test_passes_over_the_rows_come_near_the_likelihood_at_once():
    X, codes = ring(20_000)
    rows = labelled(X, codes)
    (at_the_end,) = models_of(at_once(task_of(rows), [0.0], [1e6], []), rows).values()
    (in_three,) = models_of(in_passes(task_of(rows), [0.0], 3, []), rows).values()
    assert value_of(in_three, rows) == pytest.approx(value_of(at_the_end, rows), abs=0.01)


@pytest.mark.parametrize(
    ("way", "name"),
    [
        *(
            ("at once", name)
            for name in ("f1", "gmean", "mcc", "min", "macro-gmean", "quadratic-kappa", "micro-f1")
        ),
        ("in passes", "f1"),
        ("in passes", "mcc"),
    ],
)
def test_a_climb_ends_above_the_likelihood_it_starts_from(way, name):
    X, codes = ring(4_000)
    rows = labelled(X, codes)
    task = task_of(rows, name)
    path = at_once(task, [0.0], [3.0], [40]) if way == "at once" else in_passes(task, [0.0], 3, [4])
    start, climbed = (cut(model, rows, name) for model in models_of(path, rows).values())
    assert value_of(climbed, rows, name) > value_of(start, rows, name) + 0.005


def test_only_stages_that_are_wanted_are_made_and_the_start_of_a_climb_with_them():
    X, codes = ring(300)
    rows = labelled(X, codes)
    task = task_of(rows)
    everything = list(models_of(at_once(task, [0.0, 1.0], [0.1, 3.0], [8, 40]), rows))
    assert len(everything) == 6
    path = at_once(task, [0.0, 1.0], [0.1, 3.0], [8, 40], wanted=[everything[0], everything[4]])
    requests = [next(path)]
    for _ in range(2):
        requests.append(path.send(requests[-1].start))
    with pytest.raises(StopIteration):
        path.send(requests[-1].start)
    assert [type(one) for one in requests] == [MaximizeLikelihood, MaximizeLikelihood, ClimbMeasure]
    assert requests[-1].steps == 8


def test_the_outcome_does_not_depend_on_threads_and_its_rates_hold_on_new_rows():
    X, codes = ring()
    found = [
        learn_classes(labelled(X, codes), asked(threads=threads), None, np.random.default_rng(1), History())
        for threads in (1, 3)
    ]
    np.testing.assert_array_equal(found[0].model.weights, found[1].model.weights)
    X_new, codes_new = ring(4_000, seed=5)
    standardizer = Standardizer(2).update(X)
    new = MulticlassRows(X_new, codes_new, np.ones(4_000), 3, standardizer, np.random.default_rng(0))
    expected = float(confusion_measure("f1").value(found[0].table))
    assert value_of(found[0].model, new) == pytest.approx(expected, abs=0.05)


def test_the_history_has_a_row_for_every_stage():
    X, codes = ring(900)
    history = History()
    learn_classes(labelled(X, codes), asked(), None, np.random.default_rng(0), history)
    table = history.table()
    assert len(table["value"]) == 1 + len(config.CLASS_CLIMBS)  # rows in plenty need no strong penalty
    assert (table["value"] > 0.5).all()


def test_rows_that_are_few_for_their_columns_do_not_climb():
    X, codes = ring(900)
    few = labelled(X[:80], codes[:80])
    assert ClassPlan.of(few.shape(), asked()).climbs == ()
    assert ClassPlan.of(labelled(X, codes).shape(), asked()).climbs == config.CLASS_CLIMBS
    assert ClassPlan.of(few.shape(), asked(5)).climbs == (5,)  # the user's own number


def test_classes_of_about_one_size_need_no_class_weights():
    X, codes = ring(900)
    assert ClassPlan.of(labelled(X, codes).shape(), asked()).exponents == (0.0,)
    kept = (codes != 2) | (np.arange(codes.size) % 5 == 0)
    assert len(ClassPlan.of(labelled(X[kept], codes[kept]).shape(), asked()).exponents) == 3


@pytest.mark.parametrize(("rows", "fraction", "folds"), [(300, None, 5), (300, 0.25, 4), (4, None, 4)])
def test_every_fold_of_few_rows_validates(rows, fraction, folds):
    X, codes = ring(rows)
    plan = ClassPlan.of(labelled(X, codes).shape(), asked(validation_fraction=fraction))
    assert (plan.folds, plan.all_folds) == (folds, True)


def test_offsets_that_validation_rows_cannot_vouch_for_are_left_out():
    """Five rows a class can always be fitted a little better by moving the cuts."""
    X, codes = ring(60)
    found = learn_classes(labelled(X, codes), asked(), None, np.random.default_rng(0), History())
    np.testing.assert_array_equal(found.validated.table(), found.table)


def test_one_against_the_rest_is_the_same_with_threads_and_names_the_class_in_the_history():
    X, codes = ring(300)
    rows, found, tables = labelled(X, codes), [], []
    for threads in (1, 3):
        history = History()
        settings = asked(2)
        rng = np.random.default_rng(2)
        model = one_against_the_rest(rows, settings, Stamp(passes=2), None, rng, history, threads=threads)
        found.append(model)
        tables.append(history.table())
    np.testing.assert_array_equal(found[0].weights, found[1].weights)
    assert set(tables[0]["class"]) == {0.0, 1.0, 2.0}


@pytest.mark.parametrize(("code", "certain"), [(0, True), (1, False)])
def test_a_class_of_all_rows_is_certain_and_one_of_none_is_never_predicted(code, certain):
    X, _ = ring(50)
    rows = labelled(X, np.zeros(50, dtype=int), n_classes=2)
    model = one_against_the_rest(rows, asked(2), Stamp(passes=2), None, np.random.default_rng(0), History())
    assert (model.intercepts[code] > 0) == certain
    assert not model.weights[code].any()


def test_scores_against_the_rest_are_log_odds():
    """In the mean as many rows are of a class as their probabilities say; scores keep their direction."""
    X, codes = ring(6_000)
    rows = labelled(X, codes)
    found, raw = (
        one_against_the_rest(
            rows, asked(1), Stamp(passes=4), None, np.random.default_rng(0), History(), calibrate=calibrate
        )
        for calibrate in (True, False)
    )
    scores = rows.scores(*found)
    for k in range(3):
        probability = 1.0 / (1.0 + np.exp(-scores[:, k]))
        assert probability.mean() == pytest.approx((rows.codes == k).mean(), abs=0.01)
    slopes = np.linalg.norm(found.weights, axis=1) / np.linalg.norm(raw.weights, axis=1)
    np.testing.assert_allclose(found.weights, slopes[:, np.newaxis] * raw.weights, rtol=1e-6)


def test_without_sharpening_offsets_make_the_macro_average_better():
    X, codes = ring(600)
    kept = codes != 2 * (np.arange(600) % 2)
    rows = labelled(X[kept], codes[kept])
    values = []
    for tune in (False, True):
        settings = FitConfig(get_measure("f1"), Stamp(passes=2), None, None, tune=tune)
        found = learn_classes(rows, settings, None, np.random.default_rng(0), History())
        values.append(value_of(found.model, rows))
        assert float(confusion_measure("f1").value(found.table)) == pytest.approx(values[-1])
    assert values[1] > values[0]
