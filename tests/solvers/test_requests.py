"""What all runs keep to, whatever the solver: known requests, asking is free, and pickling loses nothing."""

from __future__ import annotations

import dataclasses
import pickle
from typing import get_args

import numpy as np
import pytest
from scipy import sparse

from ratewise import solvers
from ratewise.measures import FBeta, FunctionMeasure, GMean, MinRate, QMean, TPRAtTNR
from ratewise.solvers import Amp, Learn, LinearModel, Sharpen, Spade, Stamp, Task, WeightedLogistic, get_solver
from ratewise.solvers.base import History
from ratewise.solvers.centroids import ShrunkenCentroids
from ratewise.solvers.logistic import PenalizedLogistic
from ratewise.solvers.requests import (
    CompareCentroids,
    CountRates,
    Evaluate,
    Maximize,
    MeanRewards,
    OfTwoClasses,
    Request,
)
from ratewise.solvers.sharpen import Sharpened
from ratewise.training.answers import Runner, answer, learn
from ratewise.training.plain_data import pack, unpack
from ratewise.training.rows import ArrayRows
from ratewise.transforms import Standardizer

REGISTERED = tuple(solvers.base._SOLVERS)
# Registered solvers as they come, and every setting that changes what a run asks for.
SOLVERS = [
    *(get_solver(name, FBeta()) for name in REGISTERED),
    Spade(passes=3, radius=0.5),
    Stamp(passes=3, level="fresh", reward="logistic"),
    Amp(level="reward", radius=0.5),
    WeightedLogistic(1.0, passes=3),
    PenalizedLogistic(0.5, 0.1),
    ShrunkenCentroids(),
]
STARTS = [WeightedLogistic(0.5, 2), Spade(passes=2), Stamp(passes=2), Amp(passes=3), PenalizedLogistic()]


def measures_for(solver):
    """Those of a few measures that the solver takes."""
    found = []
    for measure in (FBeta(1.0), GMean(), QMean(), MinRate(), TPRAtTNR(0.9)):
        try:
            solver.check(measure, 0.2)
        except ValueError:
            continue
        found.append(measure)
    return found


def plain_run(solver, rows, measure, **task):
    return solver.start(Task(measure, rows.n_features, rows.dtype, l2=1e-4, **task))


def sharpened_run(solver, rows, measure, **task):
    task = Task(measure, rows.n_features, rows.dtype, **task)
    return Sharpened(solver, Sharpen(), passes=3, leverage=rows.summary.leverage).start(task)


CASES = [
    *(pytest.param(plain_run, s, m, id=f"{s}-{m}") for s in SOLVERS[: len(REGISTERED)] for m in measures_for(s)),
    *(pytest.param(plain_run, s, measures_for(s)[0], id=f"{s}") for s in SOLVERS[len(REGISTERED) :]),
    *(pytest.param(sharpened_run, s, measures_for(s)[0], id=f"sharpened {s}") for s in STARTS),
]
every_run = pytest.mark.parametrize(("start", "solver", "measure"), CASES)


def rows_of(dtype=np.float32, as_csr=False, n=400):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    signs = np.where(X[:, 0] + rng.standard_normal(n) > 1.2, 1.0, -1.0)
    X = sparse.csr_matrix(X) if as_csr else X
    return ArrayRows(X, signs, Standardizer(3).update(X), np.random.default_rng(0), dtype)


def drive(run, rows, *, between=lambda run: run, half_way=None, asks=1):
    """Bring a run to its end by hand, and return it with the requests it made.

    ``between`` two requests the run may change; ``half_way`` is called in the middle of what is to be learned.
    """
    requests = []
    while not run.finished:
        run = between(run)
        for _ in range(asks):
            request = run.request(rows.summary)
        requests.append(request)
        if isinstance(request, Learn):
            points = request.points or request.passes * rows.n_points
            if half_way is not None:
                learn(run.to_learn(), request, rows, points // 2)
                half_way(run)
                points -= points // 2
            learn(run.to_learn(), request, rows, points)
            run.receive(None)
        else:
            run.receive(answer(rows, request))
        assert len(requests) < 1_000, "a run must come to its end"
    return between(run), requests


def pickled(thing):
    """The thing, sent to a worker as a pickle and then kept in a checkpoint as plain data."""
    return unpack(pack(pickle.loads(pickle.dumps(thing))))


def history_of(run):
    table = run.history.table()
    table.pop("seconds", None)
    return table


def assert_same(one, other):
    """The same models and histories, bit for bit."""
    np.testing.assert_array_equal(one.model().weights, other.model().weights)
    assert one.model().intercept == other.model().intercept
    assert one.progressive_rates() == other.progressive_rates()
    np.testing.assert_equal(history_of(one), history_of(other))


@every_run
def test_a_run_asks_only_for_what_is_known(start, solver, measure):
    rows = rows_of()
    run, requests = drive(start(solver, rows, measure, history=History()), rows)
    assert requests
    for request in requests:
        assert isinstance(request, Request)
        if isinstance(request, Learn):
            assert (request.passes is None) != (request.points is None), "by passes or by points"
    assert np.isfinite(run.model().weights).all()


def test_every_request_is_made_by_some_run():
    made = set()
    for start, solver, measure in (case.values for case in CASES):
        rows = rows_of()
        made |= {type(request) for request in drive(start(solver, rows, measure), rows)[1]}
    assert (
        made
        == set(get_args(OfTwoClasses))
        == {Learn, Evaluate, CountRates, MeanRewards, Maximize, CompareCentroids}
    )


def state_of(run):
    """What a run asks for, and the state of its learner."""
    request = run.request(rows_of().summary)
    learner = vars(run.learner) | {"_layout": None, "_state": run.learner._state.tolist()}
    return pickled((vars(request), learner))


@every_run
def test_asking_twice_gets_the_same_request(start, solver, measure):
    rows = rows_of()

    def ask_twice(run):
        if not run.finished:
            np.testing.assert_equal(state_of(run), state_of(run))
        return run

    drive(start(solver, rows, measure), rows, between=ask_twice, half_way=ask_twice)


@every_run
def test_asking_three_times_changes_nothing(start, solver, measure):
    once, thrice = (
        drive(start(solver, rows := rows_of(), measure, history=History()), rows, asks=asks)[0] for asks in (1, 3)
    )
    assert_same(once, thrice)


@every_run
def test_a_run_pickled_between_any_two_requests_ends_at_the_same_model(start, solver, measure):
    straight, through_pickles = (
        drive(start(solver, rows := rows_of(), measure, history=History()), rows, between=between)[0]
        for between in (lambda run: run, pickled)
    )
    assert_same(straight, through_pickles)


@pytest.mark.slow  # each solver's loop is compiled for such rows
@pytest.mark.parametrize("name", REGISTERED)
def test_so_does_a_run_on_sparse_rows_of_double_width(name):
    solver = get_solver(name, FBeta())
    straight, through_pickles = (
        drive(
            plain_run(solver, rows := rows_of(np.float64, True), measures_for(solver)[0]), rows, between=between
        )[0]
        for between in (lambda run: run, pickled)
    )
    assert_same(straight, through_pickles)


@every_run
def test_a_run_pickled_between_a_request_and_its_answer_asks_again_and_ends_at_the_same_model(
    start, solver, measure
):
    def asked_and_pickled(run):
        if not run.finished:
            run.request(rows_of().summary)
        return pickled(run)

    straight, through_pickles = (
        drive(start(solver, rows := rows_of(), measure), rows, between=between)[0]
        for between in (lambda run: run, asked_and_pickled)
    )
    assert_same(straight, through_pickles)


@every_run
def test_the_runner_of_rows_in_memory_answers_as_by_hand(start, solver, measure):
    rows = rows_of()
    by_hand, _ = drive(start(solver, rows, measure, history=History()), rows)
    rows = rows_of()
    Runner(run := start(solver, rows, measure, history=History()), 0, rows.summary).to_the_end(rows)
    assert_same(by_hand, run)


@pytest.mark.parametrize("solver", [s for s in SOLVERS if s.streaming], ids=str)
def test_a_runner_fed_in_pieces_and_pickled_between_them_learns_the_same(solver):
    """As partial_fit and windows of files do: pieces end in the middle of an epoch or of a pass."""
    models = []
    for between in (lambda runner: runner, pickled):
        rows = rows_of()
        run = plain_run(solver, rows, measures_for(solver)[0], endless=True)
        runner = Runner(run, 0, rows.summary)
        for points in (1, 170, 229, 400, 3, 397):
            runner.feed(rows, rows, points)
            runner = between(runner)
        assert not runner.run.finished, "rows without end"
        models.append(runner.run)
    assert_same(*models)
    assert np.linalg.norm(models[0].model().weights) > 0


@pytest.mark.parametrize("solver", [s for s in SOLVERS if s.streaming], ids=str)
def test_what_is_stored_of_a_run_without_end_does_not_grow(solver):
    rows = rows_of()
    runner = Runner(plain_run(solver, rows, measures_for(solver)[0], endless=True), 0, rows.summary)
    sizes = []
    for batches in (40, 400):
        for _ in range(batches):
            runner.feed(rows, rows, 50)
            runner.end_pass(rows)
        sizes.append(len(pickle.dumps(runner)))
    assert sizes[1] <= sizes[0] + 64  # longer numbers


@pytest.mark.parametrize("solver", [s for s in SOLVERS if s.streaming], ids=str)
def test_a_run_begins_from_the_model_it_is_given(solver):
    """With steps of nearly nothing it stays there."""
    given = LinearModel(np.array([0.3, -0.2, 0.1]), 0.5)
    rows = rows_of()
    hardly_moving = dataclasses.replace(solver, step=1e-9, passes=1)
    run, _ = drive(plain_run(hardly_moving, rows, measures_for(solver)[0], initial=given), rows)
    np.testing.assert_allclose(run.model().weights, given.weights, rtol=1e-4)
    assert run.model().intercept == pytest.approx(given.intercept, rel=1e-4)


def test_shorter_steps_are_a_tenth_and_batch_solvers_have_none():
    assert Spade(step=1.0).with_shorter_steps() == Spade(step=0.1)
    assert Stamp(step=1.0).with_shorter_steps() == Stamp(step=0.1)
    assert WeightedLogistic(step=2.0).with_shorter_steps() == WeightedLogistic(step=0.2)
    assert Amp().with_shorter_steps() is None
    assert PenalizedLogistic().with_shorter_steps() is None


@pytest.mark.parametrize("name", REGISTERED)
def test_a_registered_solver_is_found_by_its_name_and_has_a_label(name):
    solver = get_solver(name, FBeta())
    assert type(solver).name == name
    assert solver.label
    assert get_solver(solver, FBeta()) is solver
    assert pickled(solver) == solver


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        (GMean(), Spade()),
        (FBeta(1.0), Stamp()),
        (FunctionMeasure(lambda tpr, tnr: tpr * tnr), WeightedLogistic()),
    ],
    ids=["concave", "pseudo-linear", "neither"],
)
def test_auto_takes_the_streaming_solver_that_suits_the_measure(measure, expected):
    assert get_solver("auto", measure) == expected
    assert expected.streaming


def test_a_name_that_is_not_known_gets_a_hint():
    with pytest.raises(ValueError, match=r"There is no solver 'spad'\. Did you mean 'spade'\? Known: auto, spade"):
        get_solver("spad", GMean())
