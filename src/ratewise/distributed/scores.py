"""Scores counted over all shards: coarsely, for looks on the way; by their own bits, for exact thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..kernels import bin_scores
from ..solvers import LinearModel
from ..streams import Summary
from .protocol import Answer, Engine, Question
from .rows import ReadyRows

Scored = tuple[int, LinearModel]
"""A part of the rows, and the model that scores it."""

_BINS = 4096
_KEY_BITS = 32
_DIRECT = 1 << 16
# Of the area hyperbolic sine of the scores, by their mean and spread: fine near the mean, up to 200 spreads away.
_LOW, _WIDTH = -6.0, 12.0 / _BINS


@dataclass(frozen=True)
class Spread(Answer):
    """The weight, the mean and the squared deviations of scores."""

    weight: float
    mean: float
    squares: float

    def merge(self, other: Spread) -> Spread:
        weight = self.weight + other.weight
        if weight == 0:
            return self
        gap = other.mean - self.mean
        squares = self.squares + other.squares + gap * gap * (self.weight * other.weight / weight)
        return Spread(weight, self.mean + gap * (other.weight / weight), squares)

    @property
    def deviation(self) -> float:
        return float(np.sqrt(self.squares / max(self.weight, 1e-300))) + 1e-30


@dataclass(frozen=True)
class TakeSpread(Question[Spread]):
    part: int
    model: LinearModel

    name: ClassVar[str] = "spread"

    def answer(self, rows: ReadyRows, shard: int) -> Spread:
        scores = rows.scores(self.part, self.model).astype(np.float64)
        weights = np.abs(rows.parts[self.part].signed_weights, dtype=np.float64)
        if scores.size == 0:
            return Spread(0.0, 0.0, 0.0)
        mean = float(np.average(scores, weights=weights))
        return Spread(float(weights.sum()), mean, float(weights @ (scores - mean) ** 2))


@dataclass(frozen=True)
class Counts(Answer):
    """The weight of negatives and of positives by place: those places that hold any, in order."""

    places: NDArray[np.int64]
    weights: NDArray[np.float64]

    def merge(self, other: Counts) -> Counts:
        places, back = np.unique(np.concatenate([self.places, other.places]), return_inverse=True)
        weights = np.zeros((2, places.size))
        first, second = np.split(back, [self.places.size])
        weights[:, first] += self.weights
        weights[:, second] += other.weights
        return Counts(places, weights)


def _counted(places: NDArray[np.int64], signed_weights: NDArray[Any], most: int) -> Counts:
    """The weights at each place below ``most``; where that is many, places are numbered anew first."""
    found = np.arange(most) if most <= _DIRECT else None
    if found is None:
        found, places = np.unique(places, return_inverse=True)
    sides = (np.maximum(-signed_weights, 0.0), np.maximum(signed_weights, 0.0))
    weights = np.zeros((2, found.size))
    for side, mine in enumerate(sides):
        weights[side] = np.bincount(places, mine, found.size)
    held = np.flatnonzero(weights.any(axis=0))
    return Counts(found[held].astype(np.int64), weights[:, held])


@dataclass(frozen=True)
class CountBins(Question[Counts]):
    """Scores by bins that fit their mean and spread."""

    part: int
    model: LinearModel
    mean: float
    deviation: float

    name: ClassVar[str] = "histogram"

    def answer(self, rows: ReadyRows, shard: int) -> Counts:
        weights = np.zeros((2, _BINS))
        scores = rows.scores(self.part, self.model)
        if scores.size:
            standard = np.arcsinh((scores.astype(np.float64) - self.mean) / self.deviation)
            bin_scores(standard, rows.parts[self.part].signed_weights, _LOW, _WIDTH, weights)
        places = np.flatnonzero(weights.any(axis=0))
        return Counts(places.astype(np.int64), weights[:, places])


class ScoredByAll:
    """The rows of a part of all shards, to look at models with: each bin of scores stands for its rows."""

    def __init__(self, engine: Engine, part: int, summary: Summary):
        self._engine, self._part = engine, part
        self.summary = summary
        self._signed = np.zeros(0)
        self.spread = Spread(0.0, 0.0, 0.0)

    @property
    def signed_weights(self) -> NDArray[np.floating[Any]]:
        return self._signed

    def scores(self, weights: NDArray[Any], intercept: float) -> NDArray[np.floating[Any]]:
        model = LinearModel(np.asarray(weights, dtype=np.float64), float(intercept))
        self.spread = self._engine.ask(TakeSpread(self._part, model))
        if not np.isfinite(self.spread.squares):
            return np.array([np.nan])
        mean, deviation = self.spread.mean, self.spread.deviation
        counts = self._engine.ask(CountBins(self._part, model, mean, deviation))
        middles = mean + deviation * np.sinh(_LOW + _WIDTH * (counts.places + 0.5))
        negatives, positives = (np.flatnonzero(side) for side in counts.weights)
        self._signed = np.concatenate([-counts.weights[0, negatives], counts.weights[1, positives]])
        return np.concatenate([middles[negatives], middles[positives]])


@dataclass(frozen=True)
class CountKeys(Question[Counts]):
    """Scores by the leading bits of their keys: all of them, or those under some prefixes, one level finer."""

    scored: tuple[Scored, ...]
    shift: int
    """Bits left out: places are keys shifted right by so many."""
    prefixes: NDArray[np.int64] | None
    """Places at ``coarse`` bits left out; only scores there are counted. None for all."""
    coarse: int

    name: ClassVar[str] = "threshold"

    def answer(self, rows: ReadyRows, shard: int) -> Counts:
        found = Counts(np.zeros(0, np.int64), np.zeros((2, 0)))
        for part, model in self.scored:
            keys = keys_of(rows.scores(part, model))
            weights = rows.parts[part].signed_weights
            if self.prefixes is not None:
                wanted = np.zeros(1 << (_KEY_BITS - self.coarse), dtype=bool)
                wanted[self.prefixes] = True
                inside = np.flatnonzero(wanted[keys >> self.coarse])
                keys, weights = keys[inside], weights[inside]
            if keys.size:
                found = found.merge(_counted(keys >> self.shift, weights, 1 << (_KEY_BITS - self.shift)))
        return found


def keys_of(scores: NDArray[Any]) -> NDArray[np.int64]:
    """A whole number of 32 bits for each float32 score, in the order of the scores."""
    bits = (np.asarray(scores, dtype=np.float32) + np.float32(0.0)).view(np.uint32)  # no minus zero
    flipped = np.where(bits >> np.uint32(31), ~bits, bits | np.uint32(1 << 31))
    return flipped.astype(np.int64)


def score_of(key: int) -> float:
    """The score that has this key."""
    bits = key ^ (1 << 31) if key >> 31 else key ^ 0xFFFFFFFF
    return float(np.array([bits], dtype=np.uint32).view(np.float32)[0])
