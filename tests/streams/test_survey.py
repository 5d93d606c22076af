"""The first pass over a stream."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratewise.streams import DataError, open_stream

quick = settings(deadline=None, max_examples=40)


def survey_of(*batches_of_labels, **options):
    batches = [(np.ones((len(labels), 1), dtype=np.float32), np.asarray(labels)) for labels in batches_of_labels]
    return open_stream(batches, **options).survey()


@quick
@given(labels=st.lists(st.lists(st.sampled_from([0, 1]), max_size=20), min_size=1, max_size=6))
def test_labels_are_counted_across_batches(labels):
    flat = [label for batch in labels for label in batch]
    if not flat:
        with pytest.raises(DataError, match="no rows"):
            survey_of(*labels)
    elif len(set(flat)) == 1:
        with pytest.raises(DataError, match=f"the target is {flat[0]} in all {len(flat)} rows"):
            survey_of(*labels)
    else:
        assert survey_of(*labels).label_counts == {0: flat.count(0), 1: flat.count(1)}


@pytest.mark.parametrize(
    "labels", [[False, True, True], [0.0, 1.0, 1.0], [-1, 1, 1], ["no", "yes", "yes"]], ids=str
)
def test_two_values_of_any_kind_are_labels(labels):
    assert survey_of(labels).label_counts == {labels[0]: 1, labels[1]: 2}
    assert all(type(label) is type(labels[0]) for label in survey_of(labels).label_counts)


def test_many_labels_are_counted():
    assert survey_of([0, 1, 7], [1, 0, 7, 1]).label_counts == {0: 2, 1: 3, 7: 2}
    assert survey_of(["a", "b", "c"], ["b", "d", "a", "c", "d"]).label_counts == dict.fromkeys("abcd", 2)
    many = np.arange(200) % 40
    numbers = np.bincount(np.append(many, many[:50])).tolist()
    assert survey_of(many, many[:50]).label_counts == dict(enumerate(numbers))


def test_a_column_of_numbers_is_no_target():
    with pytest.raises(DataError, match=r"batch 2, row 3, column 'y': labels such as 0.0, 1.0 and 0.5 are not"):
        survey_of([0.0, 1.0, 2.0], [1.0, 0.0, 0.5])
    with pytest.raises(DataError, match="more than 10,000 different"):
        survey_of(np.arange(10_001))


def test_a_missing_label_is_refused_with_its_row():
    with pytest.raises(DataError, match=r"batch 1, row 2, column 'y': the target is missing"):
        survey_of([0.0, np.nan, 1.0])
    with pytest.raises(DataError, match=r"batch 1, row 3, column 'y': the target is missing"):
        survey_of(np.array(["a", "b", None], dtype=object))


def test_a_bad_weight_is_refused_with_its_row():
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(DataError, match=r"batch 1, row 2, column 'weight': a weight must be"):
            open_stream([(np.ones((3, 1)), [0, 1, 0], [1.0, bad, 2.0])]).survey()


rng = np.random.default_rng(0)
ROWS = 60_000


@pytest.mark.parametrize(
    "labels",
    [
        np.arange(ROWS) < ROWS // 2,
        np.arange(ROWS) >= ROWS - 600,
        np.arange(100) < 50,
        (np.arange(ROWS) // 16384) % 2 == 0,
        rng.random(ROWS) < np.where(np.arange(ROWS) < ROWS // 2, 0.05, 0.9),
    ],
    ids=["half and half", "rare ones last", "few rows", "alternating runs", "nearly sorted"],
)
def test_rows_sorted_by_label_are_noticed(labels):
    assert survey_of(labels[: labels.size // 3], labels[labels.size // 3 :]).sorted_by_label is True


@pytest.mark.parametrize(
    "labels",
    [
        rng.random(ROWS) < 0.5,
        rng.random(ROWS) < 0.001,
        np.arange(ROWS) % 2 == 0,
        np.array([True, False, False]),
        np.arange(1000) == 999,
        rng.random(ROWS) < np.where(np.arange(ROWS) < ROWS // 2, 0.3, 0.4),
    ],
    ids=["mixed", "rare", "alternating", "three rows", "one positive, last", "slow drift"],
)
def test_mixed_rows_do_not_look_sorted(labels):
    assert survey_of(labels[: labels.size // 3], labels[labels.size // 3 :]).sorted_by_label is False


def test_batches_without_labels_are_surveyed_too():
    survey = open_stream([np.ones((3, 2)), np.ones((2, 2))]).survey()
    assert (survey.rows, survey.label_counts, survey.sorted_by_label) == (5, {}, False)


def test_many_small_batches_do_not_look_sorted():
    labels = rng.random(3000) < 0.3
    assert survey_of(*labels.reshape(-1, 3)).sorted_by_label is False
    assert survey_of(*np.sort(labels).reshape(-1, 3)).sorted_by_label is True
