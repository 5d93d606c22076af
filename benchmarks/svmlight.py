"""Reading svmlight files: ratewise against scikit-learn's load_svmlight_file, side by side.

One process, the readers taking turns, medians of five, CPU time; compiling is off the clock. Before the clock
starts, both must have read the same matrix, bit for bit, in float64 and in float32. The files are made in a
temporary folder: two real data sets with short integer values, as scikit-learn writes them, and a synthetic file
of 200 MB with floats of 16 digits. Writes benchmarks/results/svmlight.json.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import datasets
from output import RESULTS, write_json
from ratewise.streams.formats.svmlight import load_svmlight, read_svmlight

REAL = ["w8a_train", "a9a"]


def make_files(folder: Path, data: Path, megabytes: int) -> Iterator[Path]:
    for name in REAL:
        if not (data / f"{name}.npz").exists():
            print(f"No {name}.npz in {data}: give --data to measure on it.", file=sys.stderr)
            continue
        problem = datasets.load(name, data)
        dump_svmlight_file(problem.X, np.where(problem.y, 1, -1), str(folder / name), zero_based=False)
        yield folder / name
    yield make_synthetic(folder / f"synthetic, {megabytes} MB", megabytes)


def make_synthetic(path: Path, megabytes: int) -> Path:
    """Rows of about 50 normal values in 10,000 columns; a tenth of the file is made, and repeated."""
    rng = np.random.default_rng(0)
    rows = 80 * megabytes
    X = sparse.random_array((rows, 10_000), density=0.005, rng=rng, data_sampler=rng.normal, format="csr")
    dump_svmlight_file(X, rng.choice([-1, 1], size=rows), str(path), zero_based=False)
    part = path.read_bytes()
    with path.open("wb") as file:
        while file.tell() < megabytes * 1_000_000:
            file.write(part)
    return path


def read_in_chunks(path: str) -> None:
    for _ in read_svmlight(path, zero_based=False):
        pass


def seconds(read: Callable[[str], object], path: Path) -> float:
    started = time.process_time()
    read(str(path))
    return time.process_time() - started


def check_same(path: Path) -> None:
    for dtype in (np.float64, np.float32):
        X, y = load_svmlight(path, dtype=dtype)
        Z, z = load_svmlight_file(str(path), dtype=dtype)
        pairs = [(X.data, Z.data), (X.indices, Z.indices), (X.indptr, Z.indptr), (y, z)]
        if (
            X.shape != Z.shape
            or X.dtype != Z.dtype
            or not all(np.array_equal(ours, theirs) for ours, theirs in pairs)
        ):
            raise SystemExit(f"{path.name}: the two readers differ in {np.dtype(dtype)}.")


def measure(path: Path) -> dict[str, float]:
    check_same(path)
    readers = [load_svmlight, read_in_chunks, load_svmlight_file]
    read_in_chunks(str(path))  # compiles, if need be
    turns = [[seconds(read, path) for read in readers] for _ in range(5)]
    whole, chunks, theirs = (float(median) for median in np.median(turns, axis=0))
    size = path.stat().st_size / 1e6
    return {
        "megabytes": size,
        "load_svmlight, MB/s": size / whole,
        "read_svmlight, MB/s": size / chunks,
        "scikit-learn, MB/s": size / theirs,
        "load_svmlight / scikit-learn": theirs / whole,
        "read_svmlight / scikit-learn": theirs / chunks,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=datasets.DEFAULT_FOLDER)
    parser.add_argument("--megabytes", type=int, default=200, help="size of the synthetic file")
    options = parser.parse_args()
    report = {}
    print(f"{'file':20s}{'MB':>8s}{'load':>10s}{'chunks':>10s}{'sklearn':>10s}   MB a CPU second, times as fast")
    with tempfile.TemporaryDirectory() as folder:
        for path in make_files(Path(folder), options.data, options.megabytes):
            report[path.name] = measure(path)
            size, whole, chunks, theirs, *ratios = report[path.name].values()
            print(f"{path.name:20s}{size:8.1f}{whole:10.0f}{chunks:10.0f}{theirs:10.1f}", end="")
            print("".join(f"{ratio:8.1f}" for ratio in ratios), flush=True)
    write_json(RESULTS / "svmlight.json", report)


if __name__ == "__main__":
    main()
