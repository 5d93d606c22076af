"""A measure of your own: compiled into SPADE's inner loop.

A screening program needs the worse of sensitivity and specificity to be high, but requires more of one than of
the other. That is a concave measure, so SPADE can maximize it. SPADE needs the set of slopes (alpha, beta) that
the measure can have, here a segment, and the nearest point of that set to any pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from ratewise import MeasureClassifier
from ratewise.measures import ConcaveMeasure


@dataclass(frozen=True)
class DemandingMin(ConcaveMeasure):
    """min(TPR / t, TNR / (1 - t)) / 2: at t = 1/2 the worse of the two rates; a larger t demands a higher TPR."""

    demand: float = 0.5

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        return 0.5 * np.minimum(np.asarray(tpr) / self.demand, np.asarray(tnr) / (1.0 - self.demand))[()]

    def project(self, alpha: float, beta: float, epsilon: float = 0.0) -> tuple[float, float]:
        # All slopes lie between (1 / 2t, 0), where the TPR binds, and (0, 1 / 2(1 - t)).
        end_alpha, end_beta = 0.5 / self.demand, 0.5 / (1.0 - self.demand)
        along = (end_alpha * alpha - end_beta * (beta - end_beta)) / (end_alpha**2 + end_beta**2)
        along = min(max(along, 0.0), 1.0)
        return along * end_alpha, (1.0 - along) * end_beta


def main() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    malignant = y == 0
    X_train, X_test, y_train, y_test = train_test_split(X, malignant, stratify=malignant, random_state=0)
    print("demand    TPR    TNR   value")
    for demand in (0.5, 0.51):
        classifier = MeasureClassifier(DemandingMin(demand), random_state=0).fit(X_train, y_train)
        predicted = classifier.predict(X_test)
        tpr, tnr = predicted[y_test].mean(), 1 - predicted[~y_test].mean()
        print(f"{demand:6.3f} {tpr:6.3f} {tnr:6.3f} {classifier.score(X_test, y_test):7.3f}")


if __name__ == "__main__":
    main()
