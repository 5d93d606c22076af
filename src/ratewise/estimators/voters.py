"""Models that vote: each on the scale of its own threshold."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .crossfit import Ballot, Round
from .inner import scores_of


class Voter(NamedTuple):
    """One model, and how it was taught."""

    model: Any
    ballot: Ballot
    ratio: float
    """What a positive row weighed for each unit of a negative one."""
    say: int = 1
    """As many votes as others have."""

    def votes(self, X: Any, positive: Any) -> NDArray[np.float64]:
        return self.ballot.votes(scores_of(self.model, X, self.ballot.response, positive))

    def probabilities(self, X: Any, positive: Any) -> NDArray[np.float64]:
        """Of the positive class, as if all rows had weighed alike."""
        weighted = scores_of(self.model, X, "predict_proba", positive)
        return weighted / (weighted + self.ratio * (1.0 - weighted))


def voters_of(rounds: list[Round], kept: list[int]) -> list[Voter]:
    """The models of all folds of the rounds kept."""
    return [Voter(model, rounds[k].ballot, rounds[k].ratio) for k in kept for model in rounds[k].models]


def mean_vote(voters: list[Voter], X: Any, positive: Any) -> NDArray[np.float64]:
    return _mean([one.votes(X, positive) for one in voters], voters)


def mean_probability(voters: list[Voter], X: Any, positive: Any) -> NDArray[np.float64]:
    return _mean([one.probabilities(X, positive) for one in voters], voters)


def _mean(of_voters: list[NDArray[np.float64]], voters: list[Voter]) -> NDArray[np.float64]:
    mean: NDArray[np.float64] = np.average(of_voters, axis=0, weights=[one.say for one in voters])
    return mean
