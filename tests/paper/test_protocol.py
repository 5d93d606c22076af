"""The protocol: the same splits for all, tested off the clock, nothing twice, 50 times our time for SVMPerf."""

from __future__ import annotations

import numpy as np
import pytest

from paper import protocol
from paper.datasets import get_data_set
from ratewise.measures import QMean, get_measure


class Fixed:
    """A method whose model is known, and that keeps its tasks."""

    colour = "#000000"

    def __init__(self, name, seconds):
        self.name = name
        self.tasks = []
        self._seconds = seconds

    def suits(self, measure):
        return isinstance(measure, QMean)

    def run(self, task, record):
        self.tasks.append(task)
        for seconds in self._seconds:
            record(seconds, np.array([seconds, 0.0, 0.0]), -1.0)
        return "as ever"


@pytest.fixture
def methods(monkeypatch):
    pair = Fixed("SPADE", [0.5, 1.0]), Fixed("SVMPerf", [3.0, 2.0])
    monkeypatch.setattr(protocol, "METHODS", list(pair))
    return pair


def all_runs(data_folder, results, measures=("qmean",), splits=2):
    data_set = get_data_set("ijcnn1")
    runs = protocol.runs_of(data_set, measures, splits)
    stages = []
    protocol.make_runs(data_set, runs, results, data_folder, splits, stages.append)
    return runs, stages


def test_test_values_are_the_measure_of_the_models_on_the_test_rows(data_folder, results, methods):
    all_runs(data_folder, results)
    problem = get_data_set("ijcnn1").load(data_folder)
    for split, (_, test) in enumerate(problem.splits(2)):
        curve = results.curves("ijcnn1", "qmean", "SPADE")[split]
        expected = [
            get_measure("qmean").score(problem.positive[test], slope * problem.X[test, 0] > 1.0)
            for slope in (0.5, 1.0)
        ]
        np.testing.assert_allclose(curve.values, expected, atol=1e-6)
        assert curve.setting == "as ever"


def test_models_are_sorted_by_their_seconds(data_folder, results, methods):
    all_runs(data_folder, results)
    np.testing.assert_array_equal(results.curves("ijcnn1", "qmean", "SVMPerf")[0].seconds, [2.0, 3.0])


def test_svmperf_is_allowed_50_times_our_seconds_and_methods_warm_up_once(data_folder, results, methods):
    all_runs(data_folder, results)
    spade, svmperf = methods
    assert [task.seconds_allowed for task in svmperf.tasks[1:]] == [50.0, 50.0]
    assert spade.tasks[1].seconds_allowed is None
    assert [task.positive.size for task in spade.tasks[1:]] == [420, 420]
    warm_up = spade.tasks[0]
    assert warm_up.positive.any()
    assert not warm_up.positive.all()
    assert len(spade.tasks) == len(svmperf.tasks) == 3


def test_runs_whose_results_are_there_are_not_made_again(data_folder, results, methods):
    all_runs(data_folder, results, splits=1)
    for method in methods:
        method.tasks.clear()
    runs, stages = all_runs(data_folder, results, splits=2)
    assert [task.seed for task in methods[0].tasks[1:]] == [1]
    assert stages[-1]["total"] == len(runs) == 4
    for method in methods:
        method.tasks.clear()
    _, stages = all_runs(data_folder, results, splits=2)
    assert methods[0].tasks == []
    assert stages == []


def test_a_method_runs_only_for_the_measures_it_suits(data_folder, results, methods):
    runs, _ = all_runs(data_folder, results, measures=("f1",))
    assert runs == []
