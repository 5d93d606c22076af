"""Learning from rows seen once, call after call."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from ..solvers import History, LinearModel, StreamingRun, Task
from ..streams import NOTHING_SEEN, ArrayStream, Reservoir, Standardizer, Summary, effective_points, summarize
from .outcome import Coefficients, Outcome
from .settings import Settings
from .training_set import TrainingSet, training_set
from .two_classes import Fitted, choose_threshold, in_units, positive_sign
from .validation import CheckedRows, checked_labels

_RESERVOIR_ROWS = 2000  # of each class


class OnlineFit:
    """What ``partial_fit`` keeps from call to call: bounded, and picklable.

    Parameters
    ----------
    settings : Settings
    n_features : int
    before : LinearModel or None
        The model to go on from, in the user's units.
    random_state : int, RandomState or None
    fixed : tuple
        The measure, the solver and the positive class as the user gave them, which must stay the same.
    """

    def __init__(
        self,
        settings: Settings,
        n_features: int,
        before: LinearModel | None,
        random_state: Any,
        fixed: tuple[Any, ...],
    ):
        self.standardizer = Standardizer(n_features, active=settings.standardize)
        self.history = settings.new_history()
        task = Task(
            settings.measure,
            n_features,
            np.dtype(np.float32),
            l2=settings.alpha,
            initial=in_units(before, self.standardizer),
            history=self.history,
        )
        run = settings.solver.start(task)
        assert isinstance(run, StreamingRun)  # partial_fit is there for streaming solvers only
        self.run = run
        self._rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        self.reservoir = Reservoir(_RESERVOIR_ROWS, self._rng)
        self._seen: Summary = NOTHING_SEEN
        self._fixed = fixed
        self._sparse: bool | None = None

    def check(self, rows: TrainingSet, settings: Settings, fixed: tuple[Any, ...]) -> None:
        """Refuse what the fit so far cannot go on with, before anything is changed."""
        seen = self._seen.merge(summarize(rows.X, rows.signed_weights))
        settings.solver.check(settings.measure, seen.prevalence)
        if fixed != self._fixed:
            raise ValueError(
                "measure, solver and pos_label cannot change between calls of partial_fit: they were "
                f"{self._fixed} and are {fixed} now. Begin anew with a clone of the classifier."
            )

    def learn(self, rows: TrainingSet) -> None:
        X = self._in_the_first_form(rows.X)
        self._refresh_units(X)
        stream = ArrayStream(X, rows.signed_weights, self.standardizer, self._rng)
        self._seen = self._seen.merge(stream.summary)
        self.run.begin_pass()
        self.run.feed(stream, stream.n_points, self._seen)
        self.reservoir.add(X, rows.signed_weights)

    def fitted(self, settings: Settings) -> tuple[Fitted, NDArray[Any]]:
        """The model so far, its threshold chosen on a sample of the rows, and that sample's weights."""
        sample, signed_weights = self.reservoir.sample()
        model = self.run.model()
        coef, intercept = self.standardizer.to_user_units(*model)
        scores = np.asarray(sample @ coef) + intercept
        threshold, rates = choose_threshold(
            scores, signed_weights, settings.measure, tune=settings.tunes_threshold
        )
        return Fitted(self.standardizer, model, threshold, rates, ()), signed_weights

    def _in_the_first_form(self, X: Any) -> Any:
        """Dense or CSR as the first rows were: the two are scaled differently."""
        if self._sparse is None:
            self._sparse = sparse.issparse(X)
        if self._sparse:
            return sparse.csr_matrix(X)
        return X.toarray() if sparse.issparse(X) else X

    def _refresh_units(self, X: Any) -> None:
        """Take the rows into the column statistics, and re-express what was learned in the new units."""
        before = self.standardizer.snapshot()
        after = self.standardizer.update(X)
        self.run.change_units(lambda weights, b: after.to_standard_units(*before.to_user_units(weights, b)))


class OnlineTwo:
    """What ``partial_fit`` keeps where there are two classes."""

    def __init__(
        self,
        settings: Settings,
        n_features: int,
        classes: NDArray[Any],
        before: Coefficients | None,
        random_state: Any,
        fixed: tuple[Any, ...],
    ):
        self._classes, self._pos_label = classes, fixed[-1]
        model = None
        if before is not None:
            sign = positive_sign(classes, self._pos_label)
            model = LinearModel(sign * before.coef[0], sign * float(before.intercept[0]))
        self._run = OnlineFit(settings, n_features, model, random_state, fixed)

    @staticmethod
    def rows(
        checked: CheckedRows, y: Any, sample_weight: Any, classes: NDArray[Any], pos_label: Any
    ) -> TrainingSet:
        labels = checked_labels(y, checked.number)
        return training_set(checked, labels, sample_weight, pos_label=pos_label, classes=classes)

    @property
    def history(self) -> History:
        return self._run.history

    def check(self, rows: TrainingSet, settings: Settings, fixed: tuple[Any, ...]) -> None:
        self._run.check(rows, settings, fixed)

    def learn(self, rows: TrainingSet, settings: Settings) -> None:
        self._run.learn(rows)

    def outcome(self, settings: Settings) -> Outcome:
        fitted, signed_weights = self._run.fitted(settings)
        points = effective_points(signed_weights)
        return fitted.outcome(self._classes, self._pos_label, settings.measure, points)
