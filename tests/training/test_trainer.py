"""The parts of the one fit: shares of passes, shorter steps after divergence, the best of several runs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from ratewise.decisions.intervals import ModelShift, rates_interval
from ratewise.measures import FBeta, GMean, TPRAtTNR
from ratewise.solvers import LinearModel, Sharpen, Spade, Stamp, Task, WeightedLogistic
from ratewise.solvers.base import History, Scores
from ratewise.training import ArraySource, DataShape, FitConfig, Trainer, config
from ratewise.training.online import OnlineFit
from ratewise.training.selection import SelectionPlan
from ratewise.training.trainer import best_stage, may_whiten, share_passes, trained_with_care


@pytest.mark.parametrize(
    ("asked", "starts", "sharpening"),
    [(None, (8, 2), 16), (10, (5, 2), 5), (1, (1, 1), 0), (2, (1, 1), 1), (20, (8, 2), 12), (7, (3, 2), 4)],
)
def test_up_to_half_of_the_passes_asked_for_go_to_the_start(asked, starts, sharpening):
    given = [WeightedLogistic(0.0, 8), WeightedLogistic(1.0, 2)]
    found, left = share_passes(given, 16, asked)
    assert tuple(start.passes for start in found) == starts
    assert left == sharpening
    assert [start.exponent for start in found] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("rows", "columns", "is_sparse", "expected"),
    [
        (20_000, 256, False, True),
        (19_999, 256, False, False),
        (20_000, 257, False, False),
        (20_000, 256, True, False),
    ],
)
def test_many_dense_rows_of_not_too_many_columns_are_whitened(rows, columns, is_sparse, expected):
    weights = rows / 10, 9 * rows / 10
    statistics = DataShape(rows, rows // 10, *weights, weights, columns, rows * columns, is_sparse)
    assert may_whiten(statistics) == expected
    assert statistics.prevalence == pytest.approx(0.1)
    assert statistics.rarer_rows == rows // 10
    assert statistics._replace(positive_rows=rows - 7).rarer_rows == 7


class Fragile:
    """A solver whose models are not finite until its steps have been shortened so many times."""

    def __init__(self, needed, done=0, most=99):
        self.needed, self.done, self.most = needed, done, most
        self.label = f"Fragile {done}"

    def start(self, task):
        value = 1.0 if self.done >= self.needed else np.nan
        return SimpleNamespace(model=lambda: LinearModel(np.array([value]), task))

    def with_shorter_steps(self):
        return Fragile(self.needed, self.done + 1, self.most) if self.done < self.most else None


class Rows:
    def train(self, runs):
        self.folds = [fold for fold, _ in runs]
        return [run for _, run in runs]

    def threshold_scores(self, models, measure):
        return Scores(np.array([model.weights[0] for model in models]), np.ones(len(models)))


@pytest.mark.parametrize("needed", [0, 1, 4])
def test_steps_are_shortened_until_no_model_diverges(needed):
    rows = Rows()
    trained = trained_with_care(Fragile(needed), [5.0, 6.0, 7.0], rows, FBeta())
    assert trained.solver.done == needed
    assert rows.folds == [0, 1, 2]
    assert [run.model().intercept for run in trained.runs] == [5.0, 6.0, 7.0]
    assert trained.scores.finite


@pytest.mark.parametrize(("needed", "most", "last"), [(5, 99, 5), (3, 2, 2)])
def test_after_five_tries_or_the_shortest_steps_the_remedy_is_named(needed, most, last):
    with pytest.raises(ValueError, match=rf"Fragile {last} could not learn a model.*standardize=True does"):
        trained_with_care(Fragile(needed, most=most), [0.0], Rows(), FBeta())


def test_the_best_stage_of_all_runs_is_taken():
    def run(*values):
        return [SimpleNamespace(value=v, model=-v, stage=f"at {v}") for v in values]

    assert best_stage([run(0.3, 0.7), run(), run(0.6)]) == (-0.7, "at 0.7")
    with pytest.raises(ValueError, match="No model could be learned"):
        best_stage([run(), run()])


def problem(n=3_000, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1.0, 10.0, 0.1] + [5.0, 0.0, 1.0]
    scores = X @ [1.0, 0.1, -10.0] + 0.7 * rng.normal(size=n)
    return X, np.where(scores > np.quantile(scores, 0.85), 1.0, -1.0)


def fitted(X, signed, **settings):
    measure = settings.pop("measure", FBeta())
    solver = settings.pop("solver", Stamp(passes=4))
    history, before = History(), settings.pop("before", None)
    asked = FitConfig(measure, solver, settings.pop("start", None), settings.pop("sharpen", None), **settings)
    source = ArraySource(X, signed, np.random.default_rng(1))
    return Trainer(asked, history, before).fit(source), history


def test_a_plain_fit_cuts_where_the_measure_is_best_on_its_rows():
    X, signed = problem()
    found, _ = fitted(X, signed)
    scores = X @ found.coef[0] + found.intercept[0]
    positive = signed > 0

    def value(cut):
        called = scores > cut
        return FBeta().value(called[positive].mean(), (~called[~positive]).mean(), positive.mean())

    best = max(value(cut) for cut in np.unique(scores))
    assert value(0.0) == pytest.approx(best, abs=1e-9)
    assert found.rates[0] == pytest.approx((scores > 0)[positive].mean(), abs=0.02)
    at_zero, _ = fitted(X, signed, tune=False)
    np.testing.assert_allclose(at_zero.coef, found.coef)
    assert at_zero.intercept[0] != found.intercept[0]


def test_passes_that_were_asked_for_are_made():
    X, signed = problem(500)
    passes = fitted(X, signed, passes=7)[1].table()["pass"]
    assert passes.max() == 7
    sharpened = fitted(X, signed, sharpen=Sharpen(), start=Stamp(passes=4), passes=6)[1].table()["pass"]
    assert sharpened.max() == 6


def test_a_fit_goes_on_from_the_model_it_is_given_in_the_users_columns():
    X, signed = problem()
    whole, _ = fitted(X, signed, solver=Stamp(passes=30), tune=False)
    model = LinearModel(whole.coef[0], float(whole.intercept[0]))
    again, _ = fitted(X, signed, solver=Stamp(passes=1), tune=False, before=model)
    fresh, _ = fitted(X, signed, solver=Stamp(passes=1), tune=False)

    def angle(one):
        a, b = one.coef[0] * one.scale, whole.coef[0] * whole.scale
        return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    assert angle(again) > angle(fresh)


def test_a_bound_is_certified_by_rows_that_the_models_of_folds_have_not_met():
    X, signed = problem(1_500)
    found, _ = fitted(X, signed, measure=TPRAtTNR(0.9), solver=Spade(passes=4))
    called = X @ found.coef[0] + found.intercept[0] > 0
    positive = signed > 0
    assert (~called[~positive]).mean() > 0.9
    assert found.interval is not None
    assert found.rates[0] == pytest.approx(called[positive].mean(), abs=0.1)


def online(measure=None, **settings):
    return OnlineFit(FitConfig(measure or GMean(), Spade(), None, None, **settings), 3, None, 0)


def test_batches_of_another_scale_leave_the_scores_of_earlier_rows_where_they_were():
    X, signed = problem()
    fit = online()
    fit.learn(X[:1_000], signed[:1_000])
    before = fit.model()
    shifted = X[1_000:1_001] + 100.0
    fit._update_standardizer(np.repeat(shifted, 500, axis=0))
    after = fit.model()
    np.testing.assert_allclose(
        X @ after.weights + after.intercept, X @ before.weights + before.intercept, atol=2e-2
    )


def test_rows_in_batches_are_learned_as_well_as_rows_at_once():
    X, signed = problem()
    fit = online()
    for part in np.array_split(np.arange(3_000), 6):
        fit.learn(X[part], signed[part])
        assert fit.seen.prevalence == pytest.approx((signed[: part[-1] + 1] > 0).mean())
    assert fit.seen.points == 3_000
    result = fit.result()
    called = X @ result.coef[0] + result.intercept[0] > 0
    positive = signed > 0
    value = GMean().value(called[positive].mean(), (~called[~positive]).mean(), 0.15)
    assert value > 0.85
    assert GMean().value(*result.rates) == pytest.approx(value, abs=0.02)
    plain = online(tune=False)
    plain.learn(X, signed)
    model = plain.model()
    np.testing.assert_allclose(plain.result().coef[0], model.weights)
    assert plain.result().intercept[0] == pytest.approx(model.intercept)


def test_each_class_of_what_came_in_batches_keeps_a_sample():
    fit = online()
    X, signed = problem(3 * config.ONLINE_SAMPLE_ROWS)
    fit.learn(X, signed)
    _, weights = fit.reservoir.sample()
    assert (weights < 0).sum() == config.ONLINE_SAMPLE_ROWS
    assert weights[weights > 0].sum() == pytest.approx((signed > 0).sum())
    assert weights[weights < 0].sum() == pytest.approx(-(signed < 0).sum())


def test_a_task_has_the_settings_of_the_fit():
    X, signed = problem(300)
    met = []

    class Noting(Stamp):
        def start(self, task):
            met.append(task)
            return super().start(task)

    fitted(X, signed, solver=Noting(passes=1), l2=0.25)
    (task,) = met
    assert isinstance(task, Task)
    assert (task.l2, task.n_features, task.initial) == (0.25, 3, None)


def test_runs_of_all_folds_and_starts_are_told_apart_in_the_history():
    X, signed = problem(600)
    _, history = fitted(X, signed, sharpen=Sharpen(passes=1), start=Stamp(passes=1), validation_fraction=0.25)
    assert sorted(set(history.table()["run"].tolist())) == list(range(4 * 3))  # four folds, drawn three times
    _, history = fitted(X, signed, sharpen=Sharpen(passes=1), passes=2)
    assert sorted(set(history.table()["run"].tolist())) == list(range(5 * 3 * 7))  # and seven starts


@pytest.mark.parametrize(("columns", "stages"), [(3, 6), (129, 5)])
def test_rows_of_many_columns_are_sharpened_for_one_round_only(columns, stages):
    """The curvature of 129 columns is dear. The history has a row per stage: four starts, one or two rounds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, columns))
    signed = np.where(X[:, 0] + rng.normal(size=700) > 1.0, 1.0, -1.0)
    _, history = fitted(X, signed, sharpen=Sharpen())
    assert len(history.table()["pass"]) == stages


def decision_of(own, *, batch, common=None, measure=None):
    """The threshold that out-of-fold scores of -1 and 1 tell, which is 0, and the model's own scores."""
    signs = np.repeat([1.0, -1.0], 50)
    rows = SimpleNamespace(
        n_folds=2,
        points=(50.0, 50.0),
        frequent_rows=common,
        threshold_scores=lambda models, measure: Scores(signs.copy(), signs),
        own_scores=lambda model: Scores(own, signs),
        model_shift=lambda model, scored, threshold: ModelShift((0.0, 0.0), (1.0, 1.0), (0.0, 0.0), 2),
    )
    trainer = Trainer(FitConfig(measure or GMean(), Spade(), None, None), History())
    model = LinearModel(np.ones(1), -0.3)
    plan = SelectionPlan(2, 1, 1, False, batch)
    return trainer._cut(model, [LinearModel(np.ones(1), 0.0)] * 2, 0.0, rows, plan)


def test_a_threshold_is_moved_beside_tied_rows_or_in_batches_beside_common_ones():
    tied = np.concatenate([np.full(50, -1e-4), np.full(50, -1.0)])  # all positives just below the cut at 0
    assert -1.0 < decision_of(tied, batch=False).threshold < -1e-4
    assert decision_of(tied, batch=True).threshold == 0.0
    # A common row at 0.2: the folds' models call it, and the model's own score of it is -0.1.
    moved = decision_of(tied, batch=True, common=np.array([[0.2]])).threshold
    assert moved < -0.1
    assert decision_of(tied, batch=False, common=np.array([[0.2]])).threshold > -1e-2 - 1.0


def test_where_the_models_own_scores_are_all_equal_they_decide():
    found = decision_of(np.zeros(100), batch=True)
    assert found.rates.tpr in (0.0, 1.0)
    assert found.rates.tpr + found.rates.tnr == 1.0
    assert decision_of(np.linspace(1.0, -1.0, 100), batch=True).rates[:2] == (1.0, 1.0)


def test_rows_come_to_the_online_fit_in_the_form_of_the_first():
    X, signed = problem(300)
    for of, other in ((sparse.csr_matrix, np.asarray), (np.asarray, sparse.csr_matrix)):
        fit = online()
        fit.learn(of(X), signed)
        fit.learn(other(X), signed)
        again = online()
        for _ in range(2):
            again.learn(of(X), signed)
        np.testing.assert_allclose(fit.model().weights, again.model().weights)


def test_a_plain_fit_has_the_model_of_its_run_and_the_interval_of_so_many_parameters():
    X, signed = problem(600)
    runs = []

    class Noting(Stamp):
        def start(self, task):
            runs.append(super().start(task))
            return runs[-1]

    found, _ = fitted(X, signed, solver=Noting(passes=1), tune=False, standardize=False)
    (run,) = runs
    assert found.intercept[0] == run.model().intercept  # cut at 0
    np.testing.assert_array_equal(found.coef[0], run.model().weights)
    points = float((signed > 0).sum()), float((signed < 0).sum())
    assert found.interval == rates_interval(found.rates, FBeta(), points, fitted=4)
