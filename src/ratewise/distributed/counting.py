"""The rates of all shards at one threshold: the level of a model, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..kernels import count_called
from ..measures import Rates
from .protocol import Answer, Question
from .rows import ReadyRows
from .scores import Scored


@dataclass(frozen=True)
class Called(Answer):
    """The weights of positives, of those called so, of negatives, and of those passed over."""

    positives: float
    hits: float
    negatives: float
    passes: float

    def merge(self, other: Called) -> Called:
        return Called(
            self.positives + other.positives,
            self.hits + other.hits,
            self.negatives + other.negatives,
            self.passes + other.passes,
        )

    def rates(self) -> Rates:
        return Rates(
            self.hits / max(self.positives, 1e-300),
            self.passes / max(self.negatives, 1e-300),
            self.positives / max(self.positives + self.negatives, 1e-300),
        )


@dataclass(frozen=True)
class CountCalled(Question[Called]):
    scored: tuple[Scored, ...]
    threshold: float = 0.0

    name: ClassVar[str] = "level"

    def answer(self, rows: ReadyRows, shard: int) -> Called:
        found = Called(0.0, 0.0, 0.0, 0.0)
        for part, model in self.scored:
            scores = rows.scores(part, model)
            if scores.size:
                found = found.merge(Called(*count_called(scores, rows.parts[part].signed_weights, self.threshold)))
        return found
