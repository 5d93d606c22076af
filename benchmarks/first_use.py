"""What a newcomer waits for: the first fits of a process, with nothing compiled before and with all of it.

CPU seconds of whole processes, imports included, in a fresh folder for compiled code: the README's digits example,
a first fit of 100,000 rows of 30 columns, ``ratewise warmup`` and ``ratewise --help``. Writes
benchmarks/results/first_use.json.

For a clean environment: install the library alone for the fits and with its extra ``cli`` for the commands.
scikit-learn imports pandas where it is installed, which takes 0.3 s; the results say whether it was.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import resource
import subprocess
import sys
import tempfile

from output import RESULTS, read_json, write_json

DIGITS = """
from sklearn.datasets import load_digits
from ratewise import MeasureClassifier
X, y = load_digits(return_X_y=True)
print(MeasureClassifier("gmean", random_state=0).fit(X, y == 8).rates_)
"""
LARGE = """
import numpy as np
from ratewise import MeasureClassifier
rng = np.random.default_rng(0)
X = rng.standard_normal((100_000, 30), dtype=np.float32)
y = rng.random(100_000) < 1 / (1 + np.exp(3 - X[:, 0] - 0.5 * X[:, 1]))
print(MeasureClassifier("f1", random_state=0).fit(X, y).rates_)
"""
WARMUP = "import sys; from ratewise.cli import main; sys.argv = ['ratewise', 'warmup', '--quiet']; main()"
HELP = "import sys; from ratewise.cli import main; sys.argv = ['ratewise', '--help']; main()"

# What is run, with the CPU seconds it may take: cold, and warm.
ASKED = {
    "digits example": (DIGITS, 4.0, 1.2),
    "100,000 x 30 rows": (LARGE, 8.0, 1.5),
    "ratewise --help": (HELP, 0.3, 0.3),
    "ratewise warmup": (WARMUP, 30.0, None),
}


def cpu_seconds(code: str, cache: str) -> float:
    """CPU time of a child process, its own children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # The library would read loops that were compiled beside its own files.
    only_there = {"NUMBA_CACHE_DIR": cache, "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    environment = os.environ | only_there | {"OPENBLAS_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(ASKED), choices=ASKED)
    options = parser.parse_args()
    path = RESULTS / "first_use.json"
    report = read_json(path)
    pandas = importlib.util.find_spec("pandas") is not None
    for name in options.only:
        code, cold_bar, warm_bar = ASKED[name]
        with tempfile.TemporaryDirectory() as cache:
            cold = cpu_seconds(code, cache)
            warm = None if warm_bar is None else min(cpu_seconds(code, cache) for _ in range(3))
        report[name] = {"cold": cold, "warm": warm, "asked": [cold_bar, warm_bar], "pandas": pandas}
        print(f"{name:20s} cold {cold:6.2f} s (asked {cold_bar})", end="")
        print("" if warm is None else f"   warm {warm:5.2f} s (asked {warm_bar})", flush=True)
        write_json(path, report)


if __name__ == "__main__":
    main()
