"""Bands: how often does the band of a curve hold the true curve, on rows whose truth is known?

    python benchmarks/band_coverage.py

Three columns: the log odds bend sharply with the first, are straight in the second, and do not depend on the
third, which is correlated with the second. The score of a model has a scale of its own: the truth is brought to it
by the model's log odds. Counted are the points within 1.6 deviations of the mean of a column. About a minute.
"""

from __future__ import annotations

import argparse

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit, logit

from output import RESULTS, write_json
from ratewise import MeasureClassifier
from ratewise.plots import shapes

CASES = ((2_000, "f1", -1.5, 30), (2_000, "gmean", -1.5, 30), (20_000, "f1", -3.0, 8))
TRUTH = {
    "x0": lambda x: 1.5 * np.abs(x) - 1.5 * np.sqrt(2 / np.pi),
    "x1": lambda x: 0.8 * x,
    "x2": lambda x: 0.0 * x,
}
NAMES = {"x0": "a sharp bend", "x1": "a straight line", "x2": "no influence"}


def held(rows: int, measure: str, constant: float, seed: int) -> dict[str, float]:
    """Return the share of points of each curve whose band holds the truth, for one draw."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    X[:, 2] = 0.5 * X[:, 2] + 0.8 * X[:, 1]
    y = rng.random(rows) < expit(constant + TRUTH["x0"](X[:, 0]) + TRUTH["x1"](X[:, 1]))
    model = MeasureClassifier(measure, basis="splines", random_state=0).fit(X, y)
    share = np.clip(model.predict_proba(X)[:, 1], 1e-9, 1 - 1e-9)
    slope = np.polyfit(model.decision_function(X), logit(share), 1, w=np.sqrt(share * (1 - share)))[0]
    display, found = shapes(model, X), {}
    plt.close(display.figure_)
    for curve in display.curves:
        column = X[:, int(curve.name[1:])]
        near = np.abs(curve.points - column.mean()) < 1.6 * column.std()
        miss = np.abs(curve.values - TRUTH[curve.name](curve.points) / slope)
        found[curve.name] = float(np.mean((miss <= 1.96 * curve.deviations)[near]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, help="of each case; 30, or 8 of the large one, unless given")
    options = parser.parse_args()
    print("| rows | measure | draws | " + " | ".join(NAMES.values()) + " |\n" + "|---" * 6 + "|")
    results = []
    for rows, measure, constant, draws in CASES:
        draws = options.draws or draws
        all_draws = [held(rows, measure, constant, seed) for seed in range(draws)]
        shares = {name: float(np.mean([one[key] for one in all_draws])) for key, name in NAMES.items()}
        results.append({"rows": rows, "measure": measure, "draws": draws, "held": shares})
        print(f"| {rows:,} | {measure} | {draws} | " + " | ".join(f"{one:.1%}" for one in shares.values()) + " |")
    write_json(RESULTS / "band_coverage.json", results)


if __name__ == "__main__":
    main()
