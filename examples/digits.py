"""Each digit against the rest: what training for the measure itself is worth.

Fits every measure on the ten one-against-rest problems of scikit-learn's digits (about 10% positives each) and
prints the test value next to logistic regression's, at probability 0.5 and with a threshold tuned for the measure.
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
from ratewise.measures import get_measure, measure_names


def logistic_regression():
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def compare(name, X, y, digit):
    """Test values of the three ways for one measure and one digit."""
    measure = get_measure(name)
    X_train, X_test, y_train, y_test = train_test_split(X, y == digit, stratify=y, test_size=0.3, random_state=0)
    rivals = {
        "logistic regression": logistic_regression(),
        "... tuned threshold": TunedThresholdClassifierCV(logistic_regression(), scoring=measure.scorer()),
        "ratewise": MeasureClassifier(name, random_state=0),
    }
    return {
        way: measure.score(y_test, model.fit(X_train, y_train).predict(X_test)) for way, model in rivals.items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--digits", type=int, nargs="*", default=range(10), choices=range(10), metavar="DIGIT")
    digits = parser.parse_args().digits
    X, y = load_digits(return_X_y=True)
    rows = []
    print(f"digits {', '.join(map(str, digits))} against the rest, 70/30 split, mean test value\n")
    for name in measure_names():
        results = []
        for digit in digits:
            if sys.stderr.isatty():
                print(f"\r{name}: digit {digit} ", end="", file=sys.stderr, flush=True)
            results.append(compare(name, X, y, digit))
        if not rows:
            print(f"{'measure':16s}" + "".join(f"{way:>22s}" for way in results[0]))
        means = {way: np.mean([result[way] for result in results]) for way in results[0]}
        rows.append(means)
        print(
            ("\r" if sys.stderr.isatty() else "") + f"{name:16s}" + "".join(f"{v:22.3f}" for v in means.values())
        )
    print(f"{'mean':16s}" + "".join(f"{np.mean([row[way] for row in rows]):22.3f}" for way in rows[0]))


if __name__ == "__main__":
    main()
