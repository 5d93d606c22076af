"""A classifier keeps its promises in any order of fit, partial_fit, save, load, predict and refused input."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from scipy import sparse

from ratewise import MeasureClassifier, load_model, save_model

pytest.importorskip("skops")

seeds, kinds = st.integers(0, 3), st.sampled_from([np.asarray, sparse.csr_matrix])


def rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    return X, (X[:, 0] + 0.3 * rng.normal(size=60) > 0.3).astype(int)


NEW_ROWS = rows(99)[0]


class AnyOrder(RuleBasedStateMachine):
    """``scores`` are what the model said of the new rows after it last learned."""

    def __init__(self):
        super().__init__()
        self.model = MeasureClassifier(solver="stamp", sharpen=False, random_state=0)
        self.scores = None

    @rule(seed=seeds, kind=kinds)
    def fit(self, seed, kind):
        X, y = rows(seed)
        self.model.fit(kind(X), y)
        self.scores = self.model.decision_function(NEW_ROWS)
        again = MeasureClassifier(solver="stamp", sharpen=False, random_state=0).fit(kind(X), y)
        np.testing.assert_array_equal(again.coef_, self.model.coef_)

    @rule(seed=seeds)
    def partial_fit(self, seed):
        X, y = rows(seed)
        self.model.partial_fit(X, y, classes=[0, 1])
        self.scores = self.model.decision_function(NEW_ROWS)

    @precondition(lambda self: self.scores is not None)
    @rule()
    def save_and_load(self):
        file = io.BytesIO()
        save_model(self.model, file)
        file.seek(0)
        self.model = load_model(file)

    @precondition(lambda self: self.scores is not None)
    @rule(
        how=st.sampled_from(["NaN", "columns", "labels", "indices"]),
        method=st.sampled_from(["fit", "partial_fit"]),
    )
    def refused(self, how, method):
        X, y = rows(0)
        if how == "NaN":
            X[3, 1] = np.nan
        elif how == "labels":
            y = y[:-1]
        elif how == "columns":
            X, method = X[:, :2], "partial_fit"
        else:
            X = sparse.csr_matrix(X)
            X.indices[0] = 1000
        with pytest.raises(ValueError, match=r"X|samples"):
            getattr(self.model, method)(X, y)

    @invariant()
    def predicts_as_it_did(self):
        if self.scores is None:
            return
        np.testing.assert_array_equal(self.model.decision_function(NEW_ROWS), self.scores)
        predicted = self.model.predict(NEW_ROWS)
        np.testing.assert_array_equal(predicted, (self.scores > 0).astype(int))


@pytest.mark.slow
class TestAnyOrder(AnyOrder.TestCase):
    settings = settings(max_examples=12, stateful_step_count=8, deadline=None)
