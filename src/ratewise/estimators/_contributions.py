"""Contributions of each column to the score of an ensemble of boosting, or of stacks with an additive model.

A score is a mean vote. A vote is a curve of log odds, and log odds are a sum over columns. Where a curve bends,
one factor scales the contributions of a row, so that they sum to the vote.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline

from ..features.codecs import Ignored
from ._boosters import booster_of, staged_scores
from ._ensemble import EnsembleMember, Stage
from ._explain import Explanation
from ._stack import AdditiveModel, limited

_STEP = 1e-4  # in log odds: a curve is straight over such a small step
_RELATIVE_ERROR, _ABSOLUTE_ERROR = 1e-3, 1e-4  # of a library's contributions, which are sums of float32

Floats = NDArray[np.float64]


class Contributions(NamedTuple):
    """The base score, and what each term adds to the scores of some rows."""

    base: float
    values: Any
    """One row per row of X and one column per term; CSR for sparse rows."""

    @property
    def scores(self) -> Floats:
        return self.base + np.ravel(self.values.sum(axis=1))

    def through(self, curve: Callable[[Floats], Floats]) -> Self:
        """Return the contributions to the value of a curve at the score."""
        scores, base = self.scores, np.array([self.base])
        moved = scores - self.base
        at_base = float(curve(base)[0])
        slope = float((curve(base + _STEP) - curve(base - _STEP))[0]) / (2.0 * _STEP)
        far = np.abs(moved) > _STEP
        factors = np.full(scores.size, slope)
        factors[far] = (curve(scores)[far] - at_base) / moved[far]
        return self._replace(base=at_base, values=_scaled(self.values, factors))

    def times(self, share: float) -> Self:
        return self._replace(base=share * self.base, values=self.values * share)

    def plus(self, other: Contributions) -> Self:
        return self._replace(base=self.base + other.base, values=self.values + other.values)


def _scaled(values: Any, factors: Floats) -> Any:
    return sparse.diags_array(factors) @ values if sparse.issparse(values) else values * factors[:, np.newaxis]


class TermColumns(NamedTuple):
    """The terms of an explanation: the user's columns, and terms that belong to all columns together."""

    names: list[str]
    remainder: str

    @classmethod
    def of(cls, X: Any, model: Any) -> Self:
        found = getattr(X, "column_names", getattr(X, "columns", getattr(model, "feature_names_in_", None)))
        width = X.shape[1] if hasattr(X, "shape") else np.shape(X)[1]
        names = [f"x{k}" for k in range(width)] if found is None else list(map(str, found))
        last = model.steps[-1][1] if isinstance(model, Pipeline) else model
        return cls(names, type(last).__name__)

    @property
    def number(self) -> int:
        return len(self.names) + 1


def explain_votes(members: list[EnsembleMember], X: Any, positive: Any, threshold: float) -> Explanation:
    """Return what the columns add to the mean vote of members for the positive class, minus the threshold."""
    if any(member.stages[0].trees is None for member in members):
        raise ValueError(
            "explain is for boosting and the stack, and the models are of "
            f"{type(members[0].model).__name__}: explain these themselves, for instance with shap."
        )
    columns = TermColumns.of(X, members[0].model)
    total = sum(member.weight for member in members)
    found: Contributions | None = None
    for member in members:
        added = [] if member.additive is None else _of_additive(member.additive, X, columns)
        for stage in member.stages:
            vote = _of_stage(member, stage, added, X, positive, columns).through(stage.transform.votes)
            share = vote.times(member.weight / (total * len(member.stages)))
            found = share if found is None else found.plus(share)
    assert found is not None
    values, names = found.values, [*columns.names, columns.remainder]
    rest = values[:, [-1]]
    if not (rest.count_nonzero() if sparse.issparse(rest) else np.any(rest)):
        values, names = values[:, :-1], names[:-1]
    return Explanation(names, values.tocsr() if sparse.issparse(values) else values, found.base - threshold)


def _of_stage(
    member: EnsembleMember, stage: Stage, added: list[Contributions], X: Any, positive: Any, columns: TermColumns
) -> Contributions:
    """Return the contributions to the log odds of a stage."""
    model, trees = member.model, stage.trees or 0
    sign = 1.0 if model.classes_[1] == positive else -1.0
    boosting = _of_boosting(model, X, trees, columns).times(sign)
    if stage.join is None:
        return boosting
    found = boosting.through(limited).times(stage.join.of_boosting)
    for share, one in zip(stage.join.of_additive, added, strict=True):
        found = found.plus(one.through(limited).times(float(share)))
    return found._replace(base=found.base + stage.join.constant)


def _of_boosting(model: Any, X: Any, trees: int, columns: TermColumns) -> Contributions:
    """Return the library's contributions if they sum to its scores; otherwise the score as the remainder."""
    booster, last = booster_of(model), model.steps[-1][1] if isinstance(model, Pipeline) else model
    assert booster is not None
    (scores,) = staged_scores(model, booster, X, [trees])
    found = None
    if last is model or _keeps_columns(model, columns):
        rows = X if last is model else model[:-1].transform(X)
        found = booster.contributions(last, rows, min(trees, booster.trees(last)))
    if found is not None and found.shape == (scores.size, columns.number):
        told = Contributions(float(found[0, -1]) if scores.size else 0.0, _without_last(found))
        if np.allclose(told.scores, scores, rtol=_RELATIVE_ERROR, atol=_ABSOLUTE_ERROR):
            return told
    rest = np.zeros((scores.size, columns.number))
    rest[:, -1] = scores
    return Contributions(0.0, sparse.csr_array(rest) if sparse.issparse(X) else rest)


def _without_last(found: Any) -> Any:
    """Return contributions with 0 for the remainder, in place of the base."""
    if sparse.issparse(found):
        kept = sparse.csr_array(found)[:, :-1]
        return sparse.csr_array((kept.data, kept.indices, kept.indptr), shape=found.shape)
    values = np.array(found, dtype=np.float64)
    values[:, -1] = 0.0
    return values


def _keeps_columns(pipeline: Pipeline, columns: TermColumns) -> bool:
    """Return whether the steps before boosting turn each of the user's columns into one column of that name."""
    try:
        return list(map(str, pipeline[:-1].get_feature_names_out(columns.names))) == columns.names
    except (AttributeError, ValueError):
        return False


def _of_additive(model: AdditiveModel, X: Any, columns: TermColumns) -> list[Contributions]:
    """Return the contributions to the log odds of each regression."""
    of_column = np.arange(len(columns.names))
    if model.encoder is not None:
        codecs = [codec for codec in model.encoder.codecs if not isinstance(codec, Ignored)]
        mine = [columns.names.index(codec.name) for codec in codecs]
        of_column = np.repeat(mine, [codec.width for codec in codecs])
    of_part = of_column
    if model.basis is not None:
        parts = (model.basis.missing.column, model.basis.hinges.column)
        of_part = np.concatenate([of_column, *(of_column[part] for part in parts)])
    coded, size = model.coded(X), of_part.size
    found = []
    for coef, intercept in zip(model.coef.T, model.intercept, strict=True):
        add = sparse.csr_array((coef, (np.arange(size), of_part)), shape=(size, columns.number))
        values = coded @ add
        found.append(Contributions(float(intercept), values))
    return found
