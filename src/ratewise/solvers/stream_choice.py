"""The choice between models and of a threshold, by the scores of all rows of a stream, counted in bins."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels import bin_bent_scores, score_rows
from ..measures import Rates
from ..streams import Standardizer, Units
from .constraints import constrained_ranks
from .learner import LinearModel
from .stream_plan import StreamPlan, StreamResult

_BINS = 1 << 16


class Candidates:
    """The models of one track by stage, and the weight of the rows met so far by their score under each.

    Rows are standardised only: turning the models takes less than turning every row.

    Parameters
    ----------
    models : dict
        Models in ``units``; their scores have a mean of about 0 and a spread of about 1.
    units : Units
    standardizer : Standardizer
    """

    def __init__(self, models: dict[str, LinearModel], units: Units, standardizer: Standardizer):
        self.models = models
        self.counts = {stage: np.zeros((2, _BINS)) for stage in models}
        self._standardizer = standardizer
        turned = [standardizer.to_standard_units(*units.to_user_units(*model)) for model in models.values()]
        self._factors = np.array([weights / standardizer.scale for weights, _ in turned], dtype=np.float32)
        self._intercepts = np.array([intercept for _, intercept in turned], dtype=np.float32)

    def count(self, X: Any, signed_weights: NDArray[np.float32]) -> None:
        """Take in more rows."""
        if X.shape[0] == 0 or not self.models:
            return
        for scores, counts in zip(self._scores(X), self.counts.values(), strict=True):
            bin_bent_scores(scores, signed_weights, counts)

    def _scores(self, X: Any) -> NDArray[np.float32]:
        """One row a model."""
        if sparse.issparse(X):
            return np.ascontiguousarray(np.asarray(X @ self._factors.T).T) + self._intercepts[:, np.newaxis]
        scores = np.empty((len(self.models), X.shape[0]), dtype=np.float32)
        centre = self._standardizer.centre.astype(np.float32)
        score_rows(np.ascontiguousarray(X, dtype=np.float32), centre, self._factors, self._intercepts, scores)
        return scores


class _Choice(NamedTuple):
    value: float
    stage: str
    threshold: float
    rates: Rates


def choose(tracks: list[Candidates], plan: StreamPlan, units: Units) -> StreamResult:
    """The stage whose counted scores allow the best value, at the threshold that does; the mean of its models."""
    stages = [stage for stage in tracks[0].models if all(stage in track.models for track in tracks)]
    if not stages:
        raise ValueError(
            "No model could be learned: numbers beyond the range of float32 arose. Bring the columns to a "
            "common scale (standardize=True does)."
        )
    choices = [_best_cut(stage, sum(track.counts[stage] for track in tracks), plan) for stage in stages]
    best = max(choices, key=lambda choice: choice.value)
    models = [track.models[best.stage] for track in tracks]
    model = LinearModel(
        np.mean([one.weights for one in models], axis=0), float(np.mean([one.intercept for one in models]))
    )
    return StreamResult(
        units, model, best.threshold if plan.tune else 0.0, best.rates, (best.stage,) if best.stage else ()
    )


def _best_cut(stage: str, counts: Any, plan: StreamPlan) -> _Choice:
    edges, tpr, tnr, prevalence = _rates_at_edges(counts)
    values = np.array(plan.measure.value(tpr, tnr, prevalence), dtype=np.float64)
    values[~np.isfinite(values)] = -np.inf
    weight = float(np.sum(counts))
    points = (prevalence * weight, (1.0 - prevalence) * weight)
    ranks = constrained_ranks(values, plan.measure, tpr, tnr, prevalence, points)
    at = int(np.argmax(ranks)) if plan.tune else int(np.argmin(np.abs(edges)))
    return _Choice(float(values[at]), stage, float(edges[at]), Rates(float(tpr[at]), float(tnr[at]), prevalence))


def _rates_at_edges(counts: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], float]:
    """The thresholds between bins, and the rates at each."""
    bent = -1.0 + 2.0 / _BINS * np.arange(1, _BINS)
    above = counts[:, ::-1].cumsum(axis=1)[:, ::-1]
    negative, positive = above[:, 0]
    tpr, tnr = above[1, 1:] / max(positive, 1e-300), 1.0 - above[0, 1:] / max(negative, 1e-300)
    return bent / (1.0 - np.abs(bent)), tpr, tnr, float(positive / (positive + negative))
