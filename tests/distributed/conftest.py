"""A small cluster for the tests of a module, and rows to learn from."""

from __future__ import annotations

import gc
import logging
import threading

import numpy as np
import pytest

from ratewise.training import config

WAIT = 60.0


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=0
    ) as made:
        yield made


@pytest.fixture
def client(cluster):
    from distributed import Client

    with Client(cluster, timeout=WAIT) as made:
        made.wait_for_workers(2, timeout=WAIT)
        yield made
    gc.collect()  # tasks that nobody awaited log an error as they are collected: here, not in another test


@pytest.fixture
def in_time():
    """Runs a function in a thread and gives up on it after a while, so that a test can fail but not hang."""

    def run(function, seconds=WAIT):
        outcome = {}

        def call():
            try:
                outcome["value"] = function()
            except BaseException as error:
                outcome["error"] = error

        thread = threading.Thread(target=call, daemon=True)
        thread.start()
        thread.join(seconds)
        assert not thread.is_alive(), f"still running after {seconds} seconds"
        if "error" in outcome:
            raise outcome["error"]
        return outcome["value"]

    return run


@pytest.fixture(scope="session")
def rows():
    """20,000 rows, one in eight positive, that a linear model tells apart fairly well."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 6)).astype(np.float32)
    X[:, 1] = 3.0 * X[:, 1] + 5.0
    y = X[:, 0] + 0.2 * X[:, 1] + 0.8 * rng.normal(size=20_000) > 2.5
    return X, y


@pytest.fixture(scope="module", autouse=True)
def the_choice_of_many_rows():
    """Spend as little on the choice between models as for the many rows that shards are meant for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "FEW_ROWS", 2_000)
        patch.setattr(config, "MANY_ROWS", 10_000)
        yield
