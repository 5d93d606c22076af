"""A report for people without Python: two models of the same rows, in one HTML file.

Fits a linear model for the worse of the two rates, and gradient boosting, on the tumors that come with
scikit-learn; writes ``report.html`` into the current folder, and prints its most important numbers. A few seconds.
"""

from __future__ import annotations

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

import ratewise


def main():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    tumour = y.map({0: "malignant", 1: "benign"})
    X_train, X_test, y_train, y_test = train_test_split(X, tumour, stratify=tumour, random_state=0)
    models = {
        "linear": ratewise.MeasureClassifier("min", pos_label="malignant", random_state=0),
        "boosting": HistGradientBoostingClassifier(max_iter=30, random_state=0),
    }
    for model in models.values():
        model.fit(X_train, y_train)
    report = ratewise.report(models, X_test, y_test, measure="min", pos_label="malignant")
    report.save("report.html")
    for model in report.models:
        found = model.at()
        print(model.name)
        for name in ("TPR", "TNR", "precision", "min"):
            value, low, high = found[name]
            print(f"  {name:10s} {value:.3f} ({low:.3f} to {high:.3f})")
    print(f"wrote report.html: {len(report.html()):,} characters")


if __name__ == "__main__":
    main()
