"""The penalised start is logistic regression as scikit-learn has it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from ratewise.measures import FBeta
from ratewise.solvers import BatchLogistic, Task
from ratewise.streams import ArrayStream, Standardizer


@pytest.mark.parametrize("as_csr", [False, True])
@pytest.mark.parametrize("C", [0.03, 1.0])
@pytest.mark.parametrize(("emphasis", "class_weight"), [(0.0, None), (1.0, "balanced")])
def test_it_agrees_with_scikit_learn(emphasis, class_weight, C, as_csr):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 4))
    positive = X @ [1.0, -0.5, 0.0, 0.3] + rng.logistic(size=500) > 1.5
    # Balanced weights sum to twice the points of a class there, and to ((1-p) + (1-p)) times them here.
    total = 2 * (1 - positive.mean()) if emphasis else 1.0
    rows = sparse.csr_matrix(X) if as_csr else X
    signs = np.where(positive, 1.0, -1.0)
    stream = ArrayStream(rows, signs, Standardizer(4, active=False), np.random.default_rng(0), np.float64)
    run = BatchLogistic(emphasis, C).start(Task(FBeta(1.0), 4, np.float64))
    run.solve(stream)
    theirs = LogisticRegression(C=C * total, class_weight=class_weight, tol=1e-8).fit(X, positive)
    weights, intercept = run.model()
    np.testing.assert_allclose(weights, theirs.coef_[0], atol=0.01)
    assert intercept == pytest.approx(theirs.intercept_[0], abs=0.01)


def test_a_penalty_of_nothing_is_refused():
    with pytest.raises(ValueError, match="BatchLogistic: C must be a number above 0; got 0"):
        BatchLogistic(C=0)
