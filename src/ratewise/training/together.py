"""Runs that learn side by side: each step of their maximizations reads the rows in memory once for all runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..solvers.driver import Run
from ..solvers.maximize_together import SharedRows, maximize_together
from ..solvers.requests import Evaluate, Maximize
from ..solvers.state import LinearModel
from ..transforms import Standardizer
from .answers import answer, row_weights
from .rows import ArrayRows


class Climber(NamedTuple):
    """A run, its rows, and the standardization of these rows, which its models use."""

    rows: ArrayRows
    run: Run
    own: Standardizer

    def maximization(self) -> Maximize | None:
        """Answer all other requests, and return the next maximization that the run requests; None at its end."""
        while (request := self.run.request(self.rows.summary)) is not None:
            if isinstance(request, Maximize):
                return request
            if isinstance(request, Evaluate):
                model = LinearModel(*self.own.inverse_coef(*request.model))
                request = dataclasses.replace(request, model=model)
            self.run.receive(answer(self.rows, request))
        return None

    def weights(self, request: Maximize) -> Any:
        """Return the weight of every stored row."""
        return self.rows.spread_out(row_weights(self.rows, request.class_weights).astype(np.float32))


def train_together(jobs: Sequence[tuple[ArrayRows, Run]]) -> None:
    """Complete runs, each with its rows; runs on parts of the same rows learn side by side."""
    of_storage: dict[int, list[tuple[ArrayRows, Run]]] = {}
    for rows, run in jobs:
        of_storage.setdefault(id(rows.storage), []).append((rows, run))
    for some in of_storage.values():
        _train_on_the_same_rows(some)


def _train_on_the_same_rows(jobs: Sequence[tuple[ArrayRows, Run]]) -> None:
    climbers = [
        Climber(rows, run, own)
        for (rows, run), own in zip(jobs, own_standardizations([rows for rows, _ in jobs]), strict=True)
    ]
    for one in climbers:
        one.run.change_transform(one.own.transform_coef)
    while waiting := [(one, request) for one in climbers if (request := one.maximization())]:
        _answer_together([(one, request) for one, request in waiting if _kind(request) == _kind(waiting[0][1])])
    for one in climbers:
        one.run.change_transform(one.own.inverse_coef)


def _kind(request: Maximize) -> tuple[Any, ...]:
    """Return the settings that must be equal for maximizations to share their steps."""
    return request.reward, request.tolerance, request.iterations


def _answer_together(waiting: Sequence[tuple[Climber, Maximize]]) -> None:
    climbers, requests = zip(*waiting, strict=True)
    shared = SharedRows(
        climbers[0].rows.X,
        climbers[0].rows.signs,
        np.stack([one.weights(request) for one, request in waiting]),
        np.stack([one.own.centre for one in climbers]),
        np.stack([one.own.scale for one in climbers]),
    )
    models = maximize_together(
        shared,
        requests[0].reward,
        np.stack([np.append(*one.start) for one in requests]),
        np.array([one.l2 for one in requests]),
        tolerance=requests[0].tolerance,
        iterations=requests[0].iterations,
    )
    for one, model in zip(climbers, models, strict=True):
        one.run.receive(LinearModel(model[:-1], float(model[-1])))


def own_standardizations(parts: Sequence[ArrayRows]) -> list[Standardizer]:
    """Return the standardization of each part by its own rows, from one pass over all rows."""
    edges = np.unique([edge for part in parts for one in part.ranges for edge in one]).tolist()
    X = parts[0].X
    pieces = {start: parts[0].standardizer().update(X[start:stop]) for start, stop in pairwise(edges)}

    def of(part: ArrayRows) -> Standardizer:
        mine = [pieces[start] for start in pieces if any(low <= start < high for low, high in part.ranges)]
        return reduce(Standardizer.merge, mine, part.standardizer())

    return [of(part) for part in parts]
