"""DaskMeasureClassifier: the scikit-learn interface of a fit on a cluster."""

from __future__ import annotations

import sys
import time
from numbers import Real
from types import TracebackType
from typing import Any, Self, TextIO

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..estimators._fits import (
    Fitted,
    fit_config,
    fitted_two_classes,
    one_blas_thread,
    passes_asked_for,
    warn_of_constraints,
)
from ..measures import Measure
from ..solvers import Sharpen, Solver
from ..solvers.base import History
from ..streams import Survey
from ..training import ArraySource, FitConfig, Trainer
from ._prediction import FittedOnCluster
from .dask_engine import engine_for, require_dask
from .files import ColumnsSeen, encode
from .inputs import Input, shards_of
from .source import ShardSource


class DaskMeasureClassifier(FittedOnCluster):
    """A :class:`~ratewise.MeasureClassifier` for data that are spread over machines.

    Rows stay on the workers that hold them; what travels are models, sums and counts. (Rows
    that take less than 32 MB in all are gathered, and fitted as one machine does.) Levels and thresholds are exact
    over all partitions. The same ``random_state`` and the same partitions give the same model, bit for bit,
    whatever workers there are and whichever of them die on the way.

    Parameters
    ----------
    measure, solver, sharpen, threshold, alpha, standardize, pos_label, random_state
        As for :class:`~ratewise.MeasureClassifier`.
    client : distributed.Client, str or None, default=None
        The cluster, or the address of its scheduler. None takes the current client; without one, partitions are
        held in this process.
    merging : {"auto", "models", "gradients"}, default="auto"
        "models": every partition learns on its own for a pass, then all go on from the mean. Few rounds, for
        partitions that have plenty of both classes and resemble one another. "gradients": one model moves by the
        slopes of all rows: many short rounds, and it does not matter how rows are spread; partitions may lack a
        class. "auto" looks at the partitions.
    passes : int or "auto", default="auto"
        Passes to learn in; "auto" for as many as a partition alone would need.
    timeout : float, default=60
        Seconds to wait for a scheduler that does not answer, or for a first worker.
    verbose : int, default=0
        Above 0: a line to stderr at each evaluation of the model, and on a terminal a status line.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_, feature_spread_, rates_, constraints_met_, stages_, history_
        As for :class:`~ratewise.MeasureClassifier`.
    merging_ : str
        "models" or "gradients"; "none" where few rows were gathered.
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
        measure: str | Measure = "f1",
        *,
        solver: str | Solver = "auto",
        sharpen: str | bool | Sharpen = "auto",
        threshold: str = "tune",
        alpha: float = 0.0,
        standardize: bool = True,
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
        self.pos_label = pos_label
        self.random_state = random_state
        self.client = client
        self.merging = merging
        self.passes = passes
        self.timeout = timeout
        self.verbose = verbose

    def __sklearn_clone__(self) -> Self:
        """A client is a connection: a clone uses the same."""
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
            Rows count so many times.
        """
        require_dask()
        settings = self._settings()
        given = shards_of(X, y, target, sample_weight)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        history = History(verbose=bool(self.verbose))
        engine = engine_for(given.shards, self.client, float(self.timeout))
        try:
            with StatusLine(wanted=bool(self.verbose)) as status, one_blas_thread():
                seen = encode(engine) if given.tables else None
                source = ShardSource(engine, seed, self._choose_positive, merging=self.merging, report=status)
                settings.solver.check(settings.measure, source.statistics().prevalence)
                trainer = Trainer(settings, history)
                if self.merging == "auto" and source.fits_in_memory():
                    result = trainer.fit(ArraySource(*source.fetch(), np.random.default_rng(seed)))
                    self.merging_ = "none"
                else:
                    result = trainer.fit(source)
                    self.merging_ = source.merging_used
        finally:
            engine.close()
        self.history_ = history.table()
        self.n_partitions_ = len(given.shards)
        fitted = fitted_two_classes(result, source.classes, self.pos_label)
        self._store(fitted, settings)
        self._remember(given, seen, source)
        warn_of_constraints(fitted.message, stacklevel=2)
        return self

    def _settings(self) -> FitConfig:
        if self.merging not in ("auto", "models", "gradients"):
            raise ValueError(f"merging must be 'auto', 'models' or 'gradients'; got {self.merging!r}.")
        if not isinstance(self.timeout, Real) or not 0 < float(self.timeout) < np.inf:
            raise ValueError(f"timeout must be a finite number of seconds above 0; got {self.timeout!r}.")
        return fit_config(self, passes=passes_asked_for(self.passes))

    def _store(self, fitted: Fitted, settings: FitConfig) -> None:
        result = fitted.result
        self.measure_, self.solver_, self.classes_ = settings.measure, result.solver, fitted.classes
        self.coef_, self.intercept_ = result.coef, result.intercept
        self.feature_spread_ = result.scale
        self.rates_, self.rates_interval_, self.stages_ = result.rates, result.interval, result.stages
        self.calibration_ = result.calibration
        self.n_features_in_ = result.coef.shape[1]
        self.constraints_met_ = fitted.message is None

    def _remember(self, given: Input, seen: ColumnsSeen | None, source: ShardSource) -> None:
        """Keep names of columns; and of files, what a model needs to read others as it read these."""
        for name in ("feature_names_in_", "encoder_", "target_", "survey_"):
            self.__dict__.pop(name, None)
        names = source.counts.names
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)
        if given.target is not None:
            self.target_ = given.target
        if seen is not None:
            self.encoder_ = seen.encoder
            self.feature_names_in_ = np.array(seen.encoder.feature_names, dtype=object)
            counts = {label: count.rows for label, count in sorted(source.counts.labels.items())}
            self.survey_ = Survey(seen.rows, counts, seen.missing, False, dict(seen.encoder.buckets))


class StatusLine:
    """One line that is written over, on a terminal; nothing anywhere else."""

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
