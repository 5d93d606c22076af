"""The protocol: small answers, merged in one order, by any engine."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from ratewise.distributed import Answer, LocalEngine, Question, Worker
from ratewise.distributed.inputs import ArrayShard
from ratewise.rewards import Sigmoid
from ratewise.solvers import LinearModel
from ratewise.training.shards.engine import QuestionBatch, Sums, grouped, merge, merge_few
from ratewise.training.shards.questions import MakeReady, TakeSlope
from ratewise.training.shards.statistics import Label
from ratewise.transforms import Standardizer


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


@dataclass(frozen=True)
class Totals(Sums):
    number: int
    array: np.ndarray
    parts: tuple


def test_answers_are_merged_in_the_order_of_the_shards(rows):
    X, y = rows
    engine = LocalEngine([ArrayShard(X[part], y[part]) for part in np.array_split(np.arange(len(y)), 3)])
    assert engine.ask(Spell()) == Text("((01)2)")


def test_many_answers_are_merged_in_a_tree_that_their_number_decides():
    answers = [Text(chr(ord("a") + i)) for i in range(18)]
    merged = merge(answers).text
    assert merged.replace("(", "").replace(")", "") == "abcdefghijklmnopqr"
    assert merged == f"({merge(answers[:16]).text}{merge(answers[16:]).text})"


def test_groups_merged_elsewhere_give_the_same_tree():
    answers = [Text(f"{i},") for i in range(300)]
    on_workers = [merge_few(group) for group in grouped([merge_few(group) for group in grouped(answers)])]
    assert merge(on_workers) == merge(answers)


def test_sums_add_up_field_by_field():
    merged = Totals(1, np.array([1.0, 2.0]), ("a",)).merge(Totals(2, np.array([0.5, 0.5]), ("b", "c")))
    assert (merged.number, merged.array.tolist(), merged.parts) == (3, [1.5, 2.5], ("a", "b", "c"))


def test_several_questions_of_one_round_are_answered_side_by_side(rows):
    X, y = rows
    engine = LocalEngine([ArrayShard(X[:9], y[:9]), ArrayShard(X[9:], y[9:])])
    assert engine.ask(QuestionBatch((Spell(), Spell()))).answers == (Text("(01)"), Text("(01)"))


def ready(X, y, number, folds=1):
    worker = Worker.load(ArrayShard(X, y), number).prepare(Label((False, True), 1.0))
    return worker.prepare(MakeReady(Standardizer(X.shape[1]).update(X), folds, 5))


def test_a_worker_made_anew_answers_the_same_to_the_last_bit(rows):
    first, second = ready(*rows, 3, folds=2), pickle.loads(pickle.dumps(ready(*rows, 3, folds=2)))
    assert first.rows.rows.fold_ranges == second.rows.rows.fold_ranges
    np.testing.assert_array_equal(first.rows.rows.X, second.rows.rows.X)
    np.testing.assert_array_equal(first.rows.rows.signed_weights, second.rows.rows.signed_weights)


def at_an_odd_address(buffer):
    return memoryview(bytearray(1) + bytearray(buffer))[1:]


def test_a_worker_sent_to_another_process_answers_the_same_to_the_last_bit(rows):
    worker = ready(*rows, 0)
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
    worker = Worker.load(ArrayShard(*rows), 0)
    worker.prepare(Label((False, True), 1.0))
    assert worker.rows.labels.dtype == bool


def test_an_empty_shard_is_refused_by_name():
    with pytest.raises(ValueError, match="Partition 2 holds no rows"):
        ArrayShard(np.zeros((0, 3)), np.zeros(0), name="Partition 2").read()


@pytest.mark.parametrize(
    ("y", "weights", "message"),
    [
        (np.zeros(4), None, "5 rows in X, but 4 labels"),
        (np.zeros(5), np.ones(6), "5 rows in X, but 6 sample weights"),
    ],
)
def test_labels_and_weights_of_another_length_are_refused_by_name(y, weights, message):
    with pytest.raises(ValueError, match=f"Partition 1: {message}"):
        ArrayShard(np.zeros((5, 3)), y, weights, name="Partition 1").read()
