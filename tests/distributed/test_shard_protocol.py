"""The protocol: small states, merged in one order, by any engine."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from ratewise.distributed.gradients import TakeSlope
from ratewise.distributed.statistics import (
    MakeReady,
    Sign,
    TakeCensus,
    TakeCovariance,
    TakeMoments,
    TakeSummaries,
    half_of_each_row,
)
from scipy import sparse

from ratewise.distributed import Answer, ArrayShard, LocalEngine, Question, Worker, merge
from ratewise.rewards import Sigmoid
from ratewise.solvers import LinearModel
from ratewise.streams import Standardizer, Whitener


@dataclass(frozen=True)
class Text(Answer):
    text: str

    def merge(self, other):
        return Text(f"({self.text}{other.text})")


@dataclass(frozen=True)
class Spell(Question[Text]):
    name: ClassVar[str] = "spell"

    def answer(self, rows, shard):
        return Text(f"{shard}")


def shards(X, y, number):
    return [ArrayShard(X[part], y[part]) for part in np.array_split(np.arange(len(y)), number)]


def test_answers_are_merged_in_the_order_of_the_shards(rows):
    X, y = rows
    assert LocalEngine(shards(X, y, 3)).ask(Spell()) == Text("((01)2)")


def test_many_answers_are_merged_in_a_tree_that_their_number_decides():
    answers = [Text(chr(ord("a") + i)) for i in range(18)]
    merged = merge(answers).text
    assert merged.replace("(", "").replace(")", "") == "abcdefghijklmnopqr"
    assert merged == f"({merge(answers[:16]).text}{merge(answers[16:]).text})"


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_statistics_of_shards_are_those_of_all_rows(rows, form):
    X, y = rows
    X = form(X)
    engine = LocalEngine(shards(X, y, 7))
    census = engine.ask(TakeCensus())
    assert census.rows == len(y)
    assert census.labels[True].rows == y.sum()
    engine.prepare(Sign(True, 1.0))
    merged, whole = engine.ask(TakeMoments(True)).standardizer, Standardizer(6).update(X)
    np.testing.assert_allclose(merged.scale, whole.scale, rtol=1e-12)
    np.testing.assert_allclose(merged.centre, whole.centre, rtol=1e-6)
    engine.prepare(MakeReady(merged, False, 0))
    summary = engine.ask(TakeSummaries()).parts[0]
    assert (summary.points, summary.positive_weight) == (len(y), y.sum())


def test_whitening_by_merged_covariances_is_that_of_all_rows(rows):
    X, y = rows
    engine = LocalEngine(shards(X, y, 5))
    engine.prepare(Sign(True, 1.0))
    standardizer = engine.ask(TakeMoments(True)).standardizer
    covariance = engine.ask(TakeCovariance(standardizer, 1.0, 0))
    assert covariance.rows == len(y)
    merged = Whitener.of_covariance(standardizer, covariance.products / covariance.rows)
    whole = Whitener(standardizer, X, np.random.default_rng(0))
    order = np.arange(100)
    np.testing.assert_allclose(
        merged.transform(X, order, np.float32), whole.transform(X, order, np.float32), atol=2e-3
    )


def test_a_worker_made_anew_answers_the_same_to_the_last_bit(rows):
    X, y = rows
    standardizer = Standardizer(6).update(X)

    def ready():
        worker = Worker.load(ArrayShard(X, y), 3)
        return worker.prepare(Sign(True, 1.0)).prepare(MakeReady(standardizer, True, 5))

    first, second = ready(), pickle.loads(pickle.dumps(ready()))
    for mine, other in zip(first.rows.parts, second.rows.parts, strict=True):
        np.testing.assert_array_equal(mine.X, other.X)
        np.testing.assert_array_equal(mine.signed_weights, other.signed_weights)


def at_an_odd_address(buffer):
    return memoryview(bytearray(1) + bytearray(buffer))[1:]


def test_a_worker_sent_to_another_process_answers_the_same_to_the_last_bit(rows):
    X, y = rows
    worker = Worker.load(ArrayShard(X, y), 0).prepare(Sign(True, 1.0))
    worker = worker.prepare(MakeReady(Standardizer(6).update(X), False, 0))
    buffers: list = []
    packed = pickle.dumps(worker, protocol=5, buffer_callback=buffers.append)
    sent = pickle.loads(packed, buffers=[at_an_odd_address(buffer.raw()) for buffer in buffers])
    question = TakeSlope(0, LinearModel(np.arange(6.0), 0.5), Sigmoid(1.0), 1.0, 2.0, 1.0)
    np.testing.assert_array_equal(sent.step(question).gradient, worker.step(question).gradient)


def test_rows_at_odd_addresses_are_brought_to_even_ones(rows):
    X, y = rows
    odd = np.frombuffer(at_an_odd_address(X.tobytes()), dtype=np.float32).reshape(X.shape)
    assert not odd.flags.aligned
    read = ArrayShard(odd, y).read()
    assert read.X.flags.aligned
    np.testing.assert_array_equal(read.X, X)


def test_a_setup_leaves_the_worker_it_was_applied_to_alone(rows):
    X, y = rows
    worker = Worker.load(ArrayShard(X, y), 0)
    worker.prepare(Sign(True, 1.0))
    assert worker.rows.labels.dtype == bool


def test_equal_rows_fall_into_the_same_half_in_every_partition(rows):
    X, _ = rows
    np.testing.assert_array_equal(half_of_each_row(X)[500:900], half_of_each_row(X[500:900]))
    assert 0.45 < half_of_each_row(X).mean() < 0.55


def test_shards_of_different_widths_are_refused(rows):
    X, y = rows
    engine = LocalEngine([ArrayShard(X, y), ArrayShard(X[:, :4], y)])
    with pytest.raises(ValueError, match=r"one has 6 columns.*another 4"):
        engine.ask(TakeCensus())


def test_an_empty_shard_is_refused_by_name():
    with pytest.raises(ValueError, match="Partition 2 holds no rows"):
        ArrayShard(np.zeros((0, 3)), np.zeros(0), name="Partition 2").read()


def test_infinities_are_refused_naming_partition_and_column(rows):
    X, y = rows
    X = X.copy()
    X[15_000, 4] = np.inf
    with pytest.raises(ValueError, match=r"Partition 1.*column 4"):
        LocalEngine(shards(X, y, 2)).ask(TakeCensus())
