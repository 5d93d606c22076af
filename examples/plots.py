"""Four plots of a fit: its path, its threshold, its history, and a comparison with other models.

Fits F1 on "is it an 8?" of scikit-learn's digits, draws the four displays of ``ratewise.plots`` on one figure and
writes it to the PNG named on the command line; without a name it prints the numbers only. A few seconds.
"""

from __future__ import annotations

import argparse

import matplotlib

matplotlib.use("Agg")  # draws into files: no screen is needed

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ratewise import MeasureClassifier
from ratewise.measures import get_measure
from ratewise.plots import ComparisonDisplay, HistoryDisplay, RatesPlaneDisplay, ThresholdDisplay


def logistic_regression():
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def draw(models, X_test, y_test):
    """Draw the four displays on one figure."""
    classifier = models["ratewise"]
    figure, axes = plt.subplots(2, 2, figsize=(13, 11), layout="constrained")
    plane = RatesPlaneDisplay.from_estimator(classifier, X_test, y_test, ax=axes[0, 0], name="path and frontier")
    threshold = ThresholdDisplay.from_estimator(classifier, X_test, y_test, ax=axes[0, 1], name="threshold")
    history = HistoryDisplay.from_estimator(classifier, ax=axes[1, 0], name="history")
    comparison = ComparisonDisplay.from_estimators(models, X_test, y_test, ax=axes[1, 1])
    comparison.ax_.set_title("three models")
    return figure, plane, threshold, history, comparison


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("png", nargs="?", help="where to write the figure")
    options = parser.parse_args()
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y == 8, stratify=y == 8, random_state=0)
    models = {
        "ratewise": MeasureClassifier("f1", random_state=0),
        "logistic regression": logistic_regression(),
        "... tuned threshold": TunedThresholdClassifierCV(
            logistic_regression(), scoring=get_measure("f1").scorer()
        ),
    }
    for model in models.values():
        model.fit(X_train, y_train)
    figure, _, threshold, history, comparison = draw(models, X_test, y_test)
    print(f"checkpoints of the fit: {history.history['value'].size} in {len(history.lines_)} runs")
    print(f"F1 at the chosen threshold {threshold.chosen.value:.3f}, at the best one {threshold.best.value:.3f}")
    for name, value in zip(comparison.names, comparison.values, strict=True):
        print(f"{name:22s} {value:.3f}")
    if options.png:
        figure.savefig(options.png, dpi=120)
        print(f"wrote {options.png}")
    plt.close(figure)


if __name__ == "__main__":
    main()
