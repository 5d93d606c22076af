"""Draw what Monitor sees of a precision that falls from 0.93 to 0.82 after 2,000 rows.

make figures
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np

from ratewise import Monitor
from ratewise.measures import Bound
from ratewise.plots import MonitorDisplay

PRECISION = Bound((1, 1), (None, 1), 0.9)  # true positives of the rows predicted positive
PRECISIONS, ROWS, BATCH = (0.93, 0.82), 2_000, 20


def draw() -> None:
    rng, monitor = np.random.default_rng(0), Monitor(PRECISION)
    for precision in PRECISIONS:
        for _ in range(ROWS // BATCH):
            monitor.update(rng.random(BATCH) < precision, np.ones(BATCH, dtype=bool))
    figure = MonitorDisplay.from_monitor(monitor).figure_
    figure.savefig(Path(__file__).with_name("monitor.png"), dpi=100)


if __name__ == "__main__":
    draw()
