"""The interface of an engine: small states are sent to the shards and back, never a row.

The fit is a sequence of rounds. In each, the client puts one :class:`Question` to all shards; each answers from
its own rows; their :class:`Answer` objects are merged in the order of the shards. Now and then a :class:`Setup`
changes what a shard holds: rows read become a matrix, a matrix becomes transformed rows.

The work of a shard depends only on its rows, its number and the questions. So any machine can replace a lost shard
by loading it and applying the setups, and a failed round is repeated.

Another engine is one small file: a subclass of :class:`Engine` that keeps a :class:`Worker` for each shard
anywhere, and passes questions to :meth:`Worker.step`. See :class:`LocalEngine`.
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from ..threads import in_threads


class Answer(Protocol):
    """The answer of one shard or of several: small, and of a size that does not grow with the rows.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from ratewise.distributed import Answer
    >>> @dataclass
    ... class Rows(Answer):
    ...     number: int
    ...
    ...     def merge(self, other):
    ...         return Rows(self.number + other.number)
    >>> Rows(2).merge(Rows(3)).number
    5
    """

    def merge(self, other: Self) -> Self:
        """Return the combined answer of the shards of both answers."""


@dataclass(frozen=True)
class Sums(Answer):
    """An answer whose fields add up, each on its own."""

    def merge(self, other: Self) -> Self:
        return type(self)(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))


A = TypeVar("A", bound=Answer)


class Question(ABC, Generic[A]):
    """A question to all shards in a round: the state to continue from, and the task.

    Examples
    --------
    >>> from ratewise.distributed import Question, Worker
    >>> class Largest(Question):
    ...     name = "largest"
    ...
    ...     def answer(self, rows, shard):
    ...         return max(rows)
    >>> Worker(0, [1, 3, 2]).step(Largest())
    3
    """

    name: ClassVar[str]
    """The name of its rounds in dashboards."""

    @abstractmethod
    def answer(self, rows: Any, shard: int) -> A:
        """Return the answer from the rows of one shard; only a cache may change there."""


class Setup(ABC):
    """A lasting change of the content of the shards.

    Examples
    --------
    >>> from ratewise.distributed import Setup, Worker
    >>> class Doubled(Setup):
    ...     name = "doubled"
    ...
    ...     def apply(self, rows, shard):
    ...         return [2 * one for one in rows]
    >>> Worker(0, [1, 2]).prepare(Doubled()).rows
    [2, 4]
    """

    name: ClassVar[str]

    @abstractmethod
    def apply(self, rows: Any, shard: int) -> Any:
        """Return the new content of the shard; the old content is not changed."""


class Shard(ABC):
    """A source of one part of the rows, which can be read as often as necessary.

    Examples
    --------
    >>> import numpy as np
    >>> from ratewise.distributed import Shard
    >>> class Ones(Shard):
    ...     def read(self):
    ...         return np.ones((2, 3))
    >>> Ones().read().shape
    (2, 3)
    """

    @abstractmethod
    def read(self) -> Any:
        """Return the rows."""


class Worker:
    """One loaded shard, on the machine of its rows. A worker never changes: each setup makes a new one.

    Examples
    --------
    >>> from ratewise.distributed import Worker
    >>> Worker(number=0, rows=[1, 2, 3]).rows
    [1, 2, 3]
    """

    def __init__(self, number: int, rows: Any):
        self.number = number
        self.rows = rows

    @classmethod
    def load(cls, shard: Shard, number: int) -> Worker:
        return cls(number, shard.read())

    def prepare(self, setup: Setup) -> Worker:
        return Worker(self.number, setup.apply(self.rows, self.number))

    def step(self, question: Question[A]) -> A:
        return question.answer(self.rows, self.number)

    def __reduce__(self) -> Any:
        # Buffers sent beside a pickle may arrive at unaligned addresses, where numpy sums in another order.
        return _unpacked, (pickle.dumps((self.number, self.rows), protocol=4),)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + int(getattr(self.rows, "nbytes", 0))


def _unpacked(packed: bytes) -> Worker:
    return Worker(*pickle.loads(packed))


_MERGED_AT_ONCE = 16


def merge(answers: Sequence[A]) -> A:
    """Return all answers merged into one.

    Neighbors are merged first, in a tree that depends on the number of answers only. So the last digit of a sum
    does not depend on the machine that merges.
    """
    while len(answers) > 1:
        answers = [merge_few(group) for group in grouped(answers)]
    return answers[0]


def merge_few(answers: Sequence[A]) -> A:
    merged = answers[0]
    for answer in answers[1:]:
        merged = merged.merge(answer)
    return merged


def grouped(answers: Sequence[A]) -> list[Sequence[A]]:
    return [answers[start : start + _MERGED_AT_ONCE] for start in range(0, len(answers), _MERGED_AT_ONCE)]


@dataclass(frozen=True)
class QuestionBatch(Question["AnswerBatch"]):
    """Several questions in one round."""

    questions: tuple[Question[Any], ...]

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.questions[0].name

    def answer(self, rows: Any, shard: int) -> AnswerBatch:
        return AnswerBatch(tuple(question.answer(rows, shard) for question in self.questions))


@dataclass(frozen=True)
class AnswerBatch(Answer):
    answers: tuple[Any, ...]

    def merge(self, other: AnswerBatch) -> AnswerBatch:
        return AnswerBatch(
            tuple(mine.merge(theirs) for mine, theirs in zip(self.answers, other.answers, strict=True))
        )


class Engine(ABC):
    """The base class of engines: an engine keeps the shards' workers and passes questions to them.

    Examples
    --------
    >>> from ratewise.distributed import Engine, LocalEngine
    >>> issubclass(LocalEngine, Engine)
    True
    """

    n_shards: int

    @abstractmethod
    def prepare(self, setup: Setup) -> None:
        """Apply a setup on every shard."""

    @abstractmethod
    def ask_each(self, question: Question[A]) -> list[A]:
        """Return the answer of every shard, in their order."""

    def ask(self, question: Question[A]) -> A:
        """Return the merged answer of all shards."""
        return merge(self.ask_each(question))

    @abstractmethod
    def close(self) -> None:
        """Release the shards."""


class LocalEngine(Engine):
    """Shards in this process, in one thread or in several; the answers do not depend on their number.

    Examples
    --------
    >>> from ratewise.distributed import LocalEngine, Shard
    >>> class Few(Shard):
    ...     def read(self):
    ...         return [1, 2]
    >>> LocalEngine([Few(), Few()]).n_shards
    2
    """

    def __init__(self, shards: Sequence[Shard], threads: int = 1):
        self._workers = [Worker.load(shard, number) for number, shard in enumerate(shards)]
        self.n_shards, self._threads = len(self._workers), threads
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    @classmethod
    def of_rows(cls, rows: Sequence[Any], threads: int = 1) -> LocalEngine:
        """Return an engine of shards that are loaded already."""
        engine = cls([], threads)
        engine._workers = [Worker(number, mine) for number, mine in enumerate(rows)]
        engine.n_shards = len(engine._workers)
        return engine

    def prepare(self, setup: Setup) -> None:
        def change(number: int) -> None:
            self._workers[number] = self._workers[number].prepare(setup)

        # At most as many shards as there are threads are held twice.
        in_threads(change, range(self.n_shards), self._threads, self._pool)

    def ask_each(self, question: Question[A]) -> list[A]:
        return in_threads(lambda worker: worker.step(question), self._workers, self._threads, self._pool)

    def close(self) -> None:
        self._workers = []
        if self._pool is not None:
            self._pool.shutdown()
