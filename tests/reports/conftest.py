"""A browser, if the machine has one, and a report of two models in it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import ratewise
from ratewise import MeasureClassifier


def table(rows, seed):
    """Three numbers, a text that two groups share, and a label; one group is harder than the other."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(rows, 3)), columns=["age", "height", "noise"])
    group = rng.choice(["north", "south"], size=rows)
    blur = np.where(group == "south", 3.0, 0.3)
    label = frame["age"] + blur * rng.normal(size=rows) > 1.2
    return frame, group, np.where(label, "fraud", "fine")


@pytest.fixture(scope="session")
def rows():
    return table(1500, 1)


@pytest.fixture(scope="session")
def models():
    X, _, y = table(1500, 0)
    return {
        "ratewise": MeasureClassifier("f1", sharpen=False, random_state=0).fit(X, y),
        "logistic": LogisticRegression().fit(X, y),
    }


@pytest.fixture(scope="session")
def two(models, rows):
    X, group, y = rows
    return ratewise.report(models, X, y, slices={"region": group}, title="Two <models> & {{data}}")


@pytest.fixture(scope="session")
def browser():
    import browser as driver

    if driver.missing():
        pytest.skip("There is no chromium with chromedriver here.")
    one = driver.Browser()
    yield one
    one.quit()
