"""Operations that need no compiled loop: the state of the learning loop, and sums and copies of few values.

Importing and compiling a loop takes longer than a fit to a few thousand rows. So numpy does the work of these
loops up to ``FEW_VALUES`` values or ``FEW_ROWS`` rows, and numba is imported when there are more.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

FEW_VALUES = 1 << 21
FEW_ROWS = 40_000  # of one number each: a loop is ten times as fast, and numpy takes 40 bytes per row meanwhile
_NEAR_EDGE = 1e-6  # in bins: more than rounding moves a score

STATE = np.dtype(
    [
        ("points", "f8"),  # t: points learned from since the step sizes began
        ("scale", "f8"),
        ("squared_length", "f8"),  # of the model without its intercept
        ("intercept", "f8"),
        ("intercept_sum", "f8"),
        ("summed", "f8"),  # points of the sum of models
        ("unsummed", "f8"),  # points since
        ("alpha", "f8"),  # the class weights: the dual pair, where it is learned
        ("beta", "f8"),
        # Weights of the points, and of those on the right side before they were learned from:
        ("positives", "f8"),
        ("negatives", "f8"),
        ("true_positives", "f8"),
        ("true_negatives", "f8"),
    ],
    align=True,
)


class StepSizes(NamedTuple):
    """How far a point moves the model and the dual pair, in one call of :func:`learn`."""

    step: float
    """Primal step at t = 1; it falls as 1 / sqrt(t)."""
    dual_step: float
    """Dual step at t = 1; it falls as 1 / sqrt(t)."""
    conjugate_sign: float
    """+1: the right sign of the conjugate's gradient in the dual step (-1: as Algorithm 1 is printed)."""
    per_positive: float
    """1 / p: what one positive counts in the mean reward of the positives."""
    per_negative: float
    """1 / (1 - p)."""
    l2: float
    intercept_gain: float
    """How far the intercept moves with a step: the square of the constant entry it is the weight of.

    1 suits standardized rows; with an entry of the rows' own size nothing depends on their scale."""
    average_every: int
    """Points between the models whose mean is taken."""


@contextmanager
def compiled_only() -> Iterator[None]:
    """Call the compiled loops however few the values are, to have them compiled."""
    global FEW_VALUES, FEW_ROWS
    kept = FEW_VALUES, FEW_ROWS
    FEW_VALUES = FEW_ROWS = -1
    try:
        yield
    finally:
        FEW_VALUES, FEW_ROWS = kept


def mean_and_spread(scores: NDArray[Any]) -> tuple[float, float]:
    """Return the mean and the standard deviation."""
    if scores.size > FEW_ROWS:
        from .passes import mean_and_spread as compiled

        return compiled(scores)  # type: ignore[no-any-return]
    return float(scores.mean(dtype=np.float64)), float(scores.std(dtype=np.float64))


def bin_scores(
    scores: NDArray[Any], signed_weights: NDArray[Any], low: float, width: float, weights: NDArray[np.float64]
) -> None:
    """Add each point's weight to the bin of its score: ``weights[0]`` negatives, ``weights[1]`` positives."""
    if scores.size > FEW_ROWS:
        from .passes import bin_scores as compiled

        compiled(scores, signed_weights, low, width, weights)
        return
    last = weights.shape[1] - 1
    values = (scores - np.float64(low)) / width
    places = np.clip(values, 0, last).astype(np.intp)
    # Rounding may have put a score that lies at an edge on its wrong side.
    at_edge = np.flatnonzero(np.abs(values - np.rint(values)) < _NEAR_EDGE)
    there, edge = scores[at_edge].astype(np.float64), places[at_edge]
    edge = edge + ((edge < last) & (there >= low + width * (edge + 1)))
    places[at_edge] = edge - ((edge > 0) & (there < low + width * edge))
    where = (signed_weights > 0) * weights.shape[1] + places
    added = np.bincount(where, weights=np.abs(signed_weights, dtype=np.float64), minlength=weights.size)
    weights += added.reshape(weights.shape)


def weight_moments(signed_weights: NDArray[Any]) -> tuple[float, float, float, float]:
    """Return the weight of all positives and of all negatives, and the squares of the weights of both."""
    if signed_weights.size > FEW_ROWS:
        from .passes import weight_moments as compiled

        return compiled(signed_weights)  # type: ignore[no-any-return]
    wide = np.asarray(signed_weights, dtype=np.float64)
    up, down = np.maximum(wide, 0.0), np.maximum(-wide, 0.0)
    return float(up.sum()), float(down.sum()), float(up @ up), float(down @ down)


def score_moments(scores: NDArray[Any], signed_weights: NDArray[Any]) -> tuple[float, float, float, float, float]:
    """Return the weight, the mean, the squared deviations and the range of scores."""
    if scores.size > FEW_ROWS:
        from .passes import score_moments as compiled

        return compiled(scores, signed_weights)  # type: ignore[no-any-return]
    weights, wide = np.abs(signed_weights, dtype=np.float64), scores.astype(np.float64)
    mean = float(np.average(wide, weights=weights))
    squares = float(weights @ (wide - mean) ** 2)
    return float(weights.sum()), mean, squares, float(wide.min()), float(wide.max())


def count_predicted(
    scores: NDArray[Any], signed_weights: NDArray[Any], threshold: float
) -> tuple[float, float, float, float]:
    """Return the weight of positives, of positives above the threshold, of negatives, and of negatives not above
    it.
    """
    if scores.size > FEW_ROWS:
        from .passes import count_predicted as compiled

        return compiled(scores, signed_weights, threshold)  # type: ignore[no-any-return]
    wide = np.asarray(signed_weights, dtype=np.float64)
    up, down = np.maximum(wide, 0.0), np.maximum(-wide, 0.0)
    above = np.asarray(scores, dtype=np.float64) > threshold
    return float(up.sum()), float(up @ above), float(down.sum()), float(down @ ~above)


def merge_column_moments(
    X: NDArray[Any], count: float, mean: NDArray[np.float64], squares: NDArray[np.float64]
) -> float:
    """Take dense rows into the mean and the squared deviations of ``count`` rows so far; return the new count."""
    if X.size > FEW_VALUES:
        from .passes import merge_column_moments as compiled

        return compiled(X, count, mean, squares)  # type: ignore[no-any-return]
    rows = X.shape[0]
    if rows == 0:
        return count
    origin = X[0].astype(np.float64)
    gaps = X - origin  # a large mean must not cost digits
    own = gaps.mean(axis=0)
    gaps -= own
    total, gap = float(count + rows), origin + own - mean
    squares += np.einsum("ij,ij->j", gaps, gaps) + gap * gap * (count * rows / total)
    mean += gap * (rows / total)
    return total


def add_column_moments(
    data: NDArray[Any], indices: NDArray[Any], nonzeros: NDArray[np.float64], squares: NDArray[np.float64]
) -> None:
    """Add the number of non-zeros and the sum of squares of each column of sparse rows to the running totals."""
    if data.size > FEW_VALUES:
        from .passes import add_column_moments as compiled

        compiled(data, indices, nonzeros, squares)
        return
    wide = np.asarray(data, dtype=np.float64)
    nonzeros += np.bincount(indices, weights=wide != 0, minlength=nonzeros.size)
    squares += np.bincount(indices, weights=wide * wide, minlength=squares.size)


def square_rows(X: Any) -> NDArray[np.floating[Any]]:
    """Return the squared length of every row, dense or sparse."""
    values = X.data if sparse.issparse(X) else X
    squared: NDArray[np.floating[Any]]
    if values.size <= FEW_VALUES:
        if sparse.issparse(X):
            return np.asarray(X.multiply(X).sum(axis=1), dtype=X.dtype).ravel()
        squared = np.einsum("ij,ij->i", X, X)
        return squared
    from .passes import square_csr_rows, square_dense_rows

    squared = np.empty(X.shape[0], dtype=X.dtype)
    if sparse.issparse(X):
        square_csr_rows(X.data, X.indptr, squared)
    else:
        square_dense_rows(X, squared)
    return squared


def evenly_mixed_order(positive: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.signedinteger[Any]]:
    """Return a random order in which every stretch of rows has its share of both classes."""
    if positive.size > FEW_ROWS:
        from .passes import evenly_mixed_order as compiled

        return compiled(positive, rng)
    return evenly_mixed_classes(positive.astype(np.intp), rng)


def evenly_mixed_classes(codes: NDArray[np.integer[Any]], rng: np.random.Generator) -> NDArray[np.intp]:
    """Return a random order in which every stretch of rows has its share of each of many classes.

    The k-th row of a class of m, in random order, goes to a random place in the k-th of m equal stretches.
    """
    by_class = np.argsort(codes + rng.random(codes.size), kind="stable")  # each class together, in random order
    sizes = np.bincount(codes)
    ranks = np.arange(codes.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = (ranks + rng.random(codes.size)) / np.repeat(sizes, sizes)
    order: NDArray[np.intp] = by_class[np.argsort(places, kind="stable")]
    return order


def bits_of(values: NDArray[Any]) -> NDArray[Any]:
    """Return the bits of contiguous entries as whole numbers to hash."""
    if values.dtype == np.float32:
        return values.view(np.uint32)
    bits = values.view(np.uint64)
    return bits ^ (bits >> np.uint64(32))  # whole numbers differ in high bits alone, which products lose


def hash_rows(X: Any) -> NDArray[np.uint64]:
    """Return a number per row, dense or sparse, from the bits of its entries: equal for equal rows."""
    values = np.ascontiguousarray(X.data if sparse.issparse(X) else X)
    bits = bits_of(values)
    if values.size > FEW_VALUES:
        from .passes import hash_csr_rows, hash_dense_rows

        hashes = np.empty(X.shape[0], dtype=np.uint64)
        if sparse.issparse(X):
            hash_csr_rows(bits, X.indices, X.indptr, hashes)
        else:
            hash_dense_rows(bits, hashes)
        return hashes
    # Odd multipliers, one per column: sums of products wrap around, and no bit of an entry is lost.
    factors = np.random.default_rng(0).integers(2**64 - 1, size=X.shape[1], dtype=np.uint64) | np.uint64(1)
    if not sparse.issparse(X):
        return np.asarray(bits.astype(np.uint64) @ factors, dtype=np.uint64)
    sums = np.zeros(bits.size + 1, dtype=np.uint64)
    np.cumsum(bits * factors[X.indices], out=sums[1:])
    return np.asarray(sums[X.indptr[1:]] - sums[X.indptr[:-1]], dtype=np.uint64)


def gather_weights(weights: NDArray[Any], order: NDArray[np.signedinteger[Any]]) -> NDArray[np.float32]:
    """Return the weights in this order, as float32."""
    if order.size > FEW_ROWS:
        from .passes import gather_weights as compiled

        return compiled(weights, order)
    return np.asarray(weights[order], dtype=np.float32)


def gather_standardized(
    X: NDArray[Any],
    order: NDArray[np.signedinteger[Any]],
    centre: NDArray[Any],
    inverse: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Set ``out[i] = (X[order[i]] - centre) * inverse``; the rows must be C-contiguous."""
    if out.size > FEW_VALUES:
        from .passes import gather_standardized as compiled

        compiled(X, order, centre, inverse, out)
        return
    out[...] = (X[order] - centre) * inverse


def gather_scaled(X: Any, order: NDArray[np.signedinteger[Any]], factors: NDArray[np.float64], dtype: Any) -> Any:
    """Return the rows of a CSR matrix in this order, each column times its factor, with sorted columns."""
    if X.nnz > FEW_VALUES:
        from .passes import gather_scaled as compiled

        return compiled(X, order, factors, dtype)
    gathered = X[order].astype(np.promote_types(X.dtype, dtype))  # a factor of float64 rows may be beyond float32
    gathered.data *= factors.astype(gathered.dtype)[gathered.indices]
    gathered = gathered.astype(dtype, copy=False)
    gathered.sort_indices()
    return gathered


def code_rows(
    X: NDArray[Any],
    order: NDArray[np.signedinteger[Any]],
    columns: tuple[NDArray[Any], ...],
    missing: tuple[NDArray[Any], ...],
    hinges: tuple[NDArray[Any], ...],
    pairs: tuple[NDArray[Any], ...],
    limits: tuple[float, float],
    out: NDArray[Any],
) -> None:
    """Set ``out[i]`` to the basis columns of row ``order[i]``: the columns, then what is missing, hinges and
    pairs.

    With z the standardized column, 0 where it is missing and cut off at the first limit: ``columns`` are the
    centre and the inverse spread that make z, and the factor and the shift of ``z * factor + shift``; ``missing``
    a column, mean and factor each; ``hinges`` a column, knot, slope, mean and factor of ``(max(z - knot, 0) -
    slope * z - mean) * factor``; ``pairs`` two columns, mean and factor of the product of both, cut off at the
    second limit.
    """
    if out.size > FEW_VALUES:
        from .basis import code_rows as compiled

        compiled(X, order, columns, missing, hinges, pairs, limits, out)
        return
    rows = X[order]
    is_missing = np.isnan(rows)
    centre, inverse, factor, shift = columns
    z = np.clip(np.where(is_missing, 0.0, (rows - centre) * inverse), -limits[0], limits[0])
    column, mean, scale = missing
    hinge_column, knot, slope, hinge_mean, hinge_factor = hinges
    of_hinges = z[:, hinge_column]
    near = np.clip(z, -limits[1], limits[1])
    first, second, pair_mean, pair_factor = pairs
    ends = np.cumsum([z.shape[1], column.size, hinge_column.size])
    out[:, : ends[0]] = z * factor + shift
    out[:, ends[0] : ends[1]] = (is_missing[:, column] - mean) * scale
    bent = np.maximum(of_hinges - knot, 0.0) - slope * of_hinges - hinge_mean
    out[:, ends[1] : ends[2]] = bent * hinge_factor
    out[:, ends[2] :] = (near[:, first] * near[:, second] - pair_mean) * pair_factor
