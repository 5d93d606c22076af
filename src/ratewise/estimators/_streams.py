"""``fit_stream``: fitting from files and batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..solvers.base import History, Solver
from ..streams import DataError, Stream, Survey, Window
from ..training import ArraySource, FitConfig, FitResult, Trainer
from ..training.checkpoint import Checkpoint, facts_of_files
from ..training.files import StreamLabels, WindowSource, rows_in_memory
from ..training.plain_data import digest
from ..training.source import Progress, occupied_columns
from ._fits import fit_config, fitted_two_classes, one_blas_thread, passes_asked_for, warn_of_constraints
from ._targets import positive_label

STREAM_ATTRIBUTES = ("encoder_", "target_", "survey_")


class StreamFitting:
    """``fit_stream``, for a classifier that can store a result and learn in pieces."""

    random_state: Any
    pos_label: Any
    verbose: int
    n_features_in_: int
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
    ) -> Self:
        """Learn from a stream of rows that need not fit in memory; see :func:`ratewise.open_stream`.

        Besides the passes over the rows to learn from them, one surveys them, one takes statistics and one chooses
        the threshold. A stream that can be read only once is learned from as by ``partial_fit``; a solver that
        needs all rows at once (AMP) learns from a fair sample. Few rows are read into memory and fitted as ``fit``
        does, unless a checkpoint is asked for. ``warm_start`` is ignored.

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
            value; after every training run, without rates, where rows are fitted in memory.
        """
        return self._fit_stream(stream, passes, checkpoint, checkpoint_every, progress, checkpoint is not None)

    def _fit_stream(
        self,
        stream: Stream,
        passes: int | str,
        checkpoint: Any,
        checkpoint_every: int | None,
        progress: Progress | None,
        in_windows: bool,
    ) -> Self:
        """Do the same; ``in_windows`` reads even few rows window by window, so that there is work to keep."""
        settings = fit_config(self, passes=passes_asked_for(passes))
        _check_stream_arguments(stream, checkpoint_every)
        if not stream.repeatable:
            _require_once_enough(settings.solver, checkpoint)
            return self._fit_stream_once(stream, progress)
        survey = stream.survey(progress)
        labels = stream_labels(survey, self.pos_label)
        settings.solver.check(settings.measure, survey.label_counts[labels.positive] / survey.rows)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        history = History(verbose=bool(self.verbose))
        trainer = Trainer(settings, history)
        with one_blas_thread():
            in_memory = None if in_windows else rows_in_memory(stream, survey, labels, progress)
            if in_memory is not None:
                (X, occupied), signed_weights = occupied_columns(in_memory[0]), in_memory[1]
                weights = signed_weights / np.abs(signed_weights).mean()
                rng = np.random.default_rng(seed)
                result = trainer.fit(ArraySource(X, weights, rng, progress=progress))
                result = result.widened(occupied, stream.encoder.n_features)
            else:
                kept = checkpoint and stream_checkpoint(checkpoint, stream, survey, labels, settings, seed)
                source = WindowSource(
                    stream,
                    survey,
                    labels,
                    settings.measure,
                    seed,
                    standardize=settings.standardize,
                    checkpoint=kept,
                    checkpoint_rows=checkpoint_every,
                    progress=progress,
                )
                try:
                    result = trainer.fit(source)
                except ValueError:
                    if kept:
                        kept.discard()
                    raise
        self._store_stream(stream, survey, labels, settings, result, history)
        return self

    def _store_stream(
        self,
        stream: Stream,
        survey: Survey,
        labels: StreamLabels,
        settings: FitConfig,
        result: FitResult,
        history: History,
    ) -> None:
        self.n_features_in_ = stream.encoder.n_features
        self.history_ = history.table()
        self._online = None
        fitted = fitted_two_classes(result, labels.classes, self.pos_label)
        self._store(fitted, settings)
        remember_stream(self, stream, survey)
        warn_of_constraints(fitted.message, stacklevel=3)

    def _fit_stream_once(self, stream: Stream, progress: Progress | None) -> Self:
        fitted, rows = clone(self).set_params(encode=None), 0  # windows are encoded already
        for classes, window in windows_with_both_classes(stream.windows()):
            fitted.partial_fit(window.X, window.labels, classes=classes, sample_weight=window.weights)
            rows += window.X.shape[0]
            if progress is not None:
                rates = fitted.rates_
                report = {"tpr": rates.tpr, "tnr": rates.tnr, "value": float(fitted.measure_.value(*rates))}
                progress({"stage": "learning", "done_rows": rows, "total_rows": stream.n_rows} | report)
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        self.__dict__.update({name: value for name, value in vars(fitted).items() if name not in parameters})
        remember_stream(self, stream, None)
        return self


def stream_labels(survey: Survey, pos_label: Any) -> StreamLabels:
    if len(survey.label_counts) != 2:
        raise DataError("There are no labels to learn from: name their column with target=.")
    classes = np.array(sorted(survey.label_counts))
    return StreamLabels(classes, positive_label(classes, pos_label))


def stream_checkpoint(
    path: Any, stream: Stream, survey: Survey, labels: StreamLabels, settings: FitConfig, seed: int
) -> Checkpoint:
    """Return the checkpoint of this fit; that of another one is refused, and that of changed rows not used."""
    asked = vars(settings) | {"seed": seed, "positive class": labels.positive, "files": stream.files}
    asked |= {"target": stream.target, "weight": stream.weight}
    asked["window_rows"] = getattr(stream, "window_rows", None)  # windows are counted, to be skipped
    found = {"number of rows": survey.rows, "labels": survey.label_counts, "columns": stream.feature_names}
    found["statistics"] = digest([vars(stream.encoder), survey.missing, survey.hashed])
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
                f"The target has {found.size} classes or more; from a stream two are learned. Make it two-valued, "
                "or read the rows into memory: fit takes any number of classes."
            )
        if found.size > 1:
            classes = found
            for one in waiting:
                yield classes, one
            waiting.clear()
    if classes is None:
        raise DataError("There are rows of one class only, or none at all: a classifier needs rows of both.")


def remember_stream(classifier: Any, stream: Stream, survey: Survey | None) -> None:
    """Keep what a model needs to read other files as it read these."""
    for name in STREAM_ATTRIBUTES:
        classifier.__dict__.pop(name, None)
    classifier.encoder_ = stream.encoder
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
    """Refuse what needs more than one reading of a stream that can be read only once."""
    if not solver.streaming:
        raise ValueError(
            f"{solver.label} needs all rows at once, and this stream can be read once only. Use solver='auto'."
        )
    if checkpoint is not None:
        raise ValueError(
            "A stream that can be read once only cannot be gone on with: leave out checkpoint=, or give the "
            "rows as files or as a list of batches."
        )
