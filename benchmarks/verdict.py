"""The claims about quality, checked against benchmarks/results/quality.json, one line each."""

from __future__ import annotations

import sys

import numpy as np

from quality import KEPT, MEASURES, Results, mean_gain

TARGETS = {
    "ijcnn1": [0.720, 0.562, 0.896, 0.895, 0.896, 0.890],
    "covtype-5": [0.305, 0.180, 0.868, 0.864, 0.867, 0.858],
}


def say(met: bool, claim: str) -> None:
    print(f"{'met   ' if met else 'MISSED'} {claim}")


def mean(results: Results, data: str, method: str, measure: str) -> float:
    return float(results.values(data, method, measure).mean())


def is_below_the_better_plug_in(results: Results, data: str, measure: str) -> bool:
    """By more than 0.01, or one standard error if that is more."""
    values = results.values(data, "ratewise", measure)
    slack = max(0.01, float(values.std(ddof=1) / np.sqrt(values.size)))
    best = max(mean(results, data, rival, measure) for rival in ("plug-in", "balanced plug-in"))
    return values.mean() < best - slack


def main() -> None:
    results = Results(KEPT)
    needed = ("ratewise", "plug-in", "balanced plug-in", "class-weight sweep", "soft confusion")
    missing = [
        f"{method} on {data}"
        for data in results.data_sets()
        for method in needed
        if not all(results.values(data, method, measure).size for measure in MEASURES)
    ]
    if missing:
        sys.exit(f"Run benchmarks/quality.py first; not measured yet: {', '.join(missing)}.")
    for data, targets in TARGETS.items():
        for measure, target in zip(MEASURES, targets, strict=True):
            found = mean(results, data, "ratewise", measure)
            say(found >= target, f"{data} {measure}: {found:.4f}, target {target:.3f}")
    cells = [(data, measure) for data in results.data_sets() for measure in MEASURES]
    below = [cell for cell in cells if is_below_the_better_plug_in(results, *cell)]
    say(not below, f"not below the better plug-in: {len(cells) - len(below)} of {len(cells)} cells {below}")
    for rival, margin in (("plug-in", 0.02), ("class-weight sweep", 0.01), ("soft confusion", 0.0)):
        gain = mean_gain(results, lambda data, rival=rival: rival)
        say(gain >= margin, f"mean gain on {rival}: {gain:+.4f}, target {margin:+.2f}")

    def customary(data: str) -> str:
        name = "plug-in, StandardScaler"
        return name if results.values(data, name, "f1").size else "plug-in"

    gain = mean_gain(results, customary)
    say(gain >= 0.02, f"mean gain on the plug-in with sparse columns scaled by StandardScaler: {gain:+.4f}")


if __name__ == "__main__":
    main()
