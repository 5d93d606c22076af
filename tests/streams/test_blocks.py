"""The order in which passes meet rows in memory."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from ratewise.streams.blocks import ShuffledBlocks


def rows_of(starts, stops):
    return [row for start, stop in zip(starts, stops, strict=True) for row in range(start, stop)]


@st.composite
def disjoint_ranges(draw):
    edges = sorted(draw(st.sets(st.integers(0, 1000), min_size=2, max_size=6)))
    return list(zip(edges[:-1:2], edges[1::2], strict=True))


@given(disjoint_ranges(), st.lists(st.integers(1, 700), min_size=1, max_size=12))
def test_every_pass_meets_every_row_once_however_it_is_taken(ranges, amounts):
    blocks = ShuffledBlocks(ranges, np.random.default_rng(0))
    met = [row for amount in amounts for row in rows_of(*blocks.take(amount))]
    assert len(met) == sum(amounts)
    rows = sorted(row for start, stop in ranges for row in range(start, stop))
    for begin in range(0, len(met), len(rows)):
        one_pass = met[begin : begin + len(rows)]
        assert len(set(one_pass)) == len(one_pass)
        assert set(one_pass) <= set(rows)
        if len(one_pass) == len(rows):
            assert sorted(one_pass) == rows


@given(st.lists(st.integers(1, 700), min_size=1, max_size=12))
def test_the_order_is_the_same_in_one_piece_or_in_many(amounts):
    at_once = rows_of(*ShuffledBlocks([(5, 300), (400, 650)], np.random.default_rng(1)).take(sum(amounts)))
    blocks = ShuffledBlocks([(5, 300), (400, 650)], np.random.default_rng(1))
    assert [row for amount in amounts for row in rows_of(*blocks.take(amount))] == at_once


def test_passes_have_orders_of_their_own_and_keep_blocks_whole():
    blocks = ShuffledBlocks([(0, 6400)], np.random.default_rng(0))
    first, second = (rows_of(*blocks.take(6400)) for _ in range(2))
    assert first != second
    assert sum(after == before + 1 for before, after in pairwise(first)) >= 6400 - 64
