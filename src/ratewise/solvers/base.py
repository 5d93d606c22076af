"""The base class of solvers: settings, and one generator that requests passes over the rows.

An algorithm never sees a row. It yields requests (:mod:`~ratewise.solvers.requests`), the data source answers
them, and a :class:`~ratewise.solvers.Run` connects the two:

    while (request := run.request(totals)) is not None:
        run.receive(rows.answer(request))

So a solver works the same on rows in memory, in files and on a cluster.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from ..decisions.scores import Scores as Scores
from ..kernels import StepSizes
from ..measures import ConcaveMeasure, Measure, PseudoLinearMeasure
from ..rewards import Reward, get_reward
from . import driver
from .driver import Run
from .history import History as History
from .learner import Learner, LearnSettings
from .state import ClassTotals, RowTotals


@dataclass(frozen=True)
class Task:
    """The task of a solver, in addition to its own settings.

    Examples
    --------
    >>> from ratewise.measures import get_measure
    >>> from ratewise.solvers import Spade, Task
    >>> run = Spade(passes=1).start(Task(get_measure("gmean"), n_features=3))
    >>> run.finished
    False
    """

    measure: Any
    """A ``Measure``; with many classes a ``ConfusionMeasure``."""
    n_features: int
    dtype: Any = np.float32
    l2: float = 0.0
    initial: Any = None
    """A ``LinearModel``; with many classes ``LinearModels``."""
    history: History | None = None
    endless: bool = False
    """Whether rows come without end, as in ``partial_fit``, so that the run never ends."""
    n_classes: int = 2


class Algorithm(ABC):
    """The settings of an algorithm, and its generator of requests; :meth:`start` makes a run of it."""

    standardize_folds: ClassVar[bool] = False
    """Whether rows in memory are standardized again for each run: if validation rows influenced the centering of
    columns, their scores would shift."""
    side_by_side: bool = False
    """Whether all runs on the same rows in memory learn side by side, and read the rows once per step."""

    @abstractmethod
    def algorithm(self, task: Task, seen: Callable[[], RowTotals]) -> driver.Steps:
        """Yield requests, and return what was found.

        ``seen()`` sums up the rows of one pass or, for a stream, the rows so far. Call it again after each answer.
        """

    def learner(self, task: Task) -> Any:
        """Return the learner, which learns from the points of a run."""
        return Learner(task.n_features, task.dtype, task.initial)

    def start(self, task: Task) -> Run:
        """Return a run that begins from the task's initial model."""
        return Run(self, task)


class Solver(Algorithm):
    """Settings of an algorithm that returns a model.

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
    """Whether the solver learns point by point, so that ``partial_fit`` can use it."""
    sharpenable: ClassVar[bool] = True
    """Whether sharpening may start from its model; if not, the model is a candidate without sharpening."""
    passes: int

    @property
    def label(self) -> str:
        """The name of this solver in messages and stages."""
        return type(self).__name__

    @abstractmethod
    def check(self, measure: Measure, prevalence: float) -> None:
        """Refuse a measure that this solver cannot maximize on data with this share of positives."""

    def with_shorter_steps(self) -> Solver | None:
        """Return the solver to try when a model diverged; None if there is none."""
        if not hasattr(self, "step"):
            return None
        return dataclasses.replace(self, step=self.step / 10.0)  # type: ignore[type-var]


_SOLVERS: dict[str, type[Solver]] = {}


def register_solver(solver: type[Solver]) -> type[Solver]:
    """Register a solver under its ``name``, so that ``MeasureClassifier(solver=name)`` accepts it.

    Examples
    --------
    >>> from ratewise.solvers import Spade, register_solver
    >>> register_solver(Spade) is Spade  # as the library does with its own
    True
    """
    _SOLVERS[solver.name] = solver
    return solver


def get_solver(solver: str | Solver, measure: Measure) -> Solver:
    """Return a solver by its name; "auto" returns the streaming solver that suits the measure.

    For a measure of neither family, "auto" returns logistic regression, which is only a start: sharpening must
    follow.

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
    seen: RowTotals,
    class_weights: tuple[float, float],
    *,
    step: float,
    radius: float,
    l2: float,
    average_every: int,
    dual_step: float = 0.0,
    conjugate_sign: float = 1.0,
) -> LearnSettings:
    """Return step sizes relative to the size of the gradients, so that their defaults need no tuning.

    A point's gradient is its row times alpha / p or beta / (1 - p). The step is divided by the root mean square
    length of this gradient, over the points and over the two classes. So the step does not depend on the scale and
    the number of columns, or on the share of positives. The dual step is also divided by the size of r+ and r-.
    """
    p = seen.prevalence
    spread = class_weights[0] ** 2 / p + class_weights[1] ** 2 / (1.0 - p)
    gradient = math.sqrt(seen.leverage * max(spread, 1e-300))
    steps = StepSizes(
        step=step / gradient,
        dual_step=dual_step / math.sqrt(1.0 / p + 1.0 / (1.0 - p)),
        conjugate_sign=conjugate_sign,
        per_positive=1.0 / p,
        per_negative=1.0 / (1.0 - p),
        l2=l2,
        intercept_gain=seen.entry_square,
        average_every=average_every,
    )
    return LearnSettings(steps, radius=radius if radius < math.inf else None)


def leverage_settings(
    seen: RowTotals | ClassTotals, n_features: int, *, step: float, leverage: float, l2: float
) -> LearnSettings:
    """Return steps in units of a point's own leverage, for fixed class weights.

    The loop divides by sqrt(t). Its count of points must begin at the points of one pass, so that the steps fall
    as 1 / sqrt(1 + passes).
    """
    steps = StepSizes(
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
    """Return the number of points between two models of a cheap mean of about 256 models."""
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
            f"{solver} maximizes pseudo-linear measures, and {measure.label} is not one: use solver='spade' or "
            "'auto'."
        )
    return measure
