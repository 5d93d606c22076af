"""Why a threshold is not enough: what the best one of logistic regression reaches, and what training for F1 does.

Two groups of rows, each with its own slope, and one linear model for both. Draws the curves of all thresholds of
two models in the plane of the two rates, over the lines of equal F1, and writes them to the file named on the
command line; without a name it prints the numbers only. A few seconds.
"""

from __future__ import annotations

import argparse

import matplotlib

matplotlib.use("Agg")  # draws into files: no screen is needed

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from ratewise import MeasureClassifier
from ratewise.decisions.cuts import best_threshold
from ratewise.measures import get_measure
from ratewise.plots._style import BLUE, VERMILLION, PlaneWindow, draw_level_curves

WINDOW = PlaneWindow(0.0, 0.9, 0.84, 1.0)


def rows(number: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and labels; the group that is far away is easy, and most rows are in it."""
    rng = np.random.default_rng(seed)
    far = rng.random(number) < 0.7
    X = rng.normal(size=(number, 2)) * np.where(far[:, None], [1.0, 4.0], [1.0, 1.0])
    X[far, 0] -= 3.0
    near = 1 / (1 + np.exp(4.0 - 3.0 * X[:, 0] + 2.0 * X[:, 1]))
    return X, rng.random(number) < np.where(far, 0.02 + 0.08 * (X[:, 1] > 0), near)


def curve(scores: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rates at every threshold."""
    order = np.argsort(-scores)
    return np.cumsum(y[order]) / y.sum(), 1 - np.cumsum(~y[order]) / (~y).sum()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("figure", nargs="?", help="where to write the figure: .png or .svg")
    options = parser.parse_args()
    measure = get_measure("f1")
    X, y = rows(20_000, 0)
    X_test, y_test = rows(200_000, 1)
    models = {
        "logistic regression": (LogisticRegression().fit(X, y), VERMILLION),
        "trained for F1": (MeasureClassifier(measure, random_state=0).fit(X, y), BLUE),
    }
    plt.rcParams.update({"svg.hashsalt": "ratewise", "font.size": 11})
    figure, ax = plt.subplots(figsize=(7.2, 4.6), layout="constrained")
    draw_level_curves(ax, measure, float(y_test.mean()), WINDOW, number=9, avoid=None)
    for name, (model, colour) in models.items():
        scores = model.decision_function(X_test)
        tpr, tnr = curve(scores, y_test)
        some = np.linspace(0, tpr.size - 1, 1500).astype(int)
        ax.plot(tpr[some], tnr[some], color=colour, linewidth=2.2, label=f"{name}: every threshold")
        best = best_threshold(scores, np.where(y_test, 1.0, -1.0), measure)
        print(f"{name}: F1 {best.value:.3f} at the best threshold there is")
        ax.plot(*best.rates[:2], "o", color=colour, markersize=9, label=f"its best threshold: F1 {best.value:.3f}")
        if colour is VERMILLION:
            at_half = model.predict(X_test)
            rates = at_half[y_test].mean(), 1 - at_half[~y_test].mean()
            value = float(measure.value(*rates, y_test.mean()))
            print(f"{name}: F1 {value:.3f} at probability 1/2")
            style = {"color": colour, "markersize": 10, "markeredgewidth": 2.5, "clip_on": False, "zorder": 4}
            ax.plot(*rates, "x", label=f"at probability 1/2: F1 {value:.3f}", **style)
    ax.set(xlabel="TPR: share of the positives found", ylabel="TNR: share of the negatives left alone")
    ax.set_xlim(WINDOW.low_tpr, WINDOW.high_tpr)
    ax.set_ylim(WINDOW.low_tnr, WINDOW.high_tnr)
    ax.legend(loc="center right", framealpha=0.97, fontsize=9.5)
    if options.figure:
        vector = options.figure.endswith(".svg")
        figure.savefig(options.figure, dpi=120, metadata={"Date": None} if vector else None)
        print(f"wrote {options.figure}")
    plt.close(figure)


if __name__ == "__main__":
    main()
