"""Dask as an engine: a LocalCluster and a remote scheduler alike.

Each shard's worker is the result of a task, and stays in the memory of the process that ran it; a question is a
task that depends on it, so the scheduler runs it there. Tasks are pure. So when a process dies, the scheduler
itself loads its shards on another one, applies the setups again and puts the question once more; nothing else is
lost. Actors would save a few milliseconds per round, but they die with their process, and no dashboard shows their
calls.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import importlib
import time
import uuid
from collections.abc import Sequence
from typing import Any

from .engine import A, Engine, LocalEngine, Question, Setup, Worker, grouped, merge_few

_MERGED_HERE = 16
_HEARTBEAT = 2.0
_ATTEMPTS = 5
_CANCELLED = (asyncio.CancelledError, concurrent.futures.CancelledError)


class ClusterLost(ConnectionError):
    """The scheduler, or every worker, is gone.

    Examples
    --------
    >>> from ratewise.distributed import ClusterLost
    >>> issubclass(ClusterLost, ConnectionError)
    True
    """


class DaskEngine(Engine):
    """Shards as tasks of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
    shards : list of Delayed
        Each comes to a :class:`~ratewise.distributed.engine.Shard`, as often as need be.
    timeout : float
        Seconds to wait for a scheduler that does not answer, or for a first worker.

    Examples
    --------
    >>> from ratewise.distributed import DaskEngine, Engine
    >>> issubclass(DaskEngine, Engine)
    True
    """

    def __init__(self, client: Any, shards: Sequence[Any], timeout: float = 60.0):
        self._client = client
        self._timeout = timeout
        self._fit = uuid.uuid4().hex  # dashboards show the words before it
        self._rounds = 0
        self.n_shards = len(shards)
        self._shards = list(shards)
        self._setups: list[Setup] = []
        self._require_workers()
        self._workers = self._loaded()

    def _loaded(self) -> list[Any]:
        """Futures of the shards' workers, with all setups so far."""
        from dask import delayed

        self._rounds += 1
        load = delayed(Worker.load, pure=False)
        name = f"ratewise-load-{self._fit}-{self._rounds}"
        tasks = [load(shard, number, dask_key_name=(name, number)) for number, shard in enumerate(self._shards)]
        workers: list[Any] = self._client.compute(tasks)
        for setup in self._setups:
            workers = self._submitted(setup.name, Worker.prepare, workers, setup)
        return workers

    def _submitted(self, name: str, function: Any, workers: Sequence[Any], *arguments: Any) -> list[Any]:
        self._rounds += 1
        key = f"ratewise-{name}-{self._fit}-{self._rounds}"
        submit = self._client.submit
        return [
            submit(function, worker, *arguments, key=(key, number), pure=False)
            for number, worker in enumerate(workers)
        ]

    def prepare(self, setup: Setup) -> None:
        before = self._workers
        self._setups.append(setup)
        self._workers = self._submitted(setup.name, Worker.prepare, before, setup)
        for attempt in range(_ATTEMPTS):
            try:
                self._wait_for(self._workers)
                return
            except Exception as error:
                self._begin_again(error, attempt)

    def ask_each(self, question: Question[A]) -> list[A]:
        return self._asked(question, lambda futures: futures)

    def ask(self, question: Question[A]) -> A:
        return merge_few(self._asked(question, self._merged_on_workers))

    def _merged_on_workers(self, futures: list[Any]) -> list[Any]:
        """Few enough to merge here, in the same tree as everywhere."""
        while len(futures) > _MERGED_HERE:
            groups = [list(group) for group in grouped(futures)]
            futures = self._submitted("merge", merge_few, groups)
        return futures

    def _asked(self, question: Question[A], merged: Any) -> list[A]:
        for attempt in range(_ATTEMPTS):
            try:
                futures = merged(self._submitted(question.name, Worker.step, self._workers, question))
                return self._fetched(futures)
            except Exception as error:
                self._begin_again(error, attempt)
        raise AssertionError("unreachable")  # the last attempt raises

    def _begin_again(self, error: Exception, attempt: int) -> None:
        """Load all shards anew if a task was on too many dying workers; everything else is for the user to see."""
        from distributed.scheduler import KilledWorker

        if not isinstance(error, KilledWorker):
            raise error
        if attempt + 1 == _ATTEMPTS:
            raise ClusterLost(
                "Workers die again and again while they hold the same partition; it may be too large for their "
                "memory. Make the partitions smaller, or give the workers more memory."
            ) from error
        self._workers = self._loaded()

    def _wait_for(self, futures: Sequence[Any]) -> None:
        """Until all are done; looks after the cluster meanwhile, so that nothing waits for ever."""
        from distributed import wait

        without_workers = 0.0
        with self._client.as_current():
            while True:
                try:
                    wait(list(futures), timeout=_HEARTBEAT)
                    break
                except TimeoutError:
                    if self._number_of_workers():
                        without_workers = 0.0
                        continue
                    without_workers += _HEARTBEAT
                    if without_workers > self._timeout:
                        raise self._no_workers("All workers are gone") from None
                except _CANCELLED as error:
                    raise self._cancelled(error) from error
        for future in futures:
            if future.status == "error":
                raise future.exception()

    def _fetched(self, futures: list[Any]) -> list[Any]:
        async def gather() -> list[Any]:
            found = await self._client.gather(futures, asynchronous=True)
            return list(found)

        for _ in range(_ATTEMPTS):
            self._wait_for(futures)
            try:
                fetched: list[Any] = self._client.sync(gather, callback_timeout=self._timeout)
                return fetched
            except TimeoutError:
                continue  # answers lost with their worker are being made again
            except _CANCELLED as error:
                raise self._cancelled(error) from error
            except OSError as error:
                raise self._lost() from error
        raise self._lost()

    def _number_of_workers(self) -> int:
        async def workers() -> int:
            return len(await self._client.scheduler.ncores())

        try:
            return int(self._client.sync(workers, callback_timeout=self._timeout))
        except (*_CANCELLED, TimeoutError, OSError, AttributeError, RuntimeError) as error:
            raise self._lost() from error

    def _require_workers(self) -> None:
        deadline = time.monotonic() + self._timeout
        while not self._number_of_workers():
            if time.monotonic() > deadline:
                raise self._no_workers("The cluster has no workers")
            time.sleep(0.1)

    def _no_workers(self, what: str) -> ClusterLost:
        address = self._address()
        return ClusterLost(
            f"{what}, and none has come to the scheduler at {address} for {self._timeout:g} seconds. Start some "
            f"(for instance: dask worker {address}) and fit again."
        )

    def _cancelled(self, error: BaseException) -> ClusterLost:
        if self._client.status != "running" or "connection-lost" in str(error):
            return self._lost()
        return ClusterLost(
            "Partitions were lost with their worker and cannot be made again. Give such as can: files, or "
            "collections computed from files, not rows sent by Client.scatter."
        )

    def _lost(self) -> ClusterLost:
        return ClusterLost(
            f"The connection to the Dask scheduler at {self._address()} is lost, and the fit with it. See whether "
            "the scheduler runs, connect a new Client and fit again."
        )

    def _address(self) -> str:
        scheduler = getattr(self._client, "scheduler", None)
        return str(getattr(scheduler, "address", "an unknown address"))

    def close(self) -> None:
        self._workers = []  # the scheduler frees what no client asks for


def engine_for(shards: list[Any], client: Any, timeout: float) -> Engine:
    """That of the client, of the current one if None is given, or this process if there is none."""
    import dask

    if isinstance(client, str):
        return _OwnClient(_connected(client, timeout), shards, timeout)
    if client is None:
        client = _current()
    if client is None:
        return LocalEngine([dask.compute(shard, scheduler="synchronous")[0] for shard in shards])
    return DaskEngine(client, shards, timeout)


def require_dask() -> None:
    """One sentence to whoever has not installed it."""
    try:
        for name in ("dask.array", "distributed"):
            importlib.import_module(name)
    except ImportError:
        raise ImportError('Fits on a cluster need Dask: pip install "ratewise[dask]"') from None


def _connected(address: str, timeout: float) -> Any:
    from distributed import Client

    try:
        return Client(address, timeout=timeout, set_as_default=False)
    except OSError as error:
        raise ConnectionError(
            f"No Dask scheduler answers at {address} within {timeout:g} seconds: see whether it runs."
        ) from error


def _current() -> Any:
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


class _OwnClient(DaskEngine):
    """Closes the connection that it came with."""

    def close(self) -> None:
        super().close()
        self._client.close()
