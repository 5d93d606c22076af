"""1PMB: its compiled pass against the same in numpy, and what it learns."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from toy_problems import two_clouds

from ratewise.baselines import OnePMB
from ratewise.baselines.labelling import learn_batches, most_violated_table, table_loss_of
from ratewise.baselines.onepmb import STEP_GRID
from ratewise.measures import get_measure
from ratewise.rewards import Hinge


def numpy_pass(X, signs, ranges, steps, radius, loss):
    """Algorithm 1PMB as it reads."""
    model, total = np.zeros(X.shape[1] + 1), np.zeros(X.shape[1] + 1)
    extended = np.column_stack([X, np.ones(len(X))])
    for (start, stop), step in zip(ranges, steps, strict=True):
        rows, y = extended[start:stop], signs[start:stop]
        if len(set(y)) == 2:
            scores = rows @ model
            order = np.argsort(scores)
            positives, negatives = order[y[order] > 0], order[y[order] < 0][::-1]
            missed, raised, _ = most_violated_table(loss, scores[positives], scores[negatives])
            wrong = np.concatenate([positives[:missed], negatives[:raised]])
            model = model + step / len(rows) * (y[wrong] @ rows[wrong])
            model = model * min(1.0, radius / max(np.linalg.norm(model), 1e-300))
        total = total + model
    return model, total


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("name", ["f1", "qmean"])
@pytest.mark.parametrize("radius", [1.5, 100.0])
def test_the_compiled_pass_is_the_algorithm(as_sparse, name, radius):
    X, positive = two_clouds(300, 0.3)
    signs = np.where(positive, 1.0, -1.0)
    signs[60:90] = -1.0  # a buffer without positives
    loss = table_loss_of(get_measure(name), float((signs > 0).mean()))
    ranges = [(start, start + 30) for start in range(0, 300, 30)]
    starts, stops = np.array(ranges).T
    steps = 3.0 / np.sqrt(np.arange(1.0, 11.0))
    expected_model, expected_total = numpy_pass(X, signs, ranges, steps, radius, loss)
    model, total = np.zeros(5), np.zeros(5)
    csr = sparse.csr_matrix(X)
    rows = (csr.data, csr.indices, csr.indptr) if as_sparse else X
    learn_batches(rows, signs, starts, stops, model, total, steps, radius, loss, Hinge())
    assert model == pytest.approx(expected_model, rel=1e-9)
    assert total == pytest.approx(expected_total, rel=1e-9)
    assert np.linalg.norm(model) <= radius * (1 + 1e-12)
    assert (np.linalg.norm(model) > 1.5) == (radius > 1.5)  # the small ball is in the way, the large one is not


@pytest.mark.parametrize(("name", "least"), [("f1", 0.7), ("jaccard", 0.55), ("qmean", 0.8), ("min", 0.8)])
def test_it_learns_what_sets_the_classes_apart(name, least):
    X, positive = two_clouds(3000, distance=2.5)
    test_X, test_positive = two_clouds(4000, distance=2.5, seed=1)
    model = OnePMB(name, buffer=100, random_state=0).fit(X, positive)
    assert model.score(test_X, test_positive) > least
    assert model.step_ in STEP_GRID


def test_one_pass_is_enough_to_beat_chance():
    X, positive = two_clouds(3000, distance=2.5)
    model = OnePMB("gmean", step=10.0, buffer=100, passes=1, random_state=0).fit(X, positive)
    assert model.score(X, positive) > 0.7


def test_the_same_seed_gives_the_same_model():
    X, positive = two_clouds(500)
    first, second, other = (OnePMB(step=10.0, buffer=50, random_state=seed).fit(X, positive) for seed in (0, 0, 1))
    assert np.array_equal(first.coef_, second.coef_)
    assert not np.array_equal(first.coef_, other.coef_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"step": 0.0}, "step must be a number above 0"),
        ({"step": "best"}, "step must be 'tune', a number or several"),
        ({"buffer": 1}, "buffer must be a whole number of 2 or more"),
        ({"passes": 0}, "passes must be a whole number of 1 or more"),
        ({"radius": -1}, "radius must be a number above 0"),
        ({"threshold": "best"}, "threshold must be 'tune' or 'zero'"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters, message):
    X, positive = two_clouds(60, 0.5)
    with pytest.raises(ValueError, match=message):
        OnePMB(**parameters).fit(X, positive)
