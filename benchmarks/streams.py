"""fit_stream: speed beside reading alone, memory, parity with fit, and models after kill -9.

speed    rows a second of a whole fit, all passes counted, against reading the same windows and learning nothing.
memory   the peak of the resident memory of `ratewise fit` of a 4 GB Parquet file, and of one of twice its size.
parity   test values of fit_stream over a file and of fit over the same rows in memory, on real data.
kills    `ratewise fit --checkpoint` of six formats, killed (SIGKILL) at random and run again: the same model?

Files are made in a temporary folder (in --folder DIR) and removed. Writes benchmarks/results/streams.json; a part
that is not asked for keeps its figures of before.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
from output import RESULTS, read_json, write_json
from streaming import kills, memory, parity, speed

KEPT = RESULTS / "streams.json"
PARTS = ["speed", "memory", "parity", "kills"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=datasets.DEFAULT_FOLDER)
    parser.add_argument(
        "--folder", type=Path, help="where to make files; the system's temporary folder unless given"
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--patience", type=float, default=300.0, help="seconds to wait for quiet rounds, a format")
    parser.add_argument("--millions", type=float, default=4.0, help="rows, for speed; a quarter of them as CSV")
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--kills", type=int, default=32, help="fits that are killed, over six formats")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        if "memory" in options.only and shutil.disk_usage(folder).free < 3e9 * options.gigabytes:
            raise SystemExit(f"Too little room in {folder}: give --gigabytes fewer, or another --folder.")
        parts: dict[str, Callable[[], dict[str, Any]]] = {
            "speed": lambda: speed.measure(folder, options.rounds, options.millions, options.patience),
            "memory": lambda: memory.measure(folder, options.gigabytes),
            "parity": lambda: parity.measure(folder, options.data, options.splits),
            "kills": lambda: kills.measure(folder, options.kills),
        }
        for part in options.only:
            print(f"\n{part}")
            found = parts[part]()
            write_json(KEPT, read_json(KEPT) | {part: found})


if __name__ == "__main__":
    main()
