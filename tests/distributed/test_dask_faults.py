"""Workers that die, clusters that are not there, and what travels on the wire."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from ratewise.distributed import ClusterLost, DaskMeasureClassifier
from ratewise.solvers import WeightedLogistic

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

ROWS, COLUMNS = 20_000, 10
RUN = [sys.executable, "-m"]
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def blocks(number, rows=ROWS):
    """Rows and labels made where they are needed, never here."""

    def made(block_info=None):
        rng = np.random.default_rng(block_info[None]["chunk-location"][0])
        return rng.normal(size=block_info[None]["chunk-shape"]).astype(np.float32)

    X = da.map_blocks(made, chunks=((rows,) * number, (COLUMNS,)), dtype=np.float32, meta=np.empty((0, 0), "f4"))
    return X, X.map_blocks(lambda x: x[:, 0] + x[:, 1] * x[:, 2] > 1.5, drop_axis=1, dtype=bool)


def classifier(merging="models", **more):
    start = WeightedLogistic(passes=2)
    return DaskMeasureClassifier("f1", solver=start, random_state=0, merging=merging, passes=4, **more)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("merging", "deadly"), [("models", "learn"), ("gradients", "gradient"), ("auto", "sample")]
)
def test_a_worker_killed_on_the_way_changes_nothing(cluster, client, in_time, monkeypatch, merging, deadly):
    from ratewise.distributed.dask_engine import DaskEngine

    X, y = blocks(4)
    undisturbed = in_time(lambda: classifier(merging, client=client).fit(X, y))
    submit, names = DaskEngine._submitted, []

    def submit_and_kill(self, name, *arguments):
        futures = submit(self, name, *arguments)
        names.append(name)
        if name == deadly and names.count(deadly) == (1 if deadly == "sample" else 2):
            victim = next(iter(cluster.workers.values()))
            os.kill(victim.pid, signal.SIGKILL)
        return futures

    monkeypatch.setattr(DaskEngine, "_submitted", submit_and_kill)
    disturbed = in_time(lambda: classifier(merging, client=client).fit(X, y))
    assert deadly in names
    np.testing.assert_array_equal(disturbed.coef_, undisturbed.coef_)
    np.testing.assert_array_equal(disturbed.intercept_, undisturbed.intercept_)
    client.wait_for_workers(2, timeout=60)


@pytest.mark.slow
def test_no_row_travels_to_the_scheduler_or_the_client(client, in_time, monkeypatch):
    from tornado.iostream import IOStream

    received = [0]
    read = IOStream.read_from_fd

    def counted(self, buffer):
        size = read(self, buffer)
        received[0] += size or 0
        return size

    X, y = blocks(4, 60_000)
    in_time(lambda: classifier(client=client).fit(*blocks(4)))  # connections, imports
    monkeypatch.setattr(IOStream, "read_from_fd", counted)  # of this process: the client's and the scheduler's
    in_time(lambda: classifier(client=client).fit(X, y))
    data = 4 * 60_000 * COLUMNS * 4
    assert 0 < received[0] < 0.25 * data, f"{received[0]:,} bytes of {data:,}"
    few, received[0] = received[0], 0
    in_time(lambda: classifier(client=client).fit(*blocks(4, 120_000)))
    assert received[0] < 1.5 * few, "what travels grows with the rows"


def test_an_empty_partition_is_named(client, in_time):
    X, y = blocks(2)
    with pytest.raises(ValueError, match="Partition 1 holds no rows"):
        in_time(lambda: classifier(client=client).fit([(X[:ROWS], y[:ROWS]), (X[:0], y[:0])]))


def test_a_cluster_without_workers_gives_one_sentence(in_time):
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty,
        distributed.Client(empty) as client,
        pytest.raises(ClusterLost, match=r"The cluster has no workers.*Start some"),
    ):
        in_time(lambda: classifier(client=client, timeout=0.5).fit(*blocks(2)))


def test_an_address_where_nobody_listens_gives_one_sentence(in_time):
    with pytest.raises(ConnectionError, match=r"No Dask scheduler answers at tcp://127.0.0.1:9"):
        in_time(lambda: classifier(client="tcp://127.0.0.1:9", timeout=0.5).fit(*blocks(2)))


def test_a_lost_scheduler_gives_one_sentence(in_time, tmp_path):
    there = ["--scheduler-file", str(tmp_path / "scheduler.json"), "--no-dashboard"]
    scheduler = subprocess.Popen([*RUN, "distributed.cli.dask_scheduler", "--port", "0", *there], **QUIET)
    worker = None
    try:
        client = in_time(lambda: distributed.Client(scheduler_file=str(tmp_path / "scheduler.json"), timeout=30))
        worker = subprocess.Popen([*RUN, "distributed.cli.dask_worker", "--no-nanny", *there], **QUIET)
        client.wait_for_workers(1, timeout=60)
        threading.Timer(1.0, scheduler.kill).start()
        slow = da.map_blocks(_slow, chunks=((10,) * 2, (3,)), dtype=float, meta=np.empty((0, 0)))
        with pytest.raises(ConnectionError, match=r"connection to the Dask scheduler.*is lost"):
            in_time(lambda: classifier(client=client, timeout=2).fit(slow, slow[:, 0] > 0))
        client.close(timeout=2)
    finally:
        for process in (worker, scheduler):
            if process is not None:
                process.kill()
                process.wait()


def _slow():
    import time

    time.sleep(30)
