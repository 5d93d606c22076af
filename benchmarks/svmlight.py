"""Reading svmlight files: the windows of open_stream against scikit-learn's load_svmlight_file, side by side.

One process, the readers taking turns, medians of five, CPU time; compiling is off the clock. Before the clock
starts, both must have read the same float32 matrix, bit for bit. The files are made in a
temporary folder: two real data sets with short integer values, as scikit-learn writes them, and a synthetic file
of 200 MB with floats of 16 digits. Writes benchmarks/results/svmlight.json.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import datasets
from ratewise import open_stream
from ratewise.streams import Window

HERE = Path(__file__).parent
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


def windows_of(path: str, n_features: int) -> Iterator[Window]:
    """Return the rows of a file; without the number of features they would be read twice, once to find it."""
    return open_stream(path, format="svmlight", features=n_features).windows()


def read_windows(path: str, n_features: int) -> None:
    for _ in windows_of(path, n_features):
        pass


def read_whole(path: str, n_features: int) -> None:
    load_svmlight_file(path, n_features=n_features, dtype=np.float32)


def seconds(read: Callable[[str, int], None], path: Path, n_features: int) -> float:
    started = time.process_time()
    read(str(path), n_features)
    return time.process_time() - started


def check_same(path: Path) -> int:
    """Return the number of features, once both readers have read the same."""
    Z, z = load_svmlight_file(str(path), dtype=np.float32)
    windows = list(windows_of(str(path), Z.shape[1]))
    X = sparse.vstack([window.X for window in windows], format="csr")
    y = np.concatenate([window.labels for window in windows])
    pairs = [(X.data, Z.data), (X.indices, Z.indices), (X.indptr, Z.indptr), (y, z)]
    if X.shape != Z.shape or X.dtype != Z.dtype or not all(np.array_equal(*pair) for pair in pairs):
        raise SystemExit(f"{path.name}: the two readers differ.")
    return int(Z.shape[1])


def measure(path: Path) -> dict[str, float]:
    n_features = check_same(path)  # compiles, if need be
    turns = [[seconds(read, path, n_features) for read in (read_windows, read_whole)] for _ in range(5)]
    ours, theirs = (float(median) for median in np.median(turns, axis=0))
    size = path.stat().st_size / 1e6
    return {
        "megabytes": size,
        "open_stream, MB/s": size / ours,
        "scikit-learn, MB/s": size / theirs,
        "open_stream / scikit-learn": theirs / ours,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=datasets.DEFAULT_FOLDER)
    parser.add_argument("--megabytes", type=int, default=200, help="size of the synthetic file")
    options = parser.parse_args()
    report = {}
    print(f"{'file':20s}{'MB':>8s}{'stream':>10s}{'sklearn':>10s}   MB per CPU second, times as fast")
    with tempfile.TemporaryDirectory() as folder:
        for path in make_files(Path(folder), options.data, options.megabytes):
            report[path.name] = measure(path)
            size, ours, theirs, ratio = report[path.name].values()
            print(f"{path.name:20s}{size:8.1f}{ours:10.0f}{theirs:10.1f}{ratio:8.1f}", flush=True)
    target = HERE / "results" / "svmlight.json"
    temporary = target.with_suffix(".tmp")
    temporary.write_text(json.dumps(report, indent=1) + "\n")
    temporary.replace(target)


if __name__ == "__main__":
    main()
