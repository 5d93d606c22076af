"""Processes of a cluster that are killed, stopped and paused: the same bits, or a sentence in time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ratewise.distributed import ClusterLost, DaskMeasureClassifier
from ratewise.distributed.dask_engine import DaskEngine
from ratewise.solvers import WeightedLogistic

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.slow

TIMEOUT = 6.0


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    """A client, and the process of its scheduler."""
    folder = tmp_path_factory.mktemp("cluster")
    there = ["--scheduler-file", str(folder / "scheduler.json"), "--no-dashboard"]
    run, quiet = (
        [sys.executable, "-m"],
        {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder},
    )
    workers = ["--nworkers", "2", "--nthreads", "1", "--memory-limit", "0", *there]
    with (
        subprocess.Popen([*run, "distributed.cli.dask_scheduler", "--port", "0", *there], **quiet) as scheduler,
        subprocess.Popen([*run, "distributed.cli.dask_worker", *workers], **quiet) as nannies,
    ):
        try:
            made = distributed.Client(scheduler_file=there[1], timeout=60, set_as_default=False)
            with made as client:
                client.wait_for_workers(2, timeout=60)
                fit(client)  # imports and compiled loops, which keep a worker from its heartbeats
                yield client, scheduler
        finally:
            nannies.terminate()  # nannies end their workers
            nannies.wait()
            scheduler.terminate()


@pytest.fixture
def client(processes):
    """The client, with two workers that run; afterwards nothing of a fit is left."""

    def tasks_of_fits(dask_scheduler):
        return [str(key) for key in dask_scheduler.tasks if "ratewise" in str(key)]

    client = processes[0]
    client.wait_for_workers(2, timeout=60)
    fit(client)  # a worker in the place of one that was killed imports and compiles now, silently
    yield client
    deadline = time.monotonic() + 60
    while left := client.run_on_scheduler(tasks_of_fits):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def rows():
    """Four partitions, made on the workers."""

    def made(block_info=None):
        rng = np.random.default_rng(block_info[None]["chunk-location"][0])
        return rng.normal(size=block_info[None]["chunk-shape"])

    X = da.map_blocks(made, chunks=((2_000,) * 4, (5,)), dtype=float, meta=np.empty((0, 0)))
    return X, X.map_blocks(lambda x: x[:, 0] + x[:, 1] * x[:, 2] > 1.5, drop_axis=1, dtype=bool)


def fit(client, merging="models", timeout=60.0):
    asked = {"solver": WeightedLogistic(passes=2), "sharpen": False, "passes": 2, "random_state": 0}
    return DaskMeasureClassifier("f1", **asked, merging=merging, client=client, timeout=timeout).fit(*rows())


@pytest.fixture(scope="module")
def undisturbed():
    return fit(None)


def same_bits(one, other):
    return np.array_equal(one.coef_, other.coef_) and np.array_equal(one.intercept_, other.intercept_)


@pytest.fixture
def in_round(monkeypatch):
    """Do something with the futures of the first question of a name; returns a list that then holds the time."""

    def arrange(name, action):
        submit, times = DaskEngine._submitted, []

        def submitted(self, asked, *arguments):
            futures = submit(self, asked, *arguments)
            if asked == name and not times:
                action(futures)
                times.append(time.monotonic())
            return futures

        monkeypatch.setattr(DaskEngine, "_submitted", submitted)
        return times

    return arrange


def sentence(client, times, match):
    """The fit ends with a sentence."""
    with pytest.raises(ClusterLost, match=match) as raised:
        fit(client, timeout=TIMEOUT)
    assert time.monotonic() - times[0] < 2 * TIMEOUT
    return str(raised.value)


def send(client, signal_number, sent_to=None):
    """Send a signal to the process of a worker that holds partitions of a fit."""
    pids = client.run(os.getpid)

    def to_holder(futures):
        holding = client.has_what()
        address = next(name for name in pids if any("ratewise" in str(key) for key in holding[name]))
        os.kill(pids[address], signal_number)
        if sent_to is not None:
            sent_to.append((address, pids[address]))

    return to_holder


def test_two_fits_at_once_do_not_meet(client, undisturbed):
    with ThreadPoolExecutor(2) as threads:
        models, gradients = threads.map(lambda merging: fit(client, merging), ["models", "gradients"])
    assert same_bits(models, undisturbed)
    assert same_bits(gradients, fit(None, "gradients"))


def test_a_killed_worker_changes_nothing(client, undisturbed, in_round):
    killed = in_round("learn", send(client, signal.SIGKILL))
    assert same_bits(fit(client), undisturbed)
    assert killed


def test_a_stopped_worker_is_named(client, in_round):
    stopped = []
    times = in_round("learn", send(client, signal.SIGSTOP, stopped))
    try:
        said = sentence(client, times, r"No worker .* has worked on the fit for 6 seconds \(silent: tcp:")
        assert stopped[0][0] in said
    finally:
        os.kill(stopped[0][1], signal.SIGCONT)


def test_paused_workers_are_not_waited_for(client, undisturbed, in_round):
    def become(status):
        def set_status(dask_worker):
            dask_worker.status = distributed.core.Status[status]

        client.run(set_status)

    times = in_round("learn", lambda futures: become("paused"))
    try:
        sentence(client, times, r"has worked on the fit for 6 seconds \(paused, for want of memory: tcp:")
    finally:
        become("running")
    assert same_bits(fit(client), undisturbed)


def test_a_stopped_scheduler_is_reported(client, processes, in_round):
    scheduler = processes[1]

    def stop(futures):
        while not all(future.done() for future in futures):  # answers are there, and cannot be had
            time.sleep(0.01)
        scheduler.send_signal(signal.SIGSTOP)

    times = in_round("learn", stop)
    try:
        sentence(client, times, r"connection to the Dask scheduler at tcp:.* is lost")
    finally:
        scheduler.send_signal(signal.SIGCONT)


def test_a_worker_with_another_version_is_refused(client):
    def set_version(version):
        import ratewise

        before, ratewise.__version__ = ratewise.__version__, version
        return before

    address = next(iter(client.run(os.getpid)))
    before = client.run(set_version, "0.0.9", workers=[address])[address]
    try:
        with pytest.raises(RuntimeError, match=rf"worker at {address} has ratewise 0\.0\.9, but .* has {before}"):
            fit(client)
    finally:
        client.run(set_version, before, workers=[address])


def test_an_adaptive_cluster_gets_its_first_worker(undisturbed):
    with (
        distributed.LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        cluster.adapt(minimum=0, maximum=1, interval="100ms")
        assert same_bits(fit(client), undisturbed)
