"""A fit in progress as JSON and arrays: the same objects again, and nothing that runs."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from ratewise.measures import FBeta, FunctionMeasure, Rates, at_prevalence
from ratewise.solvers import Learn, LinearModel, Spade, Task
from ratewise.solvers.base import History
from ratewise.training.plain_data import Known, Packed, described, digest, pack, unpack


def again(value, known=None):
    """The value, out of a file that holds JSON and the bytes of arrays."""
    tree, arrays = pack(value, known)
    return unpack(Packed(json.loads(json.dumps(tree)), [array.copy() for array in arrays]), known)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        2**200,
        -0.0,
        1e-320,
        math.inf,
        "tëxt",
        (1, (2.5, "a")),
        [1, [2, None]],
        {1.0: [1], -1.0: {"b": ()}, (1, 2): "tuple"},
        Rates(0.5, 0.25, 0.1),
        FBeta(2.0),
        at_prevalence(FBeta(2.0), 0.125),
        Spade(passes=3, radius=5.0),
        np.dtype("float32"),
        np.float32,
        np.ndarray,
        tuple,
    ],
    ids=str,
)
def test_a_value_comes_back_equal_and_of_the_same_type(value):
    found = again(value)
    assert found == value
    assert type(found) is type(value)
    assert not isinstance(value, float) or math.copysign(1, found) == math.copysign(1, value)


@pytest.mark.parametrize(
    "array",
    [
        np.array([1.5, np.nan, -0.0]),
        np.zeros((0, 3), dtype=np.float32),
        np.asfortranarray(np.arange(6, dtype=np.int64).reshape(2, 3)),
        np.arange(20)[::3],
        np.array(3.0),
        np.zeros(2, dtype=[("a", "f8"), ("b", "i4")]),
        np.array(["a", "long"]),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_an_array_comes_back_with_its_bits_type_and_shape(array):
    found = again(array)
    assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, array.shape, array.tobytes())


def test_a_number_of_numpy_keeps_its_type():
    assert type(again(np.float32(0.1))) is np.float32
    assert again(np.float32(0.1)) == np.float32(0.1)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_rows_come_back_of_their_kind(kind):
    matrix = kind(np.eye(3, 5, dtype=np.float32))
    found = again(matrix)
    assert type(found) is kind
    np.testing.assert_array_equal(found.toarray(), matrix.toarray())


def test_random_numbers_go_on_where_they_were():
    rng = np.random.default_rng(3)
    rng.random(7)
    other = again(rng)
    assert other.random(5).tolist() == rng.random(5).tolist()


def test_what_was_one_object_is_one_again_and_two_stay_two():
    shared, apart = np.zeros(2), np.zeros(2)
    found = again({"a": shared, "b": [shared], "c": apart})
    assert found["a"] is found["b"][0]
    assert found["c"] is not found["a"]


def test_a_run_and_its_history_share_what_they_shared():
    task = Task(FBeta(1.0), 2, history=History())
    found = again([task, task.history])
    assert found[0].history is found[1]
    assert found[0] == Task(FBeta(1.0), 2, history=found[1])


@dataclass(frozen=True)
class OwnMeasure:
    power: float = 2.0

    def value(self, tpr, tnr, prevalence):
        return tpr**self.power


class OwnRun:
    def __init__(self):
        self.weights = np.ones(2)


@dataclass(frozen=True)
class Settings:
    measure: object


def test_classes_of_the_module_of_the_users_own_measure_are_known():
    known = Known(Settings(OwnMeasure()))
    assert again(OwnRun(), known).weights.tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match=r"OwnRun cannot be kept"):
        again(OwnRun())


def test_a_function_is_taken_from_the_settings_that_are_given():
    measure = FunctionMeasure(lambda tpr, tnr: tpr * tnr)
    found = again([at_prevalence(measure, 0.5)], Known(Settings(measure)))
    assert found[0].value(0.5, 0.5) == 0.25
    with pytest.raises(TypeError, match="cannot be kept"):
        pack([measure])


@pytest.mark.parametrize(
    "tree",
    [
        ["object", "os:system", ["dict", []]],
        ["object", "subprocess:Popen", ["dict", []]],
        ["object", "ratewise.cli.app:Commands", ["dict", []]],
        ["object", "ratewise.training.plain_data:np.ndarray", ["dict", []]],
        ["object", "ratewise.training.plain_data:pack", ["dict", []]],
        ["named", "builtins:exec", ["print(1)"]],
        ["type", "int"],
        ["given", "settings.measure"],
        ["unheard of"],
        {},
    ],
    ids=str,
)
def test_nothing_else_is_made(tree):
    with pytest.raises((TypeError, ValueError, KeyError)):
        unpack(Packed(tree, []))


@pytest.mark.parametrize(
    "value",
    [lambda: 0, object(), {1, 2}, np.array([object()]), int, Learn],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_plain_data_is_refused(value):
    with pytest.raises(TypeError, match="cannot be kept"):
        pack(value)


def test_a_digest_tells_values_types_and_shapes_apart():
    values = [[1], [1.0], ["1"], [np.zeros(4)], [np.zeros((2, 2))], [np.zeros(4, dtype=np.float32)], []]
    assert len({digest(value) for value in values}) == len(values)
    assert digest([LinearModel(np.ones(3), 0.5)]) == digest([LinearModel(np.ones(3), 0.5)])


def test_settings_are_described_by_their_values_and_the_code_of_functions():
    assert described(FBeta(2.0)) == described(FBeta(2.0)) != described(FBeta(1.0))
    first, second = FunctionMeasure(lambda tpr, tnr: tpr), FunctionMeasure(lambda tpr, tnr: tnr)
    assert described(first) != described(second)
    assert described(OwnMeasure()).startswith("OwnMeasure[")


@pytest.mark.parametrize(
    "name",
    ["ratewise.training.checkpoint:Path", "ratewise.training.files_in_memory:rows_in_memory", "pathlib:Path"],
)
def test_only_classes_of_the_library_itself_are_found(name):
    """Not what one of its modules has imported, and no function."""
    with pytest.raises(TypeError, match="cannot be kept in a checkpoint"):
        Known().find(name)
