"""How to calibrate probabilities before expected costs are taken: what each way costs on made-up data.

The log odds of a row are normal, its amount is lognormal. An alert costs 10 and a miss the amount. The
probabilities that a way to calibrate is given are true, or distorted. Printed is the expected cost of its
decisions on 40,000 new rows above the least possible, in percent: of each calibration, of the best by out-of-fold
costs (the simplest within half a standard error), and of ``cost_calibration``, which chooses by out-of-fold log
loss.

One thread. Prints a table and writes benchmarks/results/cost_calibration.json; a few minutes.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy.special import expit

from output import RESULTS, write_json
from ratewise.decisions.costs import (
    calibrated_probabilities,
    calibrations,
    cost_calibration,
    expected_costs,
    row_costs,
)

DISTORTIONS = {
    "true": lambda odds: odds,
    "too sure": lambda odds: 2.0 * odds,
    "too unsure": lambda odds: 0.5 * odds,
    "balanced": lambda odds: odds + 3.0,
    "steep top": lambda odds: odds + np.maximum(2.0 * odds - 1.0, 0.0),
    "flat top": lambda odds: np.minimum(odds, 0.0) + 0.2 * np.maximum(odds, 0.0),
    "cubic": lambda odds: 0.05 * odds**3,
}
MEAN_AND_SPREAD = {"4% positive": (-5.0, 2.2), "0.6% positive": (-9.0, 3.0)}
SIZES, NEW_ROWS, FOLDS = (1_000, 20_000), 40_000, 5
NAMES = ["none", "line", "curve", "by costs", "ratewise"]


def drawn(odds: np.ndarray, distort: Any, random: np.random.Generator) -> tuple[Any, Any, Any]:
    codes = (random.random(odds.size) < expit(odds)).astype(int)
    given = expit(distort(odds))
    kinds = {
        "false_positive": 10.0,
        "true_positive": 10.0,
        "false_negative": random.lognormal(4.0, 1.5, odds.size),
    }
    return np.column_stack([1.0 - given, given]), codes, row_costs(kinds, odds.size, 2)


def decided(probabilities: np.ndarray, calibration: np.ndarray, costs: np.ndarray) -> np.ndarray:
    return np.asarray(expected_costs(calibrated_probabilities(probabilities, calibration), costs).argmin(axis=1))


def by_costs(probabilities: np.ndarray, codes: np.ndarray, costs: np.ndarray) -> int:
    """Return the place of the simplest calibration whose out-of-fold cost is close to the best."""
    fold = np.empty(codes.size, dtype=int)
    fold[np.argsort(codes, kind="stable")] = np.arange(codes.size) % FOLDS
    spent = np.zeros((3, codes.size))
    for held in (fold == number for number in range(FOLDS)):
        for place, fit in enumerate(calibrations(2)):
            found = fit(np.log(probabilities[~held]), codes[~held], np.ones((~held).sum()))
            choices = decided(probabilities[held], found, costs[held])
            spent[place, held] = costs[held][np.arange(choices.size), codes[held], choices]
    more = spent - spent[spent.sum(axis=1).argmin()]
    return int((more.sum(axis=1) <= 0.5 * more.std(axis=1) * np.sqrt(codes.size)).argmax())


def regrets(distort: Any, place: tuple[float, float], n_rows: int, seed: int) -> list[float]:
    random = np.random.default_rng(seed)
    probabilities, codes, costs = drawn(random.normal(*place, n_rows), distort, random)
    new_odds = random.normal(*place, NEW_ROWS)
    new, _, new_costs = drawn(new_odds, distort, random)
    true = expit(new_odds)
    expected = expected_costs(np.column_stack([1.0 - true, true]), new_costs)
    ones = np.ones(n_rows)
    ways = [fit(np.log(np.maximum(probabilities, 1e-12)), codes, ones) for fit in calibrations(2)]
    ways += [ways[by_costs(probabilities, codes, costs)], cost_calibration(probabilities, codes, ones)]
    spent = [expected[np.arange(NEW_ROWS), decided(new, way, new_costs)].sum() for way in ways]
    return [float(100.0 * (one / expected.min(axis=1).sum() - 1.0)) for one in spent]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=5)
    draws = parser.parse_args().draws
    rows = []
    print(" " * 35, *(f"{name:>9}" for name in NAMES))
    for share, place in MEAN_AND_SPREAD.items():
        for n_rows in SIZES:
            for name, distort in DISTORTIONS.items():
                means = np.mean([regrets(distort, place, n_rows, seed) for seed in range(draws)], axis=0)
                values = dict(zip(NAMES, means.tolist(), strict=True))
                rows.append({"share": share, "rows": n_rows, "probabilities": name, "percent": values})
                print(f"{share:15}{n_rows:7,} {name:12}", *(f"{one:9.1f}" for one in means))
        mean = np.mean([list(one["percent"].values()) for one in rows if one["share"] == share], axis=0)
        print(f"{share:15}{'mean':20}", *(f"{one:9.1f}" for one in mean))
    write_json(RESULTS / "cost_calibration.json", {"draws": draws, "rows": rows})


if __name__ == "__main__":
    main()
