"""The same rows come to about the same model wherever they lie: in memory, in windows or in shards."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from ratewise import open_stream
from ratewise.distributed.inputs import ArrayShard
from ratewise.measures import RecallAtPrecision, get_measure
from ratewise.solvers import Sharpen, Spade, Stamp, get_solver
from ratewise.solvers.base import History
from ratewise.training import ArraySource, FitConfig, Trainer
from ratewise.training.files import StreamLabels, WindowSource
from ratewise.training.shards.engine import LocalEngine
from ratewise.training.shards.source import ShardSource

SOURCES = ["windows", "shards that merge models", "shards that merge gradients"]
MEASURES = {"f1": "f1", "gmean": "gmean", "min": "min", "recall at precision": RecallAtPrecision(0.6)}


@cache
def problem(n, seed):
    """One row in ten positive, in two clouds; columns correlated and of sizes from 0.1 to 100."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.1
    X = rng.standard_normal((n, 6))
    X[y, 0] += 1.6
    X[y, 1] += np.where(rng.random(y.sum()) < 0.7, 1.5, -1.0)
    X[:, 2:] += 0.6 * X[:, :1]
    X *= 10.0 ** np.linspace(-1.0, 2.0, 6)
    return X.astype(np.float32), y.astype(int)


def source_of(kind, measure):
    X, y = problem(20_000, 0)
    if kind == "memory":
        return ArraySource(X, np.where(y == 1, 1.0, -1.0), np.random.default_rng(0))
    if kind == "windows":
        parts = np.array_split(np.arange(y.size), 20)
        stream = open_stream([(X[part], y[part]) for part in parts], window_rows=3000)
        return WindowSource(stream, stream.survey(), StreamLabels(np.array([0, 1]), 1), measure, 0)
    parts = np.array_split(np.random.default_rng(1).permutation(y.size), 4)
    engine = LocalEngine([ArrayShard(X[part], y[part]) for part in parts])
    return ShardSource(engine, 0, lambda classes: classes[1], merging=kind.split()[-1])


@cache
def value_on_new_rows(kind, name, solver=None):
    measure = get_measure(MEASURES[name])
    sharpen = Sharpen() if solver is None else None
    settings = FitConfig(measure, solver or get_solver("auto", measure), None, sharpen)
    result = Trainer(settings, History()).fit(source_of(kind, measure))
    X, y = problem(60_000, 1)
    return measure.score(y, X @ result.coef[0] + result.intercept[0] > 0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("name", MEASURES)
def test_a_default_fit_reaches_the_value_of_a_fit_in_memory(kind, name):
    expected = value_on_new_rows("memory", name)
    assert expected > {"f1": 0.5, "gmean": 0.75, "min": 0.75, "recall at precision": 0.4}[name]
    assert value_on_new_rows(kind, name) == pytest.approx(expected, abs=0.015)


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize(("name", "solver"), [("gmean", Spade()), ("f1", Stamp())])
def test_a_plain_solver_reaches_the_value_of_a_fit_in_memory(kind, name, solver):
    expected = value_on_new_rows("memory", name, solver)
    assert value_on_new_rows(kind, name, solver) == pytest.approx(expected, abs=0.01)
