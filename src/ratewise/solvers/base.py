"""What the solvers have in common."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..kernels import Steps
from ..measures import Measure, Rates
from ..rewards import Reward, get_reward
from ..streams import ArrayStream, Summary
from .history import History
from .learner import LearnSettings, LinearModel


@dataclass(frozen=True)
class Task:
    """What is asked of a solver, apart from its own settings."""

    measure: Measure
    n_features: int
    dtype: Any
    l2: float = 0.0
    initial: LinearModel | None = None
    history: History | None = None
    points_a_pass: int | None = None
    """Rows of a pass where it is fed piece by piece; a whole stream is a pass unless given."""


class Run(ABC):
    """A fit in progress: it can be fed, looked at, pickled and fed again."""

    @abstractmethod
    def solve(self, stream: ArrayStream) -> None:
        """Learn for as many passes as the solver was set to."""

    @abstractmethod
    def model(self) -> LinearModel:
        """The model as it stands."""


class StreamingRun(Run):
    """A run that can also be fed piece by piece."""

    def begin_pass(self) -> None:
        """A new pass over the rows begins with the next feed."""

    @abstractmethod
    def feed(self, stream: ArrayStream, points: int, seen: Summary) -> None:
        """Learn from the next points of the stream; ``seen`` sums up all points so far, these included."""

    @abstractmethod
    def rates_met(self) -> Rates:
        """The rates on the points since the last call, each met before it was learned from."""

    @abstractmethod
    def change_units(self, change: Any) -> None:
        """Carry all that has been learned over to other units of the columns."""


class Solver(ABC):
    """Settings of an algorithm; :meth:`start` makes a run of it."""

    name: ClassVar[str]
    streaming: ClassVar[bool]
    to_be_sharpened: ClassVar[bool] = True
    """Whether its model, as a start, is to be gone on from; else it is a candidate as it is."""
    passes: int

    @property
    def label(self) -> str:
        """How messages and stages call this solver."""
        return type(self).__name__

    @abstractmethod
    def check(self, measure: Measure, prevalence: float) -> None:
        """Refuse a measure that this solver cannot maximise on data with this share of positives."""

    @abstractmethod
    def start(self, task: Task) -> Run:
        """A run from the task's initial model."""


def solve_with_care(
    solver: Solver, task: Task, stream: ArrayStream
) -> tuple[LinearModel, NDArray[np.floating[Any]]]:
    """The model of a solver and the scores of the stream's rows.

    If the steps were so long that the model ran away, that of the solver with shorter ones.
    """
    for _ in range(5):
        run = solver.start(task)
        run.solve(stream)
        model = run.model()
        scores = stream.scores(*model)
        if np.isfinite(scores.sum(dtype=np.float64)):
            return model, scores
        if not hasattr(solver, "step"):
            break
        solver = dataclasses.replace(solver, step=solver.step / 10.0)  # type: ignore[type-var]
    raise ValueError(
        f"{solver.label} could not learn a model: numbers beyond the range of float32 arose however short its "
        "steps were. Bring the columns of X to a common scale (standardize=True does)."
    )


def primal_settings(
    seen: Summary,
    pair: tuple[float, float],
    *,
    step: float,
    radius: float,
    l2: float,
    average_every: int,
    dual_step: float = 0.0,
) -> LearnSettings:
    """Step sizes in proportion to what a step does, so that their defaults need no tuning.

    A point's gradient is its row times alpha / p or beta / (1 - p). The step is divided by the root mean square
    length of that, over the points and over the two classes, which makes it indifferent to the scale and the
    number of columns and to the share of positives. The dual step likewise is divided by the size of r+ and r-.
    """
    p = seen.prevalence
    spread = pair[0] ** 2 / p + pair[1] ** 2 / (1.0 - p)
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


def leverage_settings(
    pass_summary: Summary, n_features: int, *, step: float, leverage: float, l2: float
) -> LearnSettings:
    """Steps in units of a point's own leverage, with the weights of both classes in the held pair.

    The loop divides by sqrt(t); its count of points is to begin at those of one pass, so that the steps fall as
    1 / sqrt(1 + passes).
    """
    steps = Steps(
        step=step / leverage * math.sqrt(pass_summary.points),
        dual_step=0.0,
        conjugate_sign=1.0,
        per_positive=1.0,
        per_negative=1.0,
        l2=l2,
        intercept_gain=pass_summary.entry_square,
        average_every=points_between_models(pass_summary.points, n_features),
    )
    return LearnSettings(steps)


def points_between_models(points: int, n_features: int) -> int:
    """So that a pass or an epoch of these points takes the mean of some 256 models, at little cost."""
    return max(points // 256, n_features // 50, 1)


def checked_reward(reward: str | Reward, solver: str) -> Reward:
    found = get_reward(reward)
    if not found.concave:
        raise ValueError(
            f"{solver} needs a concave reward such as 'hinge' or 'logistic'; {found!r} is not concave, so the "
            "steps could lead anywhere."
        )
    return found


def require_number(name: str, value: Any, owner: str, *, low: float, whole: bool = False) -> None:
    """Refuse a setting that is not a number above ``low``."""
    kind: Any = Integral if whole else Real
    if isinstance(value, bool) or not isinstance(value, kind) or not value > low:
        what = "a whole number" if whole else "a number"
        raise ValueError(f"{owner}: {name} must be {what} above {low:g}; got {value!r}.")
