"""A structural SVM solved by cutting planes, with one slack for the whole training set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure
from ..solvers import LinearModel
from ..streams import ArrayStream
from .labelling import most_violated_table, table_loss
from .losses import table_loss_of

# A plane that has held nothing up for so many rounds is dropped.
_IDLE_ROUNDS = 20
# More planes than columns leave their Gram matrix singular; the solver wants it definite, at times more so: where
# planes are nearly alike, it may give up or miss the optimum.
_RIDGES = (1e-10, 1e-8, 1e-6)
_SMALL_GAP = 1e-5  # in units of the loss


class Plane(NamedTuple):
    """The bound ``slack >= loss - model . direction`` that one labelling puts on the slack."""

    direction: NDArray[np.float64]
    """The mean over all points of y * x where the labelling is wrong, 0 elsewhere; the intercept's entry last."""
    loss: float
    true_positives: int
    true_negatives: int


class Solution(NamedTuple):
    """A model, and whether no labelling violates its bound by more than was allowed."""

    model: LinearModel
    converged: bool


class CuttingPlanes:
    """The planes found so far for the rows of one stream. They hold for every C.

    The problem is Joachims' (2005, with the single slack of 2009), over models with the intercept as one more
    weight:

        minimise  |model|^2 / 2 + C * slack
        such that loss(labelling) - (1/n) * (sum of y * score where it is wrong) <= slack  for every labelling
    """

    def __init__(self, stream: ArrayStream, measure: Measure):
        self._stream = stream
        self._positive = stream.signed_weights > 0
        self._loss = table_loss_of(measure, float(self._positive.mean()))
        self.found: list[Plane] = []
        """All planes ever found."""
        self._kept: list[Plane] = []
        self._gram = np.empty((0, 0))
        self._idle = np.empty(0, dtype=np.int64)

    def solve(
        self,
        C: float,
        *,
        epsilon: float,
        max_planes: int,
        out_of_time: Callable[[], bool],
        on_round: Callable[[LinearModel], None],
    ) -> Solution:
        """The model whose slack no labelling exceeds by ``epsilon``; the best met if that takes too long.

        ``on_round`` is told, every round, the best model so far.
        """
        best, least = np.zeros(self._stream.n_features + 1), np.inf
        for _ in range(max_planes):
            model, slack = self._minimise_over_planes(C)
            plane = self.most_violated(model)
            violation = plane.loss - float(plane.direction @ model)
            objective = 0.5 * float(model @ model) + C * max(violation, 0.0)
            if objective < least:
                best, least = model, objective
            on_round(_as_model(best))
            if violation <= slack + epsilon:
                return Solution(_as_model(model), True)
            if out_of_time():
                break
            self._add(plane)
        return Solution(_as_model(best), False)

    def most_violated(self, model: NDArray[np.float64]) -> Plane:
        """The labelling that bounds the slack of this model from below most."""
        scores = self._stream.scores(model[:-1], model[-1])
        low_positives = np.sort(scores[self._positive])
        high_negatives = np.sort(scores[~self._positive])[::-1]
        missed, raised, _ = most_violated_table(self._loss, low_positives, high_negatives)
        pull = np.zeros(scores.size)
        pull[_lowest(scores, self._positive, low_positives, missed)] = 1.0 / scores.size
        pull[_lowest(-scores, ~self._positive, -high_negatives, raised)] = -1.0 / scores.size
        hits, rejections = low_positives.size - missed, high_negatives.size - raised
        loss = table_loss(self._loss, hits / low_positives.size, rejections / high_negatives.size)
        direction = np.append(self._stream.weighted_sum(pull), pull.sum())
        return Plane(direction, float(loss), hits, rejections)

    def _add(self, plane: Plane) -> None:
        """Take a plane in, and let go of those that have been idle for long."""
        busy = self._idle < _IDLE_ROUNDS
        self._kept = [kept for kept, is_busy in zip(self._kept, busy, strict=True) if is_busy]
        products = np.array([kept.direction @ plane.direction for kept in self._kept])
        self._gram = np.block(
            [
                [self._gram[np.ix_(busy, busy)], products[:, np.newaxis]],
                [products[np.newaxis, :], np.array([[plane.direction @ plane.direction]])],
            ]
        )
        self._idle = np.append(self._idle[busy], 0)
        self._kept.append(plane)
        self.found.append(plane)

    def _minimise_over_planes(self, C: float) -> tuple[NDArray[np.float64], float]:
        """The optimal model if the planes so far were all labellings, and its slack."""
        if not self._kept:
            return np.zeros(self._stream.n_features + 1), 0.0
        losses = np.array([plane.loss for plane in self._kept])
        shares = plane_shares(self._gram, losses, C)
        self._idle = np.where(shares > 0.0, 0, self._idle + 1)
        model = C * sum(
            (share * plane.direction for share, plane in zip(shares, self._kept, strict=True) if share > 0.0),
            np.zeros(self._stream.n_features + 1),
        )
        slack = max(0.0, float(np.max(losses - C * self._gram @ shares)))
        return model, slack


def plane_shares(gram: NDArray[np.float64], losses: NDArray[np.float64], C: float) -> NDArray[np.float64]:
    """How C is shared out among the planes at the optimum of the dual: all 0 or more, with a sum of at most 1.

    The dual is: maximise ``shares . losses - C/2 shares . gram . shares``.
    """
    n = losses.size
    # In these units entries are about 1 in size, which daqp's absolute tolerances are made for.
    unit = max(C * float(np.trace(gram)) / n, 1.0)
    upper, lower = np.append(np.full(n, np.inf), unit), np.append(np.zeros(n), -np.inf)
    best, least = np.zeros(n), np.inf
    for ridge in _RIDGES:
        hessian = (C / unit) * gram
        hessian[np.diag_indices(n)] += ridge * (float(np.trace(hessian)) / n + 1e-100)
        shares, _, flag, _ = _daqp().solve(hessian, -losses, np.ones((1, n)), upper, lower)
        if flag > 0 and np.isfinite(shares).all():
            shares = np.where(shares > 1e-9 * shares.max(), shares, 0.0) / unit
            shares = shares / max(float(shares.sum()), 1.0)
            gap = _gap(shares, gram, losses, C)
            if gap < least:
                best, least = shares, gap
        if least <= _SMALL_GAP:
            return best
    if least < np.inf:
        return best
    raise RuntimeError(
        f"The quadratic program over {n} cutting planes was not solved (daqp's exit flag is {flag}). "
        "Try a smaller C."
    )


def _gap(shares: NDArray[np.float64], gram: NDArray[np.float64], losses: NDArray[np.float64], C: float) -> float:
    """How far the dual's value is from the primal's, over C: no optimum can lie further off."""
    products = C * gram @ shares
    slack = max(0.0, float(np.max(losses - products)))
    return float(shares @ products) + slack - float(shares @ losses)


def _lowest(scores: NDArray[Any], among: NDArray[np.bool_], ordered: NDArray[Any], count: int) -> NDArray[np.intp]:
    """Where the lowest so many scores of these points are; ``ordered`` are their scores, lowest first."""
    if count == 0:
        return np.empty(0, dtype=np.intp)
    edge = ordered[count - 1]
    below, ties = np.flatnonzero(among & (scores < edge)), np.flatnonzero(among & (scores == edge))
    return np.concatenate([below, ties[: count - below.size]])


def _as_model(vector: NDArray[np.float64]) -> LinearModel:
    return LinearModel(vector[:-1], float(vector[-1]))


def _daqp() -> Any:
    try:
        import daqp
    except ImportError:
        raise ImportError(
            'SVMPerf needs daqp, a solver of small quadratic programs: pip install "ratewise[baselines]"'
        ) from None
    return daqp
