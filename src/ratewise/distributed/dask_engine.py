"""Dask as an engine: for a LocalCluster and for a remote scheduler.

Each shard's worker is the result of a task, and stays in the memory of the process that ran it. A question is a
task that depends on this result, so the scheduler runs it in the same process. Tasks are pure. When a process
dies, the scheduler loads its shards in another process, applies the setups again and repeats the question; nothing
else is lost. Actors would save a few milliseconds per round, but they die with their process, and no dashboard
shows their calls.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import importlib
import time
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

import ratewise

from ..training.shards.engine import A, Engine, LocalEngine, Question, Setup, Shard, Worker, grouped, merge_few

_MERGED_HERE = 16
_HEARTBEAT = 2.0
_ATTEMPTS = 5
_CANCELLED = (asyncio.CancelledError, concurrent.futures.CancelledError)


class ClusterLost(ConnectionError):
    """The scheduler, or every worker, is gone or makes no progress.

    Examples
    --------
    >>> from ratewise.distributed import ClusterLost
    >>> issubclass(ClusterLost, ConnectionError)
    True
    """


class _ClusterNow(NamedTuple):
    """The scheduler's information on its workers."""

    workers: int
    paused: list[str]
    at_work: frozenset[tuple[str, float]]
    """Running workers that have tasks, each with the time of its last heartbeat."""


def _load(shard: Shard, number: int, version: str) -> Worker:
    """Load a shard on a worker, if the worker computes in the same way as the process that asks."""
    if ratewise.__version__ != version:
        from distributed import get_worker

        raise RuntimeError(
            f"The worker at {get_worker().address} has ratewise {ratewise.__version__}, but the process that fits "
            f"has {version}: install the same version on all workers."
        )
    return Worker.load(shard, number)


class DaskEngine(Engine):
    """Shards as tasks of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
    shards : list of Delayed
        Each computes a :class:`~ratewise.distributed.Shard`, as often as necessary.
    timeout : float
        The number of seconds to wait for a scheduler that does not answer, or while no worker makes progress.

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
        self._round: list[Any] = []
        self._workers = self._loaded()

    def _loaded(self) -> list[Any]:
        """Return futures of the shards' workers, with all setups so far."""
        from dask import delayed

        self._rounds += 1
        load = delayed(_load, pure=False)
        name = f"ratewise-load-{self._fit}-{self._rounds}"
        tasks = [
            load(shard, number, ratewise.__version__, dask_key_name=(name, number))
            for number, shard in enumerate(self._shards)
        ]
        workers: list[Any] = self._client.compute(tasks)
        for setup in self._setups:
            workers = self._submitted(setup.name, Worker.prepare, workers, setup)
        return workers

    def _submitted(self, name: str, function: Any, workers: Sequence[Any], *arguments: Any) -> list[Any]:
        self._rounds += 1
        key = f"ratewise-{name}-{self._fit}-{self._rounds}"
        keys = [(key, number) for number in range(len(workers))]
        # In one message: tasks that are submitted one by one take the client and the scheduler twice the time.
        constants = [[argument] * len(workers) for argument in arguments]
        found: list[Any] = self._client.map(function, workers, *constants, key=keys, pure=False)
        return found

    def prepare(self, setup: Setup) -> None:
        """Submit a setup; the next question waits for it, and raises its error if it failed."""
        self._setups.append(setup)
        self._workers = self._submitted(setup.name, Worker.prepare, self._workers, setup)

    def ask_each(self, question: Question[A]) -> list[A]:
        return self._asked(question, merged=False)

    def ask(self, question: Question[A]) -> A:
        return merge_few(self._asked(question, merged=True))

    def _asked(self, question: Question[A], *, merged: bool) -> list[A]:
        from distributed.scheduler import KilledWorker

        for _ in range(_ATTEMPTS):
            try:
                futures = self._round = self._submitted(question.name, Worker.step, self._workers, question)
                while merged and len(futures) > _MERGED_HERE:  # in the same tree as everywhere
                    futures = self._submitted("merge", merge_few, [list(group) for group in grouped(futures)])
                    self._round = self._round + futures
                return self._gathered(futures)
            except KilledWorker as error:
                killed = error  # a task was on too many dying workers
                self._workers = self._loaded()
        raise ClusterLost(
            "Workers die again and again while they hold the same partition; it may be too large for their "
            "memory. Make the partitions smaller, or give the workers more memory."
        ) from killed

    def _gathered(self, futures: list[Any]) -> list[Any]:
        """Wait for answers, and check the cluster meanwhile, so that nothing waits forever."""

        async def gather() -> list[Any]:
            return list(await self._client.gather(futures, asynchronous=True))

        gathering = asyncio.run_coroutine_threadsafe(gather(), self._client.loop.asyncio_loop)
        pause = min(_HEARTBEAT, self._timeout / 4)
        heard, seen_before = time.monotonic(), frozenset[Any]()
        try:
            while not concurrent.futures.wait([gathering], pause).done:
                now = self._look()
                if not now.at_work <= seen_before:  # a heartbeat of a worker that makes progress
                    heard, seen_before = time.monotonic(), now.at_work
                elif time.monotonic() - heard > self._timeout:
                    raise self._stuck(now)
            return self._result(gathering, futures)
        finally:
            gathering.cancel()

    def _result(self, gathering: concurrent.futures.Future[list[Any]], futures: list[Any]) -> list[Any]:
        try:
            return gathering.result()
        except _CANCELLED as error:
            raise self._cancelled(error) from error
        except OSError as error:
            if any(future.status == "error" for future in futures):
                raise  # an error of the task
            raise self._lost() from error
        except (ImportError, AttributeError) as error:
            if "ratewise" not in str(error):
                raise
            raise RuntimeError(
                f"A worker cannot load what it is sent ({error}): install ratewise {ratewise.__version__}, the "
                "version of this process, on all workers."
            ) from error

    def _look(self) -> _ClusterNow:
        async def ask() -> _ClusterNow:
            scheduler = self._client.scheduler
            workers = (await scheduler.identity())["workers"]
            tasks = await scheduler.processing(workers=None)
            running = {name for name, one in workers.items() if one["status"] == "running"}
            at_work = {(name, workers[name]["last_seen"]) for name in running if tasks.get(name)}
            return _ClusterNow(len(workers), sorted(workers.keys() - running), frozenset(at_work))

        try:
            found: _ClusterNow = self._client.sync(ask, callback_timeout=self._timeout)
        except (*_CANCELLED, OSError, AttributeError, RuntimeError) as error:
            raise self._lost() from error
        return found

    def _stuck(self, now: _ClusterNow) -> ClusterLost:
        address, silent = self._address(), sorted(name for name, _ in now.at_work)
        if not now.workers:
            return ClusterLost(
                f"The cluster has no workers, and none has come to the scheduler at {address} for "
                f"{self._timeout:g} seconds. Start some (for instance: dask worker {address}) and fit again."
            )
        found = [
            *([f"paused, for want of memory: {', '.join(now.paused[:5])}"] if now.paused else []),
            *([f"silent: {', '.join(silent[:5])}"] if silent else []),
        ]
        return ClusterLost(
            f"No worker of the scheduler at {address} has worked on the fit for {self._timeout:g} seconds "
            f"({'; '.join(found) or 'none has a task'}). Restart such workers, give them more memory or make the "
            "partitions smaller, and fit again."
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
        """Release all tasks, also those that the traceback of an error still refers to."""
        for future in (*self._round, *self._workers):
            future.release()
        self._round, self._workers = [], []


def engine_for(shards: list[Any], client: Any, timeout: float) -> Engine:
    """Return the engine of the client, or of the current client if None, or of this process if there is none."""
    import dask

    if isinstance(client, str):
        return _OwnClient(_connected(client, timeout), shards, timeout)
    if client is None:
        client = _current()
    if client is None:
        return LocalEngine([dask.compute(shard, scheduler="synchronous")[0] for shard in shards])
    return DaskEngine(client, shards, timeout)


def require_dask() -> None:
    """Raise one sentence if Dask is not installed."""
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
    """An engine that closes its own client at the end."""

    def close(self) -> None:
        super().close()
        self._client.close(timeout=self._timeout / 4)
