"""Damage to bytes and to command lines, drawn at random: the same for the same seed."""

from __future__ import annotations

import gzip
import io
import random
import re
import struct
import warnings
import zipfile
from collections.abc import Sequence

_NUMBERS = [0, 1, -1, 2, 127, 128, 255, 256, 32767, 65535, 65536, 10**6, 10**9, 2**31 - 1, 2**31, 2**32 - 1]
_NUMBERS += [2**40, 2**53, 2**62, 2**63 - 1, -(2**31), -(2**63), 3, 7, 8, 64]
_TEXTS = [b"nan", b"inf", b"-inf", b"1e400", b"1e-400", b"", b"0", b"-1", b"99999999999999999999", b"1e9", b"0x10"]
_TEXTS += [
    b"\x00",
    b"\xff\xfe",
    b'"',
    b"\n",
    b"\r",
    b"\t",
    b",",
    b":",
    b"\xe9",
    b"\xf0\x9f\x98\x80",
    b"None",
    b"True",
]
_DIGITS = re.compile(rb"\d+")


def mutated(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Return the bytes damaged in a few ways; what is in a zip or gzip file is damaged too, and packed again."""
    if data[:2] == b"PK" and rng.random() < 0.6:
        return _zip_of_mutated(data, rng)
    if data[:2] == b"\x1f\x8b" and rng.random() < 0.6:
        return gzip.compress(_damaged(gzip.decompress(data), [], rng), mtime=0)
    return _damaged(data, others, rng)


def _zip_of_mutated(data: bytes, rng: random.Random) -> bytes:
    """Return the archive with one member damaged, left out or twice in it, and right checksums."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(info, archive.read(info)) for info in archive.infolist()]
    chosen = rng.randrange(len(members))
    how = rng.random()
    info, content = members[chosen]
    if how < 0.05:
        del members[chosen]
    elif how < 0.1:
        members.append((zipfile.ZipInfo(members[rng.randrange(len(members))][0].filename), content))
    else:
        others = [one for _, one in members]
        start = content[:128] if rng.random() < 0.4 else content  # of an array: its header
        members[chosen] = (info, _damaged(start, others, rng) + content[len(start) :])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name that is there twice
        for old, content in members:
            archive.writestr(zipfile.ZipInfo(old.filename), content, compress_type=info.compress_type)
    return packed.getvalue()


def _damaged(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        rng.choice(_WAYS)(found, others, rng)
    return bytes(found)


def _place(data: bytearray, rng: random.Random) -> int:
    """Headers and footers say most about a file: they are hit more often than their share."""
    size = max(len(data), 1)
    near = min(size, 256)
    return rng.choice([rng.randrange(size), rng.randrange(near), size - 1 - rng.randrange(near)])


def _flip(data: bytearray, others: Sequence[bytes], rng: random.Random) -> None:
    for _ in range(rng.choice([1, 1, 2, 8])):
        if data:
            data[_place(data, rng)] ^= 1 << rng.randrange(8)


def _set_bytes(data: bytearray, others: Sequence[bytes], rng: random.Random) -> None:
    at, size = _place(data, rng), rng.choice([1, 2, 4, 16])
    data[at : at + size] = bytes(rng.choice([[0] * size, [255] * size, [rng.randrange(256) for _ in range(size)]]))


def _truncate(data: bytearray, others: Sequence[bytes], rng: random.Random) -> None:
    del data[_place(data, rng) :]


def _delete(data: bytearray, others: Sequence[bytes], rng: random.Random) -> None:
    at = _place(data, rng)
    del data[at : at + rng.choice([1, 4, 64, 1024])]


def _repeat(data: bytearray, others: Sequence[bytes], rng: random.Random) -> None:
    at, size = _place(data, rng), rng.choice([1, 4, 64, 1024])
    data[at:at] = data[at : at + size] * rng.choice([1, 2, 64, 1000])


def _splice(data: bytearray, others: Sequence[bytes], rng: random.Random) -> None:
    other = rng.choice(list(others)) if others else bytes(data)
    at, begin, size = _place(data, rng), rng.randrange(max(len(other), 1)), rng.choice([4, 64, 1024, len(other)])
    data[at : at + rng.choice([0, size])] = other[begin : begin + size]


def _set_number(data: bytearray, others: Sequence[bytes], rng: random.Random) -> None:
    """Write a length, an offset or a count: little-endian, of 1 to 8 bytes, or near what is there."""
    size, letter = rng.choice([(1, "B"), (2, "H"), (4, "I"), (8, "Q")])
    at = _place(data, rng)
    if at + size > len(data):
        return
    there = struct.unpack_from(f"<{letter}", data, at)[0]
    number = rng.choice([rng.choice(_NUMBERS), there + rng.choice([-8, -1, 1, 8]), there * 2, -there])
    struct.pack_into(f"<{letter}", data, at, number % (1 << 8 * size))


def _set_text(data: bytearray, others: Sequence[bytes], rng: random.Random) -> None:
    """Replace a number that is written in digits."""
    found = list(_DIGITS.finditer(bytes(data[: 1 << 16])))
    begin, end = rng.choice(found).span() if found else (_place(data, rng),) * 2
    data[begin:end] = rng.choice([rng.choice(_TEXTS), str(rng.choice(_NUMBERS)).encode()])


def _insert(data: bytearray, others: Sequence[bytes], rng: random.Random) -> None:
    at = _place(data, rng)
    data[at:at] = rng.choice([rng.choice(_TEXTS), rng.randbytes(rng.choice([1, 8, 64]))])


_WAYS = [_flip, _set_bytes, _truncate, _delete, _repeat, _splice, _set_number, _set_number, _set_text, _insert]


def mutated_words(words: Sequence[str], pool: Sequence[str], rng: random.Random) -> list[str]:
    """Return a command line with words replaced, dropped, doubled or swapped."""
    found = list(words)
    for _ in range(rng.choice([1, 1, 2, 3])):
        at, how = rng.randrange(len(found)), rng.random()
        if how < 0.6:
            found[at] = rng.choice(pool)
        elif how < 0.75:
            found.insert(at, rng.choice(pool))
        elif how < 0.85 and len(found) > 1:
            del found[at]
        else:
            found += [found[at], rng.choice(pool)]
    return found
