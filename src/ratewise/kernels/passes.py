"""One pass over rows, weights or scores, where numpy would make several: orders of rows, copies in an order, sums.

A row in random order is a cache miss, several times the arithmetic: dense rows are asked for ahead of time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._cache import njit
from ._operations import named_by_fingerprint, prefetch_row, standardize_row, whiten_rows
from .numpy_fallbacks import bits_of
from .rows import VECTOR_BYTES, WHITENED_TOGETHER

# Rows asked for before they are needed: whitening takes longer, so that fewer do.
AHEAD, _AHEAD_WHITENED, _AHEAD_SPARSE = 24, 12, 12
_LINE_BYTES, _MOST_AHEAD = 64, 256  # of the cache; entries of a sparse row
_BLOCK_ROWS = 256  # whose deviations are summed up before they are merged
# splitmix64
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
SHUFFLED_IN_CACHE, _PILE = 1 << 21, 1 << 16  # numbers that are shuffled in place; numbers per pile
_30, _27, _31, _32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)
# FNV-1a, and Murmur3's last step
_PRIME = np.uint64(1099511628211)
_START = np.uint64(14695981039346656037)
_SHIFT = np.uint64(33)
_MIX_ONCE, _MIX_AGAIN = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)


@njit(nogil=True)
def _below(number: int, state: Any) -> Any:
    """Return a random whole number below ``number``, and the next state of splitmix64."""
    state += _GOLDEN
    z = state
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    z = z ^ (z >> _31)
    # 32 random bits times the number: the upper half is below it.
    return np.int64(((z >> _32) * np.uint64(number)) >> _32), state


@njit(nogil=True)
def shuffle(values: Any, state: Any, spare: Any) -> Any:
    """Shuffle in place, with as much spare room; return the next state."""
    if values.size <= SHUFFLED_IN_CACHE:
        return _shuffle_in_cache(values, state)
    # Swaps all over the memory would wait for it. So the values are dealt out at random into piles that fit into
    # the cache, and each pile is shuffled: again, all orders are equally likely.
    piles = 2
    while values.size > piles * _PILE:
        piles *= 2
    # (Sums and copies are written out: numpy's take seconds to compile.)
    edges, tops = np.zeros(piles + 1, np.int64), np.zeros(piles, np.int64)
    again = state
    for _ in range(values.size):
        pile, again = _below(piles, again)
        edges[pile + 1] += 1
    for pile in range(piles):
        tops[pile] = edges[pile]
        edges[pile + 1] += edges[pile]
    dealt = spare[: values.size]
    for i in range(values.size):
        pile, state = _below(piles, state)
        dealt[tops[pile]] = values[i]
        tops[pile] += 1
    for pile in range(piles):
        state = _shuffle_in_cache(dealt[edges[pile] : edges[pile + 1]], state)
    for i in range(values.size):
        values[i] = dealt[i]
    return state


@njit(nogil=True)
def _shuffle_in_cache(values: Any, state: Any) -> Any:
    """Shuffle in place by Fisher and Yates' method; return the next state."""
    for i in range(values.size - 1, 0, -1):
        j, state = _below(i + 1, state)
        values[i], values[j] = values[j], values[i]
    return state


@njit(cache=True, nogil=True)
def mix_evenly(positive: Any, positives: int, seed: Any, pool: Any, order: Any) -> None:
    """Fill ``order`` with all rows, each class shuffled, and the rarer one spread evenly; ``pool`` is spare room.

    The k-th row of the rarer class goes to a random place in the k-th of as many equal stretches.
    """
    n = positive.size
    rarer = positives <= n - positives
    number = positives if rarer else n - positives
    rare, common = pool[:number], pool[number:]
    r, c = 0, 0
    for i in range(n):
        if positive[i] == rarer:
            rare[r] = i
            r += 1
        else:
            common[c] = i
            c += 1
    state = shuffle(common, shuffle(rare, np.uint64(seed), order), order)
    c, end = 0, 0
    for k in range(max(number, 1)):
        begin, end = end, (k + 1) * n // max(number, 1)
        place = -1
        if number > 0:
            within, state = _below(end - begin, state)
            place = begin + within
            order[place] = rare[k]
        for i in range(begin, end):
            if i != place:
                order[i] = common[c]
                c += 1


def evenly_mixed_order(positive: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.signedinteger[Any]]:
    """Return a random order in which every stretch of rows has its share of both classes."""
    whole: Any = np.int32 if positive.size <= np.iinfo(np.int32).max else np.int64
    pool, order = np.empty(positive.size, dtype=whole), np.empty(positive.size, dtype=whole)
    mix_evenly(positive, int(np.count_nonzero(positive)), rng.integers(2**63, dtype=np.uint64), pool, order)
    return order


@njit(cache=True, nogil=True)
def _mixed(h: Any) -> Any:
    """Apply Murmur3's last step: every bit changes every other, since whole numbers differ in few high bits."""
    h = (h ^ (h >> _SHIFT)) * _MIX_ONCE
    h = (h ^ (h >> _SHIFT)) * _MIX_AGAIN
    return h ^ (h >> _SHIFT)


@njit(cache=True, nogil=True)
def hash_dense_rows(bits: Any, hashes: Any) -> None:
    """Set one number per row, from the bits of its entries (FNV-1a over 32-bit words, then mixed)."""
    for i in range(bits.shape[0]):
        h = _START
        for j in range(bits.shape[1]):
            h = (h ^ np.uint64(bits[i, j])) * _PRIME
        hashes[i] = _mixed(h)


@njit(cache=True, nogil=True)
def hash_csr_rows(bits: Any, indices: Any, indptr: Any, hashes: Any) -> None:
    """Set one number per sparse row, from its columns and entries."""
    for i in range(indptr.size - 1):
        h = _START
        for k in range(indptr[i], indptr[i + 1]):
            h = (h ^ np.uint64(indices[k])) * _PRIME
            h = (h ^ np.uint64(bits[k])) * _PRIME
        hashes[i] = _mixed(h)


def fold_of_each_row(X: Any, folds: int) -> NDArray[np.uint64]:
    """Return the number of the fold that each row, dense or of a CSR matrix, belongs to.

    The bits of the row's own entries decide: equal rows are in one fold, in any window and on any machine.
    """
    if folds == 1:
        return np.zeros(X.shape[0], dtype=np.uint64)
    hashes = np.empty(X.shape[0], dtype=np.uint64)
    if sparse.issparse(X):
        hash_csr_rows(bits_of(np.asarray(X.data, dtype=np.float32)), X.indices, X.indptr, hashes)
    else:
        hash_dense_rows(bits_of(np.ascontiguousarray(X)), hashes)
    return hashes % np.uint64(folds)


@njit(cache=True, nogil=True, boundscheck=False)
@named_by_fingerprint
def gather_standardized(X: Any, order: Any, centre: Any, inverse: Any, out: Any) -> None:
    """Set ``out[i] = (X[order[i]] - centre) * inverse``; the rows must be C-contiguous."""
    n = out.shape[0]
    for i in range(n):
        if i + AHEAD < n:
            prefetch_row(X, np.int64(order[i + AHEAD]))
        standardize_row(X, np.int64(order[i]), centre, inverse, out, i)


def padded_triangle(triangle: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Return an upper triangle with zeros added to the right, up to whole vectors."""
    lanes = VECTOR_BYTES // np.dtype(dtype).itemsize
    width = -(-triangle.shape[0] // lanes) * lanes
    out = np.zeros((triangle.shape[0], width), dtype=dtype)
    out[:, : triangle.shape[1]] = triangle
    return out


@njit(cache=True, nogil=True, fastmath={"contract"}, boundscheck=False)
@named_by_fingerprint
def gather_whitened(X: Any, order: Any, centre: Any, inverse: Any, triangle: Any, out: Any) -> None:
    """Set ``out[i] = ((X[order[i]] - centre) * inverse) @ triangle``, the triangle padded; X must be C-contiguous.

    BLAS would take a second pass and twice the arithmetic, and its own threads, which disturb the one that reads
    ahead.
    """
    n, d = out.shape
    rows = np.zeros((WHITENED_TOGETHER, triangle.shape[1]), dtype=out.dtype)
    whitened = np.zeros((WHITENED_TOGETHER, triangle.shape[1]), dtype=out.dtype)
    for first in range(0, n, WHITENED_TOGETHER):
        count = min(WHITENED_TOGETHER, n - first)
        for row in range(count):
            i = first + row
            if i + _AHEAD_WHITENED < n:
                prefetch_row(X, np.int64(order[i + _AHEAD_WHITENED]))
            k = order[i]
            for j in range(d):
                rows[row, j] = (X[k, j] - centre[j]) * inverse[j]
        whiten_rows(rows, triangle, whitened)
        for row in range(count):
            for j in range(d):
                out[first + row, j] = whitened[row, j]


def gather_weights(weights: NDArray[Any], order: NDArray[np.signedinteger[Any]]) -> NDArray[np.float32]:
    """Return the weights in this order, as float32.

    (numpy would widen the order first, and then the weights again.)
    """
    out = np.empty(order.size, dtype=np.float32)
    _gather_weights(weights, order, out)
    return out


@njit(cache=True, nogil=True, boundscheck=False)
def _gather_weights(weights: Any, order: Any, out: Any) -> None:
    for i in range(order.size):
        out[i] = weights[order[i]]


def gather_scaled(X: Any, order: NDArray[np.signedinteger[Any]], factors: NDArray[np.float64], dtype: Any) -> Any:
    """Return the rows of a CSR matrix in this order, each column times its factor, with sorted columns."""
    lengths = np.diff(X.indptr)[order]
    indptr = np.zeros(order.size + 1, dtype=X.indptr.dtype)
    np.cumsum(lengths, out=indptr[1:])
    data, indices = np.empty(indptr[-1], dtype=dtype), np.empty(indptr[-1], dtype=X.indices.dtype)
    lines = (_in_lines(X.data), _in_lines(X.indices), _in_lines(X.indptr))
    wider = np.promote_types(X.dtype, dtype)  # a factor of float64 rows may be beyond float32
    _gather_entries(X.data, X.indices, X.indptr, lines, order, factors.astype(wider), data, indices, indptr)
    gathered = sparse.csr_matrix((data, indices, indptr), shape=(order.size, X.shape[1]), copy=False)
    gathered.has_sorted_indices = X.has_sorted_indices
    gathered.sort_indices()
    return gathered


def _in_lines(values: NDArray[Any]) -> NDArray[Any]:
    """Return the same numbers, as many in a row as a line of the cache holds; not the last few."""
    length = _LINE_BYTES // values.itemsize
    return values[: values.size // length * length].reshape(-1, length)


@njit(cache=True, nogil=True, boundscheck=False)
@named_by_fingerprint
def _gather_entries(
    data: Any,
    indices: Any,
    indptr: Any,
    lines: Any,
    order: Any,
    factors: Any,
    new_data: Any,
    new_indices: Any,
    new_indptr: Any,
) -> None:
    data_lines, index_lines, pointer_lines = lines
    n, last_data, last_index = order.size, data_lines.shape[0] - 1, index_lines.shape[0] - 1
    last_pointer = pointer_lines.shape[0] - 1
    for i in range(n):
        if i + 2 * _AHEAD_SPARSE < n:  # where a row begins must be there before its entries can be asked for
            line = np.int64(order[i + 2 * _AHEAD_SPARSE]) // pointer_lines.shape[1]
            prefetch_row(pointer_lines, min(line, last_pointer))
        if i + _AHEAD_SPARSE < n:
            ahead = np.int64(order[i + _AHEAD_SPARSE])
            start, stop = np.int64(indptr[ahead]), np.int64(indptr[ahead + 1])
            stop = min(stop, start + _MOST_AHEAD)
            for line in range(start // data_lines.shape[1], min(stop // data_lines.shape[1], last_data) + 1):
                prefetch_row(data_lines, line)
            for line in range(start // index_lines.shape[1], min(stop // index_lines.shape[1], last_index) + 1):
                prefetch_row(index_lines, line)
        begin, place = indptr[order[i]], new_indptr[i]
        for k in range(new_indptr[i + 1] - place):
            column = indices[begin + k]
            new_indices[place + k] = column
            new_data[place + k] = data[begin + k] * factors[column]


@njit(cache=True, nogil=True)
def add_column_moments(data: Any, indices: Any, nonzeros: Any, squares: Any) -> None:
    """Add the number of non-zeros and the sum of squares of each column of sparse rows to the running totals."""
    for k in range(data.size):
        value = np.float64(data[k])
        if value != 0:
            j = indices[k]
            nonzeros[j] += 1.0
            squares[j] += value * value


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def square_dense_rows(X: Any, squares: Any) -> None:
    """Set the squared length of every row."""
    for i in range(X.shape[0]):
        total = squares.dtype.type(0.0)
        for j in range(X.shape[1]):
            total += X[i, j] * X[i, j]
        squares[i] = total


@njit(cache=True, nogil=True)
def square_csr_rows(data: Any, indptr: Any, out: Any) -> None:
    """Set the squared length of every sparse row."""
    for i in range(out.size):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * data[k]
        out[i] = total


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def weight_moments(signed_weights: Any) -> tuple[float, float, float, float]:
    """Return the weight of all positives and of all negatives, and the squares of the weights of both."""
    positive, negative, positive_squares, negative_squares = 0.0, 0.0, 0.0, 0.0
    for i in range(signed_weights.size):
        weight = np.float64(signed_weights[i])
        up, down = max(weight, 0.0), max(-weight, 0.0)
        positive += up
        negative += down
        positive_squares += up * up
        negative_squares += down * down
    return positive, negative, positive_squares, negative_squares


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"}, error_model="numpy")
def score_moments(scores: Any, signed_weights: Any) -> tuple[float, float, float, float, float]:
    """Return the weight, the mean, the squared deviations and the range of scores."""
    weight, total, low, high = 0.0, 0.0, np.inf, -np.inf
    for i in range(scores.size):
        share, score = abs(np.float64(signed_weights[i])), np.float64(scores[i])
        weight += share
        total += share * score
        low, high = min(low, score), max(high, score)
    mean, squares = total / weight, 0.0
    for i in range(scores.size):
        gap = np.float64(scores[i]) - mean
        squares += abs(np.float64(signed_weights[i])) * gap * gap
    return weight, mean, squares, low, high


@njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")
def merge_column_moments(X: Any, count: float, mean: Any, squares: Any) -> float:
    """Take dense rows into the mean and the squared deviations of ``count`` rows so far; return the new count.

    Deviations are taken from the mean so far, and folded in after every few rows, so that neither a large mean nor
    a long column costs digits.
    """
    d = X.shape[1]
    origin, sums, sums_of_squares = np.empty(d), np.empty(d), np.empty(d)
    for start in range(0, X.shape[0], _BLOCK_ROWS):
        stop = min(start + _BLOCK_ROWS, X.shape[0])
        for j in range(d):
            origin[j] = mean[j] if count > 0 else X[start, j]
            sums[j] = 0.0
            sums_of_squares[j] = 0.0
        rows = stop - start
        fours = start + rows // 4 * 4
        # Four rows at a time: the sums lie in memory, and fetching them would cost more than the arithmetic.
        for i in range(start, fours, 4):
            for j in range(d):
                a, b = np.float64(X[i, j]) - origin[j], np.float64(X[i + 1, j]) - origin[j]
                c, e = np.float64(X[i + 2, j]) - origin[j], np.float64(X[i + 3, j]) - origin[j]
                sums[j] += (a + b) + (c + e)
                sums_of_squares[j] += (a * a + b * b) + (c * c + e * e)
        for i in range(fours, stop):
            for j in range(d):
                gap = np.float64(X[i, j]) - origin[j]
                sums[j] += gap
                sums_of_squares[j] += gap * gap
        total = count + rows
        for j in range(d):
            mine = sums[j] / rows
            gap = origin[j] + mine - mean[j]
            spread = max(sums_of_squares[j] - mine * mine * rows, 0.0)
            squares[j] += spread + gap * gap * (count * rows / total)
            mean[j] += gap * (rows / total)
        count = total
    return count


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def count_predicted(scores: Any, signed_weights: Any, threshold: float) -> tuple[float, float, float, float]:
    """Return the weight of positives, of positives above the threshold, of negatives, and of negatives not above
    it.
    """
    positives, true_positives, negatives, true_negatives = 0.0, 0.0, 0.0, 0.0
    for i in range(scores.size):
        weight = np.float64(signed_weights[i])
        above = 1.0 if np.float64(scores[i]) > threshold else 0.0  # a branch would be predicted wrong
        positive, negative = max(weight, 0.0), max(-weight, 0.0)
        positives += positive
        negatives += negative
        true_positives += positive * above
        true_negatives += negative * (1.0 - above)
    return positives, true_positives, negatives, true_negatives


@njit(nogil=True, fastmath={"reassoc", "contract", "nsz"})
def sum_rewards(scores: Any, signed_weights: Any, reward: Any) -> tuple[float, float]:
    """Return the sums of the rewards of positives and of negatives, each times its weight."""
    on_positives, on_negatives = 0.0, 0.0
    for i in range(scores.size):
        weight = np.float64(signed_weights[i])
        worth = reward.value(math.copysign(1.0, weight) * scores[i])
        on_positives += max(weight, 0.0) * worth
        on_negatives += max(-weight, 0.0) * worth
    return on_positives, on_negatives


@njit(cache=True, nogil=True)
def bin_scores(scores: Any, signed_weights: Any, low: float, width: float, weights: Any) -> None:
    """Add each point's weight to the bin of its score: ``weights[0]`` for negatives, ``weights[1]`` for positives.

    Bin k holds the scores from ``low + k * width``, it included; the first and last bins hold all beyond.
    """
    per_width = 1.0 / width
    last = weights.shape[1] - 1
    for i in range(scores.size):
        score = np.float64(scores[i])
        place = int(min(max((score - low) * per_width, 0.0), np.float64(last)))
        # Rounding may have put a score that lies at an edge on its wrong side.
        if place < last and score >= low + width * (place + 1):
            place += 1
        elif place > 0 and score < low + width * place:
            place -= 1
        weight = np.float64(signed_weights[i])
        weights[1 if weight > 0.0 else 0, place] += abs(weight)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def score_rows(X: Any, centre: Any, models: Any, intercepts: Any, scores: Any) -> None:
    """Set ``scores[k] = (X - centre) @ models[k] + intercepts[k]``, of all models in one pass over the rows."""
    for i in range(X.shape[0]):
        for k in range(models.shape[0]):
            total = X.dtype.type(intercepts[k])
            for j in range(X.shape[1]):
                total += (X[i, j] - centre[j]) * models[k, j]
            scores[k, i] = total


@njit(cache=True, nogil=True, fastmath={"contract"})
def bin_bent_scores(scores: Any, signed_weights: Any, weights: Any) -> None:
    """Add each point's weight to the bin of its score: ``weights[0]`` for negatives, ``weights[1]`` for positives.

    The bins are of equal width in score / (1 + |score|), which lies between -1 and 1: fine near 0, and unbounded.
    NaN counts as lowest.
    """
    last = weights.shape[1] - 1
    half = 0.5 * weights.shape[1]
    for i in range(scores.size):
        score = np.float64(scores[i])
        bent = score / (1.0 + abs(score)) if abs(score) < np.inf else (1.0 if score > 0.0 else -1.0)
        place = min(int(half + half * bent), last)
        weight = np.float64(signed_weights[i])
        weights[1 if weight > 0.0 else 0, place] += abs(weight)


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def mean_and_spread(scores: Any) -> tuple[float, float]:
    """Return the mean and the standard deviation."""
    origin = np.float64(scores[0])
    total, squares = 0.0, 0.0
    for i in range(scores.size):
        gap = np.float64(scores[i]) - origin
        total += gap
        squares += gap * gap
    mean = total / scores.size
    return origin + mean, np.sqrt(max(squares / scores.size - mean * mean, 0.0))
