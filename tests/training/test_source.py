"""A runner answers the requests of a run, however its rows come: all at once, or window by window."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ratewise.measures import get_measure
from ratewise.rewards import get_reward
from ratewise.solvers import Amp, LinearModel, Spade, Stamp, Task
from ratewise.solvers.base import Algorithm
from ratewise.solvers.driver import Run
from ratewise.solvers.requests import CountRates, Evaluate, Learn, Maximize, MeanRewards
from ratewise.training.answers import Runner, WeightedReward, answer, chunk_scores, reward_sums
from ratewise.training.rows import ArrayRows
from ratewise.training.source import FitResult, occupied_columns
from ratewise.transforms import Standardizer

quick = settings(deadline=None, max_examples=60)
MODEL = LinearModel(np.ones(1), 0.0)
EVALUATE = Evaluate(MODEL, get_measure("f1"), 2 / 3, candidate=True)


class Recorder:
    """A learner that notes the numbers of the rows it is given, and when its mean is restarted."""

    def __init__(self):
        self.met = []
        self.restarts = []

    def learn(self, chunk, settings, reward, measure=None):
        for start, stop in zip(chunk.starts, chunk.stops, strict=True):
            self.met += chunk.rows[start:stop, 0].astype(int).tolist()

    def restart_mean(self):
        self.restarts.append(len(self.met))

    def restart_rates(self):
        pass

    def begin(self, request):
        pass

    def mean(self):
        return len(self.met)

    current = class_weights = progressive_rates = mean


@dataclass(frozen=True)
class InTurn(Algorithm):
    """Makes the requests of a list, one after another."""

    requests: tuple

    def algorithm(self, task, seen):
        for request in self.requests:  # noqa: UP028 - an answer is sent
            yield request


class ListRun(Run):
    """A run of these requests, those to learn given as dicts; notes how many rows were met at each answer."""

    def __init__(self, *requests):
        made = (Learn(None, None, **one) if isinstance(one, dict) else one for one in requests)
        super().__init__(InTurn(tuple(made)), Task(get_measure("f1"), 1))
        self.learner = Recorder()
        self.answers, self.met_at = [], []

    def receive(self, answer):
        super().receive(answer)
        self.answers.append(answer)
        self.met_at.append(len(self.learner.met))


def numbered(first, last, seed=0):
    """Rows that hold their numbers, every third of the negative class."""
    X = np.arange(float(first), last)[:, None]
    signed = np.where(np.arange(first, last) % 3 == 0, -1.0, 1.0)
    return ArrayRows(X, signed, Standardizer(1, active=False), np.random.default_rng(seed))


def windows(sizes):
    edges = np.cumsum([1, *sizes]).tolist()
    return [numbered(*edge) for edge in pairwise(edges)]


def runner_of(run, points=100):
    return Runner(run, 0, numbered(1, 1 + points).summary)


def fed(run, sizes, passes=1):
    """The run, fed these windows pass after pass; pickled between any two."""
    runner = runner_of(run, sum(sizes))
    for _ in range(passes):
        for rows in windows(sizes):
            runner.feed(rows, rows)
            runner = pickle.loads(pickle.dumps(runner))
        runner.end_pass(rows)
    return runner.run


@quick
@given(
    wanted=st.lists(st.integers(1, 60), min_size=1, max_size=6),
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6),
)
def test_requests_that_end_in_the_middle_of_a_window_go_on_in_the_next_one(wanted, sizes):
    run = fed(ListRun(*({"points": points, "restart_mean": True} for points in wanted)), sizes, passes=3)
    ends = np.cumsum(wanted)
    total = min(ends[-1], 3 * sum(sizes))
    assert len(run.learner.met) == total
    answered = int((ends <= total).sum())
    assert run.met_at == ends[:answered].tolist()
    assert run.finished == (answered == len(wanted))
    begins = ends - wanted
    assert run.learner.restarts == begins[begins < total].tolist()  # once per request, in whichever window


@quick
@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6), passes=st.integers(1, 3))
def test_passes_meet_every_row_of_every_window_once(sizes, passes):
    run = fed(ListRun({"passes": passes}, EVALUATE), sizes, passes=passes)
    assert run.finished
    for one_pass in np.reshape(run.learner.met, (passes, -1)):
        assert np.array_equal(np.sort(one_pass), np.arange(1, sum(sizes) + 1))


def test_a_request_by_points_goes_on_in_the_next_pass():
    run = fed(ListRun({"points": 25}, {"points": 15}), [10, 10], passes=2)
    assert run.met_at == [25, 40]
    assert run.finished


@pytest.mark.parametrize("pieces", [[100], [1, 99], [30, 30, 40], [7] * 14 + [2]])
def test_rows_fed_in_pieces_come_in_the_order_of_rows_fed_at_once(pieces):
    requests = [{"points": 37}, {"points": 63}]
    at_once, in_pieces = ListRun(*requests), ListRun(*requests)
    runner_of(at_once).to_the_end(numbered(1, 81))
    rows, runner = numbered(1, 81), runner_of(in_pieces)
    for points in pieces:
        runner.feed(rows, rows, points)
    assert in_pieces.finished
    assert in_pieces.learner.met == at_once.learner.met


def test_rows_without_end_answer_all_requests():
    run = ListRun({"points": 130}, CountRates(MODEL), {"passes": 2}, EVALUATE)
    runner_of(run).to_the_end(numbered(1, 81))
    assert run.finished
    assert run.met_at == [130, 130, 290, 290]


def test_a_sample_answers_what_needs_no_learning_and_costs_no_points():
    run = ListRun({"points": 5}, CountRates(MODEL), EVALUATE, {"points": 5})
    rows, sample = numbered(1, 11), numbered(50, 80)
    runner_of(run).feed(rows, sample)
    assert run.finished
    assert sorted(run.learner.met) == list(range(1, 11))
    assert run.answers[1] == pytest.approx((1.0, 0.0, 2 / 3))  # all scores are above 0
    assert run.answers[2].mean == pytest.approx(np.arange(50, 80).mean())


def test_the_end_of_a_pass_answers_what_waits_for_it_and_no_more():
    run = ListRun({"passes": 1}, EVALUATE, CountRates(MODEL), {"passes": 1}, EVALUATE)
    runner = runner_of(run, 10)
    rows = numbered(1, 11)
    runner.feed(rows, rows)
    assert run.answers == []
    runner.end_pass(rows)
    assert len(run.answers) == 3
    runner.feed(rows, rows)
    runner.end_pass(rows)
    assert run.finished


def test_a_finished_run_takes_no_more_rows():
    run = ListRun({"points": 4})
    runner, rows = runner_of(run), numbered(1, 11)
    runner.feed(rows, rows)
    runner.feed(rows, rows)
    runner.end_pass(rows)
    assert len(run.learner.met) == 4


def test_fresh_points_for_mean_rewards_are_used_up():
    reward = get_reward("logistic")
    run = ListRun({"points": 4}, MeanRewards(MODEL, reward, 5), {"points": 3})
    rows = numbered(1, 13)
    runner_of(run).feed(rows, rows)
    assert run.finished
    assert len(set(run.learner.met)) == 7
    again = numbered(1, 13)
    list(again.take(4))
    fresh = np.concatenate([c.rows[a:b, 0] for c in again.take(5) for a, b in zip(c.starts, c.stops, strict=True)])
    assert not set(fresh.astype(int)) & set(run.learner.met)
    positive = fresh % 3 != 0
    expected = reward.value(fresh[positive]).mean(), reward.value(-fresh[~positive]).mean()
    assert run.answers[1] == pytest.approx(expected)


def test_mean_rewards_of_all_rows_are_those_of_each_class():
    reward, rows = get_reward("hinge"), numbered(1, 31)
    numbers = np.arange(1, 31)
    found = answer(rows, MeanRewards(LinearModel(np.array([0.1]), -1.0), reward))
    scores, positive = 0.1 * numbers - 1.0, numbers % 3 != 0
    expected = reward.value(scores[positive]).mean(), reward.value(-scores[~positive]).mean()
    assert found == pytest.approx(expected, rel=1e-5)


def test_rates_are_counted_on_so_many_rows_as_are_enough():
    rows = numbered(1, 3001)
    model = LinearModel(np.ones(1), -1500.5)
    whole, some = answer(rows, CountRates(model)), answer(rows, CountRates(model, 600))
    assert whole == pytest.approx((0.5, 0.5, 2 / 3))
    assert some != whole
    assert some == pytest.approx(whole, abs=0.1)


def test_the_largest_weighted_reward_is_found():
    rows = numbered(1, 31)
    scaled = ArrayRows(rows.X / 30.0, np.sign(rows.X[:, 0] - 12.3), Standardizer(1, active=False), rows.rng)
    reward = get_reward("logistic")
    found = answer(scaled, Maximize(reward, (1.0, 1.0), LinearModel.zeros(1), l2=1e-3))
    assert min(answer(scaled, CountRates(found))[:2]) > 0.9


def test_what_is_no_request_is_refused():
    with pytest.raises(TypeError, match="dict is not a request that rows in memory can answer"):
        answer(numbered(1, 4), {})


@pytest.mark.parametrize(
    ("solver", "name"), [(Spade(passes=3), "gmean"), (Stamp(passes=3), "f1"), (Amp(passes=3), "f1")]
)
def test_solvers_reach_about_the_same_model_from_windows_as_from_rows_at_once(solver, name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3)).astype(np.float32)
    signed = np.where(X @ [1.0, -1.0, 0.5] + 0.3 * rng.normal(size=4000) > 1.5, 1.0, -1.0)
    transform = Standardizer(3, active=False)
    whole = ArrayRows(X, signed, transform, np.random.default_rng(1))
    measure = get_measure(name)
    task = Task(measure, 3)
    at_once, in_windows = (Runner(solver.start(task), 0, whole.summary) for _ in range(2))
    at_once.to_the_end(whole)
    for _ in range(4):
        for part in np.array_split(rng.permutation(4000), 7):
            in_windows.feed(ArrayRows(X[part], signed[part], transform, rng), whole)
        in_windows.end_pass(whole)
    assert in_windows.run.finished
    models = [runner.run.model() for runner in (at_once, in_windows)]
    cosine = models[0].weights @ models[1].weights / np.prod([np.linalg.norm(m.weights) for m in models])
    assert cosine > 0.98


def a_problem(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    signed = np.where(rng.random(n) < 0.3, 1.0, -1.0) * (0.5 + rng.random(n))
    return ArrayRows(rng.normal(size=(n, d)), signed, Standardizer(d, active=False), rng, np.float64)


@pytest.mark.parametrize("name", ["logistic", "sigmoid"])
@pytest.mark.parametrize("class_weights", [(1.0, 1.0), (3.0, 0.5)])
@pytest.mark.parametrize("few_rows", [False, True])
def test_a_weighted_reward_is_the_mean_of_each_class_and_its_slopes_are_its_own(name, class_weights, few_rows):
    rows, reward = a_problem(), get_reward(name)
    objective = WeightedReward(rows, reward, class_weights, few_rows=few_rows)
    model = np.array([0.3, -0.7, 0.2, 0.1])

    def slow(model):
        margins = np.sign(rows.signed_weights) * (rows.X @ model[:-1] + model[-1])
        values, weights, loss = reward.value(margins), np.abs(rows.signed_weights), 0.0
        for side, share in zip((1, -1), class_weights, strict=True):
            mine = np.sign(rows.signed_weights) == side
            loss -= share / sum(class_weights) * np.average(values[mine], weights=weights[mine])
        return loss

    loss, gradient = objective(model)
    assert loss == pytest.approx(slow(model), rel=1e-6)
    steps = 1e-4 * np.eye(4)
    numeric = [(slow(model + step) - slow(model - step)) / 2e-4 for step in steps]
    np.testing.assert_allclose(gradient, numeric, atol=1e-6)
    if few_rows and name == "logistic":
        second = [(objective(model + step)[1] - objective(model - step)[1]) / 2e-4 for step in steps]
        np.testing.assert_allclose(objective.curvature(model), second, atol=1e-5)
    twice = WeightedReward(rows, reward, (7 * class_weights[0], 7 * class_weights[1]))
    assert twice(model)[0] == pytest.approx(loss)


def test_a_sample_of_the_rows_does_not_take_a_rare_category_for_one_without_curvature():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6_000, 70))
    X[:, :9] = 0.0
    X[rng.choice(6_000, 9, replace=False), np.arange(9)] = 1.0
    signed = np.where(rng.random(6_000) < 0.3, 1.0, -1.0)
    rows = ArrayRows(X, signed, Standardizer(70, active=False), rng, np.float64)
    objective, model = WeightedReward(rows, get_reward("logistic"), (1.0, 1.0), few_rows=True), np.zeros(71)
    steps = 1e-3 * np.eye(71)[:9]
    second = [(objective(model + step)[1] - objective(model - step)[1]) @ step / 2e-6 for step in steps]
    assert (objective.curvature(model).diagonal()[:9] >= 0.999 * np.array(second)).all()
    assert min(second) > 0.0


def test_columns_without_an_entry_are_left_out_and_come_back_with_nothing():
    X = sparse.csr_matrix(([1.0, 2.0, 3.0], ([0, 1, 2], [7, 2, 7])), shape=(3, 10))
    narrow, occupied = occupied_columns(X)
    assert occupied.tolist() == [2, 7]
    assert narrow.toarray().tolist() == X.toarray()[:, [2, 7]].tolist()
    result = FitResult(np.array([[5.0, 6.0]]), np.zeros(1), np.array([2.0, 4.0]), (), (), None, None, np.zeros(1))
    wide = result.widened(occupied, 10)
    assert wide.coef.tolist() == [[0, 0, 5.0, 0, 0, 0, 0, 6.0, 0, 0]]
    assert wide.scale.tolist() == [1, 1, 2.0, 1, 1, 1, 1, 4.0, 1, 1]
    assert result.widened(None, 10) is result
    for rows in (X.toarray(), X[:, [2, 7]], sparse.csr_matrix((3, 10))):
        same, nothing = occupied_columns(rows)
        assert same is rows
        assert nothing is None


def test_a_model_that_is_not_finite_is_refused():
    rates = (0.5, 0.5, 0.1)
    whole = FitResult(np.ones((1, 2)), np.ones(1), np.ones(2), rates, (), None, None, np.zeros(1))
    assert whole.checked() is whole
    for broken in (
        whole._replace(coef=np.array([[1.0, np.nan]])),
        whole._replace(intercept=np.array([np.inf])),
        whole._replace(rates=(0.5, np.nan, 0.1)),
    ):
        with pytest.raises(ValueError, match=r"No model could be learned.*standardize=True does"):
            broken.checked()


@pytest.mark.parametrize("of", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_chunks_are_scored_as_they_are_read(of):
    X = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    signed = np.where(np.arange(200) % 3 == 0, 1.0, -1.0)
    model = LinearModel(np.arange(1.0, 5.0), -0.5)
    rows, again = (ArrayRows(of(X), signed, Standardizer(4, active=False), np.random.default_rng(1)) for _ in "ab")
    (chunk,), (same,) = rows.take(150), again.take(150)
    scores, weights = chunk_scores(chunk, model)
    matrix = same.rows if of is np.asarray else sparse.csr_matrix(same.rows, shape=(200, 4)).toarray()
    places = np.concatenate([np.arange(a, b) for a, b in zip(same.starts, same.stops, strict=True)])
    np.testing.assert_allclose(scores, matrix[places] @ model.weights - 0.5, rtol=1e-4, atol=1e-5)
    assert weights.tolist() == same.targets[places].tolist()
    rewards, sums = reward_sums(scores, weights * 2.0, get_reward("hinge"))
    up = weights > 0
    hinge = get_reward("hinge").value(np.where(up, 1, -1) * scores)
    np.testing.assert_allclose(rewards, [2 * hinge[up].sum(), 2 * hinge[~up].sum()], rtol=1e-6)
    assert sums.tolist() == [2.0 * up.sum(), 2.0 * (~up).sum()]


def test_fresh_points_come_from_the_rows_that_are_fed_and_count_as_fed():
    asked = MeanRewards(LinearModel(np.array([0.001]), 0.0), get_reward("hinge"), 6)
    run = ListRun({"points": 4}, asked, {"points": 20})
    rows, sample = numbered(1, 31), numbered(1001, 1031)
    runner_of(run, 30).feed(rows, sample, 15)
    assert len(run.learner.met) == 15 - 6
    assert abs(run.answers[1][0] - answer(sample, asked)[0]) > 0.5
