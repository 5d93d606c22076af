"""The peak of the resident memory of `ratewise fit`, of a large file and of one twice as large."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from . import tables


def measure(folder: Path, gigabytes: float) -> dict[str, Any]:
    report: dict[str, Any] = {}
    for name in ("Parquet, lz4", "Feather"):
        file, write = tables.WRITERS[name]
        peaks = []
        for factor in (1, 2) if name != "Feather" else (1,):
            path = folder / file
            write(path, int(factor * gigabytes * 1e9 / tables.ROW_BYTES))
            one = {"gigabytes": path.stat().st_size / 1e9} | fit_by_command(path)
            path.unlink()
            peaks.append(one["peak MB"])
            report.setdefault(name, []).append(one)
            print(
                f"{one['gigabytes']:.2f} GB of {name}: peak {one['peak MB']:.0f} MB, {one['seconds']:.0f} s",
                flush=True,
            )
        if len(peaks) == 2:
            report["larger over smaller"] = peaks[1] / peaks[0]
            print(f"twice the file takes {peaks[1] / peaks[0] - 1.0:+.1%}")
    return report


def fit_by_command(path: Path) -> dict[str, float]:
    words = [
        sys.executable,
        "-m",
        "ratewise",
        "fit",
        path,
        "--target",
        "label",
        "--max-memory",
        "0",
        "-q",
        "-o",
        path.with_name("model"),
    ]
    began = time.perf_counter()
    process = subprocess.Popen(words)
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, high_water_mark(process.pid))
        time.sleep(0.05)
    if process.returncode != 0:
        raise SystemExit(f"ratewise fit ended with {process.returncode}.")
    path.with_name("model").unlink()
    return {"peak MB": peak, "seconds": time.perf_counter() - began}


def high_water_mark(pid: int) -> float:
    """The most a process has held so far, in MB: the system's own mark, so that no peak is missed between looks.

    (What wait4 tells of a child counts its parent's memory in, if that was larger.)
    """
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM")), 0.0)
