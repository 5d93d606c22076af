"""The compiled loop that turns svmlight text into the arrays of a CSR matrix.

All compiled code of the parser is in this one file: numba looks at the age of a loop's own file only, and would
miss an edit to a function in another.

Numbers are rounded as Python's ``float`` rounds them. Up to 2**53 and 10**22 one exact division or product does
it; up to 19 digits it is the method of Lemire (Number Parsing at a Gigabyte per Second, 2021). What is left (more
digits, the ends of the range, the words inf and nan) is put on a list for Python's own ``float``.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

# What stopped the loop.
DONE, BAD_LABEL, BAD_VALUE, NO_COLON, NOT_AN_INDEX, BELOW_ZERO, BELOW_BASE, NOT_RISING, TOO_HIGH = range(9)

PADDING = 8
LARGEST_INDEX = 2**31 - 1
_MOST_INDEX_DIGITS = 18  # more might overflow 64 bits before the comparison with the largest

# Kinds of number tokens.
_KNOWN, _FOR_PYTHON, _NO_NUMBER = range(3)

_LOWEST_POWER, _HIGHEST_POWER = -342, 308
_EXACT_TENS = 10.0 ** np.arange(23)
_EXACT_LIMIT = np.uint64(2**53)
_MOST_DIGITS = 19  # as many as 64 bits always hold


def _power_of_five(exponent: int) -> int:
    """The leading 128 bits of 5**exponent, rounded down; rounded up from -27 to -1, as the proof asks."""
    if exponent >= 0:
        power: int = 5**exponent
        length = power.bit_length()
        return power << 128 - length if length <= 128 else power >> length - 128
    divisor: int = 5**-exponent
    return (1 << divisor.bit_length() + 127) // divisor + (exponent >= -27)


_POWERS = [_power_of_five(exponent) for exponent in range(_LOWEST_POWER, _HIGHEST_POWER + 1)]
_POWERS_HIGH = np.array([power >> 64 for power in _POWERS], dtype=np.uint64)
_POWERS_LOW = np.array([power & (2**64 - 1) for power in _POWERS], dtype=np.uint64)


@intrinsic  # type: ignore[misc]
def _leading_zeros(typing_context: Any, number: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), code


@intrinsic  # type: ignore[misc]
def _high_half(typing_context: Any, left: Any, right: Any) -> Any:
    """The upper 64 bits of a product of two 64-bit numbers; ``left * right`` is the lower half."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide, half = ir.IntType(128), ir.IntType(64)
        product = builder.mul(builder.zext(arguments[0], wide), builder.zext(arguments[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), half)

    return types.uint64(types.uint64, types.uint64), code


@intrinsic  # type: ignore[misc]
def _eight_bytes(typing_context: Any, text: Any, at: Any) -> Any:
    """Eight bytes of text as one number, the first the lowest; need not be aligned."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.IntType(64).as_pointer())
        word = builder.load(place, align=1)
        return word if sys.byteorder == "little" else builder.bswap(word)

    return types.uint64(text, types.intp), code


@njit(cache=True, nogil=True)
def _are_digits(word: Any) -> Any:
    upper = np.uint64(0xF0F0F0F0F0F0F0F0)
    carried = (word + np.uint64(0x0606060606060606)) & upper  # moves 58 to 63 out of the digits' sixteen
    return (word & upper) | (carried >> np.uint64(4)) == np.uint64(0x3333333333333333)


@njit(cache=True, nogil=True)
def _eight_digits(word: Any) -> Any:
    """The number that eight digits make: neighbours are joined to pairs, pairs to fours, fours to eight."""
    word -= np.uint64(0x3030303030303030)
    word = (word * np.uint64(10) + (word >> np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    word = (word * np.uint64(100) + (word >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    return (word * np.uint64(10_000) + (word >> np.uint64(32))) & np.uint64(0x00000000FFFFFFFF)


@njit(cache=True, nogil=True)
def _rounded(digits: Any, exponent: int) -> Any:
    """``digits * 10**exponent`` correctly rounded, and whether it could be told; ``digits`` is not 0."""
    one = np.uint64(1)
    if exponent < _LOWEST_POWER or exponent > _HIGHEST_POWER:
        return 0.0, False
    shift = _leading_zeros(digits)
    factor = digits << shift
    place = exponent - _LOWEST_POWER
    high, low = _high_half(factor, _POWERS_HIGH[place]), factor * _POWERS_HIGH[place]
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        # The bits below the last kept one are all ones: the rest of the power may carry into it.
        carried = low + _high_half(factor, _POWERS_LOW[place])
        if carried < low:
            high += one
        low = carried
        if low == np.uint64(0xFFFFFFFFFFFFFFFF):
            return 0.0, False
    upper = high >> np.uint64(63)
    dropped = upper + np.uint64(9)
    mantissa = high >> dropped
    # 217706 / 2**16 is log2(10) closely enough for this range.
    binary = ((217706 * exponent) >> 16) + 63 + np.int64(upper) - np.int64(shift) + 1023
    if binary <= 0:
        return 0.0, False
    if low <= one and -4 <= exponent <= 23 and mantissa & np.uint64(3) == one and mantissa << dropped == high:
        mantissa -= one  # exactly halfway: to the even neighbour, which is the lower one
    mantissa = (mantissa + (mantissa & one)) >> one
    if mantissa == np.uint64(1 << 53):
        mantissa = np.uint64(1 << 52)
        binary += 1
    if binary >= 0x7FF:
        return 0.0, False
    bits = (mantissa & np.uint64((1 << 52) - 1)) | (np.uint64(binary) << np.uint64(52))
    return np.uint64(bits).view(np.float64), True


@njit(cache=True, nogil=True)
def _ends_token(byte: int) -> bool:
    return byte == 32 or 9 <= byte <= 13 or byte == 35  # white space or '#'


@njit(cache=True, nogil=True)
def _token_end(text: Any, at: int) -> int:
    while not _ends_token(text[at]):
        at += 1
    return at


@njit(cache=True, nogil=True)
def _significant_digits(text: Any, at: int, end: int) -> int:
    """How many digits of the mantissa follow its leading zeros."""
    while text[at] == 48 or text[at] == 46:
        at += 1
    count = 0
    while at < end and (48 <= text[at] <= 57 or text[at] == 46):
        count += text[at] != 46
        at += 1
    return count


@njit(cache=True, nogil=True)
def _number(text: Any, at: int) -> Any:
    """The number that begins here: its value, the end of its token, and what kind of token it is."""
    byte = text[at]
    if 48 <= byte <= 57 and text[at + 1] == 32:  # most values of sparse files are a single 1
        return np.float64(byte - 48), at + 1, _KNOWN
    negative = byte == 45
    if negative or byte == 43:
        at += 1
        byte = text[at]
    begin = at
    digits = np.uint64(0)
    while 48 <= byte <= 57:
        digits = digits * np.uint64(10) + np.uint64(byte - 48)
        at += 1
        byte = text[at]
    count = at - begin
    exponent = 0
    if byte == 46:
        at += 1
        point = at
        word = _eight_bytes(text, at)
        while _are_digits(word):
            digits = digits * np.uint64(10**8) + _eight_digits(word)
            at += 8
            word = _eight_bytes(text, at)
        byte = text[at]
        while 48 <= byte <= 57:
            digits = digits * np.uint64(10) + np.uint64(byte - 48)
            at += 1
            byte = text[at]
        exponent = point - at
        count += at - point
    if count == 0:
        end = _token_end(text, at)
        # inf or nan, perhaps. The room for Python's tokens counts on three bytes at least.
        is_word = at == begin and end - at >= 3 and (byte | 32 == 105 or byte | 32 == 110)
        return 0.0, end, _FOR_PYTHON if is_word else _NO_NUMBER
    if byte | 32 == 101:
        at += 1
        byte = text[at]
        lowers = byte == 45
        if lowers or byte == 43:
            at += 1
            byte = text[at]
        if not 48 <= byte <= 57:
            return 0.0, at, _NO_NUMBER
        written = 0
        while 48 <= byte <= 57:
            if written < 100_000:
                written = written * 10 + (byte - 48)
            at += 1
            byte = text[at]
        exponent += -written if lowers else written
    if not _ends_token(byte):
        return 0.0, at, _NO_NUMBER
    if count > _MOST_DIGITS and _significant_digits(text, begin, at) > _MOST_DIGITS:
        return 0.0, at, _FOR_PYTHON
    known = True
    if digits == np.uint64(0):
        value = 0.0
    elif digits <= _EXACT_LIMIT and -22 <= exponent <= 22:
        value = np.float64(np.int64(digits))
        if exponent < 0:
            value /= _EXACT_TENS[-exponent]
        elif exponent > 0:
            value *= _EXACT_TENS[exponent]
    else:
        value, known = _rounded(digits, exponent)
    return -value if negative else value, at, _KNOWN if known else _FOR_PYTHON


@njit(cache=True, nogil=True)
def _skip_blanks(text: Any, at: int) -> int:
    byte = text[at]
    while byte == 32 or (9 <= byte <= 13 and byte != 10):
        at += 1
        byte = text[at]
    return at


@njit(cache=True, nogil=True)
def _why_no_index(text: Any, begin: int, at: int) -> int:
    """What is wrong with a token whose leading digits end at ``at``, where no colon is."""
    if text[begin] == 45 and 48 <= text[begin + 1] <= 57:
        return BELOW_ZERO
    return NO_COLON if at > begin and _ends_token(text[at]) else NOT_AN_INDEX


@njit(cache=True, nogil=True)
def _why_wrong_index(index: int, digits: int, base: int, highest: int) -> int:
    if index > highest or digits > _MOST_INDEX_DIGITS:
        return TOO_HIGH
    return BELOW_BASE if index < base else NOT_RISING


@njit(cache=True, nogil=True)
def _entries(
    text: Any,
    at: int,
    base: int,
    highest: int,
    indices: Any,
    values: Any,
    entries: int,
    for_python: Any,
    left: int,
) -> Any:
    """Parse the index:value tokens of one line; stop at its newline, its '#' or a bad token.

    Returns the reason and place of stopping, the counts of entries and of tokens for Python, and the first and
    the last index of the line (-1 if none).
    """
    first, previous = -1, -1
    while True:
        at = _skip_blanks(text, at)
        byte = text[at]
        if byte == 10 or byte == 35:
            return DONE, at, entries, left, first, previous
        begin = at
        if byte == 43:
            at += 1
            byte = text[at]
        digits_from = at
        index = 0
        while 48 <= byte <= 57:
            index = index * 10 + (byte - 48)
            at += 1
            byte = text[at]
        digits = at - digits_from
        if byte != 58 or digits == 0:
            if at == begin and byte == 113 and text[at + 1] == 105 and text[at + 2] == 100 and text[at + 3] == 58:
                at = _token_end(text, at)  # qid:...
                continue
            return _why_no_index(text, begin, at), begin, entries, left, first, previous
        if index <= previous or index < base or index > highest or digits > _MOST_INDEX_DIGITS:
            return _why_wrong_index(index, digits, base, highest), begin, entries, left, first, previous
        value_from = at + 1
        value, at, kind = _number(text, value_from)
        if kind == _NO_NUMBER:
            return BAD_VALUE, begin, entries, left, first, previous
        if kind == _FOR_PYTHON:
            for_python[left, 0], for_python[left, 1], for_python[left, 2] = entries, value_from, at
            left += 1
        indices[entries] = index - base
        values[entries] = value
        entries += 1
        if first < 0:
            first = index
        previous = index


@njit(cache=True, nogil=True)
def parse_lines(
    text: Any,
    stop: int,
    base: int,
    highest: int,
    indptr: Any,
    indices: Any,
    values: Any,
    labels: Any,
    for_python: Any,
) -> Any:
    """Parse ``text[:stop]``, whole lines, the last byte a newline; fill the five arrays from their beginnings.

    ``base`` is what the file calls its first column, 0 or 1, and ``highest`` the largest index it may use. A row
    of ``for_python`` is (entry, begin, end), a number for Python to read; -1 - r for an entry means the label of
    row r. Returns the reason for stopping and the place; the counts of rows, entries, numbers for Python and
    lines; the place of the first row; and the smallest and the largest index as written (LARGEST_INDEX and -1 if
    there is none).

    The arrays need room for the worst case, as nothing is checked here: an entry and a number for Python take
    four bytes of text at least, a row two. ``text`` must go on for PADDING bytes of whatever content.
    """
    at, status = 0, DONE
    rows, entries, left, lines = 0, 0, 0, 0
    first_row, smallest, largest = -1, LARGEST_INDEX, -1
    indptr[0] = 0
    while at < stop:
        lines += 1
        at = _skip_blanks(text, at)
        if text[at] != 10 and text[at] != 35:
            begin = at
            if first_row < 0:
                first_row = at
            label, at, kind = _number(text, at)
            if kind == _NO_NUMBER:
                status, at = BAD_LABEL, begin
                break
            if kind == _FOR_PYTHON:
                for_python[left, 0], for_python[left, 1], for_python[left, 2] = -1 - rows, begin, at
                left += 1
            status, at, entries, left, first, last = _entries(
                text, at, base, highest, indices, values, entries, for_python, left
            )
            if status != DONE:
                break
            if first >= 0:
                smallest, largest = min(smallest, first), max(largest, last)
            labels[rows] = label
            rows += 1
            indptr[rows] = entries
        while text[at] != 10:
            at += 1
        at += 1
    return status, at, rows, entries, left, lines, first_row, smallest, largest
