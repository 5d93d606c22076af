"""What ratewise costs: passes, time to a rival's quality, growth and memory, against bars and side by side.

Sections: passes (a), sgd (b), reach (c), growth (d), memory (e), files (f), rivals (g), cost (h), threads (i); in
benchmarks/timing. A section's figures are kept in benchmarks/results/speed.json as soon as it is done; ``--only``
measures some sections anew, ``--resume`` those that the file lacks, ``--page`` none. Then docs/speed.md and its
pictures are made of that file.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from pathlib import Path

import numba
import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_limits

import datasets
from output import RESULTS, read_json, write_json, write_text
from timing import charts, cost, files, growth, memory, page, passes, plot, reach, rivals, sgd
from timing.targets import targets

HERE = Path(__file__).parent
KEPT = RESULTS / "speed.json"
PAGE = HERE.parent / "docs" / "speed.md"
PICTURE = HERE.parent / "docs" / "speed.svg"
SECTIONS = {
    "passes": passes.measure,
    "sgd": sgd.measure,
    "reach": reach.measure,
    "growth": growth.measure,
    "memory": memory.measure,
    "files": files.measure,
    "rivals": rivals.measure,
    "cost": cost.measure,
    "threads": cost.measure_threads,
}


def circumstances() -> dict[str, str]:
    """What the figures depend on besides the code."""
    versions = {"numpy": np, "scipy": scipy, "scikit-learn": sklearn, "numba": numba}
    return {
        "on": time.strftime("%Y-%m-%d"),
        "processor": processor(),
        "load before": f"{os.getloadavg()[0]:.1f}",
        "Python": platform.python_version(),
    } | {name: module.__version__ for name, module in versions.items()}


def processor() -> str:
    listed = Path("/proc/cpuinfo")
    if listed.exists():
        names = [line.split(":")[1].strip() for line in listed.read_text().splitlines() if "model name" in line]
        if names:
            return f"{names[0]}, {len(names)} cores"
    return platform.processor() or platform.machine()


def run(name: str, folder: Path) -> None:
    print(f"\n{name}: {SECTIONS[name].__module__}", flush=True)
    measured, started = circumstances(), time.perf_counter()
    with threadpool_limits(1):
        found = SECTIONS[name](folder)
    measured["seconds taken"] = f"{time.perf_counter() - started:.0f}"
    write_json(KEPT, read_json(KEPT) | {name: {"measured": measured, "found": found}})


def report() -> None:
    sections = read_json(KEPT)
    print()
    for one in targets(sections):
        verdict = "met   " if one.met else "MISSED"
        print(f"{verdict} {one.shown:>12s}, bar {one.bar:.3g}{one.unit}: {one.claim} ({one.where})")
    if "reach" in sections and sections["reach"]["found"]:
        plot.draw(sections["reach"]["found"], PICTURE)
    if "cost" in sections:
        found = sections["cost"]["found"] | {
            name: sections[name]["found"] for name in ("threads",) if name in sections
        }
        charts.draw_rates(found, PICTURE.with_name("speed-rows.svg"))
        charts.draw_costs(found, PICTURE.with_name("speed-cost.svg"))
    write_text(PAGE, page.page(sections, PICTURE.stem))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=datasets.DEFAULT_FOLDER, help="folder of NAME.npz files")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--only", nargs="+", choices=list(SECTIONS), help="sections to measure")
    which.add_argument("--resume", action="store_true", help="measure the sections that the results lack")
    which.add_argument("--page", action="store_true", help="measure nothing; make the page anew")
    options = parser.parse_args()
    if not options.data.is_dir():
        print(f"There is no folder {options.data}: only made-up data. Give one with --data.", file=sys.stderr)
    known = read_json(KEPT) if options.resume else {}
    chosen = [] if options.page else options.only or [name for name in SECTIONS if name not in known]
    for name in chosen:
        run(name, options.data)
    report()


if __name__ == "__main__":
    main()
