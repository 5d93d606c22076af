"""The compiled loop that turns svmlight text into the arrays of a CSR matrix.

All compiled code of the parser is in this one file: numba looks at the age of a loop's own file only, and would
miss an edit to a function in another. Places in the text (``at``) are addresses: an array handed from function to
function would be counted up and down each time, at the price of parsing a number.

Numbers are rounded as Python's ``float`` rounds them. Up to 15 digits and 10**22 one exact division or product
does it; up to 19 digits it is the method of Lemire (Number Parsing at a Gigabyte per Second, 2021). What is left
(more digits, the ends of the range, the words inf and nan) is put on a list for Python's own ``float``.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ._cache import njit

# What stopped the loop.
DONE, BAD_LABEL, BAD_VALUE, NO_COLON, NOT_AN_INDEX, BELOW_ZERO, BELOW_BASE, NOT_RISING, TOO_HIGH = range(9)

PADDING = 8
LARGEST_INDEX = 2**31 - 1
_MOST_INDEX_DIGITS = 18  # more might overflow 64 bits before the comparison with the largest

# Kinds of number tokens.
_KNOWN, _FOR_PYTHON, _NO_NUMBER = range(3)

_LOWEST_POWER, _HIGHEST_POWER = -342, 308
_EXACT_TENS = 10.0 ** np.arange(23)
_EXACT_DIGITS = 15  # a whole number of so many is a float
_TENS = 10 ** np.arange(8, dtype=np.uint64)
_MOST_DIGITS = 19  # as many as 64 bits always hold


def _power_of_five(exponent: int) -> int:
    """Return the leading 128 bits of 5**exponent, rounded down; rounded up from -27 to -1, as the proof asks."""
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
def _trailing_zeros(typing_context: Any, number: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), code


@intrinsic  # type: ignore[misc]
def _high_half(typing_context: Any, left: Any, right: Any) -> Any:
    """Return the upper 64 bits of a product of two 64-bit numbers; ``left * right`` is the lower half."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide, half = ir.IntType(128), ir.IntType(64)
        product = builder.mul(builder.zext(arguments[0], wide), builder.zext(arguments[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), half)

    return types.uint64(types.uint64, types.uint64), code


@intrinsic  # type: ignore[misc]
def _address(typing_context: Any, text: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.ptrtoint(array.data, ir.IntType(64))

    return types.int64(text), code


@intrinsic  # type: ignore[misc]
def _byte(typing_context: Any, at: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())
        return builder.zext(builder.load(place), ir.IntType(64))

    return types.int64(types.int64), code


@intrinsic  # type: ignore[misc]
def _eight_bytes(typing_context: Any, at: Any) -> Any:
    """Return eight bytes as one number, the first the lowest."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = builder.load(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()), align=1)
        return word if sys.byteorder == "little" else builder.bswap(word)

    return types.uint64(types.int64), code


@njit(cache=True, nogil=True)
def _eight_digits(word: Any) -> Any:
    """Return the number that eight bytes of 0 to 9 make: joined to pairs, to fours, to eight."""
    word = (word * np.uint64(10) + (word >> np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    word = (word * np.uint64(100) + (word >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    return (word * np.uint64(10_000) + (word >> np.uint64(32))) & np.uint64(0x00000000FFFFFFFF)


@njit(cache=True, nogil=True)
def _digit_run(at: int, digits: Any) -> Any:
    """Append the digits from here on to a number; return the number and where they end.

    Eight bytes at a time, for a loop over the bytes would end where the processor does not expect it.
    """
    while True:
        word = _eight_bytes(at) ^ np.uint64(0x3030303030303030)
        # The highest bit of a byte above 9. A carry can only spoil bytes after the first such one.
        others = ((word + np.uint64(0x7676767676767676)) | word) & np.uint64(0x8080808080808080)
        if others != np.uint64(0):
            break
        digits = digits * np.uint64(10**8) + _eight_digits(word)
        at += 8
    count = _trailing_zeros(others) >> np.uint64(3)
    if count > np.uint64(0):
        digits = digits * _TENS[count] + _eight_digits(word << (np.uint64(64) - (count << np.uint64(3))))
    return digits, at + np.int64(count)


@njit(cache=True, nogil=True)
def _rounded(digits: Any, exponent: int) -> Any:
    """Return ``digits * 10**exponent``, correctly rounded, and whether that was possible; ``digits`` is not 0."""
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
        mantissa -= one  # exactly halfway: to the even neighbor, which is the lower one
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
def _token_end(at: int) -> int:
    while not _ends_token(_byte(at)):
        at += 1
    return at


@njit(cache=True, nogil=True)
def _significant_digits(at: int, end: int) -> int:
    """Return how many digits of the mantissa follow its leading zeros."""
    while _byte(at) == 48 or _byte(at) == 46:
        at += 1
    count = 0
    while at < end and (48 <= _byte(at) <= 57 or _byte(at) == 46):
        count += _byte(at) != 46
        at += 1
    return count


@njit(cache=True, nogil=True)
def _number(at: int) -> Any:
    """Parse the number that begins here: return its value, the end of its token, and what kind of token it is."""
    byte = _byte(at)
    if 48 <= byte <= 57 and _byte(at + 1) == 32:  # most values of sparse files are a single 1
        return np.float64(byte - 48), at + 1, _KNOWN
    negative = byte == 45
    at += negative | (byte == 43)
    byte = _byte(at)
    begin = at
    digits = np.uint64(0)
    while 48 <= byte <= 57:
        digits = digits * np.uint64(10) + np.uint64(byte - 48)
        at += 1
        byte = _byte(at)
    count = at - begin
    exponent = 0
    if byte == 46:
        at += 1
        point = at
        digits, at = _digit_run(at, digits)
        byte = _byte(at)
        exponent = point - at
        count += at - point
    if count == 0:
        end = _token_end(at)
        # inf or nan, perhaps. The room for Python's tokens counts on three bytes at least.
        is_word = at == begin and end - at >= 3 and (byte | 32 == 105 or byte | 32 == 110)
        return 0.0, end, _FOR_PYTHON if is_word else _NO_NUMBER
    if byte | 32 == 101:
        at += 1
        byte = _byte(at)
        lowers = byte == 45
        if lowers or byte == 43:
            at += 1
            byte = _byte(at)
        if not 48 <= byte <= 57:
            return 0.0, at, _NO_NUMBER
        written = 0
        while 48 <= byte <= 57:
            if written < 10**15:
                written = written * 10 + (byte - 48)
            at += 1
            byte = _byte(at)
        exponent += -written if lowers else written
    if not _ends_token(byte):
        return 0.0, at, _NO_NUMBER
    if count > _MOST_DIGITS and _significant_digits(begin, at) > _MOST_DIGITS:
        return 0.0, at, _FOR_PYTHON
    known = True
    if digits == np.uint64(0):
        value = 0.0
    elif count <= _EXACT_DIGITS and -22 <= exponent <= 22:
        value = np.float64(np.int64(digits))
        if exponent < 0:
            value /= _EXACT_TENS[-exponent]
        elif exponent > 0:
            value *= _EXACT_TENS[exponent]
    else:
        value, known = _rounded(digits, exponent)
    return -value if negative else value, at, _KNOWN if known else _FOR_PYTHON


@njit(cache=True, nogil=True)
def _skip_blanks(at: int) -> int:
    byte = _byte(at)
    while byte == 32 or (9 <= byte <= 13 and byte != 10):
        at += 1
        byte = _byte(at)
    return at


@njit(cache=True, nogil=True)
def _is_query_id(at: int) -> Any:
    """Return whether the token is qid:something."""
    return _byte(at) == 113 and _byte(at + 1) == 105 and _byte(at + 2) == 100 and _byte(at + 3) == 58


@njit(cache=True, nogil=True)
def _why_no_index(begin: int, at: int) -> int:
    """Return what is wrong with a token whose leading digits end at ``at``, where no colon is."""
    if _byte(begin) == 45 and 48 <= _byte(begin + 1) <= 57:
        return BELOW_ZERO
    return NO_COLON if at > begin and _ends_token(_byte(at)) else NOT_AN_INDEX


@njit(cache=True, nogil=True)
def _why_wrong_index(index: int, digits: int, base: int, highest: int) -> int:
    if index > highest or digits > _MOST_INDEX_DIGITS:
        return TOO_HIGH
    return BELOW_BASE if index < base else NOT_RISING


@njit(cache=True, nogil=True)
def parse_lines(text: Any, stop: int, base: int, highest: int, arrays: Any) -> Any:
    """Parse ``text[:stop]``, whole lines, the last byte a newline; fill the arrays from their beginnings.

    ``base`` is what the file calls its first column, 0 or 1, and ``highest`` the largest index it may use.
    ``arrays`` are indptr, indices, values, labels and for_python. A row of the last is (entry, begin, end), a
    number for Python to read; -1 - r for an entry means the label of row r. Returns the reason for stopping and
    the place; the counts of rows, entries, numbers for Python and lines; and the smallest and the largest index
    as written (LARGEST_INDEX and -1 if there is none).

    The arrays need room for the worst case, as nothing is checked here: an entry and a number for Python take four
    bytes of text at least, a row two. ``text`` must be followed by PADDING bytes of any content.
    """
    indptr, indices, values, labels, for_python = arrays
    start = _address(text)
    at, end, status = start, start + stop, DONE
    rows, entries, left, lines = 0, 0, 0, 0
    smallest, largest = np.int64(LARGEST_INDEX), np.int64(-1)
    indptr[0] = 0
    while at < end:
        lines += 1
        at = _skip_blanks(at)
        if _byte(at) != 10 and _byte(at) != 35:
            begin = at
            value, at, kind = _number(at)
            if kind == _NO_NUMBER:
                status, at = BAD_LABEL, begin
                break
            if kind == _FOR_PYTHON:
                for_python[left, 0] = -1 - rows
                for_python[left, 1], for_python[left, 2] = begin - start, at - start
                left += 1
            labels[rows] = value
            previous = np.int64(-1)
            while True:
                at = _skip_blanks(at)
                if _byte(at) == 10 or _byte(at) == 35:
                    break
                begin = at
                at += _byte(at) == 43
                digits_from = at
                number, at = _digit_run(at, np.uint64(0))
                index, digits = np.int64(number), at - digits_from
                if _byte(at) != 58 or digits == 0:
                    if _is_query_id(begin):
                        at = _token_end(begin)
                        continue
                    status, at = _why_no_index(begin, at), begin
                    break
                if index <= previous or index < base or index > highest or digits > _MOST_INDEX_DIGITS:
                    status, at = _why_wrong_index(index, digits, base, highest), begin
                    break
                value_from = at + 1
                value, at, kind = _number(value_from)
                if kind == _NO_NUMBER:
                    status, at = BAD_VALUE, begin
                    break
                if kind == _FOR_PYTHON:
                    for_python[left, 0] = entries
                    for_python[left, 1], for_python[left, 2] = value_from - start, at - start
                    left += 1
                indices[entries] = index - base
                values[entries] = value
                entries += 1
                if previous < 0:
                    smallest = min(smallest, index)
                previous = index
            if status != DONE:
                break
            largest = max(largest, previous)
            rows += 1
            indptr[rows] = entries
        while _byte(at) != 10:
            at += 1
        at += 1
    return status, at - start, rows, entries, left, lines, smallest, largest
