"""A fit from windows: resumable between any two, and the same whatever order the rows come in."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import signal
import threading

import numpy as np
import pytest
from scipy import sparse

from ratewise import open_stream
from ratewise.kernels import fold_of_each_row
from ratewise.measures import get_measure
from ratewise.solvers import LinearModel, Sharpen, Spade, Stamp, Task, WeightedLogistic, best_threshold, rates_at
from ratewise.solvers.base import Algorithm, History
from ratewise.solvers.learner import Learner
from ratewise.solvers.requests import Learn
from ratewise.training import ArraySource, FitConfig, Trainer, config, trainer
from ratewise.training.files import StreamLabels, WindowSource, interrupts_held_back
from ratewise.training.files_in_memory import rows_in_memory
from ratewise.training.plain_data import Known, Packed, pack, unpack
from ratewise.training.windows import FirstPass, both_classes_in_all
from ratewise.transforms import Whitener

F1, GMEAN = get_measure("f1"), get_measure("gmean")
START = WeightedLogistic(0.5, passes=1)
SHARPENED = FitConfig(F1, START, START, Sharpen(passes=2), passes=3)
PLAIN = FitConfig(GMEAN, Spade(passes=2), None, None, passes=2)
LABELS = StreamLabels(np.array([0, 1]), 1)


@pytest.fixture
def many_rows(monkeypatch):
    """As if the rows were so many that the least choice between models is made."""
    monkeypatch.setattr(config, "FEW_ROWS", 500)
    monkeypatch.setattr(config, "MANY_ROWS", 1000)


def rows(n=4000, d=4, seed=0, share=0.1):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) * 10.0 ** np.arange(d) + 3.0).astype(np.float32)
    scores = X / 10.0 ** np.arange(d) @ np.linspace(1.0, -1.0, d) + 0.5 * rng.normal(size=n)
    return X, np.where(scores > np.quantile(scores, 1.0 - share), 1.0, -1.0)


class Stopped(Exception):
    pass


class InMemory:
    """Stands in for a checkpoint file; the fit stops when it has been saved so many times."""

    def __init__(self, content=None, stop=math.inf, settings=None):
        self.content, self.left, self.settings = content, stop, settings

    def load(self):
        return None if self.content is None else unpack(self.content, Known(self.settings))

    def save(self, state):
        tree, arrays = pack(state, Known(self.settings))
        self.content = Packed(json.loads(json.dumps(tree)), [array.copy() for array in arrays])
        self.left -= 1
        if self.left == 0:
            raise Stopped


def source_of(X, signed, *, settings=SHARPENED, size=500, **more):
    parts = [slice(start, start + size) for start in range(0, X.shape[0], size)]
    batches = [(X[part], (signed[part] > 0).astype(int), np.abs(signed[part])) for part in parts]
    stream = open_stream(batches, window_rows=size)
    return WindowSource(
        stream, stream.survey(), LABELS, settings.measure, 7, standardize=settings.standardize, **more
    )


def fitted(settings=SHARPENED, X=None, signed=None, **more):
    if X is None:
        X, signed = rows()
    return Trainer(settings, History()).fit(source_of(X, signed, settings=settings, **more))


def stopped_after_every(saves, settings, X, signed):
    """The result of a fit that ends whenever a checkpoint has been saved so many times, and is resumed."""
    content, parts = None, 0
    while True:
        parts += 1
        assert parts < 200, "a resumed fit does not get further"
        kept = InMemory(content, saves, settings)
        try:
            return fitted(settings, X, signed, checkpoint=kept, checkpoint_rows=1), parts
        except Stopped:
            content = kept.content


def as_bytes(result):
    return result.coef.tobytes(), result.intercept.tobytes(), result.rates, result.stages, result.solver


def value_of(settings, result, X, signed):
    scores = X @ result.coef[0] + result.intercept[0]
    return float(settings.measure.value(*rates_at(scores, signed)))


@pytest.mark.parametrize(("settings", "windows"), [(SHARPENED, 40), (PLAIN, 32)], ids=["sharpened", "plain"])
def test_a_stop_after_every_window_changes_no_bit(settings, windows):
    X, signed = rows()
    whole = fitted(settings, X, signed)
    resumed, parts = stopped_after_every(1, settings, X, signed)
    assert as_bytes(resumed) == as_bytes(whole)
    assert parts == windows + windows // 8 + 1  # a checkpoint after every window and after every pass


def reports_of(**more):
    reports = []
    fitted(progress=reports.append, **more)
    return reports


def test_the_stages_follow_one_another():
    stages = list(dict.fromkeys(report["stage"] for report in reports_of()))
    assert stages == [
        "statistics, pass 1",
        "learning, pass 2",
        "learning, pass 3",
        "learning, pass 4",
        "threshold, pass 5",
    ]


def test_rows_done_counts_those_of_the_pass():
    reports = reports_of()
    assert [report["done_rows"] for report in reports] == [500 * k for k in range(1, 9)] * 5
    assert {report["total_rows"] for report in reports} == {4000}


@pytest.mark.parametrize("saves", [3, 9, 10, 27])  # in a pass, after one, and between two jobs
def test_a_resumed_fit_takes_no_window_twice(saves):
    X, signed = rows()
    kept, reports = InMemory(stop=saves), []
    with pytest.raises(Stopped):
        fitted(SHARPENED, X, signed, checkpoint=kept, checkpoint_rows=1, progress=reports.append)
    fitted(SHARPENED, X, signed, checkpoint=InMemory(kept.content), progress=reports.append)
    assert [report["done_rows"] for report in reports] == [500 * k for k in range(1, 9)] * 5


def test_every_pass_has_an_order_of_its_own_and_it_is_the_same_in_a_resumed_fit():
    source, again = (source_of(*rows()) for _ in range(2))
    orders, others = source._orders(), again._orders()
    drawn = [tuple(next(orders)[0].permutation(50).tolist()) for _ in range(3)]
    assert len(set(drawn)) == 3
    assert drawn == [tuple(next(others)[0].permutation(50).tolist()) for _ in range(3)]


@pytest.mark.parametrize("as_sparse", [False, True])
def test_the_rates_are_those_of_all_rows_where_points_are_plenty(as_sparse, many_rows):
    X, signed = rows()
    if as_sparse:
        X = sparse.csr_matrix(np.where(np.random.default_rng(1).random(X.shape) < 0.6, X, 0.0))
    result = fitted(SHARPENED, X, signed)
    rates = rates_at(X @ result.coef[0] + result.intercept[0], signed)
    assert tuple(result.rates) == pytest.approx(tuple(rates), abs=2e-3)


def test_the_threshold_is_the_best_one_up_to_the_width_of_a_bin(many_rows):
    X, signed = rows()
    result = fitted(SHARPENED, X, signed)
    best = best_threshold(X @ result.coef[0] + result.intercept[0], signed, F1).value
    assert value_of(SHARPENED, result, X, signed) == pytest.approx(best, abs=2e-3)


def test_a_threshold_far_out_is_found(many_rows):
    # The positives are the farther half of a few outliers, some 30 standard deviations from the mean.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 1)).astype(np.float32)
    X[:40, 0] = np.linspace(50.0, 150.0, 40)
    signed = np.where(X[:, 0] > 100.0, 1.0, -1.0)
    result = fitted(SHARPENED, X, signed, size=2500)
    assert value_of(SHARPENED, result, X, signed) > 0.9


def training_rows(X, signed, folds, **more):
    source = source_of(X, signed, **more)
    return source.transformed(source.transform(standardize=True, whiten=False), folds)


def test_few_points_are_learned_in_folds_and_resumed_bit_for_bit():
    X, signed = rows(4000, share=0.02)  # 80 positives, fewer than 50 per column
    history = History()
    result = Trainer(SHARPENED, history).fit(source_of(X, signed))
    assert set(history.table()["run"]) == {0.0, 1.0, 2.0, 3.0, 4.0}
    assert value_of(SHARPENED, result, X, signed) > 0.5
    assert as_bytes(stopped_after_every(7, SHARPENED, X, signed)[0]) == as_bytes(result)


def test_a_class_whose_rows_are_all_equal_is_not_split():
    X, signed = rows(3000, share=0.03)
    X[signed > 0] = 5.0  # one row, many times: it has one hash, so other folds would have no positives
    assert training_rows(X, signed, 5).n_folds == 1
    history = History()
    result = Trainer(SHARPENED, history).fit(source_of(X, signed))
    assert set(history.table()["run"]) == {0.0}
    assert np.isfinite(result.coef).all()


@pytest.mark.parametrize("folds", [2, 5])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_the_order_of_the_rows_does_not_change_which_fold_they_are_in(as_sparse, folds):
    X, _ = rows(3000)
    if as_sparse:
        X = sparse.csr_matrix(X)
    fold_of_row = fold_of_each_row(X, folds)
    shares = np.bincount(fold_of_row.astype(int), minlength=folds) / 3000
    assert shares == pytest.approx(np.full(folds, 1 / folds), abs=0.05)
    order = np.random.default_rng(0).permutation(3000)
    assert np.array_equal(fold_of_each_row(X[order], folds), fold_of_row[order])


class OnePass(Algorithm):
    """Asks for one pass."""

    def algorithm(self, task, seen):
        yield Learn(None, None, passes=1)


class Noted(Learner):
    """Learns nothing; notes the last column of the rows it is given: their numbers."""

    def __init__(self):
        super().__init__(5, np.float32)
        self.numbers = []

    def learn(self, chunk, settings, reward, measure=None):
        for start, stop in zip(chunk.starts, chunk.stops, strict=True):
            self.numbers += chunk.rows[start:stop, -1].round().astype(int).tolist()


def noting_run():
    run = OnePass().start(Task(get_measure("gmean"), 5))
    run.learner = Noted()
    return run


@pytest.mark.parametrize("folds", [2, 3, 5])
def test_each_fold_learns_from_the_rows_of_all_others_once_per_pass(folds):
    X, signed = rows()
    X = np.column_stack([X, np.arange(4000)]).astype(np.float32)
    source = source_of(X, signed, settings=dataclasses.replace(SHARPENED, standardize=False))
    split = source.transformed(source.transform(standardize=False, whiten=False), folds)
    trained = split.train([(fold, noting_run()) for fold in range(folds)])
    fold_of_row = fold_of_each_row(X, folds)
    for fold, run in enumerate(trained):
        assert np.array_equal(np.sort(run.learner.numbers), np.flatnonzero(fold_of_row != fold))


@pytest.mark.parametrize("folds", [2, 3, 5])
def test_each_row_is_scored_by_the_model_of_its_own_fold(folds):
    X, signed = rows(4000, share=0.02)
    split = training_rows(X, signed, folds)
    models = [LinearModel(np.zeros(4), float(fold)) for fold in range(folds)]
    fold_of_row = fold_of_each_row(X, folds)
    for scores in (split.validation_scores(models), split.threshold_scores(models, F1)):
        assert np.abs(scores.signed_weights).sum() == pytest.approx(4000, rel=1e-5)
        for fold in range(folds):
            mine = np.abs(scores.values - fold) < 0.1
            weights = scores.signed_weights[mine]
            assert weights[weights > 0].sum() == pytest.approx((signed[fold_of_row == fold] > 0).sum(), rel=1e-4)
            assert -weights[weights < 0].sum() == pytest.approx((signed[fold_of_row == fold] < 0).sum(), rel=1e-4)


@pytest.mark.parametrize("solver", [Spade(passes=2), Stamp(passes=2)])
def test_a_plain_solver_with_the_threshold_left_at_zero(solver):
    measure = GMEAN if isinstance(solver, Spade) else F1
    settings = dataclasses.replace(PLAIN, solver=solver, measure=measure, tune=False, passes=4)
    X, signed = rows()
    result = fitted(settings, X, signed)
    assert result.stages == ()
    assert result.solver == dataclasses.replace(solver, passes=4)
    assert value_of(settings, result, X, signed) > 0.6
    scores = X @ result.coef[0] + result.intercept[0]
    assert tuple(result.rates) == pytest.approx(tuple(rates_at(scores, signed)), abs=2e-3)
    tuned = fitted(dataclasses.replace(settings, tune=True), X, signed)
    assert tuned.coef.tobytes() == result.coef.tobytes()
    assert tuned.intercept != result.intercept


def test_weights_count_as_so_many_rows(many_rows):
    X, signed = rows(3000)
    times = np.random.default_rng(1).integers(1, 4, size=3000)
    weighted = fitted(SHARPENED, X, signed * times)
    repeated = fitted(SHARPENED, np.repeat(X, times, axis=0), np.repeat(signed, times))
    assert weighted.rates.prevalence == pytest.approx(repeated.rates.prevalence)
    values = [float(F1.value(*one.rates)) for one in (weighted, repeated)]
    assert values[0] == pytest.approx(values[1], abs=0.01)


def test_the_scale_of_the_weights_does_not_matter():
    X, signed = rows(3000)
    once, four_times = (fitted(SHARPENED, X, factor * signed) for factor in (1.0, 4.0))
    np.testing.assert_allclose(four_times.coef, once.coef, rtol=1e-5)


def test_a_class_without_weight_is_refused():
    X, signed = rows(1000)
    batches = [(X, (signed > 0).astype(int), (signed < 0).astype(float))]
    stream = open_stream(batches, window_rows=500)
    source = WindowSource(stream, stream.survey(), LABELS, F1, 7)
    with pytest.raises(ValueError, match="weight 0"):
        Trainer(SHARPENED, History()).fit(source)


def test_many_dense_rows_are_whitened_and_the_model_comes_back_in_the_users_columns(monkeypatch):
    monkeypatch.setattr(config, "WHITENED_ROWS", 1000)
    made = []
    transformed = WindowSource.transformed
    monkeypatch.setattr(
        WindowSource,
        "transformed",
        lambda self, transform, *a: made.append(transform) or transformed(self, transform, *a),
    )
    X, signed = rows()
    X = (X / 10.0 ** np.arange(4) @ np.random.default_rng(0).normal(size=(4, 4))).astype(np.float32)
    result = fitted(SHARPENED, X, signed)
    assert [type(one) for one in made] == [Whitener]
    assert value_of(SHARPENED, result, X, signed) > 0.75


@pytest.mark.parametrize("as_sparse", [False, True])
def test_small_streams_are_read_into_memory_and_larger_ones_are_not(as_sparse, monkeypatch):
    X, signed = rows(1000)
    matrix = sparse.csr_matrix(X) if as_sparse else X
    batches = [(matrix[:600], (signed[:600] > 0).astype(int)), (matrix[600:], (signed[600:] > 0).astype(int))]
    stream = open_stream(batches, window_rows=300)
    survey = stream.survey()
    found, weights, _ = rows_in_memory(stream, survey, LABELS)
    assert np.array_equal(found.toarray() if as_sparse else found, X)
    assert np.array_equal(weights, signed)
    monkeypatch.setattr(config, "IN_MEMORY_BYTES", 1000 * 4 * (8 if as_sparse else 4) - 1)
    assert rows_in_memory(stream, survey, LABELS) is None


def test_the_effective_points_of_a_class_are_its_rows_unless_weights_differ():
    X = np.arange(8.0, dtype=np.float32)[:, None]
    first = FirstPass(0, 2, standardize=True, sample_rows=math.inf)
    for part in (slice(0, 3), slice(3, 8)):
        first.take(X[part], np.array([5.0, 5.0, -2.0, 5.0, -1.0, -1.0, -1.0, -1.0])[part], None)
    # (2 + 1 + 1 + 1 + 1)^2 / (4 + 1 + 1 + 1 + 1) of the negatives
    assert first.classes.points == pytest.approx((3.0, 36 / 8))
    assert first.mean_weight == pytest.approx(21 / 8)


@pytest.mark.parametrize(("folds", "in_sample"), [(1, True), (2, False)])
def test_training_rows_choose_only_where_no_rows_are_held_out(folds, in_sample, many_rows, monkeypatch):
    monkeypatch.setattr(config, "MANY_ROWS", 1000 if folds == 1 else 10**6)
    told = []

    class Told(trainer.Sharpened):
        def start(self, task):
            told.append(self.in_sample)
            return super().start(task)

    monkeypatch.setattr(trainer, "Sharpened", Told)
    fitted()
    assert told
    assert set(told) == {in_sample}


@pytest.mark.parametrize("as_sparse", [False, True])
def test_windows_come_to_the_statistics_of_the_rows_in_memory(as_sparse):
    X, signed = rows(3000)
    signed = signed * np.linspace(0.5, 2.5, 3000)
    X = sparse.csr_matrix(np.where(np.abs(X) > 3.0, X, 0.0)) if as_sparse else X
    scaled = signed / np.abs(signed).mean()
    memory = ArraySource(X, scaled, np.random.default_rng(0)).statistics()
    windows = source_of(X, signed).statistics()
    assert windows[:2] == memory[:2]
    assert windows[2:5] == tuple(pytest.approx(one, rel=1e-5) for one in memory[2:5])
    assert windows[5:8] == memory[5:8]
    assert not windows.in_memory


@pytest.mark.parametrize("folds", [1, 4])
def test_windows_are_summed_up_as_their_rows_are(folds):
    X, signed = rows(3000)
    signed = signed * np.linspace(0.5, 2.5, 3000)
    source = source_of(X, signed)
    transform = source.transform(standardize=True, whiten=False)
    found = source.transformed(transform, folds, 1, 5.0)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    lengths = (Z.astype(np.float64) ** 2).sum(axis=1)
    weights = np.abs(signed)
    assert found.points_per_pass == 3000
    assert found.leverage == pytest.approx(np.average(lengths, weights=weights) + 1.0, rel=0.02)
    summary = found.summary(0)
    assert summary.points == (3000 if folds == 1 else 2250)
    mean = weights.mean()
    assert summary.positive_weight == pytest.approx(signed[signed > 0].sum() / mean, rel=1e-4)
    assert summary.negative_weight == pytest.approx(-signed[signed < 0].sum() / mean, rel=1e-4)
    assert summary.squared_rows / summary.points == pytest.approx(found.leverage - 1.0, rel=1e-5)


def test_rows_of_a_window_weigh_what_they_weigh_among_all_and_long_ones_pull_less():
    X, signed = rows(3000)
    signed = signed * np.linspace(0.5, 2.5, 3000)
    source = source_of(X, signed)
    transform = source.transform(standardize=True, whiten=False)
    training = source.transformed(transform, 1, 1, 0.5)
    window = training.rows_of(X[:500], signed[:500], np.random.default_rng(0))
    expected = signed[:500] / np.abs(signed).mean()
    np.testing.assert_allclose(np.sort(window.signed_weights), np.sort(expected), rtol=1e-5)
    (chunk,) = window.part((0, 500)).take(500)
    lengths = (window.X.astype(np.float64) ** 2).sum(axis=1) + 1.0
    pulls = window.signed_weights * np.minimum(0.5 * training.leverage / lengths, 1.0)
    np.testing.assert_allclose(chunk.targets, pulls, rtol=1e-4)


def test_progress_tells_stage_pass_rows_and_the_value_where_rows_are_learned_from(many_rows):
    X, signed = rows(2000)
    told = []
    settings = dataclasses.replace(PLAIN, passes=2)
    Trainer(settings, History()).fit(source_of(X, signed, settings=settings, progress=told.append))
    seen = [(one["stage"], one["done_rows"]) for one in told]
    each = [500, 1000, 1500, 2000]
    stages = ["statistics, pass 1", "learning, pass 2", "learning, pass 3", "threshold, pass 4"]
    assert seen == [(stage, done) for stage in stages for done in each]
    assert all(one["total_rows"] == 2000 for one in told)
    learned = [one for one in told if "value" in one]
    assert all(one["stage"].startswith("learning") for one in learned)
    assert learned
    for one in learned:
        assert one["value"] == pytest.approx(float(GMEAN.value(one["tpr"], one["tnr"], 0.1)), abs=1e-6)


def test_a_checkpoint_is_kept_after_so_many_rows_and_after_every_pass():
    X, signed = rows(2000)
    saved = []

    class Counting(InMemory):
        def save(self, state):
            saved.append((state.pass_number, state.windows_done, state.rows_done, state.job is None))

    fitted(PLAIN, X, signed, checkpoint=Counting(settings=PLAIN), checkpoint_rows=1000)
    one_pass = [(2, 1000), (4, 2000)]
    ends = [True, False, True, True]  # statistics, two passes of learning, threshold
    expected = []
    for number, ended in enumerate(ends):
        expected += [(number, windows, done, False) for windows, done in one_pass]
        expected.append((number + 1, 0, 0, ended))
    assert saved == expected


@pytest.mark.parametrize(("as_sparse", "kept"), [(False, 2000), (True, 1000)])
def test_a_sample_of_each_class_takes_so_many_bytes_but_holds_a_thousand_rows(as_sparse, kept, monkeypatch):
    X, signed = rows(6000, d=4, share=0.5)
    X = sparse.csr_matrix(X) if as_sparse else X
    per_row = 4 * (8 if as_sparse else 4)
    monkeypatch.setattr(config, "SAMPLE_BYTES", 2000 * 16 if not as_sparse else 10 * per_row)
    found = FirstPass(0, 2, standardize=True, sample_rows=math.inf)
    found.take(X, signed, np.random.default_rng(0))
    assert found.reservoir.capacity == kept


@pytest.mark.parametrize("folds", [1, 3])
def test_rows_of_a_fold_are_summed_up_as_if_their_mean_weight_were_one(folds):
    X, signed = rows()
    signed = signed * np.linspace(0.5, 3.5, signed.size)
    source = source_of(X, signed)
    found = source.transformed(source.transform(standardize=True, whiten=False), folds)
    assert found.n_folds == folds
    summary = found.summary(0)
    assert summary.points == (4000 if folds == 1 else 4000 * 2 // 3)
    mean = np.abs(signed).mean()
    assert summary.positive_weight == pytest.approx(signed[signed > 0].sum() / mean)
    assert summary.negative_weight == pytest.approx(-signed[signed < 0].sum() / mean)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    usual = np.average((scaled**2).sum(axis=1), weights=np.abs(signed))
    assert summary.squared_rows == pytest.approx(usual * summary.points, rel=0.05)
    assert found.leverage == pytest.approx(usual + 1.0, rel=0.05)


@pytest.mark.parametrize("unit", [1.0, 1e-6])
def test_scores_of_all_rows_are_counted_with_their_weights_and_worth_their_points(unit):
    X, signed = rows()
    signed = unit * signed * np.linspace(0.5, 3.5, signed.size)
    source = source_of(X, signed)
    found = source.transformed(source.transform(standardize=True, whiten=False), 1)
    model = LinearModel(np.array([1.0, -0.5, 0.0, 0.2]), 50.0)  # far from 0, and counted as finely
    scores = found.threshold_scores([model], F1)
    mean = np.abs(signed).mean()
    weights = scores.signed_weights
    assert weights[weights > 0].sum() == pytest.approx(signed[signed > 0].sum() / mean, rel=1e-5)
    assert weights[weights < 0].sum() == pytest.approx(signed[signed < 0].sum() / mean, rel=1e-5)
    positive, negative = signed[signed > 0], signed[signed < 0]
    kish = [one.sum() ** 2 / (one**2).sum() for one in (positive, negative)]
    assert scores.points == pytest.approx(kish, rel=1e-5)
    exact = (X - X.mean(axis=0)) / X.std(axis=0) @ model.weights + model.intercept
    for threshold in (49.0, 50.0, 50.7):
        expected = rates_at(exact, signed, threshold)
        assert rates_at(scores.values, weights, threshold) == pytest.approx(expected, abs=0.004)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(("missing", "taken"), [(0, True), (1, False)])
def test_rows_are_taken_into_memory_if_they_fit_to_the_byte(is_sparse, missing, taken, monkeypatch):
    """A number takes four bytes; of a sparse row eight, with its column."""
    X, signed = rows(300)
    X = sparse.csr_matrix(X) if is_sparse else X
    monkeypatch.setattr(config, "IN_MEMORY_BYTES", 300 * 4 * (8 if is_sparse else 4) - missing)
    stream = open_stream([(X[:200], signed[:200] > 0), (X[200:], signed[200:] > 0)], window_rows=100)
    labels = StreamLabels(np.array([False, True]), True)
    found = rows_in_memory(stream, stream.survey(), labels)
    assert (found is not None) == taken
    if taken:
        np.testing.assert_allclose(found[0].toarray() if is_sparse else found[0], X.toarray() if is_sparse else X)
        np.testing.assert_array_equal(found[1], signed)


def test_random_numbers_of_a_use_are_not_those_of_any_pass():
    source = source_of(*rows(300))
    of_passes = {int(np.random.default_rng([7, number]).integers(2**62)) for number in range(300)}
    of_uses = [int(source.rng(use).integers(2**62)) for use in (1, 2, 3)]
    assert len(set(of_uses) | of_passes) == 303
    assert of_uses == [int(source.rng(use).integers(2**62)) for use in (1, 2, 3)]


def test_a_fold_without_a_class_is_seen():
    folds = np.arange(9) % 3
    weights = np.where(np.arange(9) < 4, 1.0, -1.0)
    assert both_classes_in_all(folds, weights, 3)
    assert not both_classes_in_all(folds, np.where(folds == 0, 1.0, weights), 3)
    assert not both_classes_in_all(folds, np.where(folds == 2, -1.0, weights), 3)


def test_ctrl_c_is_heard_between_windows_and_a_second_one_at_once():
    before = signal.getsignal(signal.SIGINT)
    with interrupts_held_back(True) as interrupted:
        assert not interrupted()
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupted()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    with interrupts_held_back(False) as interrupted:
        assert signal.getsignal(signal.SIGINT) is before
        assert not interrupted()


def test_only_the_main_thread_hears_ctrl_c():
    heard = []

    def elsewhere():
        with interrupts_held_back(True) as interrupted:
            heard.append(interrupted())

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert heard == [False]
