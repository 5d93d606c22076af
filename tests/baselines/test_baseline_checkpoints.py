"""The clock, and the models handed out on the way."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from toy_problems import two_clouds

from ratewise.baselines import LogisticBaseline, OnePMB, PlugIn, SVMPerf, linear
from ratewise.baselines.linear import Checkpoints, Stopwatch

ESTIMATORS = [
    LogisticBaseline(random_state=0),
    PlugIn("f1", random_state=0),
    PlugIn("f1", refit=False, random_state=0),
    SVMPerf("f1", random_state=0),
    SVMPerf("f1", C=10.0, threshold="zero", random_state=0),
    OnePMB("f1", buffer=50, random_state=0),
    OnePMB("f1", buffer=50, step=10.0, threshold="zero", random_state=0),
]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)


class FakeTime:
    """A clock that moves when it is told to."""

    def __init__(self):
        self.now = 100.0

    def process_time(self):
        return self.now


@pytest.fixture
def fake_time(monkeypatch):
    clock = FakeTime()
    monkeypatch.setattr(linear, "time", clock)
    return clock


def test_the_clock_stands_still_while_it_is_stopped(fake_time):
    clock = Stopwatch()
    fake_time.now += 2.0
    with clock.stopped():
        fake_time.now += 50.0
    fake_time.now += 1.0
    assert clock.seconds == 3.0


def test_what_a_checkpoint_costs_is_not_counted(fake_time):
    seen = []

    def slow(seconds, coef, intercept):
        fake_time.now += 50.0
        seen.append(seconds)

    def slow_model():
        fake_time.now += 7.0
        return np.zeros(1), 0.0

    on_the_way = Checkpoints(slow, Stopwatch())
    for _ in range(3):
        fake_time.now += 1.0
        on_the_way.report(slow_model)
    assert seen == [1.0, 2.0, 3.0]


def test_checkpoints_come_a_tenth_apart_and_the_last_in_any_case(fake_time):
    seen = []
    on_the_way = Checkpoints(lambda seconds, *_: seen.append(seconds), Stopwatch())
    for _ in range(1000):
        fake_time.now += 1.0
        on_the_way.report(lambda: (np.zeros(1), 0.0))
    on_the_way.report(lambda: (np.zeros(1), 0.0), last=True)
    assert seen[-1] == 1000.0
    assert 40 < len(seen) < 80
    assert all(later >= 1.1 * sooner for sooner, later in itertools.pairwise(seen[:-1]))


def test_nobody_listening_costs_no_model(fake_time):
    def never():
        raise AssertionError("nobody asked for it")

    Checkpoints(None, Stopwatch()).report(never, last=True)


@every_estimator
def test_the_last_checkpoint_is_the_model_itself(estimator):
    X, positive = two_clouds(400)
    seen = []
    estimator.set_params(on_checkpoint=lambda *found: seen.append(found))
    model = estimator.fit(X, positive)
    estimator.set_params(on_checkpoint=None)
    seconds, coef, intercept = seen[-1]
    assert len(seen) > 1
    assert np.array_equal(coef, model.coef_[0])
    assert intercept == model.intercept_[0]
    times = [found[0] for found in seen]
    assert times == sorted(times)
    assert seconds > 0


@every_estimator
def test_listening_does_not_change_what_is_learned(estimator):
    X, positive = two_clouds(400)
    alone = estimator.fit(X, positive).coef_.copy()
    heard = estimator.set_params(on_checkpoint=lambda *found: None).fit(X, positive).coef_
    estimator.set_params(on_checkpoint=None)
    assert np.array_equal(alone, heard)


def test_models_on_the_way_have_their_own_thresholds():
    # Half-way through a rare class, a model cut at 0 would call nothing positive; one with a threshold does.
    X, positive = two_clouds(3000, 0.03)
    values = []

    def value(seconds, coef, intercept):
        called = X @ coef + intercept > 0
        values.append(2 * (called & positive).sum() / (called.sum() + positive.sum()))

    PlugIn("f1", random_state=0, on_checkpoint=value).fit(X, positive)
    assert values[0] > 0.2
