"""(e) Peak memory of a fit above the data, each fit in a process of its own.

The process loads everything, compiles by a small fit, makes its data, and only then looks at what it holds. Linux
only: the peak is the kernel's own mark of the process (VmHWM), set back before the fit.
"""

from __future__ import annotations

import gc
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ratewise import MeasureClassifier

from .points import made_up_dense, made_up_sparse

SHAPES: dict[str, tuple[int, int, str]] = {
    "1,000,000 x 100 float32": (1_000_000, 100, "float32"),
    "4,000,000 x 22 float32": (4_000_000, 22, "float32"),
    "1,000,000 x 100 float64": (1_000_000, 100, "float64"),
    "4,000,000 x 22 float64": (4_000_000, 22, "float64"),
    "1,000,000 x 30 non-zeros, CSR": (1_000_000, 30, "CSR"),
}
FITS: dict[str, dict[str, Any]] = {
    "default": {},
    "sharpen=False": {"sharpen": False},
    "low_memory=True": {"low_memory": True},
    "low_memory=True, sharpen=False": {"low_memory": True, "sharpen": False},
}
SMALL = 60_000  # rows of the fit that compiles: enough for every part of a large fit to run
STATUS = Path("/proc/self/status")


def measure(folder: Path) -> list[dict[str, Any]]:
    if not STATUS.exists():
        print("  Peak memory is read from /proc, which this system has not.")
        return []
    found = []
    for label, shape in SHAPES.items():
        above = {name: in_a_process_of_its_own(shape, settings) for name, settings in FITS.items()}
        found.append({"data": label, "float32 copy, MB": size_of_a_copy(shape), "peak above the data, MB": above})
        shown = "  ".join(f"{name} {peak:.0f}" for name, peak in above.items())
        print(f"  {label:30s} copy {found[-1]['float32 copy, MB']:.0f} MB   peak above: {shown}", flush=True)
    return found


def size_of_a_copy(shape: tuple[int, int, str]) -> float:
    """In MB; of sparse rows, with their column numbers."""
    rows, columns, kind = shape
    return rows * (columns * 8 + 4) / 1e6 if kind == "CSR" else rows * columns * 4 / 1e6


def in_a_process_of_its_own(shape: tuple[int, int, str], settings: dict[str, Any]) -> float:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(peak_above_the_data, shape, settings).result()


def peak_above_the_data(shape: tuple[int, int, str], settings: dict[str, Any]) -> float:
    classifier = MeasureClassifier("f1", random_state=0, **settings)
    classifier.fit(*points(SMALL, *shape[1:]))
    X, y = points(*shape)
    touch(X)
    gc.collect()
    forget_the_peak()
    before = megabytes("VmRSS")
    classifier.fit(X, y)
    return megabytes("VmHWM") - before


def points(rows: int, columns: int, kind: str) -> tuple[Any, np.ndarray]:
    return made_up_sparse(rows, columns) if kind == "CSR" else made_up_dense(rows, columns, np.dtype(kind))


def touch(X: Any) -> None:
    """Have every page of the rows in memory, so that none is counted as the fit's."""
    for part in (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,):
        part.sum()


def forget_the_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def megabytes(mark: str) -> float:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(f"{mark}:"))
    return int(line.split()[1]) * 1024 / 1e6
