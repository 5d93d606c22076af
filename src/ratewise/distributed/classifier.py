"""DaskMeasureClassifier: the scikit-learn interface of a fit on a cluster."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from numbers import Real
from types import TracebackType
from typing import Any, Self, TextIO

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..estimators._fits import Fitted, fitted_two_classes, store_fit, warn_of_constraints
from ..estimators._multiclass import MulticlassFit, fitted_many, of_many_classes, require_classes_of
from ..estimators._settings import (
    fit_config,
    one_blas_thread,
    passes_asked_for,
    require_basis_columns,
    shared_basis,
)
from ..estimators._targets import require_no_positive
from ..features.learn import EncoderFit
from ..measures import ConfusionMeasure, Measure, get_measure
from ..solvers import Sharpen, Solver
from ..solvers.base import History
from ..streams import FileSurvey
from ..training import ArraySource, FitConfig, Trainer
from ..training.multiclass import ClassTrainer
from ..training.shards.engine import Engine
from ..training.shards.source import ShardSource
from ..training.shards.statistics import CountLabels, LabelCounts
from ..training.source import Progress, occupied_columns
from ._prediction import FittedOnCluster
from .dask_engine import engine_for, require_dask
from .files import encode
from .inputs import Input, shards_of


class DaskMeasureClassifier(FittedOnCluster):
    """A :class:`~ratewise.MeasureClassifier` for data that are distributed over machines.

    Rows stay on the workers that hold them; models, sums and counts are sent. (Rows that take less than 32 MB in
    total are gathered and fitted on one machine.) Levels and thresholds are exact over all partitions. The same
    ``random_state`` and the same partitions give the same model, bit for bit, on any workers, even if some of them
    die during the fit.

    Parameters
    ----------
    measure, solver, sharpen, threshold, alpha, standardize, basis, pos_label, random_state
        As for :class:`~ratewise.MeasureClassifier`.
    encode : "auto" or None, default=None
        "auto" encodes frames as :class:`~ratewise.MeasureClassifier` encodes tables, bit for bit. None leaves
        frames whose columns are all numbers as they are, and encodes other frames and files.
    columns : dict or None, default=None
        The kinds of columns of a frame or of files, where the rules would choose another kind, as for
        :class:`~ratewise.MeasureClassifier`: ``{"zip": "category", "id": "ignore"}``. The frame is then encoded.
    client : distributed.Client, str or None, default=None
        The cluster, or the address of its scheduler. None uses the current client; if there is none, partitions
        are held in this process.
    merging : {"auto", "models", "gradients"}, default="auto"
        "models": every partition learns on its own for a pass, then all continue from the mean model. This takes
        few rounds, and suits partitions that resemble one another and have many rows of both classes. "gradients":
        one model is moved by the gradients of all rows. This takes many short rounds; rows may be distributed in
        any way, and partitions may lack a class. "auto" chooses by the partitions. More than two classes are
        always learned with "gradients".
    passes : int or "auto", default="auto"
        The number of passes to learn in; "auto" means as many as a partition alone would need.
    timeout : float, default=60
        The number of seconds to wait for a scheduler that does not answer, or while no worker makes progress.
    verbose : int, default=0
        Above 0: print a line to stderr at each evaluation of the model, and on a terminal a status line.

    Attributes
    ----------
    coef_, intercept_, basis_, classes_, n_features_in_, feature_spread_, rates_, confusion_, constraints_met_,
    stages_, history_
        As for :class:`~ratewise.MeasureClassifier`.
    merging_ : str
        "models" or "gradients"; "none" if the rows were gathered on one machine.
    n_partitions_ : int

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_digits
    >>> from ratewise.distributed import DaskMeasureClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> X, y = da.from_array(X, chunks=(600, -1)), da.from_array(y == 8, chunks=600)
    >>> classifier = DaskMeasureClassifier(measure="gmean", random_state=0).fit(X, y)
    >>> classifier.score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        measure: str | Measure | ConfusionMeasure = "f1",
        *,
        solver: str | Solver = "auto",
        sharpen: str | bool | Sharpen = "auto",
        threshold: str = "tune",
        alpha: float = 0.0,
        standardize: bool = True,
        basis: Any = None,
        encode: str | None = None,
        columns: Mapping[str, str] | None = None,
        pos_label: Any = None,
        random_state: Any = None,
        client: Any = None,
        merging: str = "auto",
        passes: int | str = "auto",
        timeout: float = 60.0,
        verbose: int = 0,
    ):
        self.measure = measure
        self.solver = solver
        self.sharpen = sharpen
        self.threshold = threshold
        self.alpha = alpha
        self.standardize = standardize
        self.basis = basis
        self.encode = encode
        self.columns = columns
        self.pos_label = pos_label
        self.random_state = random_state
        self.client = client
        self.merging = merging
        self.passes = passes
        self.timeout = timeout
        self.verbose = verbose

    def __sklearn_clone__(self) -> Self:
        """Return a clone with the same client, because a client is a connection."""
        parameters = self.get_params(deep=False)
        copied = {name: clone(value, safe=False) for name, value in parameters.items() if name != "client"}
        return type(self)(**copied, client=self.client)

    def fit(self, X: Any, y: Any = None, *, target: str | None = None, sample_weight: Any = None) -> Self:
        """Learn from partitioned rows.

        Parameters
        ----------
        X : dask array, dask DataFrame, list of delayed (X, y) or (X, y, weights), or path
            A path is a folder (a file, a glob) of Parquet files that all workers see under the same name.
        y : dask array or Series, or the name of a column of X
        target : str, optional
            The column of X, or of the files, that holds the labels.
        sample_weight : dask array or Series, or the name of a column
            How many times each row counts.
        """
        require_dask()
        settings = self._settings()
        gaps = settings.basis is not None
        given = shards_of(X, y, target, sample_weight, encode=self.encode, wanted=self.columns, gaps=gaps)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        history = History(verbose=bool(self.verbose))
        engine = engine_for(given.shards, self.client, float(self.timeout))
        try:
            with StatusLine(wanted=bool(self.verbose)) as status, one_blas_thread():
                seen = encode(engine, self.columns, gaps=gaps) if given.tables else None
                counts = engine.ask(CountLabels())
                require_basis_columns(self.basis, counts.names if seen is None else seen.encoder.feature_names)
                if counts.classes.size > 2:
                    fitted = self._fit_many_classes(engine, counts, settings, seed, history, status)
                else:
                    fitted = self._fit_two_classes(engine, counts, settings, seed, history, status)
        finally:
            engine.close()
        self.history_ = history.table()
        self.n_partitions_ = len(given.shards)
        store_fit(self, fitted, settings)
        self.n_features_in_ = self.coef_.shape[1] if self.basis_ is None else self.basis_.n_columns
        self._remember(given, seen, counts)
        warn_of_constraints(fitted.message, stacklevel=2)
        return self

    def _fit_two_classes(
        self,
        engine: Engine,
        counts: LabelCounts,
        settings: FitConfig,
        seed: int,
        history: History,
        report: Progress,
    ) -> Fitted:
        get_measure(self.measure)  # raises an error for a measure of many classes
        source = ShardSource(
            engine, seed, self._choose_positive, counts=counts, merging=self.merging, report=report
        )
        settings.solver.check(settings.measure, source.statistics().prevalence)
        trainer = Trainer(settings, history)
        if self.merging == "auto" and counts.fit_in_memory():
            X, signed_weights = source.fetch()
            kept, occupied = occupied_columns(X)
            result = trainer.fit(ArraySource(kept, signed_weights, np.random.default_rng(seed)))
            result = result.widened(occupied, X.shape[1])
            self.merging_ = "none"
        else:
            result = trainer.fit(source)
            self.merging_ = source.merging_used
        return fitted_two_classes(result, source.classes, self.pos_label)

    def _fit_many_classes(
        self,
        engine: Engine,
        counts: LabelCounts,
        settings: FitConfig,
        seed: int,
        history: History,
        report: Progress,
    ) -> Fitted:
        """Learn more than two classes, by the gradients of all rows."""
        classes = counts.classes
        require_no_positive(self.pos_label, f"{classes.size} classes")
        if self.merging == "models":
            raise ValueError(
                "merging='models' is for two classes: of more, 'auto' and 'gradients' merge gradients."
            )
        settings = of_many_classes(settings, self.measure, classes)
        if settings.basis is not None:
            shared_basis(settings.basis, counts.n_features, f"{classes.size} classes")
        source = ShardSource(engine, seed, self._choose_positive, counts=counts, report=report)
        if self.merging == "auto" and counts.fit_in_memory():
            self.merging_ = "none"
            X, targets = source.fetch()
            kept, occupied = occupied_columns(X)
            task = MulticlassFit.of_targets(kept, targets, classes, settings)
            fitted = task.learn(None, np.random.default_rng(seed), history)
            return fitted._replace(result=fitted.result.widened(occupied, X.shape[1]))
        self.merging_ = "gradients"
        require_classes_of(source, classes, settings)
        return fitted_many(ClassTrainer(settings, history).fit(source), source, classes, settings)

    def _settings(self) -> FitConfig:
        if self.merging not in ("auto", "models", "gradients"):
            raise ValueError(f"merging must be 'auto', 'models' or 'gradients'; got {self.merging!r}.")
        if not isinstance(self.timeout, Real) or not 0 < float(self.timeout) < np.inf:
            raise ValueError(f"timeout must be a finite number of seconds above 0; got {self.timeout!r}.")
        return fit_config(self, passes=passes_asked_for(self.passes))

    def _remember(self, given: Input, seen: EncoderFit | None, counted: LabelCounts) -> None:
        """Store the names of columns and, for files, what a model needs to read other files in the same way."""
        for name in ("feature_names_in_", "encoder_", "target_", "survey_"):
            self.__dict__.pop(name, None)
        names = counted.names
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)
        if given.target is not None:
            self.target_ = given.target
        if seen is not None:
            self.encoder_ = seen.encoder.leaving_gaps(self.basis_ is not None)
            self.feature_names_in_ = np.array(seen.encoder.feature_names, dtype=object)
            counts = {label: count.rows for label, count in sorted(counted.labels.items())}
            self.survey_ = FileSurvey(seen.rows, counts, seen.missing, False, {})


class StatusLine:
    """A line that is overwritten, on a terminal; without a terminal nothing is printed."""

    def __init__(self, *, wanted: bool, stream: TextIO | None = None):
        self._stream = sys.stderr if stream is None else stream
        self._wanted = wanted and self._stream.isatty()
        self._began = time.monotonic()
        self._rounds = 0
        self._known = ""
        self._width = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._wanted and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()

    def __call__(self, report: dict[str, Any]) -> None:
        self._rounds += 1
        if not self._wanted:
            return
        if "tpr" in report:
            self._known = f"  tpr {report['tpr']:.4f}  tnr {report['tnr']:.4f}"
        seconds = time.monotonic() - self._began
        line = f"[ratewise] {report.get('stage', '')}: round {self._rounds}, {seconds:.0f} s{self._known}"
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)
