"""DaskMeasureClassifier: the scikit-learn face of a fit on a cluster."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..measures import ConstraintWarning, Measure, get_measure
from ..solvers import History, Sharpen, Solver, constraint_slack, get_solver
from ..streams import Survey
from .engines import engine_for, require_dask
from .files import ColumnsSeen, encode
from .fitted import FittedOnCluster
from .inputs import Input, shards_of
from .parameters import checked
from .plan import Plan
from .progress import StatusLine
from .rounds import Outcome, fit_in_rounds

# As in a fit on one machine.
_WHITENED_ROWS = 50_000
_WHITENED_COLUMNS = 256


class DaskMeasureClassifier(FittedOnCluster):
    """A :class:`~ratewise.MeasureClassifier` for data that are spread over machines.

    Rows stay on the workers that hold them; what travels are models, sums and counts. The level and the threshold
    are exact over all partitions. The same ``random_state`` and the same partitions give the same model, bit for
    bit, whatever workers there are and whichever of them die on the way.

    Parameters
    ----------
    measure, solver, sharpen, threshold, alpha, standardize, pos_label, random_state
        As for :class:`~ratewise.MeasureClassifier`.
    client : distributed.Client, str or None, default=None
        The cluster, or the address of its scheduler. None takes the current client; without one, partitions are
        held in this process.
    merging : {"auto", "models", "gradients"}, default="auto"
        "models": every partition learns on its own for a few passes, then all go on from the mean. Few rounds, for
        partitions that have plenty of both classes and are alike. "gradients": one model moves by the slopes of
        all rows: many short rounds, and it does not matter how rows are spread; partitions may lack a class.
        "auto" looks at the partitions.
    local_passes : int or "auto", default="auto"
        With models: passes of a partition between two mergers; more where partitions are small.
    rounds : int or "auto", default="auto"
        Learning rounds; "auto" for as many as a partition alone would need passes.
    timeout : float, default=60
        Seconds to wait for a scheduler that does not answer, or for a first worker.
    verbose : int, default=0
        Above 0: a line to stderr at each look at the model, and on a terminal a status line.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_, feature_spread_, rates_, constraints_met_, stages_, history_
        As for :class:`~ratewise.MeasureClassifier`.
    merging_ : str
        "models" or "gradients".
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
        local_passes: int | str = "auto",
        rounds: int | str = "auto",
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
        self.local_passes = local_passes
        self.rounds = rounds
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
        measure, solver, plan = self._plan()
        given = shards_of(X, y, target, sample_weight)
        history = History(verbose=bool(self.verbose))
        engine = engine_for(given.shards, self.client, float(self.timeout))
        try:
            with StatusLine(wanted=bool(self.verbose)) as status:
                seen = encode(engine) if given.tables else None
                found = fit_in_rounds(
                    engine,
                    plan,
                    history,
                    self._choose_positive,
                    lambda prevalence: solver.check(measure, prevalence),
                    status,
                )
        finally:
            engine.close()
        self.history_ = history.table()
        self.n_partitions_ = len(given.shards)
        self._store(found, measure, solver)
        self._remember(given, seen, found)
        if not self.constraints_met_:
            warnings.warn(
                f"{measure.label}: no threshold worth having keeps its constraints; rates_ tells what to expect.",
                ConstraintWarning,
                stacklevel=2,
            )
        return self

    def _plan(self) -> tuple[Measure, Solver, Plan]:
        measure = get_measure(self.measure)
        solver = get_solver(self.solver, measure)
        sharpens = checked(self)
        sharpen = self.sharpen if isinstance(self.sharpen, Sharpen) else Sharpen()
        plan = Plan(
            measure,
            None if sharpens and self.solver == "auto" else solver,
            sharpen if sharpens else None,
            self.threshold == "tune",
            bool(self.standardize),
            _WHITENED_ROWS,
            _WHITENED_COLUMNS,
            float(self.alpha),
            int(check_random_state(self.random_state).randint(2**31 - 1)),
            None if self.local_passes == "auto" else int(self.local_passes),
            None if self.rounds == "auto" else int(self.rounds),
            self.merging,
        )
        return measure, solver, plan

    def _store(self, found: Outcome, measure: Measure, solver: Solver) -> None:
        self.measure_, self.solver_, self.classes_ = measure, solver, found.classes
        coef, intercept = found.units.to_user_units(*found.model)
        sign = 1.0 if self._choose_positive(found.classes) == found.classes[1] else -1.0
        self.coef_ = sign * coef[np.newaxis, :]
        self.intercept_ = np.array([sign * (intercept - found.threshold)])
        self.feature_spread_ = found.units.scale
        self.rates_, self.stages_, self.merging_ = found.rates, found.stages, found.merging
        self.n_features_in_ = found.census.n_features
        slack = constraint_slack(measure, *found.rates, found.points)
        self.constraints_met_ = bool(slack > -1e-6)

    def _remember(self, given: Input, seen: ColumnsSeen | None, found: Outcome) -> None:
        """Names of columns; and of files, what a model needs to read others as it read these."""
        for name in ("feature_names_in_", "encoder_", "target_", "survey_"):
            self.__dict__.pop(name, None)
        if given.names is not None:
            self.feature_names_in_ = given.names
        if seen is not None:
            self.encoder_, self.target_ = seen.encoder, given.target
            self.feature_names_in_ = np.array(seen.encoder.feature_names, dtype=object)
            counts = {label: count.rows for label, count in sorted(found.census.labels.items())}
            self.survey_ = Survey(seen.rows, counts, seen.missing, False, dict(seen.encoder.buckets))
