"""How soon Monitor notices that a precision has fallen below its bound, and how often it is wrong.

    python benchmarks/monitor.py [--draws 400] [--rows 1000000]

Rows are rows predicted positive. The bars are the delays of a first prototype, and a fifth more.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from ratewise import Monitor
from ratewise.measures import RecallAtPrecision

BOUND, BEFORE, EVERY, BATCH = 0.9, 0.92, 10_000, 5_000
PROTOTYPE = {0.85: 340, 0.80: 149, 0.60: 37}
QUIET = (0, 300, 2_000)  # rows before the fall
RESULTS = Path(__file__).parent / "results" / "monitor.json"


def update(monitor: Monitor, precision: float, rows: int, rng: np.random.Generator) -> Monitor:
    return monitor.update(rng.random(rows) < precision, np.ones(rows, dtype=bool))


def delay(fall: float, quiet: int, seed: int) -> float:
    """Rows from the fall to the alarm; a false alarm before the fall clears the evidence."""
    rng = np.random.default_rng([seed, quiet, round(100 * fall)])
    monitor = update(Monitor(RecallAtPrecision(BOUND), false_alarm_every=EVERY), BEFORE, quiet, rng)
    if monitor.alarm is not None:
        monitor.reset()
    while monitor.alarm is None:
        update(monitor, fall, 500, rng)
    return float(monitor.alarm_row_ - quiet)


def false_alarms(precision: float, rows: int) -> int:
    """Alarms while the bound holds; after each one the monitor begins anew."""
    rng, alarms = np.random.default_rng(0), 0
    true = rng.random(rows) < precision
    monitor, start = Monitor(RecallAtPrecision(BOUND), false_alarm_every=EVERY), 0
    while start < rows:
        before, batch = monitor.n_rows_, true[start : start + BATCH]
        monitor.update(batch, np.ones(batch.size, dtype=bool))
        start += batch.size
        if monitor.alarm is not None:
            alarms += 1
            start += int(monitor.alarm_row_) - before - batch.size
            monitor = Monitor(RecallAtPrecision(BOUND), false_alarm_every=EVERY)
    return alarms


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    report: dict[str, object] = {"draws": options.draws, "rows": options.rows, "delays": {}}
    print("precision falls to: mean delay (standard error), prototype, after so many quiet rows")
    for fall, bar in PROTOTYPE.items():
        for quiet in QUIET:
            delays = [delay(fall, quiet, seed) for seed in range(options.draws)]
            mean, error = float(np.mean(delays)), float(np.std(delays) / np.sqrt(options.draws))
            report["delays"][f"{fall} after {quiet}"] = round(mean, 1)  # type: ignore[index]
            print(f"{fall:.2f}: {mean:6.1f} ({error:.1f})  {bar}  {quiet:,}", flush=True)
    for precision in (BOUND, BEFORE):
        alarms = false_alarms(precision, options.rows)
        report[f"false alarms at {precision}"] = alarms
        print(
            f"{alarms} alarms in {options.rows:,} rows at {precision}; stated: {options.rows // EVERY}", flush=True
        )
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
