"""The compiled parser of svmlight text, called as its reader does: every number as Python's float reads it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ratewise.kernels import svmlight as kernel

quick = settings(deadline=None, max_examples=200)
LARGEST = kernel.LARGEST_INDEX


def parsed(text, base=0, highest=LARGEST):
    text = text.encode() + b"\n"
    entries, rows = len(text) // 4 + 1, len(text) // 2 + 1
    arrays = (
        np.empty(rows + 1, dtype=np.int32),
        np.empty(entries, dtype=np.int32),
        np.empty(entries, dtype=np.float32),
        np.empty(rows, dtype=np.float64),
        np.empty((entries, 3), dtype=np.int64),
    )
    padded = np.frombuffer(text + bytes(kernel.PADDING), dtype=np.uint8)
    names = ("status", "place", "rows", "entries", "left", "lines", "smallest", "largest")
    found = SimpleNamespace(
        **dict(zip(names, kernel.parse_lines(padded, len(text), base, highest, arrays), strict=True))
    )
    found.indptr, found.indices = arrays[0][: found.rows + 1].tolist(), arrays[1][: found.entries].tolist()
    found.values, found.labels = arrays[2][: found.entries].tolist(), arrays[3][: found.rows].tolist()
    found.for_python = arrays[4][: found.left].tolist()
    return found


@st.composite
def numbers(draw):
    """Of up to 19 digits, with a point anywhere and an exponent; some have zeros in front."""
    digits = draw(st.text("0123456789", min_size=1, max_size=19))
    point = draw(st.integers(0, len(digits)))
    text = draw(st.sampled_from(["", "-", "+"])) + draw(st.sampled_from(["", "0", "000"]))
    text += digits if draw(st.booleans()) else f"{digits[:point]}.{digits[point:]}"
    if draw(st.booleans()):
        text += (
            draw(st.sampled_from("eE")) + draw(st.sampled_from(["", "+", "-"])) + str(draw(st.integers(0, 280)))
        )
    return text


@quick
@given(st.lists(numbers(), min_size=1, max_size=5))
def test_numbers_are_read_as_python_reads_them_and_none_is_left_to_it(texts):
    values = [float(text) for text in texts]
    assume(all(value == 0.0 or 1e-290 < abs(value) < 1e290 for value in values))
    found = parsed("\n".join(texts))
    assert found.status == kernel.DONE
    assert found.labels == values
    assert found.left == 0
    assert (found.rows, found.lines) == (len(texts), len(texts))


@pytest.mark.parametrize("digits", ["1", "9", "12", "123456789012345", "999999999999999", "9007199254740993"])
def test_numbers_of_every_small_exponent_are_exact(digits):
    texts = [f"{digits}e{exponent}" for exponent in range(-45, 46)]
    texts += [f"{digits[0]}.{digits[1:]}e{exponent}" for exponent in range(-45, 46)]
    found = parsed("\n".join(texts))
    assert found.labels == [float(text) for text in texts]
    assert found.left == 0


@st.composite
def halves(draw):
    """Numbers exactly halfway between two floats, and their neighbors: an odd number of 54 bits, scaled."""
    odd = 2 * draw(st.integers(2**52, 2**53 - 1)) + 1
    if draw(st.booleans()):
        number, exponent = odd << draw(st.integers(0, 9)), 0
    else:
        fives = draw(st.integers(1, 4))
        number, exponent = odd * 5**fives, -fives  # odd / 2^k
    number += draw(st.sampled_from([-1, 0, 0, 1]))
    return number, exponent


@quick
@given(halves())
def test_halfway_between_two_floats_the_even_one_is_taken(half):
    number, exponent = half
    assume(number < 10**19)
    (found,) = parsed(f"{number}e{exponent}").labels
    assert found == float(f"{number}e{exponent}")


@quick
@given(st.integers(1, 10**19 - 1), st.integers(-342, 308))
def test_at_the_ends_of_the_range_numbers_are_right_or_left_to_python(number, exponent):
    text = f"{number}e{exponent}"
    found = parsed(text)
    if found.left:
        assert found.for_python == [[-1, 0, len(text)]]
        assert not 1e-290 < float(text) < 1e290
    else:
        assert found.labels == [float(text)]


def test_powers_of_five_are_their_leading_128_bits():
    for exponent in range(-342, 309):
        found = kernel._power_of_five(exponent)
        assert 2**127 <= found < 2**128
        if exponent >= 0:  # rounded down
            shift = (5**exponent).bit_length() - 128
            assert found == (5**exponent >> shift if shift > 0 else 5**exponent << -shift)
        else:
            scale = (5**-exponent).bit_length() + 127
            below = 2**scale // 5**-exponent
            assert found == below + (1 if exponent >= -27 else 0)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("12345678901234567890", 1),  # twenty digits
        ("0.00012345678901234567890", 1),
        ("0000000000000000000000001.5", 0),  # zeros in front do not count
        ("0.000000000000000000000000015", 0),
        ("1234567890123456789.", 0),
        ("inf", 1),
        ("NaN", 1),
        ("-Infinity", 1),
        ("1e400", 1),
        ("1e-400", 1),
        ("1e99999999999999999999", 1),
        ("0e99999999999999999999", 0),
    ],
)
def test_what_is_too_long_too_large_or_a_word_is_left_to_python(text, left):
    found = parsed(f"7 2:{text}\n{text} 1:1")
    assert found.status == kernel.DONE
    if left:
        begin = 4 + len(text) + 1
        assert found.for_python == [[0, 4, 4 + len(text)], [-2, begin, begin + len(text)]]
    else:
        assert found.left == 0
        assert found.labels[1] == float(text)


@pytest.mark.parametrize(
    ("text", "status", "place"),
    [
        ("x 1:1", kernel.BAD_LABEL, 0),
        ("  y 1:1", kernel.BAD_LABEL, 2),
        ("1e 1:1", kernel.BAD_LABEL, 0),
        ("1.2.3", kernel.BAD_LABEL, 0),
        ("1\n- 1:1", kernel.BAD_LABEL, 2),
        ("1 1:", kernel.BAD_VALUE, 2),
        ("1 1:x", kernel.BAD_VALUE, 2),
        ("1 1:in", kernel.BAD_VALUE, 2),
        ("1 1:.", kernel.BAD_VALUE, 2),
        ("1 1:.nan", kernel.BAD_VALUE, 2),
        ("1 1:+", kernel.BAD_VALUE, 2),
        ("1 1:1e+", kernel.BAD_VALUE, 2),
        ("1 1:1e-x", kernel.BAD_VALUE, 2),
        ("1 1:2x", kernel.BAD_VALUE, 2),
        ("1 0:1 5:1,", kernel.BAD_VALUE, 6),
        ("1 3", kernel.NO_COLON, 2),
        ("1 3#", kernel.NO_COLON, 2),
        ("1 x:3", kernel.NOT_AN_INDEX, 2),
        ("1 :3", kernel.NOT_AN_INDEX, 2),
        ("1 1.5:3", kernel.NOT_AN_INDEX, 2),
        ("1 qix:3", kernel.NOT_AN_INDEX, 2),
        ("1 -3:1", kernel.BELOW_ZERO, 2),
        ("1 -x:1", kernel.NOT_AN_INDEX, 2),
        ("1 3:1 3:1", kernel.NOT_RISING, 6),
        ("1 3:1 2:1", kernel.NOT_RISING, 6),
        (f"1 {LARGEST + 1}:1", kernel.TOO_HIGH, 2),
        ("1 1234567890123456789:1", kernel.TOO_HIGH, 2),
        (f"1 {'5':0>19}:1", kernel.TOO_HIGH, 2),  # too many digits to look at
        ("1 18446744073709551616:1", kernel.TOO_HIGH, 2),  # 0, were it to overflow
    ],
)
def test_what_is_wrong_is_told_with_its_place(text, status, place):
    found = parsed(text)
    assert (found.status, found.place) == (status, place)


@pytest.mark.parametrize("byte", ["/", ":", "!", "~"])  # before 0, after 9, near white space, above
@pytest.mark.parametrize("place", [0, 1, 2, 3, 4, 5, 6, 7])
def test_what_is_no_digit_makes_no_number(byte, place):
    text = "12.34e56"
    bad = text[:place] + byte + text[place + 1 :]
    assert parsed(f"{bad} 1:1").status == kernel.BAD_LABEL
    assert parsed(f"1 2:{bad}").status == kernel.BAD_VALUE


@pytest.mark.parametrize("blank", [" ", "\t", "\v", "\f", "\r", " \t "])
def test_all_white_space_parts_tokens(blank):
    found = parsed(f"{blank}1{blank}2:3{blank}4:5{blank}")
    assert (found.labels, found.indices, found.values) == ([1.0], [2, 4], [3.0, 5.0])
    assert parsed("1 2:3\b4:5").status == kernel.BAD_VALUE  # 8 is none, and neither is 14
    assert parsed("1 2:3\x0e4:5").status == kernel.BAD_VALUE


def test_an_index_below_the_first_column_or_above_the_last_is_refused():
    assert parsed("1 0:1", base=1).status == kernel.BELOW_BASE
    assert parsed("1 1:1", base=1).indices == [0]
    assert parsed("1 7:1", highest=7).indices == [7]
    assert parsed("1 8:1", highest=7).status == kernel.TOO_HIGH
    assert parsed("1 7:1", base=1, highest=7).indices == [6]
    assert parsed(f"1 {LARGEST}:1").indices == [LARGEST]
    assert parsed(f"1 {'5':0>18}:1").indices == [5]


def test_rows_entries_and_lines_are_counted_and_the_ends_of_indices_noted():
    found = parsed("\n1 3:1 +7:2 # a note 9:9\n\t-1\r\n#2 5:1\n0.5 qid:3 2:4 12345678:0.5\t\n \n2 # none")
    assert found.status == kernel.DONE
    assert found.labels == [1.0, -1.0, 0.5, 2.0]
    assert found.indptr == [0, 2, 2, 4, 4]
    assert found.indices == [3, 7, 2, 12345678]
    assert found.values == [1.0, 2.0, 4.0, 0.5]
    assert (found.smallest, found.largest) == (2, 12345678)
    assert found.lines == 7
    nothing = parsed("# nothing\n")
    assert (nothing.rows, nothing.lines, nothing.smallest, nothing.largest) == (0, 2, LARGEST, -1)


@quick
@given(st.lists(st.integers(0, LARGEST), min_size=1, max_size=6, unique=True), st.integers(0, 9))
def test_indices_of_any_length_are_read(indices, value):
    indices = sorted(indices)
    found = parsed("1 " + " ".join(f"{index}:{value}" for index in indices))
    assert found.indices == indices
    assert found.values == [value] * len(indices)
    assert (found.smallest, found.largest) == (indices[0], indices[-1])
