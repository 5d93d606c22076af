"""Curves and pairs, drawn: what each column adds to the score, and why one row scores as it does.

Makes up 6,000 loans whose truth is known: risk is lowest at 45, falls with income up to a point, is higher
at night for large amounts, and higher for those who leave their income out. Fits F1 with straight lines and with
curves and pairs, draws the second and writes it to the PNG named on the command line. A few seconds.
"""

from __future__ import annotations

import argparse

import matplotlib

matplotlib.use("Agg")  # draws into files: no screen is needed

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ratewise import MeasureClassifier
from ratewise.plots import shapes


def loans(rows, seed):
    """Return a table of loans, and how each was paid back."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.uniform(18, 80, rows).round(),
            "income": (rng.gamma(4, 9, rows) + 8).round(1),  # in thousands
            "amount": rng.lognormal(1.5, 0.5, rows).round(2),
            "night": (rng.random(rows) < 0.3).astype(float),
            "height": rng.normal(172, 9, rows).round(),  # tells nothing
        }
    )
    risk = (
        0.003 * (table["age"] - 45) ** 2
        - 0.05 * np.minimum(table["income"], 50)
        + 0.35 * (table["amount"] - 5) * (table["night"] - 0.3)
        - 1.0
    )
    left_out = rng.random(rows) < 0.1
    risk[left_out] += 1.0
    table.loc[left_out, "income"] = np.nan
    late = rng.random(rows) < 1.0 / (1.0 + np.exp(-risk))
    return table, np.where(late, "late", "on time")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("png", nargs="?", help="where to write the figure")
    options = parser.parse_args()
    X, y = loans(6_000, seed=0)
    X_new, y_new = loans(6_000, seed=1)

    straight = MeasureClassifier("f1", pos_label="late", random_state=0).fit(X.fillna(X.mean()), y)
    print(f"F1 of straight lines:    {straight.score(X_new.fillna(X.mean()), y_new):.3f}")
    curved = MeasureClassifier("f1", basis="pairs", pos_label="late", random_state=0).fit(X, y)
    print(f"F1 of curves and pairs:  {curved.score(X_new, y_new):.3f}")

    display = shapes(curved, X, most=6)
    for curve in display.curves:
        print(f"{curve.name:18s} moves the score by {curve.importance:.2f}")
    for pair in display.pairs:
        print(f"{pair.name:18s} moves the score by {pair.importance:.2f}")

    explained = curved.explain(X_new)
    riskiest = int(np.argmax(explained.scores))
    print(f"The riskiest new loan: {X_new.iloc[riskiest].to_dict()}")
    print(f"  {'a loan of means':18s} {explained.base:+.2f}")
    for name, value in explained.largest(row=riskiest, number=4):
        print(f"  {name:18s} {value:+.2f}")
    print(f"  {'score':18s} {explained.scores[riskiest]:+.2f}: above 0, late is predicted")
    if options.png:
        display.figure_.savefig(options.png, dpi=110)
        print(f"wrote {options.png}")
    plt.close(display.figure_)


if __name__ == "__main__":
    main()
