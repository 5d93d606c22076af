"""Models fitted with groups of rows: rates per group, and a threshold per group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..decisions.group_cuts import GroupDecision, has_group_cuts
from ..decisions.intervals import rates_interval
from ..decisions.sensitive import group_of_each_row
from ..measures import Rates, RatesInterval


class GroupedPrediction:
    """The groups that a model was fitted with, their rates and their thresholds."""

    groups_: NDArray[Any]
    group_rates_: list[Rates]
    group_intervals_: list[RatesInterval]
    group_thresholds_: NDArray[np.float64]
    sensitive_column_: str

    @property
    def rates_by_group_(self) -> dict[Any, Rates]:
        """The (tpr, tnr, prevalence) of each group of ``sensitive_features``, from out-of-fold predictions."""
        check_is_fitted(self, "groups_")
        return dict(zip(self.groups_.tolist(), self.group_rates_, strict=True))

    @property
    def rates_interval_by_group_(self) -> dict[Any, RatesInterval]:
        """The intervals of the rates of each group on new rows."""
        check_is_fitted(self, "groups_")
        return dict(zip(self.groups_.tolist(), self.group_intervals_, strict=True))

    def _store_groups(self, groups: GroupDecision | None, measure: Any) -> None:
        """Store the groups, for a measure of two rates; remove the groups of the previous fit."""
        for name in ("groups_", "group_rates_", "group_intervals_", "group_thresholds_"):
            self.__dict__.pop(name, None)
        if groups is None:
            return
        self.groups_ = groups.names
        self.group_rates_ = groups.counts.rates.each()
        self.group_intervals_ = [
            rates_interval(one, measure, points)
            for one, points in zip(self.group_rates_, groups.points, strict=True)
        ]
        if has_group_cuts(measure):
            self.group_thresholds_ = groups.thresholds

    def _row_thresholds(self, sensitive_features: Any, n_rows: int) -> NDArray[np.float64] | float:
        """Return the threshold for the score of each row: 0 unless groups have their own thresholds."""
        if not hasattr(self, "group_thresholds_"):
            return 0.0
        if sensitive_features is None:
            raise ValueError(
                "This model has a threshold for each group: give predict the sensitive_features of the rows, or "
                "fit with group_cuts=False."
            )
        given = group_of_each_row(sensitive_features, n_rows)
        known = self.groups_.tolist()
        place = {str(name): k for k, name in enumerate(known)}  # numbers are texts in CSV files
        found, codes = np.unique(given, return_inverse=True)
        new = [name for name in found.tolist() if str(name) not in place]
        if new:
            raise ValueError(
                f"sensitive_features contains {new[0]!r}, a group that the training rows did not have; known: "
                f"{', '.join(map(repr, known))}."
            )
        places = np.array([place[str(name)] for name in found.tolist()], dtype=np.intp)
        thresholds: NDArray[np.float64] = self.group_thresholds_[places[codes.reshape(-1)]]
        return thresholds
