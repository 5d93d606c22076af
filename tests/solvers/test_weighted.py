"""The start that suits any measure is logistic regression, plain, balanced or between."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ratewise.measures import FBeta
from ratewise.solvers import Task, WeightedLogistic
from ratewise.streams import ArrayStream, Standardizer


def rows(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    positive = X @ [1.0, -0.5, 0.0, 0.3] + rng.logistic(size=n) > 2.5
    return X, positive


@pytest.mark.parametrize(("emphasis", "class_weight"), [(0.0, None), (1.0, "balanced")])
def test_a_few_passes_come_near_the_batch_solution(emphasis, class_weight):
    X, positive = rows()
    stream = ArrayStream(
        X, np.where(positive, 1.0, -1.0), Standardizer(4, active=False), np.random.default_rng(0), np.float64
    )
    run = WeightedLogistic(emphasis, passes=5).start(Task(FBeta(1.0), 4, np.float64))
    run.solve(stream)
    batch = LogisticRegression(C=1e6, class_weight=class_weight).fit(X, positive)
    weights, intercept = run.model()
    np.testing.assert_allclose(weights, batch.coef_[0], atol=0.12)
    assert intercept == pytest.approx(batch.intercept_[0], abs=0.25)
