"""Many classes learned together, and each against the rest."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression

from ratewise.decisions.class_offsets import best_offsets
from ratewise.measures import confusion_measure, get_measure
from ratewise.solvers import Sharpen, Stamp, Task
from ratewise.solvers.base import History
from ratewise.solvers.requests import ClimbMeasure, MaximizeLikelihood
from ratewise.solvers.softmax import ClassesAtOnce, ClassesInPasses
from ratewise.training import ArraySource, FitConfig, config
from ratewise.training.folds import ALL_ROWS
from ratewise.training.multiclass import ClassPlan, ClassTrainer, one_against_the_rest
from ratewise.training.targets import class_targets, codes_of


def ring(n=900, seed=0):
    """Three classes in a plane; a fifth of the rows of each lie far on the wrong side, which log loss minds."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(3, size=n)
    angle = 2 * np.pi * codes / 3
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.4 * rng.normal(size=(n, 2))
    astray = (codes == 0) & (rng.random(n) < 0.3)
    X[astray] *= -6.0
    return X, codes


def labelled(X, codes, seed=0, n_classes=3, threads=1):
    targets = class_targets(codes, np.ones(codes.size))
    return ArraySource(X, targets, np.random.default_rng(seed), n_classes=n_classes, threads=threads)


def rows_of(source):
    """All rows of a source, standardized."""
    return source.transformed(source.transform(standardize=True, whiten=False)).training_rows(ALL_ROWS)


def asked(passes="auto", name="f1", **more):
    return FitConfig(
        get_measure("f1"), Stamp(), None, Sharpen(passes=passes), of_many=confusion_measure(name), **more
    )


def plan_of(source, settings):
    return ClassPlan.of(source.statistics(), settings, settings.of_many)


def value_of(model, rows, name="f1"):
    return float(confusion_measure(name).value(rows.class_scores(model).table()))


def cut(model, rows, name):
    """The model with the best offsets."""
    return model.plus(best_offsets(rows.class_scores(model), confusion_measure(name)))


def models_of(algorithm, source, name="f1"):
    training = source.transformed(source.transform(standardize=True, whiten=False))
    task = Task(confusion_measure(name), source.statistics().n_features, n_classes=3)
    (run,) = training.train([(ALL_ROWS, algorithm.start(task))])
    return {one.stage: one.model for one in run.result}


@pytest.mark.parametrize("C", [0.1, 3.0])
def test_the_likelihood_at_once_is_scikit_learns_logistic_regression(C):
    X, codes = ring()
    (ours,) = models_of(ClassesAtOnce((0.0,), (C,), ()), labelled(X, codes)).values()
    theirs = LogisticRegression(C=C, tol=1e-8).fit((X - X.mean(axis=0)) / X.std(axis=0), codes)
    np.testing.assert_allclose(ours.weights - ours.weights.mean(axis=0), theirs.coef_, atol=0.02)


def test_class_weights_at_once_are_scikit_learns_balanced_ones():
    X, codes = ring()
    kept = (codes != 2) | (np.arange(codes.size) % 5 == 0)
    X, codes = X[kept], codes[kept]
    (ours,) = models_of(ClassesAtOnce((1.0,), (1.0,), ()), labelled(X, codes)).values()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    theirs = LogisticRegression(class_weight="balanced", tol=1e-8).fit(Z, codes)
    np.testing.assert_allclose(ours.weights - ours.weights.mean(axis=0), theirs.coef_, atol=0.02)


def log_loss_of(model, rows):
    scores, codes, _ = rows.class_scores(model)
    return float(np.mean(logsumexp(scores, axis=1) - scores[np.arange(codes.size), codes]))


def test_passes_over_the_rows_come_near_the_likelihood_at_once():
    source = labelled(*ring(20_000))
    (at_the_end,) = models_of(ClassesAtOnce((0.0,), (1e6,), ()), source).values()
    losses = [
        log_loss_of(*models_of(ClassesInPasses((0.0,), passes, ()), source).values(), rows_of(source))
        for passes in (1, 10)
    ]
    least = log_loss_of(at_the_end, rows_of(source))
    assert least < losses[1] < losses[0]
    assert losses[1] < least + 0.01


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
    source = labelled(X, codes)
    at_once, in_passes = ClassesAtOnce((0.0,), (3.0,), (40,)), ClassesInPasses((0.0,), 3, (4,))
    models = models_of(at_once if way == "at once" else in_passes, source, name)
    rows = rows_of(source)
    start, climbed = (cut(model, rows, name) for model in models.values())
    assert value_of(climbed, rows, name) > value_of(start, rows, name) + 0.005


def test_only_stages_that_are_wanted_are_made_and_the_start_of_a_climb_with_them():
    X, codes = ring(300)
    everything = ClassesAtOnce((0.0, 1.0), (0.1, 3.0), (8, 40))
    stages = list(models_of(everything, labelled(X, codes)))
    assert len(stages) == 6
    wanted = dataclasses.replace(everything, wanted=(stages[0], stages[4]))
    run = wanted.start(Task(confusion_measure("f1"), 2, n_classes=3))
    requests, seen = [], rows_of(labelled(X, codes)).summary
    while not run.finished:
        requests.append(run.request(seen))
        run.receive(requests[-1].start)
    assert [type(one) for one in requests] == [MaximizeLikelihood, MaximizeLikelihood, ClimbMeasure]
    assert requests[-1].steps == 8


def test_the_outcome_does_not_depend_on_threads_and_its_rates_hold_on_new_rows():
    X, codes = ring()
    found = [ClassTrainer(asked(), History()).fit(labelled(X, codes, threads=threads)) for threads in (1, 3)]
    np.testing.assert_array_equal(found[0].coef, found[1].coef)
    X_new, codes_new = ring(4_000, seed=5)
    scores = X_new @ found[0].coef.T + found[0].intercept
    value = confusion_measure("f1").score(codes_new, scores.argmax(axis=1))
    assert value == pytest.approx(float(confusion_measure("f1").value(found[0].table)), abs=0.05)


def test_the_history_has_a_row_for_every_stage():
    X, codes = ring(900)
    history = History()
    ClassTrainer(asked(), history).fit(labelled(X, codes))
    table = history.table()
    assert len(table["value"]) == 1 + len(config.CLASS_CLIMBS)  # rows in plenty need no strong penalty
    assert (table["value"] > 0.5).all()


def test_rows_that_are_few_for_their_columns_do_not_climb():
    X, codes = ring(900)
    few = labelled(X[:80], codes[:80])
    assert plan_of(few, asked()).climbs == ()
    assert plan_of(labelled(X, codes), asked()).climbs == config.CLASS_CLIMBS
    assert plan_of(few, asked(5)).climbs == (5,)  # the user's own number


def test_models_that_are_to_keep_bounds_do_not_climb():
    X, codes = ring()
    bounded = dataclasses.replace(asked(), of_many=confusion_measure("macro-f1-at-recall-0.5"))
    found = ClassTrainer(bounded, History()).fit(labelled(X, codes))
    assert not any("climbed" in stage for stage in found.stages)
    free = ClassTrainer(asked(), History()).fit(labelled(X, codes))
    assert any("climbed" in stage for stage in free.stages)


def test_classes_of_about_one_size_need_no_class_weights():
    X, codes = ring(900)
    assert plan_of(labelled(X, codes), asked()).exponents == (0.0,)
    kept = (codes != 2) | (np.arange(codes.size) % 5 == 0)
    assert len(plan_of(labelled(X[kept], codes[kept]), asked()).exponents) == 3


def test_where_every_class_has_plenty_of_rows_all_of_them_learn_and_choose():
    source = labelled(*ring(config.CLASS_FOLD_ROWS + 500))
    plan = plan_of(source, asked())
    assert (plan.folds, plan.batch) == (1, False)
    assert plan_of(source, asked(validation_fraction=0.25)).folds == 4
    assert ClassPlan.of(source.statistics(), asked(), confusion_measure("f1"), bounded=True).folds == 5
    found = ClassTrainer(asked(), History()).fit(source)
    assert found.table.sum() == pytest.approx(config.CLASS_FOLD_ROWS + 500)


def scarce(n):
    """Rows of which a hundredth are of the last class, too few for a column."""
    X, codes = ring(n)
    kept = (codes != 2) | (np.arange(n) % 90 == 0)
    return X[kept], codes[kept]


def test_a_sample_of_each_class_has_all_rows_of_small_ones_and_weighs_as_all():
    X, codes = scarce(9_000)
    thinned = labelled(X, codes).thinned(600).statistics()
    counts = np.bincount(codes)
    np.testing.assert_array_equal(thinned.of_classes.rows, [200, 200, counts[2]])
    np.testing.assert_allclose(thinned.of_classes.weights / thinned.rows, counts / codes.size, rtol=1e-5)


def test_many_rows_with_a_scarce_class_are_learned_from_a_sample_at_once(monkeypatch):
    X, codes = scarce(12_000)
    monkeypatch.setattr(config, "CLASS_BATCH_ROWS", 1_000)
    found = ClassTrainer(asked(), History()).fit(labelled(X, codes))
    assert all("steps" in stage or "C 3" in stage for stage in found.stages)
    assert found.table.sum() < 1_000
    plentiful = ring(12_000)
    assert ClassTrainer(asked(), History()).fit(labelled(*plentiful)).table.sum() > 10_000


def test_intervals_count_the_rows_that_the_rates_were_counted_on_by_their_weights():
    X, codes = ring()
    uneven = np.where(np.arange(codes.size) % 2, 1.9, 0.1)
    widths = []
    for weights in (np.ones(codes.size), uneven):
        source = ArraySource(X, class_targets(codes, weights), np.random.default_rng(0), n_classes=3)
        found = ClassTrainer(asked(), History()).fit(source)
        widths.append(np.mean([high - low for low, high in (one.tpr for one in found.interval)]))
    assert widths[1] > 1.2 * widths[0]


@pytest.mark.parametrize(("rows", "fraction", "folds"), [(300, None, 5), (300, 0.25, 4), (4, None, 4)])
def test_every_fold_of_few_rows_validates(rows, fraction, folds):
    X, codes = ring(rows)
    plan = plan_of(labelled(X, codes), asked(validation_fraction=fraction))
    assert (plan.folds, plan.all_folds) == (folds, True)


def test_offsets_that_validation_rows_cannot_vouch_for_are_left_out():
    """Twenty rows a class can always be fitted a little better by moving the cuts."""
    X, codes = ring(60)
    found = ClassTrainer(asked(), History()).fit(labelled(X, codes))
    assert found.intercept.mean() == pytest.approx(0.0, abs=1e-12)  # an offset would move one of them


def test_one_against_the_rest_is_the_same_with_threads_and_names_the_class_in_the_history():
    X, codes = ring(300)
    found, tables = [], []
    for threads in (1, 3):
        history = History()
        model = one_against_the_rest(
            rows_of(labelled(X, codes)), asked(2), Stamp(passes=2), None, history, threads=threads
        )
        found.append(model)
        tables.append(history.table())
    np.testing.assert_array_equal(found[0].weights, found[1].weights)
    assert set(tables[0]["class"]) == {0.0, 1.0, 2.0}


@pytest.mark.parametrize(("code", "certain"), [(0, True), (1, False)])
def test_a_class_of_all_rows_is_certain_and_one_of_none_is_never_predicted(code, certain):
    X, _ = ring(50)
    rows = rows_of(labelled(X, np.zeros(50, dtype=int)))
    model = one_against_the_rest(rows, asked(2), Stamp(passes=2), None, History())
    assert (model.intercepts[code] > 0) == certain
    assert not model.weights[code].any()


def test_scores_against_the_rest_are_log_odds():
    """In the mean as many rows are of a class as their probabilities say; scores keep their direction."""
    X, codes = ring(6_000)
    found, raw = (
        one_against_the_rest(
            rows_of(labelled(X, codes)), asked(1), Stamp(passes=4), None, History(), calibrate=calibrate
        )
        for calibrate in (True, False)
    )
    rows = rows_of(labelled(X, codes))
    scores = rows.class_scores(found).scores
    for k in range(3):
        probability = 1.0 / (1.0 + np.exp(-scores[:, k]))
        assert probability.mean() == pytest.approx((codes_of(rows.targets) == k).mean(), abs=0.01)
    slopes = np.linalg.norm(found.weights, axis=1) / np.linalg.norm(raw.weights, axis=1)
    np.testing.assert_allclose(found.weights, slopes[:, np.newaxis] * raw.weights, rtol=1e-6)


def test_without_sharpening_offsets_make_the_macro_average_better():
    X, codes = ring(600)
    kept = codes != 2 * (np.arange(600) % 2)
    values = []
    for tune in (False, True):
        settings = FitConfig(get_measure("f1"), Stamp(passes=2), None, None, tune=tune)
        found = ClassTrainer(settings, History()).fit(labelled(X[kept], codes[kept]))
        scores = X[kept] @ found.coef.T + found.intercept
        values.append(confusion_measure("f1").score(codes[kept], scores.argmax(axis=1)))
        assert float(confusion_measure("f1").value(found.table)) == pytest.approx(values[-1])
    assert values[1] > values[0]
