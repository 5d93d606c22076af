"""Fits on a cluster: as good as on one machine, faster on two, unmoved by dying workers, and small on the wire.

Sections: parity (real data, partitions of all sorts, in this process), kills (workers of a LocalCluster), bytes
(what the client and the scheduler receive), rounds (their CPU time), speed (one worker process against two; 20
million rows).
Prints tables and writes benchmarks/results/cluster.json.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import signal
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import datasets
from ratewise.training import config

RESULTS = Path(__file__).parent / "results" / "cluster.json"
DATA = ["ijcnn1", "covtype-5", "creditcard"]
MEASURES = ["f1", "min", "qmean"]
SPREADS = [("even", 2), ("even", 4), ("even", 16), ("uneven", 4), ("uneven", 16), ("sorted", 4), ("sorted", 16)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=datasets.DEFAULT_FOLDER, help="folder of NAME.npz files")
    parser.add_argument("--only", nargs="*", choices=list(SECTIONS), default=list(SECTIONS))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--merging", nargs="*", default=["models", "gradients"], help="of the kills section")
    parser.add_argument("--rows", type=int, default=20_000_000, help="of the speed section")
    options = parser.parse_args()
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    config.IN_MEMORY_BYTES = 0  # rows stay in their partitions, however few they are
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for section in options.only:
        results[section] = SECTIONS[section](options)
        temporary = RESULTS.with_suffix(".tmp")
        temporary.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
        temporary.replace(RESULTS)


def partitions(y: np.ndarray, how: str, number: int, seed: int) -> list[np.ndarray]:
    """Row numbers of each part: alike, each half as large as the one before, or sorted by label."""
    rng, n = np.random.default_rng(seed), len(y)
    if how == "even":
        return np.array_split(rng.permutation(n), number)
    if how == "uneven":
        edges = (n * (1.0 - 0.5 ** np.arange(1, number))).astype(int)
        return [part for part in np.split(rng.permutation(n), edges) if part.size]
    return np.array_split(np.argsort(y, kind="stable"), number)


def parity(options: Any) -> dict[str, Any]:
    """Test values on one machine, and how far those of partitioned rows are from them."""
    from ratewise import MeasureClassifier
    from ratewise.distributed import DaskMeasureClassifier

    found: dict[str, Any] = {}
    print("\n| data, measure | one machine | " + " | ".join(f"{how} {k}" for how, k in SPREADS) + " |")
    print("|---" * (len(SPREADS) + 2) + "|")
    for name in DATA:
        problem = datasets.load(name, options.data)
        X, y = problem.X, problem.y
        for measure in MEASURES:
            values: dict[str, list[float]] = {}
            for seed, (train, test) in enumerate(problem.splits(options.splits)):
                single = MeasureClassifier(measure, random_state=seed).fit(X[train], y[train])
                values.setdefault("one machine", []).append(single.score(X[test], y[test]))
                for how, number in SPREADS:
                    cut = [train[part] for part in partitions(y[train], how, number, seed)]
                    spread = DaskMeasureClassifier(measure, random_state=seed)
                    spread.fit([(X[part], y[part]) for part in cut])
                    key = f"{how} {number}"
                    values.setdefault(key, []).append(spread.score(X[test], y[test]))
            found[f"{name}, {measure}"] = values
            mean = float(np.mean(values["one machine"]))
            cells = [f"{np.mean(values[f'{how} {k}']) - mean:+.4f}" for how, k in SPREADS]
            print(f"| {name}, {measure} | {mean:.4f} | " + " | ".join(cells) + " |", flush=True)
    return found


@contextmanager
def cluster(workers: int) -> Any:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=0
        ) as made,
        Client(made) as client,
    ):
        yield made, client


def made_rows(number: int, rows: int, columns: int) -> tuple[Any, Any]:
    """Rows made on the workers, one in eight positive."""
    import dask.array as da

    def block(block_info: Any = None) -> np.ndarray:
        rng = np.random.default_rng(block_info[None]["chunk-location"][0])
        return rng.standard_normal(block_info[None]["chunk-shape"], dtype=np.float32)

    def label(x: np.ndarray) -> np.ndarray:
        noise = np.random.default_rng(abs(hash(float(x[0, 0]))) if len(x) else 0).standard_normal(len(x))
        return x[:, 0] + 0.5 * x[:, 1] + 0.3 * x[:, 2] * x[:, 3] + 0.5 * noise > 1.5

    chunks = ((rows // number,) * number, (columns,))
    X = da.map_blocks(block, chunks=chunks, dtype=np.float32, meta=np.empty((0, 0), np.float32))
    return X, X.map_blocks(label, drop_axis=1, dtype=bool)


def kills(options: Any) -> list[dict[str, Any]]:
    """A worker killed at each of ten random moments; the model must be that of an undisturbed fit.

    A moment is a round and some milliseconds. Each kill has a cluster of its own: a process killed again while it
    starts is given up by its nanny.
    """
    from ratewise.distributed import DaskMeasureClassifier

    found: list[dict[str, Any]] = []
    X, y = made_rows(6, 300_000, 10)
    print("\n| merging | in round | of | undisturbed, s | disturbed, s | same model |\n|---|---|---|---|---|---|")
    for merging in options.merging:

        def fit(moment: int | None, victim: int = 0, delay: float = 0.0, merging: str = merging) -> Any:
            with cluster(2) as (made, _), rounds_counted(made, moment, victim, delay) as count:
                began = time.perf_counter()
                model = DaskMeasureClassifier(random_state=0, merging=merging).fit(X, y)
                return model, time.perf_counter() - began, count[0]

        model, seconds, rounds = fit(None)
        draw = random.Random(0)
        for _ in range(10):
            moment = draw.randrange(1, rounds)
            disturbed, took, _ = fit(moment, draw.randrange(2), 0.05 * draw.random())
            same = np.array_equal(disturbed.coef_, model.coef_) and disturbed.intercept_ == model.intercept_
            found.append({"merging": merging, "round": moment, "rounds": rounds, "same": bool(same)})
            found[-1] |= {"undisturbed": seconds, "disturbed": took}
            print(f"| {merging} | {moment} | {rounds} | {seconds:.1f} | {took:.1f} | {bool(same)} |", flush=True)
    return found


@contextmanager
def rounds_counted(made: Any = None, moment: int | None = None, victim: int = 0, delay: float = 0.0) -> Any:
    """Count the rounds of a fit, and their tasks; a moment after one of them, kill a worker."""
    from ratewise.distributed.dask_engine import DaskEngine

    count, submitted = [0, 0], DaskEngine._submitted

    def counted(self: Any, name: str, *arguments: Any) -> Any:
        futures = submitted(self, name, *arguments)
        count[0] += name != "merge"
        count[1] += len(futures)
        if count[0] == moment:
            threading.Timer(delay, _kill, (made, victim)).start()
        return futures

    DaskEngine._submitted = counted
    try:
        yield count
    finally:
        DaskEngine._submitted = submitted


def _kill(made: Any, number: int) -> None:
    os.kill(list(made.workers.values())[number].pid, signal.SIGKILL)


def bytes_received(options: Any) -> list[dict[str, Any]]:
    """What the client and the scheduler, both in this process, read from their connections during a fit."""
    from tornado.iostream import IOStream

    from ratewise.distributed import DaskMeasureClassifier

    received, read = [0], IOStream.read_from_fd

    def counted(self: Any, buffer: Any) -> Any:
        size = read(self, buffer)
        received[0] += size or 0
        return size

    IOStream.read_from_fd = counted
    found = []
    print("\n| merging | partitions | rows | columns | rounds | MB received | kB per round, part | of the data |")
    print("|---" * 8 + "|")
    try:
        with cluster(2), rounds_counted() as rounds:
            for merging, number, rows, columns in [
                ("models", 2, 400_000, 10),
                ("models", 4, 400_000, 10),
                ("models", 4, 1_600_000, 10),
                ("models", 4, 400_000, 100),
                ("models", 16, 1_600_000, 10),
                ("gradients", 4, 400_000, 10),
                ("gradients", 4, 400_000, 100),
            ]:
                X, y = made_rows(number, rows, columns)
                DaskMeasureClassifier(random_state=0, merging=merging).fit(*made_rows(number, 20_000, columns))
                received[0] = rounds[0] = 0
                DaskMeasureClassifier(random_state=0, merging=merging).fit(X, y)
                entry = {"merging": merging, "partitions": number, "rows": rows, "columns": columns}
                entry |= {"rounds": rounds[0], "bytes": received[0]}
                found.append(entry)
                each = received[0] / rounds[0] / number / 1e3
                share = received[0] / (rows * columns * 4)
                print(
                    f"| {merging} | {number} | {rows:,} | {columns} | {rounds[0]} | {received[0] / 1e6:.2f} | "
                    f"{each:.1f} | {share:.2%} |",
                    flush=True,
                )
    finally:
        IOStream.read_from_fd = read
    return found


def rounds(options: Any) -> list[dict[str, Any]]:
    """What a fit by models costs the client and the scheduler, both in this process, by its partitions."""
    from ratewise.distributed import DaskMeasureClassifier

    found = []
    print("\n| partitions | rounds | tasks | CPU s of client and scheduler | ms per task | seconds |")
    print("|---" * 6 + "|")
    with cluster(2), rounds_counted() as count:
        for number in (4, 4, 16, 64):  # the first compiles
            X, y = made_rows(number, 16_000 * number, 20)
            count[:], cpu, began = (0, 0), time.process_time(), time.perf_counter()
            DaskMeasureClassifier(random_state=0, merging="models").fit(X, y)
            cpu, seconds = time.process_time() - cpu, time.perf_counter() - began
            questions, tasks = count
            entry = {"partitions": number, "rounds": questions, "tasks": tasks, "cpu": cpu, "seconds": seconds}
            found.append(entry)
            print(
                f"| {number} | {questions} | {tasks} | {cpu:.2f} | {1e3 * cpu / tasks:.2f} | {seconds:.1f} |",
                flush=True,
            )
    return found[1:]


def speed(options: Any) -> list[dict[str, Any]]:
    """One worker process against two, on rows that are in the workers' memory; the second of two fits counts."""
    from dask import persist

    from distributed import wait
    from ratewise.distributed import DaskMeasureClassifier

    found = []
    print("\n| workers | rows | seconds | times as fast | load before |\n|---|---|---|---|---|")
    for workers in (1, 2):
        with cluster(workers) as (_, _client):
            X, y = persist(*made_rows(8, options.rows, 20))
            wait([X, y])
            DaskMeasureClassifier(random_state=0).fit(*made_rows(2, 200_000, 20))  # imports, compiled loops
            load, began = os.getloadavg()[0], time.perf_counter()
            model = DaskMeasureClassifier(random_state=0).fit(X, y)
            seconds = time.perf_counter() - began
            del X, y
        found.append({"workers": workers, "rows": options.rows, "seconds": seconds, "load": load})
        found[-1] |= {"merging": model.merging_, "tpr": model.rates_.tpr, "tnr": model.rates_.tnr}
        times = found[0]["seconds"] / seconds
        print(f"| {workers} | {options.rows:,} | {seconds:.1f} | {times:.2f} | {load:.1f} |", flush=True)
    return found


SECTIONS = {"parity": parity, "kills": kills, "bytes": bytes_received, "rounds": rounds, "speed": speed}


if __name__ == "__main__":
    sys.exit(main())
