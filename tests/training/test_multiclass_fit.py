"""Many classes learned together."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ratewise.measures import get_measure
from ratewise.solvers import Sharpen, Stamp
from ratewise.solvers.base import History
from ratewise.solvers.multiclass import ClassRates, MulticlassModel
from ratewise.training import FitConfig, multiclass
from ratewise.training.labelled import LabelledRows
from ratewise.training.multiclass import (
    Descent,
    ForTheMeasure,
    _best_stages,
    _FoldJob,
    _folds,
    _mean,
    _Path,
    _Predictions,
    _predictions_of,
    _Stage,
    _to_unit_spread,
    batch_rows,
    for_the_likelihood,
    learn_classes,
    one_against_the_rest,
    passes_over,
    predicted_classes,
)
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


def labelled(X, codes, seed=0):
    standardizer = Standardizer(X.shape[1]).update(X)
    return LabelledRows(X, codes, np.ones(codes.size), 3, standardizer, np.random.default_rng(seed))


def asked(passes, **more):
    return FitConfig(get_measure("f1"), Stamp(), None, Sharpen(passes=passes), **more)


def value_of(model, rows, name="f1"):
    rates = ClassRates.of_predictions(rows.codes, predicted_classes(model, rows), rows.weights, 3)
    return rates.value(get_measure(name))


def nothing(n_features=2):
    return MulticlassModel(np.zeros((3, n_features)), np.zeros(3))


def last(stage):
    return list(stage)[-1][1]


def test_the_likelihood_stage_finds_what_logistic_regression_finds():
    X, codes = ring()
    rows = labelled(X, codes)
    ours = last(Descent(rows, nothing(), 1.0 / codes.size, np.random.default_rng(0)).stage(60, for_the_likelihood))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    theirs = LogisticRegression(tol=1e-8).fit(Z, codes)
    centred = ours.weights - ours.weights.mean(axis=0)
    np.testing.assert_allclose(centred, theirs.coef_, atol=0.15)


@pytest.mark.parametrize("name", ["f1", "gmean", "mcc", "min"])
def test_the_measures_stage_climbs_above_the_likelihoods(name):
    X, codes = ring()
    rows = labelled(X, codes)
    start = last(Descent(rows, nothing(), 1e-3, np.random.default_rng(0)).stage(30, for_the_likelihood))
    pull = ForTheMeasure(get_measure(name), rows, start)
    climbed = last(Descent(rows, start, 1e-5, np.random.default_rng(0)).stage(60, pull))
    assert value_of(climbed, rows, name) > value_of(start, rows, name) + 0.005


def test_the_outcome_does_not_depend_on_threads_and_its_rates_hold_on_new_rows():
    X, codes = ring()
    found = [
        learn_classes(labelled(X, codes), asked(16, threads=threads), None, np.random.default_rng(1), History())
        for threads in (1, 3)
    ]
    np.testing.assert_array_equal(found[0].model.weights, found[1].model.weights)
    X_new, codes_new = ring(4_000, seed=5)
    standardizer = Standardizer(2).update(X)
    new = LabelledRows(X_new, codes_new, np.ones(4_000), 3, standardizer, np.random.default_rng(0))
    expected = found[0].rates.value(get_measure("f1"))
    assert value_of(found[0].model, new) == pytest.approx(expected, abs=0.05)


def test_the_history_has_rows_for_every_fold_and_penalty():
    X, codes = ring(300)
    history = History()
    learn_classes(labelled(X, codes), asked(2), None, np.random.default_rng(0), history)
    assert set(history.table()["run"]) == set(range(15))


def test_one_against_the_rest_is_the_same_with_threads_and_names_the_class_in_the_history():
    X, codes = ring()
    found, histories = [], []
    for threads in (1, 3):
        histories.append(History())
        found.append(
            one_against_the_rest(
                labelled(X, codes),
                asked(1),
                Stamp(passes=2),
                None,
                np.random.default_rng(0),
                histories[-1],
                threads=threads,
            )
        )
    np.testing.assert_array_equal(found[0].weights, found[1].weights)
    assert set(histories[1].table()["class"]) == {0.0, 1.0, 2.0}


def adam(rows, model, l2, passes, pull_of, rng):
    """The mean models of all passes, as in the textbook, in double precision."""
    theta = np.vstack([model.weights.T, model.intercepts])
    first, second, done = np.zeros_like(theta), np.zeros_like(theta), 0
    size = min(0.2, rows.leverage() ** -0.8)
    in_all = passes * max(round(rows.n_points / batch_rows(rows)), 1)
    for _ in range(passes):
        met = []
        for X, codes, weights in rows.batches(batch_rows(rows), rng):
            scores = X.astype(np.float64) @ theta[:-1] + theta[-1]
            shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
            pulls = pull_of(shares, codes, weights)
            gradient = np.vstack([X.T @ pulls, pulls.sum(axis=0)]) / weights.sum()
            gradient[:-1] -= l2 * theta[:-1]
            done += 1
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            left = max(1.0 - done / (in_all + 1), 0.02)
            theta = theta + size * left * first / (1 - 0.9**done) * np.sqrt(1 - 0.999**done) / (
                np.sqrt(second) + 1e-8
            )
            met.append(theta)
        yield np.mean(met, axis=0)


@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_a_stage_takes_the_steps_of_adam_and_keeps_the_mean_of_each_pass(l2):
    X, codes = ring(700)
    weights = 0.5 + np.random.default_rng(8).random(700)
    standardizer = Standardizer(2).update(X)
    rows = LabelledRows(X, codes, weights, 3, standardizer, np.random.default_rng(0))
    begin = MulticlassModel(np.random.default_rng(1).normal(size=(3, 2)), np.array([0.5, 0.0, -0.5]))

    def likelihood(shares, codes, weights):
        return (np.eye(3)[codes] - shares) * weights[:, np.newaxis]

    slow = list(adam(rows, begin, l2, 3, likelihood, np.random.default_rng(2)))
    found = list(Descent(rows, begin, l2, np.random.default_rng(2)).stage(3, for_the_likelihood))
    assert [number for number, _ in found] == [1, 2, 3]
    for expected, (_, model) in zip(slow, found, strict=True):
        np.testing.assert_allclose(model.weights, expected[:-1].T, atol=2e-4)
        np.testing.assert_allclose(model.intercepts, expected[-1], atol=2e-4)


def test_the_measures_pull_is_its_slope_at_the_rates_of_the_last_batches():
    """By central differences: what a small change of a row's scores does to the macro average of soft counts."""
    X, codes = ring(600)
    rows = labelled(X, codes)
    model = MulticlassModel(np.random.default_rng(1).normal(size=(3, 2)), np.array([0.2, 0.0, -0.4]))
    measure = get_measure("gmean")
    pull = ForTheMeasure(measure, rows, model)
    (batch, *_) = rows.batches(150, np.random.default_rng(0))
    scores = rows.scores(*model).astype(np.float64)
    mine = batch.X.astype(np.float64) @ model.weights.T + model.intercepts
    keep, share = 1.0 - 1.0 / 4, 4 * 150 / 600  # four batches are remembered, of the 600 rows of the model

    def counts(scores, codes):
        shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        truth = np.eye(3)[codes]
        return np.array([(shares * truth).sum(axis=0), shares.sum(axis=0), truth.sum(axis=0)])

    before = keep * share * counts(scores, rows.codes)

    def value(mine):
        hits, calls, totals = before + counts(mine, batch.codes)
        tpr, tnr = hits / totals, 1 - (calls - hits) / (totals.sum() - totals)
        return np.mean(measure.value(tpr, tnr, np.full(3, 1 / 3)))

    shares = np.exp(mine) / np.exp(mine).sum(axis=1, keepdims=True)
    pulls = pull(shares.astype(np.float32), batch)
    remembered = (before + counts(mine, batch.codes))[2].sum()
    for row, column in [(0, 0), (7, 1), (40, 2)]:
        moved = [mine.copy(), mine.copy()]
        moved[0][row, column] += 1e-3
        moved[1][row, column] -= 1e-3
        slope = (value(moved[0]) - value(moved[1])) / 2e-3
        assert pulls[row, column] / remembered == pytest.approx(slope, rel=0.05, abs=1e-7)


@pytest.mark.parametrize(
    ("rows", "columns", "values", "expected"),
    [
        (10_000, 5, 50_000, 256),
        (800, 5, 4_000, 200),  # four batches in a pass, at least
        (3, 5, 15, 1),
        (10_000, 2_000, 40_000, 500),  # wide rows with 4 entries each: a step touches every column
    ],
)
def test_batches_are_of_256_rows_but_for_few_and_for_wide_ones(rows, columns, values, expected):
    assert batch_rows(SimpleNamespace(n_points=rows, n_features=columns, n_values=values)) == expected


@pytest.mark.parametrize(
    ("rows", "expected"), [(500_000, 8), (51_200, 10), (10_000, 52), (1_000, 64), (999, 32), (100, 32)]
)
def test_passes_are_so_many_that_there_are_2000_steps_within_reason(rows, expected):
    assert passes_over(SimpleNamespace(n_points=rows, n_features=2, n_values=2 * rows)) == expected


def test_candidates_are_the_models_after_powers_of_two_and_the_last():
    X, codes = ring(300)
    path = _Path(asked(5), None, 5)
    found = [(name, passes) for name, passes, _ in path.models(labelled(X, codes), 0.01, np.random.default_rng(0))]
    assert found == [
        *((f"logistic, {k} passes", k) for k in (1, 2, 4, 5)),
        *((f"macro average, {k} passes", 5 + k) for k in (1, 2, 4, 5)),
    ]


@pytest.mark.parametrize(
    ("rows", "fraction", "expected"),
    [
        (300, None, [(0, 60), (60, 120), (120, 180), (180, 240), (240, 300)]),
        (300, 0.25, [(0, 75), (75, 150), (150, 225), (225, 300)]),
        (300, 0.9, [(0, 150), (150, 300)]),
        (3, None, [(0, 1), (1, 2), (2, 3)]),
        (5_000, None, [(0, 1_000)]),
        (4_999, 0.5, [(0, 2_499), (2_499, 4_999)]),
    ],
)
def test_each_fifth_of_few_rows_validates_and_one_fifth_of_many(rows, fraction, expected):
    X, codes = ring(rows)
    assert _folds(labelled(X, codes), fraction, np.random.default_rng(0))[1] == expected


def test_a_fold_learns_from_all_other_rows_and_calls_its_own():
    X, codes = ring(200)
    rows = labelled(X, codes)
    history, met = History(), []

    class Path:
        settings = asked(1)

        def models(self, learned, penalty, rng):
            met.append((learned, penalty))
            yield "only", 3, MulticlassModel(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]), np.zeros(3))

    job = _FoldJob(4, (50, 90), 0.5, np.random.default_rng(0))
    (stage,) = found = _predictions_of(job, Path(), rows, history, kept=10)
    ((learned, penalty),) = met
    assert stage == _Stage("only", 0.5)
    assert penalty == 0.5
    assert learned.codes.tolist() == [*rows.codes[:50], *rows.codes[90:]]
    model = MulticlassModel(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]), np.zeros(3))
    assert found[stage].called.tolist() == predicted_classes(model, rows)[50:90].tolist()
    noted = {name: column.tolist() for name, column in history.table().items()}
    assert (noted["run"], noted["pass"], noted["points"]) == ([4], [3], [3 * 160])
    right = found[stage].called == rows.codes[50:90]
    hits = [right[rows.codes[50:90] == k].mean() for k in range(3)]
    assert noted["tpr"] == pytest.approx([np.mean(hits)])


def test_stages_that_validation_rows_cannot_tell_apart_are_kept_together():
    """Of 400 rows stage a is right on 360, b on 358, c on 355: half a standard error is three rows."""
    X, codes = ring(400)
    rows = labelled(X, codes)

    def calls(right):
        return np.where(np.arange(400) < right, rows.codes, (rows.codes + 1) % 3)

    jobs = [_FoldJob(k, ((0, 160), (160, 400))[k], 0.1, None) for k in range(2)]
    found = []
    for job in jobs:
        start, stop = job.validation
        found.append(
            {
                _Stage(name, 0.1): _Predictions(calls(n)[start:stop], np.zeros((0, 3)))
                for name, n in {"a": 360, "b": 358, "c": 355}.items()
            }
        )
    best, alike, rates = _best_stages(found, jobs, rows, get_measure("f1"))
    assert best.name == "a"
    assert [stage.name for stage in alike] == ["a", "b"]
    expected = ClassRates.of_predictions(rows.codes, calls(360), rows.weights, 3)
    assert rates.tpr.tolist() == expected.tpr.tolist()


def test_models_are_averaged_after_their_scores_were_brought_to_one_spread():
    X, codes = ring(300)
    rows = labelled(X, codes)
    model = MulticlassModel(np.array([[3.0, 1.0], [0.0, 1.0], [0.0, 4.0]]), np.array([7.0, 1.0, 1.0]))
    brought = _to_unit_spread(model, rows)
    scores = rows.scores(*brought)
    assert scores.std() == pytest.approx(1.0, rel=1e-5)
    assert brought.weights.sum(axis=0) == pytest.approx(np.zeros(2), abs=1e-12)
    assert brought.intercepts.sum() == pytest.approx(0.0, abs=1e-12)
    assert (scores.argmax(axis=1) == rows.scores(*model).argmax(axis=1)).all()
    mean = _mean([brought, MulticlassModel(3 * brought.weights, 5 * brought.intercepts)])
    np.testing.assert_allclose(mean.weights, 2 * brought.weights)
    np.testing.assert_allclose(mean.intercepts, 3 * brought.intercepts)


@pytest.mark.parametrize(("code", "certain"), [(1, 30.0), (0, -30.0)])
def test_a_class_of_all_rows_is_certain_and_one_of_none_is_never_called(code, certain):
    X = ring(60)[0]
    rows = labelled(X, np.ones(60, dtype=int))
    found = one_against_the_rest(rows, asked(1), Stamp(passes=1), None, np.random.default_rng(0), History())
    assert found.intercepts[code] == certain
    assert not found.weights.any()


def test_scores_against_the_rest_are_log_odds():
    """In a tenth of rows by their score for a class, as many are of it as their mean probability says."""
    X, codes = ring(6_000)
    rows = labelled(X, codes)
    found = one_against_the_rest(rows, asked(1), Stamp(passes=4), None, np.random.default_rng(0), History())
    scores = rows.scores(*found)
    for k in range(3):
        probability = 1.0 / (1.0 + np.exp(-scores[:, k]))
        assert probability.mean() == pytest.approx((rows.codes == k).mean(), abs=0.01)
    raw = one_against_the_rest(
        rows, asked(1), Stamp(passes=4), None, np.random.default_rng(0), History(), calibrate=False
    )
    slopes = np.linalg.norm(found.weights, axis=1) / np.linalg.norm(raw.weights, axis=1)
    np.testing.assert_allclose(found.weights, slopes[:, np.newaxis] * raw.weights, rtol=1e-6)


def test_so_many_rows_of_each_fold_are_kept_for_probabilities(monkeypatch):
    monkeypatch.setattr(multiclass, "_CALIBRATED_VALUES", 3 * 5 * 4)
    rows = labelled(*ring(200))
    found = learn_classes(rows, asked(1), None, np.random.default_rng(0), History())
    assert found.validated.codes.size == 5 * 4
    assert found.validated.scores.shape == (20, 3)


def test_without_sharpening_offsets_make_the_macro_average_better():
    X, codes = ring(600)
    rows = labelled(X[codes != 2 * (np.arange(600) % 2)], codes[codes != 2 * (np.arange(600) % 2)])
    values = []
    for tune in (False, True):
        settings = FitConfig(get_measure("f1"), Stamp(passes=2), None, None, tune=tune)
        found = learn_classes(rows, settings, None, np.random.default_rng(0), History())
        values.append(value_of(found.model, rows))
        assert found.rates.value(get_measure("f1")) == pytest.approx(values[-1])
        called = predicted_classes(found.model, rows)
        np.testing.assert_allclose(found.rates.tpr, [(called[rows.codes == k] == k).mean() for k in range(3)])
    assert values[1] > values[0]


@pytest.mark.parametrize("n", [900, 20_000])
def test_the_soft_counts_begin_as_if_the_last_batches_had_been_met(n):
    rows = labelled(*ring(n))
    model = MulticlassModel(np.array([[1.0, 0.0], [-1.0, 1.0], [0.0, -1.0]]), np.zeros(3))
    counts = ForTheMeasure(get_measure("f1"), rows, model)._counts
    batches = max(min(multiclass._REMEMBERED_BATCHES, n // batch_rows(rows)), multiclass._FEWEST_BATCHES)
    assert counts[2].sum() == pytest.approx(batches * batch_rows(rows))
    assert counts[1].sum() == pytest.approx(counts[2].sum())
    np.testing.assert_allclose(counts[2] / counts[2].sum(), np.bincount(rows.codes) / n)
