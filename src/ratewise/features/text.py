"""Texts as hashed tf-idf of their words; document frequencies are counted while rows are read, in fixed memory."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .levels import Levels

BUCKETS = 4096
_NOT_IN_WORDS = r"[^\p{L}\p{N}]+"
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
"""Letters of languages without spaces between words: two neighbouring letters are a word."""
_WORD = rf"[^\s,;|{_UNSPACED}]+|[{_UNSPACED}]{{1,2}}"
_LEAST_WORDS = 2
_NAMES_PER_BUCKET = 2


def words_in(texts: Any) -> NDArray[np.int64]:
    """Return the number of words of each text."""
    import pyarrow.compute as pc

    found: NDArray[np.int64] = pc.count_substring_regex(texts, _WORD).fill_null(0).to_numpy(zero_copy_only=False)
    return found.astype(np.int64)


class _Tokens(NamedTuple):
    """The words of texts: the text of each word, its number among the distinct words, and the distinct words."""

    text: NDArray[np.int64]
    word: NDArray[np.int64]
    words: Any

    def buckets(self) -> NDArray[np.int64]:
        """Return the bucket of each distinct word, the same on every machine and in every run."""
        crc = [zlib.crc32(word.as_buffer()) for word in self.words]
        return np.array(crc, dtype=np.int64) % BUCKETS


def _in_pairs(texts: Any) -> Any:
    """Return texts with each pair of neighbouring letters of languages without spaces as a word."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pc.any(pc.match_substring_regex(texts, f"[{_UNSPACED}]")).as_py():
        return texts
    shifted = pc.replace_substring_regex(texts, f"(^|[^{_UNSPACED}])[{_UNSPACED}]", r"\1")
    shifted = pc.replace_substring_regex(shifted, f"[^{_UNSPACED}]+", " ")
    both = pc.binary_join_element_wise(texts, shifted, pa.scalar(" ", texts.type))
    return pc.replace_substring_regex(both, f"([{_UNSPACED}]{{2}})", r" \1 ")


def _tokens(texts: Any) -> _Tokens:
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = _in_pairs(pc.replace_substring_regex(pc.utf8_lower(texts), _NOT_IN_WORDS, " "))
    lists = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(plain))
    lists = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
    text = np.repeat(
        np.arange(len(lists)), pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    )
    flat = pc.list_flatten(lists)
    long_enough = np.flatnonzero(pc.greater(pc.utf8_length(flat), 1).to_numpy(zero_copy_only=False))
    encoded = flat.take(pa.array(long_enough)).dictionary_encode()
    word = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return _Tokens(text[long_enough].astype(np.int64), word, encoded.dictionary)


@dataclass
class WordCounts:
    """The number of texts of two words or more in which each bucket occurs, and the frequent words."""

    texts: int = 0
    frequency: NDArray[np.int64] = field(default_factory=lambda: np.zeros(BUCKETS, dtype=np.int64))
    words: Levels = field(default_factory=Levels)

    def add(self, texts: Any, words: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        """Add distinct texts, the number of words of each, and their counts."""
        import pyarrow as pa

        long_enough = np.flatnonzero((words >= _LEAST_WORDS) & (counts > 0))
        if long_enough.size == 0:
            return
        tokens, counts = _tokens(texts.take(pa.array(long_enough))), counts[long_enough]
        self.texts += int(counts.sum())
        if len(tokens.words) == 0:
            return
        self.frequency += _frequency(tokens.text, tokens.buckets()[tokens.word], counts, BUCKETS)
        self.words.add(tokens.words, _frequency(tokens.text, tokens.word, counts, len(tokens.words)))

    def merge(self, other: WordCounts) -> None:
        self.texts += other.texts
        self.frequency = self.frequency + other.frequency
        self.words.merge(other.words)

    def idf(self) -> NDArray[np.float64]:
        """Return the weight of each bucket's words: 1 plus the log of one over the share of texts with them."""
        found: NDArray[np.float64] = np.log((1.0 + self.texts) / (1.0 + self.frequency)) + 1.0
        return found

    def names(self) -> list[str]:
        """Return the most frequent words of each bucket, joined by a bar; an empty text for an empty bucket."""
        values, _ = self.words.by_count()
        names: list[list[str]] = [[] for _ in range(BUCKETS)]
        for word in values:
            mine = names[zlib.crc32(word.encode()) % BUCKETS]
            if len(mine) < _NAMES_PER_BUCKET:
                mine.append(word)
        return ["|".join(mine) for mine in names]


def _frequency(
    text: NDArray[np.int64], word: NDArray[np.int64], counts: NDArray[np.int64], n_words: int
) -> NDArray[np.int64]:
    pairs = np.sort(text * n_words + word)
    pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])]  # each word of a text once
    found = np.bincount(pairs % n_words, weights=counts[pairs // n_words], minlength=n_words)
    return found.astype(np.int64)


def tf_idf(texts: Any, idf: NDArray[np.float64], *, damped: bool) -> Any:
    """Return a CSR matrix with a row of length 1 per text: the counts of its words times their weights.

    ``damped``: one plus the logarithm of the count, so that a word that occurs ten times weighs 3.3, not 10.
    """
    tokens = _tokens(texts)
    buckets = tokens.buckets()[tokens.word] if len(tokens.words) else tokens.word
    pairs, times = np.unique(tokens.text * BUCKETS + buckets, return_counts=True)
    rows, columns = pairs // BUCKETS, pairs % BUCKETS
    entries = (1.0 + np.log(times) if damped else times) * idf[columns]
    squares = np.bincount(rows, weights=entries * entries, minlength=len(texts))
    entries /= np.sqrt(squares)[rows]
    indptr = np.searchsorted(rows, np.arange(len(texts) + 1))
    return sparse.csr_array((entries.astype(np.float32), columns, indptr), shape=(len(texts), BUCKETS))
