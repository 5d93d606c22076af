"""The order in which pieces are read."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ratewise._errors import Place
from ratewise.streams.formats import Reader, Rows
from ratewise.streams.shuffle import Lane, Mixer, lanes_at_once, piece_order, take_size

quick = settings(deadline=None, max_examples=80)
piece_sizes = st.lists(st.integers(0, 30), min_size=1, max_size=8)


class NumberedReader(Reader):
    """Pieces of numbered rows, read in batches of uneven size; counts what is read."""

    def __init__(self, sizes, known):
        super().__init__("numbers", [size if known else None for size in sizes])
        self._starts = np.cumsum([0, *sizes])
        self.opened = []

    def read(self, piece, batch_rows):
        self.opened.append(piece)
        start, stop = (int(n) for n in self._starts[piece : piece + 2])
        while start < stop:
            size = min(1 + start % 7, stop - start)
            X = np.arange(start, start + size)[:, None]
            yield Rows(size, X, None, None, Place("numbers", start))
            start += size


def numbers(parts):
    return [int(number) for part in parts for number in part.features[:, 0]]


def mixer(reader, seed, lanes, take):
    rng = None if seed is None else np.random.default_rng(seed)
    return Mixer([reader], piece_order([reader], rng), lanes, take)


def all_windows(mixed, window_rows):
    windows = []
    while True:
        window, wanted = [], window_rows
        while wanted and (parts := mixed.take(wanted)):
            window += numbers(parts)
            wanted = window_rows - len(window)
        if not window:
            return windows
        windows.append(window)


mixers = {
    "sizes": piece_sizes,
    "lanes": st.integers(1, 4),
    "take": st.integers(1, 12),
    "window": st.integers(1, 40),
    "known": st.booleans(),
}


@quick
@given(**mixers, seed=st.one_of(st.none(), st.integers(0, 99)))
def test_every_row_is_read_once_and_windows_are_full(sizes, lanes, take, window, known, seed):
    windows = all_windows(mixer(NumberedReader(sizes, known), seed, lanes, take), window)
    assert sorted(number for one in windows for number in one) == list(range(sum(sizes)))
    assert all(len(one) == window for one in windows[:-1])


@quick
@given(**mixers, skip=st.integers(0, 10))
def test_skipped_windows_are_those_that_would_have_come(sizes, lanes, take, window, known, skip):
    whole = all_windows(mixer(NumberedReader(sizes, not known), 5, lanes, take), window)
    resumed = mixer(NumberedReader(sizes, known), 5, lanes, take)
    for _ in range(skip):
        resumed.skip(window)
    assert all_windows(resumed, window) == whole[skip:]


@quick
@given(sizes=piece_sizes, take=st.integers(1, 12))
def test_one_lane_in_order_keeps_the_order(sizes, take):
    windows = all_windows(mixer(NumberedReader(sizes, True), None, 1, take), 10)
    assert [number for one in windows for number in one] == list(range(sum(sizes)))


def test_pieces_that_are_skipped_whole_are_never_opened():
    reader = NumberedReader([20] * 10, True)
    mixed = mixer(reader, None, 1, 10)
    assert mixed.skip(170) == 170
    assert reader.opened == []
    assert numbers(mixed.take(10)) == list(range(170, 180))
    assert reader.opened == [8]


def test_several_lanes_are_open_as_memory_allows():
    reader = NumberedReader([1], True)
    assert lanes_at_once([reader]) == 8
    reader.lane_bytes = 25 << 20
    assert lanes_at_once([reader]) == 4
    reader.lane_bytes = 72 << 20  # a Parquet file of 31 columns
    assert lanes_at_once([reader]) == 4
    reader.lane_bytes = 400 << 20
    assert lanes_at_once([reader]) == 2
    reader.lane_bytes = 10 << 30
    assert lanes_at_once([reader]) == 1


def test_each_lane_has_two_turns_in_a_window_or_more():
    assert take_size(1 << 18, 8) == 1 << 14
    assert take_size(1600, 8) == 100
    assert take_size(1600, 1) == 200  # raw rows and the window are in memory together
    assert take_size(100, 8) == 32
    assert take_size(5, 8) == 5


@quick
@given(sizes=piece_sizes, lanes=st.integers(1, 4), take=st.integers(1, 12), wanted=st.integers(1, 40))
def test_rows_taken_so_many_at_a_time_are_all_rows(sizes, lanes, take, wanted):
    mixed = mixer(NumberedReader(sizes, True), 0, lanes, take)
    parts = [numbers(mixed.take_all(wanted)) for _ in range(sum(sizes) // wanted + 1)]
    assert [len(part) for part in parts] == [wanted] * (len(parts) - 1) + [sum(sizes) % wanted]
    assert sorted(itertools.chain(*parts)) == list(range(sum(sizes)))


def test_what_was_taken_of_a_piece_cannot_be_skipped_again():
    lane = Lane(NumberedReader([20], True), 0, 10)
    assert numbers(lane.take(4)) == [0, 1, 2, 3]
    assert lane.skip(100) == 16
    assert lane.take(1) == []
