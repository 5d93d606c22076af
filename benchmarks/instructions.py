"""The guard against slowdowns: instructions that each compiled loop spends on a point, counted under valgrind.

A count does not depend on what else the machine is doing. Nor on the machine: the loops are compiled for one fixed
processor, with a cache of their own, and valgrind does the rest. Another version of the compiler may give other
counts; the file names the version they are of. Fails where a count is more than 5% above that in
benchmarks/results/instructions.json; ``--update`` writes the new counts there. Takes a minute or two.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from output import RESULTS, read_json, write_json

HERE = Path(__file__).parent
KEPT = RESULTS / "instructions.json"
TOLERANCE = 0.05
PROCESSOR = {
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+avx,+avx2,+bmi,+bmi2,+cmov,+cx16,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sse,"
    "+sse2,+sse3,+sse4.1,+sse4.2,+ssse3",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="accept the counts as they are now")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("Instructions are counted by valgrind, which is not installed (apt install valgrind).")
    accepted = read_json(KEPT)
    now = {"counted with": compiler(), "instructions a point": count()}
    before = accepted.get("instructions a point", {})
    print_table(before, now["instructions a point"])
    if options.update or not accepted:
        write_json(KEPT, now)
        return
    slower = [name for name, count in now["instructions a point"].items() if is_slower(before.get(name), count)]
    gone = sorted(set(before) - set(now["instructions a point"]))
    if slower or gone:
        sys.exit(message(slower, gone, accepted["counted with"], now["counted with"]))


def is_slower(before: float | None, now: float) -> bool:
    """A loop that was not counted before is not slower."""
    return before is not None and now > before * (1.0 + TOLERANCE)


def message(slower: list[str], gone: list[str], before: str, now: str) -> str:
    lines = [f"More than {TOLERANCE:.0%} above the accepted count: {name}." for name in slower]
    lines += [f"Accepted, but no longer counted: {name}." for name in gone]
    if before != now:
        lines.append(f"The accepted counts are of {before}, these of {now}: the compiler may be why.")
    return "\n".join([*lines, "If it is meant, accept it: python benchmarks/instructions.py --update"])


def compiler() -> str:
    import llvmlite
    import numba

    return f"numba {numba.__version__}, llvmlite {llvmlite.__version__}, for {PROCESSOR['NUMBA_CPU_NAME']}"


def count() -> dict[str, float]:
    """Instructions a point of every workload."""
    with tempfile.TemporaryDirectory() as folder:
        python = [sys.executable, "-m", "timing.workloads"]
        environment = (
            os.environ
            | PROCESSOR
            | {
                "NUMBA_CACHE_DIR": f"{folder}/cache",
                "PYTHONHASHSEED": "0",
                "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
                "OPENBLAS_NUM_THREADS": "1",
            }
        )
        run(python, environment)  # compiles; under valgrind that would take many minutes
        run(
            [
                "valgrind",
                "--tool=callgrind",
                "--instr-atstart=no",
                f"--callgrind-out-file={folder}/counts",
                *python,
            ],
            environment,
        )
        return per_point([path.read_text() for path in Path(folder).glob("counts.*")])


def run(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-3000:]}")


def per_point(dumps: list[str]) -> dict[str, float]:
    """From callgrind's files, one for all points of a workload and one for half of them."""
    counts: dict[str, dict[int, int]] = {}
    for dump in dumps:
        label = re.search(r"^desc: Trigger: Client Request: (.+) \| (\d+)$", dump, re.MULTILINE)
        total = re.search(r"^summary: (\d+)", dump, re.MULTILINE)
        if label and total:
            counts.setdefault(label[1], {})[int(label[2])] = int(total[1])
    if not counts:
        sys.exit("Valgrind counted nothing: is this its callgrind, on x86-64?")
    found = {}
    for name, totals in sorted(counts.items()):
        (half, fewer), (whole, more) = sorted(totals.items())
        found[name] = round((more - fewer) / (whole - half), 2)
    return found


def print_table(before: dict[str, float], now: dict[str, float]) -> None:
    print(f"{'instructions a point':45s}{'accepted':>10s}{'now':>10s}")
    for name, count in now.items():
        change = f"{count / before[name] - 1:+8.1%}" if name in before else "     new"
        mark = "  SLOWER" if is_slower(before.get(name), count) else ""
        print(f"{name:45s}{before.get(name, float('nan')):10.1f}{count:10.1f}{change}{mark}")


if __name__ == "__main__":
    main()
