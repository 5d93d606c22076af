"""An array that is appended to."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ratewise.streams.formats.svmlight import GrowingArray


@settings(deadline=None)
@given(sizes=st.lists(st.integers(0, 40), max_size=12), shares=st.lists(st.floats(0, 1), min_size=12, max_size=12))
def test_all_parts_come_back_in_order_however_wrong_the_guesses_of_the_size(sizes, shares):
    growing, expected = GrowingArray(np.int32), []
    for size, share in zip(sizes, shares, strict=False):
        part = np.arange(len(expected), len(expected) + size, dtype=np.int32)
        growing.append(part, max(share, 1e-6) if share else 0.0)
        expected += part.tolist()
    assert growing.size == len(expected)
    whole = growing.finish()
    assert whole.tolist() == expected
    assert whole.dtype == np.int32
    assert whole.base is None  # no larger array is kept alive behind it


def test_a_right_guess_makes_room_once():
    growing = GrowingArray(np.float64)
    growing.append(np.ones(10), 0.01)
    room = growing._room
    for step in range(2, 101):
        growing.append(np.ones(10), step / 100)
    assert growing._room is room
    assert growing.finish().tolist() == [1.0] * 1000
