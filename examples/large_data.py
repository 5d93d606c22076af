"""A fit from a folder of Parquet files: larger than memory if you like, evaluated on new files.

    python examples/large_data.py                        # a few seconds
    python examples/large_data.py --rows 20_000_000      # the figures of docs/large-data.md

Transactions: amounts and habits as numbers, a country as text, some numbers missing; one in twenty is fraud.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ratewise import MeasureClassifier, open_stream, save_model
from ratewise.measures import get_measure

COLUMNS = 30
COUNTRIES = np.array(["AT", "BR", "CH", "DE", "FR", "IN", "JP", "US"])


def some_rows(rows: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    common = np.random.default_rng(0)  # the correlations and the weights are the same in every file
    X = rng.standard_normal((rows, COLUMNS), dtype=np.float32)
    X[:, :10] += X[:, 10:20] @ common.normal(size=(10, 10)).astype(np.float32)
    country = rng.integers(0, len(COUNTRIES), size=rows)
    score = X @ common.normal(size=COLUMNS).astype(np.float32) / 4.0 + 2.0 * (country == 2)
    fraud = score + rng.standard_normal(rows) > 5.2
    X[rng.random(rows) < 0.01, 3] = np.nan
    columns = {f"habit_{j}": X[:, j].copy() for j in range(COLUMNS)}
    return pa.table({**columns, "country": COUNTRIES[country], "fraud": fraud})


def write_folder(folder: Path, rows: int, seed: int, rows_per_file: int = 250_000) -> None:
    folder.mkdir()
    for number, start in enumerate(range(0, rows, rows_per_file)):
        table = some_rows(min(rows_per_file, rows - start), seed + number)
        pq.write_table(table, folder / f"{number:03d}.parquet", row_group_size=65_536, compression="lz4")


def evaluate(classifier: MeasureClassifier, folder: Path) -> tuple[float, float, float]:
    """Return TPR, TNR and the share of fraud, counted window by window."""
    counts = np.zeros((2, 2))
    for window in open_stream(folder, target="fraud", encoder=classifier.encoder_).windows():
        predicted = window.X @ classifier.coef_[0] + classifier.intercept_[0] > 0
        np.add.at(counts, (window.labels.astype(int), predicted.astype(int)), 1.0)
    return counts[1, 1] / counts[1].sum(), counts[0, 0] / counts[0].sum(), counts[1].sum() / counts.sum()


def peak_megabytes() -> float:
    """Return the peak memory of this process so far. Not available on Windows; macOS counts in bytes."""
    try:
        import resource
    except ImportError:
        return float("nan")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--measure", default="f1")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name)
        write_folder(folder / "train", options.rows, seed=1)
        write_folder(folder / "test", max(options.rows // 10, 50_000), seed=10_000)
        size = sum(path.stat().st_size for path in (folder / "train").iterdir())
        print(f"{options.rows:,} rows in {len(list((folder / 'train').iterdir()))} files, {size / 1e9:.2f} GB")

        stages: dict[str, None] = {}
        began = time.perf_counter()
        stream = open_stream(folder / "train", target="fraud")
        classifier = MeasureClassifier(options.measure, random_state=0).fit_stream(
            stream,
            checkpoint=folder / "fraud.checkpoint",  # after a crash, the same call continues from here
            progress=lambda report: stages.setdefault(report["stage"]),
        )
        seconds = time.perf_counter() - began
        save_model(classifier, folder / "fraud.skops")

        rate = options.rows * len(stages) / seconds / 1e6
        print(f"fitted in {seconds:.1f} s: {len(stages)} passes, {rate:.2f} million rows per second")
        print(f"peak memory {peak_megabytes():,.0f} MB, Python and its libraries included")
        print(f"missing numbers: {classifier.survey_.missing}")
        tpr, tnr, prevalence = evaluate(classifier, folder / "test")
        print(f"on new rows, of which {prevalence:.2%} are fraud: TPR {tpr:.4f}, TNR {tnr:.4f}")
        for measure in dict.fromkeys([options.measure, "f1", "gmean", "min"]):
            print(f"  {measure:6s} {get_measure(measure).value(tpr, tnr, prevalence):.4f}")


if __name__ == "__main__":
    main()
