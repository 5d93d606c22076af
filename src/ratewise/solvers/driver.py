"""The driver of algorithms: it advances a generator from request to request, and can be stored in between.

A run keeps its learner, the state of the last savepoint, and the answers since. Nothing else is stored: the
generator is started again and answered with the stored state and answers, which brings it to the same request.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from ..measures import Rates
from .history import History
from .requests import Learn, Learned, Record, Request, Savepoint
from .state import ClassTotals, LinearModel, RowTotals

if TYPE_CHECKING:
    from .base import Algorithm, Task

Steps = Generator[Request | Savepoint | Record, Any, Any]
"""An algorithm at work: it yields requests, is sent their answers, and returns what it has found."""

Totals = RowTotals | ClassTotals
"""The totals of the rows that a run learns from."""

Change = Callable[[Any, float], Any]
"""A function that converts weights and intercept to differently transformed columns; linear in both."""


class Run:
    """A training run: it yields its next request, receives the answer, and can be stored in between.

    Examples
    --------
    >>> from ratewise.measures import get_measure
    >>> from ratewise.solvers import Run, Stamp, Task
    >>> isinstance(Stamp().start(Task(get_measure("f1"), n_features=3)), Run)
    True
    """

    def __init__(self, algorithm: Algorithm, task: Task):
        self.algorithm, self.task = algorithm, task
        self.learner = algorithm.learner(task)
        self._seen: Totals | None = None
        self._saved: tuple[Any, ...] = ()  # the state of the last savepoint, if there was one
        self._answers: list[Any] = []  # since then
        self._learning: Learn | None = None  # the last request to learn
        self._stands = False  # whether the learner has begun the waiting request
        self._begun = False  # and has learned from its first points
        self.finished = False
        self.result: Any = None
        """The result that the algorithm returned."""
        self._halt()

    def _halt(self) -> None:
        """Forget the generator; the next request starts it again."""
        self._steps: Steps | None = None
        self._request: Request | None = None
        self._sent = 0  # how many answers were sent

    def request(self, seen: Totals) -> Request | None:
        """Return the next request, None at the end; ``seen`` sums up the rows of one pass.

        A second call changes nothing.
        """
        if self.finished:
            return None
        if seen is not self._seen:
            if self._request is not None and seen != self._seen:
                self._halt()  # the waiting request may depend on the rows
            self._seen = seen
        self._advance()
        return self._request

    def receive(self, answer: Any) -> None:
        """Receive the answer to the last request; None for a request to learn."""
        if isinstance(request := self._request, Learn):
            learner = self.learner
            last = learner.current() if request.keep_last else None
            answer = Learned(learner.mean(), last, learner.class_weights)
        self._answers.append(answer)
        self._request = None
        self._stands = self._begun = False
        self._advance()

    def model(self) -> Any:
        """Return the current model, or the models of all classes."""
        if self.finished:
            return self.result if isinstance(self.result, LinearModel) else self.result[-1].model
        learning = self._learning
        if learning is None or learning.meanwhile is None or learning.points is None:
            return self.learner.mean()
        return learning.meanwhile if 2 * self.learner.points_seen < learning.points else self.learner.mean()

    @property
    def history(self) -> History:
        """The records of the run."""
        return self.task.history or History()

    def progressive_rates(self) -> Rates:
        """Return the rates on the latest points, each scored before it was learned from."""
        rates: Rates = self.learner.progressive_rates()
        return rates

    def change_transform(self, change: Change) -> None:
        """Convert everything that was learned to columns that are transformed differently."""
        self.learner.change_transform(change)
        self.task = dataclasses.replace(self.task, initial=_changed(self.task.initial, change))
        self._saved, self._answers, self.result = (
            _changed(kept, change) for kept in (self._saved, self._answers, self.result)
        )
        if self._learning is not None:
            meanwhile = _changed(self._learning.meanwhile, change)
            self._learning = dataclasses.replace(self._learning, meanwhile=meanwhile)
        self._halt()

    def _advance(self) -> None:
        """Advance the generator to the next request, or to its end."""
        if self._request is not None:
            return
        answer, saved = None, ()
        if self._steps is None:
            self._steps = self.algorithm.algorithm(self.task, lambda: self._seen)  # type: ignore[arg-type,return-value]
            saved = self._saved
        else:
            answer, self._sent = self._answers[self._sent], self._sent + 1
        send = self._steps.send
        try:
            while True:
                request = send(answer)
                if isinstance(request, Savepoint):
                    if saved:
                        (answer,), saved = saved, ()
                        continue
                    answer = request.state
                    if self._sent == len(self._answers):
                        self._saved, self._answers, self._sent = (answer,), [], 0
                    continue
                if self._sent == len(self._answers):
                    if not isinstance(request, Record):
                        break
                    self._write(request)
                    self._answers.append(None)
                answer, self._sent = self._answers[self._sent], self._sent + 1
        except StopIteration as end:
            self.result, self.finished = end.value, True
            self._saved, self._answers, self._steps = (), [], None
            return
        self._request = request
        if isinstance(request, Learn):
            self._learning = request
            if not self._stands:
                self.learner.begin(request)
            elif request.class_weights is not None and request.measure is None:
                self.learner.class_weights = request.class_weights
        self._stands = True

    def to_learn(self) -> Any:
        """Return the learner for the next points of the request."""
        if not self._begun and isinstance(self._request, Learn) and self._request.restart_mean:
            self.learner.restart_mean()
            self.learner.restart_rates()
        self._begun = True
        return self.learner

    def _write(self, record: Record) -> None:
        """Write a record into the history, if there is one."""
        task = self.task
        if task.history is None:
            return
        rates = record.rates or self.progressive_rates()
        self.learner.restart_rates()
        value = float(task.measure.value(*rates)) if record.value is None else record.value
        task.history.record(passes=record.passes, points=record.points, rates=rates, value=value, **record.more)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_steps": None, "_request": None, "_sent": 0}


def _changed(kept: Any, change: Change) -> Any:
    """Return stored values with every model in them converted."""
    if isinstance(kept, LinearModel):
        return LinearModel(*change(*kept))
    if isinstance(kept, tuple) and hasattr(kept, "_fields"):
        return type(kept)(*(_changed(one, change) for one in kept))
    if isinstance(kept, list | tuple):
        return type(kept)(_changed(one, change) for one in kept)
    return kept


def answered(steps: Generator[Any, Any, Any], answer: Callable[[Any], Any]) -> Any:
    """Answer all requests of a generator, and return its result."""
    found = None
    try:
        while True:
            found = answer(steps.send(found))
    except StopIteration as end:
        return end.value


class Inner:
    """An algorithm inside another one, which passes on its requests: it makes no savepoints and no records."""

    def __init__(self, steps: Steps):
        self._steps = steps
        self.result: Any = None
        self.request: Request | None = None
        """The current request; None at the end, when there is a result."""
        self.answer(None)

    def answer(self, answer: Any) -> None:
        """Answer the current request."""
        try:
            request = self._steps.send(answer)
            while isinstance(request, Savepoint | Record):
                request = self._steps.send(request.state if isinstance(request, Savepoint) else None)
            self.request = request
        except StopIteration as end:
            self.request, self.result = None, end.value
