"""One digit against the rest: what training for the measure itself gains.

Fits the paper's measures on "is it an 8?", the hardest of the one-against-rest problems of scikit-learn's digits
(10% positives), and prints the test value next to logistic regression's, at probability 0.5 and with a threshold
tuned for the measure. About a minute; ``--digit`` for another digit, ``--splits`` for more or fewer 70/30 splits.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ratewise import MeasureClassifier
from ratewise.measures import get_measure

MEASURES = ("min", "hmean", "qmean", "gmean", "f1", "f0.5", "f2", "jaccard", "gower-legendre")


def logistic_regression():
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def compare(name, X, y, seed):
    """Return the test values of the three models for one measure on one split."""
    measure = get_measure(name)
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, test_size=0.3, random_state=seed)
    models = {
        "logistic regression": logistic_regression(),
        "... tuned threshold": TunedThresholdClassifierCV(logistic_regression(), scoring=measure.scorer()),
        "ratewise": MeasureClassifier(name, random_state=0),
    }
    for model in models.values():
        model.fit(X_train, y_train)
    return {label: measure.score(y_test, model.predict(X_test)) for label, model in models.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--digit", type=int, default=8, choices=range(10), metavar="DIGIT")
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args()
    X, y = load_digits(return_X_y=True)
    live = sys.stderr.isatty()
    print(f"digit {options.digit} against the rest, mean test value of {options.splits} 70/30 splits\n")
    rows = []
    for name in MEASURES:
        results = []
        for seed in range(options.splits):
            if live:
                print(f"\r{name}: split {seed + 1}/{options.splits} ", end="", file=sys.stderr, flush=True)
            results.append(compare(name, X, y == options.digit, seed))
        if not rows:
            print(("\r" if live else "") + f"{'measure':16s}" + "".join(f"{label:>22s}" for label in results[0]))
        rows.append({label: np.mean([result[label] for result in results]) for label in results[0]})
        print(("\r" if live else "") + f"{name:16s}" + "".join(f"{value:22.3f}" for value in rows[-1].values()))
    print(f"{'mean':16s}" + "".join(f"{np.mean([row[label] for row in rows]):22.3f}" for label in rows[0]))


if __name__ == "__main__":
    main()
