"""SVMPerf: Joachims' support vector machine for measures of a whole set of predictions, by cutting planes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure
from ..solvers import LinearModel
from ..training.rows import ArrayRows
from .labelling import most_violated_table, table_loss, table_loss_of
from .linear import (
    Finish,
    FitContext,
    LinearBaseline,
    OnCheckpoint,
    ThresholdedModel,
    candidates,
    linear_model,
)

C_GRID = (1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4, 1e5)
"""The values among which ``C="tune"`` chooses."""
# A plane is dropped after its share has been 0 for this number of rounds.
_IDLE_ROUNDS = 20
# With more planes than columns the Gram matrix is singular, and the solver needs it definite. Where planes are
# nearly equal it needs a larger ridge, or it fails or misses the optimum.
_RIDGES = (1e-10, 1e-8, 1e-6)
_SMALL_GAP = 1e-5  # in units of the loss


class SVMPerf(LinearBaseline):
    """A structural SVM whose loss is one minus the measure, solved by cutting planes.

    It takes F-beta, Jaccard and other pseudo-linear measures, min, Q-mean, G-mean and H-mean (Joachims 2005,
    2009). A round needs two passes over the rows, a sort and a fast search; see
    :mod:`ratewise.baselines.labelling`.

    C must be tuned. Scores grow with C, and while they are small the loss outweighs them: the most violated
    labelling gets a whole class wrong. For F1 and Jaccard this labelling has no true positive, and the loss of
    both is then always 1. So the measure has no effect on the fit, and both give the same model. The customary
    C = 0.01 was such a value on all four data sets tried; on one of them (covtype, class 5) every C up to 100,000
    was. Here scores are averaged over the points and the loss is between 0 and 1. If scores are summed instead,
    the same model has a C smaller by the square of the number of points.

    Parameters
    ----------
    measure : str or Measure, default="f1"
    C : "tune", float or floats, default="tune"
        The weight of the loss against the squared length of the model. If there are several, the best on the
        validation rows is used. "tune" tries 0.01 to 100,000 by tens.
    epsilon : float, default=1e-3
        No labelling may violate its bound by more than this, in units of the measure.
    max_planes : int, default=1000
        The largest number of rounds for one value of C.
    max_seconds : float, default=None
        The CPU seconds for the whole fit, including tuning; half of them for tuning if a refit follows. After this
        time the best model so far is used.
    threshold : {"tune", "zero"}, default="tune"
        "tune" uses the threshold with the best measure on the validation rows; "zero" is Joachims' choice, usually
        worse.
    validation_fraction : float, default=0.2
        The share of validation rows, for C and the threshold. 0 uses the training rows for them.
    refit : bool, default=True
        Whether to fit again on all rows with the chosen C.
    random_state : int, RandomState or None
        Determines the validation rows.
    pos_label, on_checkpoint
        As for :class:`LogisticBaseline`.

    Attributes
    ----------
    C_ : float
        The chosen C.
    converged_ : bool
        Whether the model has the accuracy ``epsilon``.
    tables_ : array of shape (planes, 2)
        The true positives and true negatives of every labelling found in the last run of cutting planes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ratewise.baselines import SVMPerf
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> SVMPerf("gmean", C=1.0, random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        measure: str | Measure = "f1",
        *,
        C: str | float | Iterable[float] = "tune",
        epsilon: float = 1e-3,
        max_planes: int = 1000,
        max_seconds: float | None = None,
        threshold: str = "tune",
        validation_fraction: float = 0.2,
        refit: bool = True,
        pos_label: Any = None,
        random_state: Any = None,
        on_checkpoint: OnCheckpoint | None = None,
    ):
        self.measure = measure
        self.C = C
        self.epsilon = epsilon
        self.max_planes = max_planes
        self.max_seconds = max_seconds
        self.threshold = threshold
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.pos_label = pos_label
        self.random_state = random_state
        self.on_checkpoint = on_checkpoint

    def _check_parameters(self) -> None:
        candidates("C", self.C, C_GRID, self)
        self._require("epsilon", low=0)
        self._require("max_planes", low=1, whole=True, at_low=True)
        if self.max_seconds is not None:
            self._require("max_seconds", low=0)
        self._check_validation()

    def _learn(self, context: FitContext) -> ThresholdedModel:
        values = candidates("C", self.C, C_GRID, self)
        if len(values) == 1 and self.threshold == "zero":  # nothing to choose, so no validation rows
            context = context._replace(learning=context.stream)
        refits = self.refit and context.learning is not context.stream
        best = self._choose(context, values, share=0.5 if refits else 1.0)
        if refits:
            planes = CuttingPlanes(context.stream, context.measure)
            again = self._solve(context, planes, self.C_, 1.0, lambda _: best)
            if again.converged:
                self.converged_ = True
                return ThresholdedModel(again.model, best.threshold)
        return best

    def _choose(self, context: FitContext, values: tuple[float, ...], share: float) -> ThresholdedModel:
        """Return the model with the best C on the validation rows, found in this share of the time."""
        planes = CuttingPlanes(context.learning, context.measure)  # planes of one C are a good start for the next
        converged: dict[float, bool] = {}

        def learn(C: float, at_checkpoint: Finish) -> LinearModel:
            share_so_far = share * (len(converged) + 1) / len(values)
            model, converged[C] = self._solve(context, planes, C, share_so_far, at_checkpoint)
            return model

        best, self.C_ = context.best_of(values, self.threshold, learn)
        self.converged_ = converged[self.C_]
        return best

    def _solve(
        self, context: FitContext, planes: CuttingPlanes, C: float, share: float, at_checkpoint: Finish
    ) -> PlanesSolution:
        deadline = np.inf if self.max_seconds is None else share * self.max_seconds
        solution = planes.solve(
            C,
            epsilon=self.epsilon,
            max_planes=self.max_planes,
            out_of_time=lambda: context.clock.seconds > deadline,
            on_round=lambda model: context.report(lambda: at_checkpoint(model)),
        )
        self.tables_ = np.array([(plane.true_positives, plane.true_negatives) for plane in planes.found])
        return solution


class CuttingPlane(NamedTuple):
    """The bound ``slack >= loss - model . direction`` that one labelling gives."""

    direction: NDArray[np.float64]
    """The mean over all points of y * x where the labelling is wrong, 0 elsewhere; the intercept's entry last."""
    loss: float
    true_positives: int
    true_negatives: int


class PlanesSolution(NamedTuple):
    """A model, and whether no labelling violates its bound by more than the tolerance."""

    model: LinearModel
    converged: bool


class CuttingPlanes:
    """A structural SVM with one slack for the whole training set. The planes found are valid for every C.

    The problem is Joachims' (2005, with the single slack of 2009), over models with the intercept as one more
    weight:

        minimize  |model|^2 / 2 + C * slack
        such that loss(labelling) - (1/n) * (sum of y * score where it is wrong) <= slack  for every labelling
    """

    def __init__(self, stream: ArrayRows, measure: Measure):
        self._stream = stream
        self._positive = stream.signed_weights > 0
        self._loss = table_loss_of(measure, float(self._positive.mean()))
        self.found: list[CuttingPlane] = []
        """All planes ever found."""
        self._kept: list[CuttingPlane] = []
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
    ) -> PlanesSolution:
        """Return the model whose slack no labelling exceeds by ``epsilon``, or the best one when out of time.

        ``on_round`` is called with the best model so far in every round.
        """
        best, least = np.zeros(self._stream.n_features + 1), np.inf
        for _ in range(max_planes):
            model, slack = self._minimise_over_planes(C)
            plane = self.most_violated(model)
            violation = plane.loss - float(plane.direction @ model)
            objective = 0.5 * float(model @ model) + C * max(violation, 0.0)
            if objective < least:
                best, least = model, objective
            on_round(linear_model(best))
            if violation <= slack + epsilon:
                return PlanesSolution(linear_model(model), True)
            if out_of_time():
                break
            self._add(plane)
        return PlanesSolution(linear_model(best), False)

    def most_violated(self, model: NDArray[np.float64]) -> CuttingPlane:
        """Return the plane of the labelling with the largest lower bound on the slack of this model."""
        scores = self._stream.scores(model[:-1], model[-1])
        low_positives = np.sort(scores[self._positive])
        high_negatives = np.sort(scores[~self._positive])[::-1]
        missed, raised, _ = most_violated_table(self._loss, low_positives, high_negatives)
        pull = np.zeros(scores.size)
        pull[lowest(scores, self._positive, low_positives, missed)] = 1.0 / scores.size
        pull[lowest(-scores, ~self._positive, -high_negatives, raised)] = -1.0 / scores.size
        hits, rejections = low_positives.size - missed, high_negatives.size - raised
        loss = table_loss(self._loss, hits / low_positives.size, rejections / high_negatives.size)
        direction = np.append(self._stream.weighted_sum(pull), pull.sum())
        return CuttingPlane(direction, float(loss), hits, rejections)

    def _add(self, plane: CuttingPlane) -> None:
        """Add a plane, and drop planes that have had no share for long."""
        busy = self._idle < _IDLE_ROUNDS
        self._kept = [kept for kept, is_busy in zip(self._kept, busy, strict=True) if is_busy]
        products = np.array([kept.direction @ plane.direction for kept in self._kept])
        above = [self._gram[np.ix_(busy, busy)], products[:, np.newaxis]]
        self._gram = np.block([above, [products, plane.direction @ plane.direction]])
        self._idle = np.append(self._idle[busy], 0)
        self._kept.append(plane)
        self.found.append(plane)

    def _minimise_over_planes(self, C: float) -> tuple[NDArray[np.float64], float]:
        """Return the optimal model under the planes so far, and its slack."""
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
    """Return each plane's share of C at the optimum of the dual: all 0 or more, with a sum of at most 1.

    The dual is: maximize ``shares . losses - C/2 shares . gram . shares``.
    """
    n = losses.size
    # In these units entries are about 1 in size, which suits daqp's absolute tolerances.
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
            break
    if least == np.inf:
        raise RuntimeError(
            f"The quadratic program over {n} cutting planes was not solved (daqp's exit flag is {flag}). "
            "Try a smaller C."
        )
    return best


def _gap(shares: NDArray[np.float64], gram: NDArray[np.float64], losses: NDArray[np.float64], C: float) -> float:
    """Return the gap between primal and dual, over C: an upper bound on the distance from the optimum."""
    products = C * gram @ shares
    slack = max(0.0, float(np.max(losses - products)))
    return float(shares @ products) + slack - float(shares @ losses)


def lowest(scores: NDArray[Any], among: NDArray[np.bool_], ordered: NDArray[Any], count: int) -> NDArray[np.intp]:
    """Return the places of the ``count`` lowest scores of these points; ``ordered`` are their scores, sorted."""
    if count == 0:
        return np.empty(0, dtype=np.intp)
    edge = ordered[count - 1]
    below, ties = np.flatnonzero(among & (scores < edge)), np.flatnonzero(among & (scores == edge))
    return np.concatenate([below, ties[: count - below.size]])


def _daqp() -> Any:
    try:
        import daqp
    except ImportError:
        raise ImportError(
            'SVMPerf needs daqp, a solver of small quadratic programs: pip install "ratewise[baselines]"'
        ) from None
    return daqp
