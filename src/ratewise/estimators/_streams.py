"""``fit_stream``: fit from files and batches."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..decisions.costs import row_costs
from ..decisions.sensitive import checked_sensitive, require_rates
from ..features.dates import times_of
from ..measures import get_measure
from ..solvers.base import History, Solver
from ..solvers.state import class_totals
from ..streams import DataError, FileSurvey, Stream, Window
from ..streams.kept import KEPT_SHARE, free_memory
from ..training import ArraySource, FitConfig, Trainer, config
from ..training.checkpoint import Checkpoint, facts_of_files
from ..training.files import ClassLabels, StreamLabels, WindowSource, require_weights
from ..training.files_in_memory import rows_in_memory
from ..training.multiclass import ClassTrainer
from ..training.plain_data import digest
from ..training.source import Progress, occupied_columns
from ._costs import CostedRows, costs_in_columns, named_columns, require_columns_of_costs
from ._fits import Fitted, at_target, check_prevalence, fitted_two_classes, measure_at, warn_of_constraints
from ._folds import draws_own_folds, splits_by_time
from ._multiclass import MulticlassFit, fitted_many, of_many_classes, require_classes_of
from ._settings import fit_config, one_blas_thread, passes_asked_for, require_basis_columns, shared_basis
from ._targets import group_numbers, positive_label, require_no_positive, warn_of_rare_labels

STREAM_ATTRIBUTES = ("encoder_", "target_", "survey_", "n_samples_fit_", "sensitive_column_", "cost_columns_")


class StreamFolds(NamedTuple):
    """The arguments of a stream's fit besides its configuration: the target prevalence, folds and groups."""

    target_prevalence: float | None = None
    groups: str | None = None
    time: str | None = None
    sensitive: str | None = None
    """The column of the groups that bounds concern."""
    costs: Mapping[str, float | str] | None = None
    """What each kind of decision costs: a number, or a column."""

    @property
    def columns(self) -> list[str]:
        """The columns that define the folds, the groups and the costs."""
        given = (self.groups, self.time, self.sensitive, *named_columns(self.costs))
        return list(dict.fromkeys(name for name in given if name is not None))

    def check(self, stream: Stream, *, in_windows: bool) -> None:
        check_prevalence(self.target_prevalence)
        if self.groups is not None and self.time is not None:
            raise ValueError("groups= and time= both say which rows validate: give one of them.")
        if any(one is not None for one in self) and not stream.repeatable:
            raise ValueError(
                "A stream that can be read once only is learned from as it comes, without folds: leave out "
                "groups=, time=, sensitive_features=, costs= and target_prevalence=, or give the rows as files."
            )
        if self.sensitive is not None and self.target_prevalence is not None:
            raise ValueError("target_prevalence is for all rows: it cannot be given with sensitive_features.")
        if self.costs is not None and (self.sensitive is not None or self.target_prevalence is not None):
            raise ValueError("sensitive_features and target_prevalence are for measures, without costs.")
        for column in self.columns:
            if column not in stream.kept:
                raise ValueError(f"The stream does not keep {column!r}: open_stream(..., keep=[{column!r}]).")
        if in_windows and self.columns:
            raise ValueError(
                "groups=, time=, sensitive_features= and costs= read all rows into memory, where there is no "
                "checkpoint to keep."
            )

    def rows(self, kept: dict[str, list[Any]], n_rows: int) -> dict[str, Any]:
        """Return folds and groups in the form for ``ArraySource``, from the values of the columns."""
        found: dict[str, Any] = {}
        if self.time is not None:
            found["splits"] = splits_by_time(times_of(kept[self.time], self.time), self.time)
        if self.groups is not None:
            found["groups"] = group_numbers(np.array([str(value) for value in kept[self.groups]]), n_rows)
        if self.sensitive is not None:
            found["sensitive"] = checked_sensitive(kept[self.sensitive], n_rows)
        return found


class StreamOptions(NamedTuple):
    """How a stream is to be fitted, besides the configuration of the fit."""

    folds: StreamFolds = StreamFolds()
    checkpoint: Any = None
    checkpoint_every: int | None = None
    in_windows: bool = False
    """Whether to read even few rows window by window, so that there is work to keep."""
    progress: Progress | None = None
    max_memory: int | str = "auto"
    disk_cache: Any = "auto"


class SurveyedStream(NamedTuple):
    """A stream that was read once, and how it is to be fitted."""

    stream: Stream
    survey: FileSurvey
    options: StreamOptions
    cache_folder: str | None
    seed: int
    history: History

    def in_memory(
        self, labels: StreamLabels | ClassLabels, keep: Sequence[str] = ()
    ) -> tuple[Any, NDArray[Any], dict[str, list[Any]]] | None:
        """Return all rows, their targets and the columns to keep; None if rows are read window by window."""
        if self.options.in_windows:
            return None
        return rows_in_memory(self.stream, self.survey, labels, self.options.progress, keep=keep)

    def windows(self, labels: StreamLabels | ClassLabels, settings: FitConfig) -> WindowSource:
        """Return the rows window by window, continuing from a checkpoint if there is one."""
        stream, survey, options = self.stream, self.survey, self.options
        stream.keep_encoded(labels.classes, self.cache_folder)
        kept = None
        if options.checkpoint is not None:
            kept = stream_checkpoint(options.checkpoint, stream, survey, labels, settings, self.seed)
        return WindowSource(
            stream,
            survey,
            labels,
            settings.measure,
            self.seed,
            standardize=settings.standardize,
            sample_rows=math.inf if settings.basis is None else config.CODED_SAMPLE_ROWS,
            checkpoint=kept,
            checkpoint_rows=options.checkpoint_every,
            progress=options.progress,
        )


class StreamFitting:
    """``fit_stream``, for a classifier that can store a result and learn in pieces."""

    measure: Any
    random_state: Any
    pos_label: Any
    verbose: int
    n_features_in_: int
    sensitive_column_: str
    fitted_to_costs_: bool
    cost_columns_: dict[str, float | str]
    history_: dict[str, Any]
    _store: Any
    _online: Any

    def fit_stream(
        self,
        stream: Stream,
        passes: int | str = "auto",
        *,
        checkpoint: Any = None,
        checkpoint_every: int | None = None,
        progress: Progress | None = None,
        target_prevalence: float | None = None,
        groups: str | None = None,
        time: str | None = None,
        sensitive_features: str | None = None,
        costs: Mapping[str, float | str] | None = None,
        max_memory: int | str = "auto",
        disk_cache: Any = "auto",
    ) -> Self:
        """Learn from a stream of rows that need not fit in memory; see :func:`ratewise.open_stream`.

        In addition to the training passes over the rows, one pass surveys them, one computes statistics and one
        chooses the threshold. A stream that can be read only once is learned as by ``partial_fit``; a solver that
        needs all rows at once (AMP) learns from a fair sample. Few rows are read into memory and fitted as by
        ``fit``, unless ``checkpoint`` is given. ``warm_start`` is ignored.

        Parameters
        ----------
        stream : Stream
        passes : int or "auto"
            The number of training passes.
        checkpoint : path, optional
            The file for work in progress. If it exists, the fit resumes from it, to the same model bit for bit
            (given a ``random_state``). The file is kept when the fit is done.
        checkpoint_every : int, optional
            The number of rows between checkpoints, 20 million unless given. There is also one after every pass.
        progress : function, optional
            Called after every window with a dict of stage, done_rows, total_rows and, while learning, tpr, tnr and
            value. If rows are fitted in memory, it is called after every training run, without rates.
        target_prevalence : float, optional
            As for ``fit``.
        groups : str, optional
            A column that the stream keeps (``open_stream(keep=...)``): rows with the same value stay in the same
            inner fold. All rows are read into memory.
        time : str, optional
            A column that the stream keeps, of times or numbers: the later half of the rows is used for validation,
            in five steps, each by models of the rows before it. All rows are read into memory.
        sensitive_features : str, optional
            A column that the stream keeps: the groups that bounds of the measure concern, as for ``fit``. The
            model does not learn from it. All rows are read into memory. For two classes.
        costs : dict, optional
            With ``measure="cost"``, as for ``fit``: numbers, or columns that the stream keeps. The model learns
            from such a column too if ``open_stream(features=)`` names it. All rows are read into memory. For two
            classes.
        max_memory : int or "auto"
            The bytes of memory for decoded rows of files, so that files are read only once. "auto" is a quarter of
            the free memory, within the limits of the container. 0 keeps no rows. The model is the same, bit for
            bit.
        disk_cache : path, "auto" or False
            The folder for decoded rows that exceed this memory. They take 4 bytes per number, in a file without a
            name that disappears when the fit ends, also after an error. "auto" is the folder of the checkpoint, if
            there is one. False keeps no rows. The model is the same, bit for bit.
        """
        folds = StreamFolds(target_prevalence, groups, time, sensitive_features, costs)
        in_windows = checkpoint is not None
        options = StreamOptions(folds, checkpoint, checkpoint_every, in_windows, progress, max_memory, disk_cache)
        try:
            return self._fit_stream(stream, passes, options)
        finally:
            if isinstance(stream, Stream):
                stream.release()

    def _fit_stream(self, stream: Stream, passes: int | str, options: StreamOptions) -> Self:
        """Fit to the stream with these options."""
        folds = options.folds
        settings = fit_config(self, sensitive=folds.sensitive is not None, passes=passes_asked_for(passes))
        if not draws_own_folds(getattr(self, "cv", None)):
            raise ValueError(
                "A stream has folds of its own: set cv to a number or None, or read the rows and use fit."
            )
        _check_stream_arguments(stream, options.checkpoint_every)
        if folds.costs is not None:
            require_columns_of_costs(self.measure, folds.costs)
        folds.check(stream, in_windows=options.in_windows)
        stream.want(getattr(self, "columns", None))
        stream.leave_gaps(settings.basis is not None)
        if not stream.repeatable:
            _require_once_enough(settings.solver, options.checkpoint)
            return self._fit_stream_once(stream, options.progress)
        cache_folder = folder_for_rows(options.disk_cache, options.checkpoint)
        survey = stream.survey(options.progress, memory_for_rows(options.max_memory))
        require_basis_columns(getattr(self, "basis", None), stream.encoder.feature_names)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        found = SurveyedStream(stream, survey, options, cache_folder, seed, History(verbose=bool(self.verbose)))
        many = len(survey.label_counts) > 2
        fitted, settings = (
            self._fit_many_classes(found, settings) if many else self._fit_two_classes(found, settings)
        )
        self.n_features_in_ = stream.encoder.n_features
        self.history_ = found.history.table()
        self._online = None
        self._store(fitted, settings)
        remember_stream(self, stream, survey)
        if folds.sensitive is not None:
            self.sensitive_column_ = folds.sensitive
        if folds.costs is not None:
            self.fitted_to_costs_, self.cost_columns_ = True, dict(folds.costs)
        warn_of_constraints(fitted.message, stacklevel=3)
        return self

    def _fit_two_classes(self, found: SurveyedStream, settings: FitConfig) -> tuple[Fitted, FitConfig]:
        get_measure(self.measure)  # raises an error for a measure of many classes
        survey, folds = found.survey, found.options.folds
        labels = stream_labels(survey, self.pos_label)
        share = survey.label_counts[labels.positive] / survey.rows
        settings.solver.check(settings.measure, share)
        learned = dataclasses.replace(
            settings, measure=measure_at(settings.measure, folds.target_prevalence, share)
        )
        trainer = Trainer(learned, found.history)
        with one_blas_thread():
            in_memory = found.in_memory(labels, folds.columns)
            if in_memory is not None:
                (X, occupied), signed_weights = occupied_columns(in_memory[0]), in_memory[1]
                require_weights(class_totals(signed_weights))
                weights = signed_weights / np.abs(signed_weights).mean()
                rng = np.random.default_rng(found.seed)
                rows = folds.rows(in_memory[2], weights.size)
                require_rates(settings.measure, rows.get("sensitive"), weights)
                if folds.costs is not None:
                    encoder = found.stream.encoder
                    weights, settings = _weighted_by_costs(weights, in_memory[2], folds.costs, encoder, settings)
                    trainer = Trainer(settings, found.history)
                result = trainer.fit(ArraySource(X, weights, rng, progress=found.options.progress, **rows))
                result = result.widened(occupied, found.stream.encoder.n_features)
            else:
                source = found.windows(labels, learned)
                try:
                    result = trainer.fit(source)
                except ValueError:
                    source.discard_checkpoint()
                    raise
        if folds.target_prevalence is not None:
            result = at_target(result, folds.target_prevalence, result.rates.prevalence)
        return fitted_two_classes(result, labels.classes, self.pos_label), settings

    def _fit_many_classes(self, found: SurveyedStream, settings: FitConfig) -> tuple[Fitted, FitConfig]:
        """Learn more than two classes; rows that all fit into the sample are fitted in memory."""
        stream, counts = found.stream, found.survey.label_counts
        if found.options.folds != StreamFolds():
            raise ValueError(
                "groups=, time=, sensitive_features=, costs= and target_prevalence= are for two classes, and "
                f"{stream.target!r} has {len(counts)}. Read the rows, and use fit with groups= or cv=."
            )
        require_no_positive(self.pos_label, f"{len(counts)} classes")
        warn_of_rare_labels(counts)
        labels = ClassLabels(np.array(sorted(counts)))
        settings = of_many_classes(settings, self.measure, labels.classes)
        if settings.basis is not None:
            shared_basis(settings.basis, stream.encoder.n_features, f"{labels.classes.size} classes")
        with one_blas_thread():
            in_memory = found.in_memory(labels)
            if in_memory is not None:
                (X, occupied), targets = occupied_columns(in_memory[0]), in_memory[1]
                task = MulticlassFit.of_targets(X, targets, labels.classes, settings)
                fitted = task.learn(None, np.random.default_rng(found.seed), found.history)
                return fitted._replace(result=fitted.result.widened(occupied, stream.encoder.n_features)), settings
            source = found.windows(labels, settings)
            require_classes_of(source, labels.classes, settings)
            result = ClassTrainer(settings, found.history).fit(source)
            return fitted_many(result, source, labels.classes, settings), settings

    def _fit_stream_once(self, stream: Stream, progress: Progress | None) -> Self:
        encoded = {"encode": None, "columns": None, "cv": None, "half_life": None}  # windows are encoded already
        fitted, rows = clone(self).set_params(**encoded), 0
        for classes, window in windows_with_both_classes(stream.windows()):
            fitted.partial_fit(window.X, window.labels, classes=classes, sample_weight=window.weights)
            rows += window.X.shape[0]
            if progress is not None:
                rates = fitted.rates_
                report = {"tpr": rates.tpr, "tnr": rates.tnr, "value": float(fitted.measure_.value(*rates))}
                progress({"stage": "learning", "done_rows": rows, "total_rows": stream.n_rows} | report)
        fitted.refresh_from_stream()
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        self.__dict__.update({name: value for name, value in vars(fitted).items() if name not in parameters})
        remember_stream(self, stream, None)
        return self


def _weighted_by_costs(
    signed_weights: NDArray[Any],
    kept: dict[str, list[Any]],
    costs: Mapping[str, float | str],
    encoder: Any,
    settings: FitConfig,
) -> tuple[NDArray[Any], FitConfig]:
    """Return the weights and the settings for learning rows with costs."""
    table = row_costs(costs_in_columns(costs, kept, encoder), signed_weights.size, 2)
    positive = signed_weights > 0
    rows = CostedRows.of_codes(table, positive.astype(np.intp), np.abs(signed_weights).astype(np.float64), 1)
    signed = np.where(positive, rows.weights, -rows.weights)
    return signed / rows.weights.mean(), dataclasses.replace(settings, measure=rows.measure)


def memory_for_rows(asked: int | str) -> int:
    """Return the number of bytes of memory in which rows may be kept."""
    if asked == "auto":
        return int(KEPT_SHARE * free_memory())
    if isinstance(asked, bool) or not isinstance(asked, Integral) or asked < 0:
        raise ValueError(f"max_memory must be 'auto' or a number of bytes, 0 or more; got {asked!r}.")
    return int(asked)


def folder_for_rows(asked: Any, checkpoint: Any) -> str | None:
    """Return the folder in which rows may be kept; None if there is none."""
    if asked is None or asked is False:
        return None
    if isinstance(asked, bool) or not isinstance(asked, str | os.PathLike):
        raise ValueError(f"disk_cache must be 'auto', a folder or False; got {asked!r}.")
    if asked == "auto":
        return None if checkpoint is None else os.path.dirname(os.path.abspath(checkpoint))
    if not os.path.isdir(asked):
        raise FileNotFoundError(f"There is no folder {os.fspath(asked)} to keep rows in.")
    return os.fspath(asked)


def stream_labels(survey: FileSurvey, pos_label: Any) -> StreamLabels:
    if len(survey.label_counts) != 2:
        raise DataError("There are no labels to learn from: name their column with target=.")
    classes = np.array(sorted(survey.label_counts))
    return StreamLabels(classes, positive_label(classes, pos_label))


def stream_checkpoint(
    path: Any,
    stream: Stream,
    survey: FileSurvey,
    labels: StreamLabels | ClassLabels,
    settings: FitConfig,
    seed: int,
) -> Checkpoint:
    """Return the checkpoint of this fit; one of another fit is an error, and one of changed rows is not used."""
    positive = getattr(labels, "positive", None)
    asked = vars(settings) | {"seed": seed, "positive class": positive, "files": stream.files}
    asked |= {"target": stream.target, "weight": stream.weight}
    asked["window_rows"] = getattr(stream, "window_rows", None)  # windows are counted, to be skipped
    found = {"number of rows": survey.rows, "labels": survey.label_counts, "columns": stream.feature_names}
    found["statistics"] = digest([stream.encoder.facts(), survey.missing])
    if not stream.files:
        found["first window"] = digest(list(next(iter(stream.windows()))[:3]))
    return Checkpoint(path, asked, found | dict(facts_of_files(stream.files)), settings)


def windows_with_both_classes(windows: Iterable[Window]) -> Iterator[tuple[NDArray[Any], Window]]:
    """Yield the windows of a stream that cannot be surveyed, each with the classes, once both have been seen."""
    waiting: list[Window] = []
    classes: NDArray[Any] | None = None
    for window in windows:
        if window.labels is None:
            raise DataError("There are no labels to learn from: name their column with target=.")
        if classes is not None:
            yield classes, window
            continue
        waiting.append(window)
        found = np.unique(np.concatenate([one.labels for one in waiting if one.labels is not None]))
        if found.size > 2:
            raise DataError(
                f"The target has {found.size} classes or more; from a stream that can be read only once two are "
                "learned. Name all classes to partial_fit, or give the rows as files or as a list of batches."
            )
        if found.size > 1:
            classes = found
            for one in waiting:
                yield classes, one
            waiting.clear()
    if classes is None:
        raise DataError("There are rows of one class only, or none at all: a classifier needs rows of both.")


def remember_stream(classifier: Any, stream: Stream, survey: FileSurvey | None) -> None:
    """Store what a model needs to read other files in the same way."""
    for name in STREAM_ATTRIBUTES:
        classifier.__dict__.pop(name, None)
    classifier.encoder_ = stream.encoder.leaving_gaps(classifier.basis_ is not None)
    classifier.target_ = getattr(stream, "target", None)
    if survey is not None:
        classifier.survey_ = survey
    if stream.encoder.named:
        classifier.feature_names_in_ = np.array(stream.feature_names, dtype=object)
    elif hasattr(classifier, "feature_names_in_"):
        del classifier.feature_names_in_


def _check_stream_arguments(stream: Any, checkpoint_every: Any) -> None:
    if not hasattr(stream, "windows"):
        raise TypeError(
            f"fit_stream takes what open_stream returns; got {type(stream).__name__}. Rows in memory: fit."
        )
    if checkpoint_every is not None and (not isinstance(checkpoint_every, Integral) or checkpoint_every < 1):
        raise ValueError(f"checkpoint_every must be a whole number above 0; got {checkpoint_every!r}.")


def _require_once_enough(solver: Solver, checkpoint: Any) -> None:
    """Raise an error for options that must read a stream more than once if it can be read only once."""
    if not solver.streaming:
        raise ValueError(
            f"{solver.label} needs all rows at once, and this stream can be read once only. Use solver='auto'."
        )
    if checkpoint is not None:
        raise ValueError(
            "A stream that can be read once only cannot be resumed: leave out checkpoint=, or give the "
            "rows as files or as a list of batches."
        )
