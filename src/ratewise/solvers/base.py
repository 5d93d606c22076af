"""What a solver is: settings that start a run, and a run that says what the next pass over the rows does.

A run never sees a row. It makes a :class:`Request`, whoever has the rows answers it, and the run takes the answer:

    while not run.finished:
        run.receive(rows.answer(run.request(summary)))

So a solver works the same on rows in memory, in files and on a cluster.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import Steps
from ..measures import ConcaveMeasure, Measure, PseudoLinearMeasure, Rates
from ..rewards import Reward, get_reward
from .state import Learner, LearnSettings, LinearModel, Summary

_ROUNDING = 1e-6  # of the size of float32 scores
_MOST_ROWS = 2000  # of a history


@dataclass(frozen=True)
class Learn:
    """Learn from the next points, by whole passes over the rows or by a number of points; answered by None.

    Examples
    --------
    >>> from ratewise.measures import get_measure
    >>> from ratewise.solvers import Learn, Spade, Summary, Task
    >>> run = Spade(passes=1).start(Task(get_measure("gmean"), n_features=3))
    >>> isinstance(run.request(Summary(100, 10.0, 90.0, 300.0)), Learn)
    True
    """

    learner: Learner
    settings: LearnSettings
    reward: Reward
    measure: Any = None
    """A concave measure whose dual pair is learned along; None holds the class weights."""
    passes: int | None = None
    points: int | None = None
    restart_mean: bool = False
    """The mean of the models starts anew with this request."""


@dataclass(frozen=True)
class Evaluate:
    """Score the training rows, or a fair sample of them; answered by :class:`Scores`."""

    model: LinearModel


@dataclass(frozen=True)
class CountRates:
    """Count the rates of a model's own predictions; answered by ``Rates``."""

    model: LinearModel
    rows: int | None = None
    """So many rows are enough; None for all that are at hand."""


@dataclass(frozen=True)
class MeanRewards:
    """Take the mean reward of each class; answered by two floats."""

    model: LinearModel
    reward: Reward
    points: int | None = None
    """Of the next points, which are not learned from; None for all rows."""


@dataclass(frozen=True)
class Maximize:
    """Find the model with the largest weighted mean reward, less the penalty; answered by a ``LinearModel``."""

    reward: Reward
    class_weights: tuple[float, float]
    """What the mean rewards of the positives and of the negatives weigh; only their proportion matters."""
    start: LinearModel
    l2: float
    radius: float = math.inf
    """The longest that weights and intercept together may be."""
    tolerance: float = 1e-7
    iterations: int = 500
    few_rows: bool = False
    """The rows are few: their curvature may be used, if they are dense and in memory."""


@dataclass(frozen=True)
class CompareCentroids:
    """Make a model of the difference between the mean rows of both classes; answered by a ``LinearModel``.

    Of rows in memory only.
    """

    solver: Any
    """Its ``model`` takes the difference, the number of points and the share of positives."""
    points: int
    prevalence: float


Request = Learn | Evaluate | CountRates | MeanRewards | Maximize | CompareCentroids


class Scores(NamedTuple):
    """Scores of rows under a model, with the signed weight of each; of many rows, a histogram in their place."""

    values: NDArray[np.floating[Any]]
    signed_weights: NDArray[np.floating[Any]]
    points: tuple[float, float] | None = None
    """Of a histogram: the effective points of both classes. None: one value per row."""
    folds: tuple[int, ...] | None = None
    """How many of the values each fold has, in order, where folds can be told apart."""

    def of_folds(self, which: Collection[int]) -> Scores:
        """Return the scores of some folds only."""
        assert self.folds is not None
        kept = np.repeat([fold in which for fold in range(len(self.folds))], self.folds)
        return Scores(self.values[kept], self.signed_weights[kept])

    def mean_and_deviation(self) -> tuple[float, float]:
        """Return both; 1 for the deviation of scores that are all equal, but for rounding."""
        if self.points is None:
            mean, deviation = float(self.values.mean()), float(self.values.std())
        else:
            shares = np.abs(self.signed_weights, dtype=np.float64)
            mean = float(np.average(self.values, weights=shares))
            deviation = math.sqrt(float(np.average((self.values - mean) ** 2, weights=shares)))
        return mean, 1.0 if deviation <= max(_ROUNDING * abs(mean), 1e-12) else deviation

    @property
    def all_equal(self) -> bool:
        """Whether no threshold tells any rows apart; scores come in float32."""
        low, high = float(self.values.min()), float(self.values.max())
        return high - low <= _ROUNDING * max(abs(low), abs(high))

    @property
    def finite(self) -> bool:
        return math.isfinite(float(self.values.sum(dtype=np.float64)))


class History:
    """Rows of (pass, points, seconds, tpr, tnr, value, ...) written at checkpoints of a fit.

    The rates are those of the points as they were met, each before it was learned from: honest, and free.
    """

    def __init__(self, *, verbose: bool = False):
        self._verbose = verbose
        self._rows: list[dict[str, float]] = []
        self._started = time.perf_counter()

    def record(self, *, passes: float, points: float, tpr: float, tnr: float, value: float, **more: float) -> None:
        """Write one row; ``more`` holds the dual pair or the challenge level."""
        row = {
            "pass": float(passes),
            "points": float(points),
            "seconds": time.perf_counter() - self._started,
            "tpr": tpr,
            "tnr": tnr,
            "value": value,
        } | more
        self._rows.append(row)
        if len(self._rows) > _MOST_ROWS:
            del self._rows[::2]  # a long history grows coarser, not longer
        if self._verbose:
            line = "  ".join(f"{name} {number:.4g}" for name, number in row.items())
            print(f"[ratewise] {line}", file=sys.stderr)

    def branch(self) -> History:
        """Return a history by the same clock, for one of several runs side by side; :meth:`join` it later."""
        other = History(verbose=self._verbose)
        other._started = self._started
        return other

    def join(self, other: History, **more: float) -> None:
        """Take in the rows of a branch, each with ``more`` columns."""
        self._rows += [row | more for row in other._rows] if more else other._rows
        while len(self._rows) > _MOST_ROWS:
            del self._rows[::2]

    def table(self) -> dict[str, NDArray[np.float64]]:
        """Return the history as a dict of equally long arrays."""
        names = list(dict.fromkeys(name for row in self._rows for name in row))
        return {name: np.array([row.get(name, np.nan) for row in self._rows]) for name in names}

    def __getstate__(self) -> dict[str, Any]:
        # A clock reading means nothing in another process: keep what has passed, not when it began.
        return self.__dict__ | {"_started": time.perf_counter() - self._started}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._started = time.perf_counter() - state["_started"]


@dataclass(frozen=True)
class Task:
    """What is asked of a solver, apart from its own settings.

    Examples
    --------
    >>> from ratewise.measures import get_measure
    >>> from ratewise.solvers import Spade, Task
    >>> run = Spade(passes=1).start(Task(get_measure("gmean"), n_features=3))
    >>> run.finished
    False
    """

    measure: Measure
    n_features: int
    dtype: Any = np.float32
    l2: float = 0.0
    initial: LinearModel | None = None
    history: History | None = None
    endless: bool = False
    """Rows come without end, as in ``partial_fit``: the run is never finished."""


class Run(ABC):
    """A training run: it asks for what it needs next, takes the answer, and can be stored in between.

    Examples
    --------
    >>> from ratewise.measures import get_measure
    >>> from ratewise.solvers import Run, Stamp, Task
    >>> isinstance(Stamp().start(Task(get_measure("f1"), n_features=3)), Run)
    True
    """

    finished: bool = False

    @abstractmethod
    def request(self, seen: Summary) -> Request:
        """Return what the next pass does; ``seen`` sums up the rows of one pass. Asking twice changes nothing."""

    @abstractmethod
    def receive(self, answer: Any) -> None:
        """Take the answer to the last request."""

    @abstractmethod
    def model(self) -> LinearModel:
        """Return the model as it stands."""

    @property
    def history(self) -> History:
        """What the run has recorded."""
        return History()

    def rates_met(self) -> Rates | None:
        """Return the rates on the latest points, each scored before it was learned from."""
        return None

    def change_transform(self, change: Callable[[Any, float], Any]) -> None:
        """Carry all that has been learned over to columns that are transformed differently."""
        raise NotImplementedError


class LearnerRun(Run):
    """A run whose state is a learner.

    Examples
    --------
    >>> from ratewise.measures import get_measure
    >>> from ratewise.solvers import LearnerRun, Spade, Task
    >>> isinstance(Spade().start(Task(get_measure("gmean"), n_features=3)), LearnerRun)
    True
    """

    def __init__(self, task: Task):
        self._task = task
        self._learner = Learner(task.n_features, task.dtype, task.initial)

    @property
    def history(self) -> History:
        return self._task.history or History()

    def model(self) -> LinearModel:
        return self._learner.mean()

    def rates_met(self) -> Rates:
        return self._learner.rates_met()

    def change_transform(self, change: Callable[[Any, float], Any]) -> None:
        self._learner.change_transform(change)

    def record(self, passes: float, points: float, **more: float) -> None:
        """Write the rates on the points since the last record into the history, if one is kept."""
        if self._task.history is None:
            return
        rates = self._learner.rates_met()
        self._learner.restart_rates()
        value = float(self._task.measure.value(*rates))
        self._task.history.record(passes=passes, points=points, tpr=rates.tpr, tnr=rates.tnr, value=value, **more)


class Solver(ABC):
    """Settings of an algorithm; :meth:`start` makes a run of it.

    Examples
    --------
    >>> from ratewise.solvers import Solver, Stamp
    >>> isinstance(Stamp(), Solver)
    True
    >>> Stamp().name
    'stamp'
    """

    name: ClassVar[str]
    streaming: ClassVar[bool]
    """Learns point by point, so that ``partial_fit`` can use it."""
    sharpenable: ClassVar[bool] = True
    """Whether sharpening may start from its model; else the model is a candidate as it is."""
    passes: int

    @property
    def label(self) -> str:
        """How messages and stages name this solver."""
        return type(self).__name__

    @abstractmethod
    def check(self, measure: Measure, prevalence: float) -> None:
        """Refuse a measure that this solver cannot maximise on data with this share of positives."""

    @abstractmethod
    def start(self, task: Task) -> Run:
        """Return a run from the task's initial model."""

    def with_shorter_steps(self) -> Solver | None:
        """Return the solver to try when a model diverged; None if there is none."""
        if not hasattr(self, "step"):
            return None
        return dataclasses.replace(self, step=self.step / 10.0)  # type: ignore[type-var]


_SOLVERS: dict[str, type[Solver]] = {}


def register_solver(solver: type[Solver]) -> type[Solver]:
    """Make a solver known by its ``name``: then ``MeasureClassifier(solver=name)`` takes it.

    Examples
    --------
    >>> from ratewise.solvers import Spade, register_solver
    >>> register_solver(Spade) is Spade  # as the library does with its own
    True
    """
    _SOLVERS[solver.name] = solver
    return solver


def get_solver(solver: str | Solver, measure: Measure) -> Solver:
    """Return a solver by its name; "auto" takes the streaming one that suits the measure.

    For a measure of neither family that is logistic regression, which is only a start: sharpening must follow.

    Examples
    --------
    >>> from ratewise.measures import get_measure
    >>> from ratewise.solvers import get_solver
    >>> get_solver("auto", get_measure("gmean")).name
    'spade'
    """
    if isinstance(solver, Solver):
        return solver
    if solver == "auto":
        if isinstance(measure, ConcaveMeasure):
            return _SOLVERS["spade"]()
        return _SOLVERS["stamp" if isinstance(measure, PseudoLinearMeasure) else "logistic"]()
    if isinstance(solver, str) and solver in _SOLVERS:
        return _SOLVERS[solver]()
    names = ["auto", *_SOLVERS]
    near = difflib.get_close_matches(str(solver).lower(), names, cutoff=0.3)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"There is no solver {solver!r}.{hint} Known: {', '.join(names)}, or a solver object.")


def primal_settings(
    seen: Summary,
    class_weights: tuple[float, float],
    *,
    step: float,
    radius: float,
    l2: float,
    average_every: int,
    dual_step: float = 0.0,
) -> LearnSettings:
    """Return step sizes in proportion to what a step does, so that their defaults need no tuning.

    A point's gradient is its row times alpha / p or beta / (1 - p). The step is divided by the root mean square
    length of that, over the points and over the two classes, which makes it indifferent to the scale and the
    number of columns and to the share of positives. The dual step likewise is divided by the size of r+ and r-.
    """
    p = seen.prevalence
    spread = class_weights[0] ** 2 / p + class_weights[1] ** 2 / (1.0 - p)
    gradient = math.sqrt(seen.leverage * max(spread, 1e-300))
    steps = Steps(
        step=step / gradient,
        dual_step=dual_step / math.sqrt(1.0 / p + 1.0 / (1.0 - p)),
        conjugate_sign=1.0,
        per_positive=1.0 / p,
        per_negative=1.0 / (1.0 - p),
        l2=l2,
        intercept_gain=seen.entry_square,
        average_every=average_every,
    )
    return LearnSettings(steps, radius=radius if radius < math.inf else None)


def leverage_settings(seen: Summary, n_features: int, *, step: float, leverage: float, l2: float) -> LearnSettings:
    """Return steps in units of a point's own leverage, for class weights that are held.

    The loop divides by sqrt(t); its count of points is to begin at those of one pass, so that the steps fall as
    1 / sqrt(1 + passes).
    """
    steps = Steps(
        step=step / leverage * math.sqrt(seen.points),
        dual_step=0.0,
        conjugate_sign=1.0,
        per_positive=1.0,
        per_negative=1.0,
        l2=l2,
        intercept_gain=seen.entry_square,
        average_every=points_between_models(seen.points, n_features),
    )
    return LearnSettings(steps)


def points_between_models(points: int, n_features: int) -> int:
    """Return how many points lie between two models of a mean of some 256 of them, at little cost."""
    return max(points // 256, n_features // 50, 1)


def checked_reward(reward: str | Reward, solver: str) -> Reward:
    found = get_reward(reward)
    if not found.concave:
        raise ValueError(
            f"{solver} needs a concave reward such as 'hinge' or 'logistic'; {found!r} is not concave, so the "
            "steps could lead anywhere."
        )
    return found


def require_number(
    name: str,
    value: Any,
    owner: str,
    *,
    low: float,
    high: float = math.inf,
    whole: bool = False,
    at_low: bool = False,
) -> None:
    """Refuse a setting that is not a number above ``low`` (or equal to it, with ``at_low``) and below ``high``."""
    kind: Any = Integral if whole else Real
    number = math.nan if isinstance(value, bool) or not isinstance(value, kind) else value
    if not (number > low or (at_low and number == low)) or (high < math.inf and not number < high):
        what = "a whole number" if whole else "a number"
        bound = f"of {low:g} or more" if at_low else f"above {low:g}"
        below = f" and below {high:g}" if high < math.inf else ""
        raise ValueError(f"{owner}: {name} must be {what} {bound}{below}; got {value!r}.")


def check_settings(solver: Any, *above_zero: str) -> None:
    """Refuse passes, a reward or other settings that no run could use."""
    owner = type(solver).__name__
    require_number("passes", solver.passes, owner, low=0, whole=True)
    for setting in above_zero:
        require_number(setting, getattr(solver, setting), owner, low=0)
    checked_reward(solver.reward, owner)


def require_pseudo_linear(measure: Measure, solver: str) -> PseudoLinearMeasure:
    if not isinstance(measure, PseudoLinearMeasure):
        raise ValueError(
            f"{solver} maximises pseudo-linear measures, and {measure.label} is not one: use solver='spade' or "
            "'auto'."
        )
    return measure
