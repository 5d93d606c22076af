"""Every method learns, and records models with the seconds each took, its clock stopped meanwhile."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_data import clouds

from paper.base import Task
from paper.methods import METHODS, PAPERS_OWN
from ratewise.baselines import linear as checkpoints
from ratewise.measures import get_measure

CASES = [
    pytest.param(method, measure, id=f"{method.name} {measure}")
    for method in METHODS
    for measure in ("qmean", "f1")
    if method.suits(get_measure(measure)) and (measure == "f1" or method in PAPERS_OWN)
]


@pytest.mark.parametrize(("method", "measure"), CASES)
def test_a_method_records_models_with_their_seconds_and_ends_with_a_good_one(method, measure):
    X, positive = clouds(1500)
    measure = get_measure(measure)
    models = []
    setting = method.run(Task(measure, X, positive, 0, seconds_allowed=1.0), lambda *model: models.append(model))
    assert isinstance(setting, str)
    # Not in order: the threshold of a model on the way may take longer than the next piece of learning.
    assert all(seconds > 0 for seconds, _, _ in models)
    _, coef, intercept = models[-1]
    best_cut = max(measure.score(positive, X[:, 0] > cut) for cut in np.linspace(0, 2, 41))
    floor = 0.4 if method.name == "Logistic regression" else best_cut - 0.1
    assert measure.score(positive, X @ coef + intercept > 0) > floor


class Clock:
    """Moves by a second at every reading."""

    def __init__(self):
        self.now = 0.0

    def process_time(self):
        self.now += 1.0
        return self.now


@pytest.mark.parametrize("method", PAPERS_OWN, ids=lambda method: method.name)
def test_recording_does_not_count_and_the_threshold_of_each_model_does(method, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(checkpoints, "time", clock)
    seconds = []

    def record(spent, coef, intercept):
        seconds.append(spent)
        clock.now += 1e6

    X, positive = clouds(300)
    measure = get_measure("qmean" if method.name == "SPADE" else "f1")
    method.run(Task(measure, X, positive, 0), record)
    assert seconds[-1] < 1e4
    # One second for the reading of the clock, one for the threshold, measured by two readings.
    assert seconds[0] == 2.0


def test_the_paper_has_1pmb_for_f1_only_and_spade_and_stamp_for_their_families():
    def names(measure):
        return {method.name for method in METHODS if method.suits(get_measure(measure))}

    assert names("f1") - names("jaccard") == {"1PMB"}
    assert names("qmean") - names("jaccard") == {"SPADE"}
    assert names("jaccard") - names("qmean") == {"STAMP"}
    assert len({method.name for method in METHODS}) == len(METHODS)
