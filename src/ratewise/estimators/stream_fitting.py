"""Fitting from streams, as users call it."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import clone
from sklearn.utils import check_random_state

from ..solvers import StreamPlan
from ..streams import Stream, Survey
from .from_stream import (
    Labels,
    Progress,
    learn_from,
    rows_in_memory,
    stream_plan,
    to_be_held_in_memory,
    windows_with_both_classes,
)
from .one_thread import one_blas_thread
from .settings import Settings
from .stream_arguments import check_stream_arguments, require_once_enough
from .stream_memory import remember_stream, take_over
from .two_classes import Fitted


class StreamFitting:
    """``fit_stream``, for a classifier that can store an outcome and learn in pieces."""

    random_state: Any
    pos_label: Any
    n_features_in_: int
    history_: dict[str, Any]
    _store: Any
    _online: Any
    _warn_of_constraints: Any

    def fit_stream(
        self,
        stream: Stream,
        passes: int | str = "auto",
        *,
        checkpoint: Any = None,
        checkpoint_every: int | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from a stream of rows that need not fit in memory; see :func:`ratewise.open_stream`.

        Besides the passes over the rows to learn from them, one surveys them, one takes statistics and one chooses
        the threshold. A stream that can be read only once is learned from as by ``partial_fit``; a solver that
        needs all rows at once (AMP) learns from a fair sample. ``warm_start`` has no say here.

        Parameters
        ----------
        stream : Stream
        passes : int or "auto"
            Passes to learn in.
        checkpoint : path, optional
            Where to keep work in progress. If the file is there, the fit goes on from it, to the same model bit
            for bit (given a ``random_state``). It is left in place when the fit is done.
        checkpoint_every : int, optional
            Rows between checkpoints; 20 million unless given, and after every pass.
        progress : function, optional
            Called after every window with a dict of stage, done_rows, total_rows and, while learning, tpr, tnr and
            value.
        """
        settings = Settings.of(self)
        check_stream_arguments(stream, passes, checkpoint_every)
        if not stream.repeatable:
            require_once_enough(settings.solver, checkpoint)
            return self._fit_stream_once(stream, progress)
        survey = stream.survey(progress)
        labels = Labels.of(survey, self.pos_label)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        if to_be_held_in_memory(stream, survey, settings):
            X, y, weights = rows_in_memory(stream, labels, seed)
            take_over(self, clone(self).fit(X, y, sample_weight=weights))
        else:
            how = {"checkpoint": checkpoint, "checkpoint_every": checkpoint_every, "progress": progress}
            self._fit_windows(stream, survey, labels, settings, stream_plan(settings, passes, seed), how)
        remember_stream(self, stream, survey)
        return self

    def _fit_windows(
        self,
        stream: Stream,
        survey: Survey,
        labels: Labels,
        settings: Settings,
        plan: StreamPlan,
        how: dict[str, Any],
    ) -> None:
        positives = float(survey.label_counts[labels.positive])
        settings.solver.check(settings.measure, positives / survey.rows)
        with one_blas_thread():
            result, history = learn_from(stream, survey, labels, plan, settings.new_history(), **how)
        self.n_features_in_ = len(stream.feature_names)
        self.history_ = history.table()
        self._online = None
        points = (positives, survey.rows - positives)
        outcome = Fitted(*result).outcome(labels.classes, self.pos_label, settings.measure, points)
        self._store(outcome, settings)
        self._warn_of_constraints(outcome, stacklevel=4)

    def _fit_stream_once(self, stream: Stream, progress: Progress | None) -> Self:
        fitted, rows = clone(self), 0
        for classes, window in windows_with_both_classes(stream.windows()):
            fitted.partial_fit(window.X, window.labels, classes=classes, sample_weight=window.weights)
            rows += window.X.shape[0]
            if progress is not None:
                value = float(fitted.measure_.value(*fitted.rates_))
                told = {"tpr": fitted.rates_.tpr, "tnr": fitted.rates_.tnr, "value": value}
                progress({"stage": "learning", "done_rows": rows, "total_rows": stream.n_rows} | told)
        take_over(self, fitted)
        remember_stream(self, stream, None)
        return self
