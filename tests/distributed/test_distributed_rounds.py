"""The fit itself, in this process: as good as on one machine, however the rows are spread."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from ratewise import MeasureClassifier
from ratewise.distributed import ArrayShard, LocalEngine, Plan, fit_in_rounds
from ratewise.measures import get_measure
from ratewise.solvers import History, Sharpen, get_solver


def split(y, how, parts):
    rng, n = np.random.default_rng(1), len(y)
    if how == "even":
        return np.array_split(rng.permutation(n), parts)
    if how == "uneven":
        edges = (n * (1.0 - 0.5 ** np.arange(1, parts))).astype(int)
        return np.split(rng.permutation(n), edges)
    return np.array_split(np.argsort(y, kind="stable"), parts)  # most hold no positive at all


def fit(rows, measure, how="even", parts=4, *, solver=None, sharpen=True, engine=None, **more):
    X, y = rows
    chosen = get_measure(measure)
    plan = Plan(
        measure=chosen,
        solver=None if solver is None else get_solver(solver, chosen),
        sharpen=Sharpen() if sharpen else None,
        tune=True,
        standardize=True,
        whiten_rows=10_000,
        whiten_columns=256,
        l2=0.0,
        seed=0,
        **more,
    )
    engine = engine or LocalEngine([ArrayShard(X[part], y[part]) for part in split(y, how, parts)])
    history = History()
    return fit_in_rounds(engine, plan, history, lambda classes: classes[1]), history.table()


def value_of(outcome, rows, measure):
    X, y = rows
    coef, intercept = outcome.units.to_user_units(*outcome.model)
    return get_measure(measure).score(y, X @ coef + intercept > outcome.threshold)


@pytest.fixture(scope="module")
def on_one_machine(rows):
    """The measures of the ordinary fit."""
    return {name: MeasureClassifier(name, random_state=0).fit(*rows).score(*rows) for name in ("f1", "min")}


@pytest.mark.parametrize("how", ["even", "uneven", "sorted"])
@pytest.mark.parametrize("measure", ["f1", "min"])
def test_the_default_fit_is_as_good_as_on_one_machine(rows, on_one_machine, measure, how):
    outcome, _ = fit(rows, measure, how, 8)
    value = value_of(outcome, rows, measure)
    assert value >= on_one_machine[measure] - 0.01
    assert float(get_measure(measure).value(*outcome.rates)) == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize(("solver", "measure"), [("spade", "qmean"), ("stamp", "f1"), ("amp", "f1")])
@pytest.mark.parametrize("how", ["even", "sorted"])
def test_the_plain_algorithms_are_as_good_as_on_one_machine(rows, solver, measure, how):
    X, y = rows
    single = MeasureClassifier(measure, solver=solver, sharpen=False, random_state=0).fit(X, y).score(X, y)
    outcome, history = fit(rows, measure, how, solver=solver, sharpen=False)
    assert value_of(outcome, rows, measure) >= single - 0.01
    assert len({column.size for column in history.values()}) == 1
    assert ("alpha" if solver == "spade" else "level") in history


def test_mixed_partitions_learn_apart_and_sorted_ones_together(rows):
    assert fit(rows, "f1", "even", 2)[0].merging == "models"
    assert fit(rows, "f1", "sorted", 2)[0].merging == "gradients"


def test_partitions_of_other_places_learn_together(rows):
    X, y = rows
    by_place = np.argsort(X[:, 3])
    engine = LocalEngine([ArrayShard(X[part], y[part]) for part in np.array_split(by_place, 2)])
    assert fit(rows, "f1", engine=engine)[0].merging == "gradients"


def test_a_sliver_without_positives_is_left_out_of_learning_but_not_of_counting(rows):
    X, y = rows
    extra = np.flatnonzero(~y)[:50]
    shards = [ArrayShard(X[part], y[part]) for part in split(y, "even", 2)]
    outcome, _ = fit(rows, "f1", engine=LocalEngine([*shards, ArrayShard(X[extra], y[extra])]))
    assert outcome.merging == "models"
    assert outcome.rates.prevalence == pytest.approx(y.sum() / (y.size + 50))


def test_few_positives_are_learned_from_in_halves(rows):
    X, y = rows
    kept = np.concatenate([np.flatnonzero(~y), np.flatnonzero(y)[:150]])
    few = X[kept], y[kept]
    single = MeasureClassifier("qmean", solver="spade", sharpen=False, random_state=0).fit(*few).score(*rows)
    outcome, history = fit(few, "qmean", "sorted", 4)
    assert set(history["run"]) == {0.0, 1.0}
    assert value_of(outcome, rows, "qmean") >= single - 0.01


def test_the_same_seed_gives_the_same_model_and_another_one_another(rows):
    first, again = (fit(rows, "f1", parts=2)[0] for _ in range(2))
    np.testing.assert_array_equal(first.model.weights, again.model.weights)
    assert first.threshold == again.threshold


def test_rounds_and_local_passes_are_as_asked(rows):
    class Counting(LocalEngine):
        asked: list

        def ask_each(self, question):
            self.asked.append(question)
            return super().ask_each(question)

    X, y = rows
    engine = Counting([ArrayShard(X[part], y[part]) for part in split(y, "even", 2)])
    engine.asked = []
    fit(rows, "qmean", engine=engine, merging="models", rounds=5, local_passes=3, solver="spade", sharpen=False)
    learned = [question for question in engine.asked if question.name == "learn"]
    assert len(learned) == 5
    assert all(question.passes == 3 for question in learned)


@pytest.mark.parametrize("merging", ["models", "gradients"])
def test_what_travels_is_small_and_does_not_grow_with_the_rows(rows, merging):
    class Weighing(LocalEngine):
        heaviest = 0

        def ask_each(self, question):
            answers = super().ask_each(question)
            sizes = [len(pickle.dumps(one)) for one in (question, *answers)]
            self.heaviest = max(self.heaviest, *sizes)
            return answers

    X, y = rows
    heaviest = []
    for copies in (1, 4):
        many = np.tile(np.arange(len(y)), copies)
        engine = Weighing([ArrayShard(X[part], y[part]) for part in np.array_split(many, 4)])
        fit(rows, "f1", engine=engine, merging=merging)
        heaviest.append(engine.heaviest)
    assert heaviest[1] < 120_000  # a histogram with no bin empty; a shard holds 480,000 bytes of rows
    assert heaviest[1] < 2 * heaviest[0]  # from four times the rows


def test_sparse_rows_are_learned_from(rows):
    from scipy import sparse

    X, y = rows
    X = np.where(np.abs(X) > 1.0, X, 0.0).astype(np.float32)
    rows = sparse.csr_matrix(X)
    single = MeasureClassifier("f1", solver="stamp", sharpen=False, random_state=0).fit(rows, y).score(rows, y)
    engine = LocalEngine([ArrayShard(sparse.csr_matrix(X[part]), y[part]) for part in split(y, "sorted", 3)])
    outcome, _ = fit((X, y), "f1", engine=engine)
    assert value_of(outcome, (X, y), "f1") >= single - 0.01


def test_weights_count_rows_so_many_times(rows):
    X, y = rows
    weights = np.where(y, 3.0, 1.0)
    parts = split(y, "even", 3)
    outcome, _ = fit(rows, "f1", engine=LocalEngine([ArrayShard(X[p], y[p], weights[p]) for p in parts]))
    assert outcome.rates.prevalence == pytest.approx(weights[y].sum() / weights.sum())


def test_one_class_in_all_partitions_is_refused(rows):
    X, _ = rows
    engine = LocalEngine([ArrayShard(X, np.zeros(len(X))), ArrayShard(X, np.zeros(len(X)))])
    with pytest.raises(ValueError, match="one class only"):
        fit(rows, "f1", engine=engine)


def test_three_classes_over_partitions_are_refused(rows):
    X, y = rows
    engine = LocalEngine([ArrayShard(X, np.where(y, 1, 0)), ArrayShard(X, np.where(y, 2, 0))])
    with pytest.raises(ValueError, match="3 classes"):
        fit(rows, "f1", engine=engine)
