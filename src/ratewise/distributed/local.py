"""The engine without a cluster: all shards in this process."""

from __future__ import annotations

from collections.abc import Sequence

from .protocol import A, Engine, Question, Setup, Shard, Worker


class LocalEngine(Engine):
    """Shards one after another, in this process: for tests, and to see what an engine must do."""

    def __init__(self, shards: Sequence[Shard]):
        self._workers = [Worker.load(shard, number) for number, shard in enumerate(shards)]
        self.n_shards = len(self._workers)

    def prepare(self, setup: Setup) -> None:
        for number, worker in enumerate(self._workers):  # one by one, so that rows are held twice for one only
            self._workers[number] = worker.prepare(setup)

    def ask_each(self, question: Question[A]) -> list[A]:
        return [worker.step(question) for worker in self._workers]

    def close(self) -> None:
        self._workers = []
