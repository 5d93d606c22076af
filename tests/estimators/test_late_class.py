"""Streams whose first rows are all of one class, or of few positives."""

from __future__ import annotations

import io

import numpy as np
import pytest

from ratewise import MeasureClassifier, load_model, save_model


def stream(n_rows: int, share: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.random(n_rows) < share
    return rng.normal(size=(n_rows, 5)) + 2.5 * y[:, np.newaxis] * [1, 1, 0, 0, 0], y


@pytest.mark.parametrize("half_life", ["auto", None])
def test_a_class_that_comes_late_is_learned_at_once(half_life):
    model = MeasureClassifier("f1", half_life=half_life, random_state=0)
    model.partial_fit(*stream(20_000, 0.0), classes=[False, True])
    model.partial_fit(*stream(3_000, 0.05, seed=1))
    assert model.score(*stream(5_000, 0.05, seed=2)) > 0.5


@pytest.mark.parametrize("half_life", ["auto", None])
def test_negatives_alone_are_answered_with_the_negative_class_and_the_state_goes_on(half_life):
    model = MeasureClassifier("f1", half_life=half_life, random_state=0)
    X, y = stream(5_000, 0.0)
    model.partial_fit(X, y, classes=[False, True])
    assert not model.predict(X).any()

    file = io.BytesIO()
    save_model(model, file, state=True)
    file.seek(0)
    restored = load_model(file)
    for one in (model, restored):
        one.partial_fit(*stream(3_000, 0.05, seed=1))
    np.testing.assert_array_equal(model.coef_, restored.coef_)
    np.testing.assert_array_equal(model.intercept_, restored.intercept_)
