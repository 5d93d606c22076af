"""The compiled loop of many classes against a slow, obvious one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from ratewise.kernels import learn_classes
from ratewise.kernels.softmax import NEGLIGIBLE_PUSH

_STEP, _GAIN, _EVERY = 3.0, 0.7, 10


def reference(X, codes, weights, ranges, n_classes, class_weights, gains, l2):
    """Steps up the log likelihood, or up the worth of the softmax shares, on a blackboard."""
    W, b = np.zeros((n_classes, X.shape[1])), np.zeros(n_classes)
    sum_W, sum_b, counts = np.zeros_like(W), np.zeros_like(b), np.zeros((n_classes, n_classes))
    t = unsummed = summed = 0
    for i in (i for start, stop in ranges for i in range(start, stop)):
        scores = W @ X[i] + b
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        counts[codes[i], scores.argmax()] += weights[i]
        t += 1
        size = _STEP / math.sqrt(t) * weights[i]
        if gains is None:
            size *= class_weights[codes[i]]
            push = size * (np.eye(n_classes)[codes[i]] - shares)
        else:
            push = size * shares * (gains[codes[i]] - shares @ gains[codes[i]])
        push[np.abs(push) < NEGLIGIBLE_PUSH * size] = 0.0
        W += np.outer(push, X[i])
        b += _GAIN * push
        unsummed += 1
        if unsummed == _EVERY:
            W *= 1.0 - unsummed * l2 * _STEP / math.sqrt(t)
            sum_W, sum_b, summed = sum_W + unsummed * W, sum_b + unsummed * b, summed + unsummed
            unsummed = 0
    return W, b, sum_W, sum_b, counts, (t, summed, unsummed)


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("climbs", [False, True])
@pytest.mark.parametrize("l2", [0.0, 1e-3])
def test_the_loop_does_what_the_blackboard_says(layout, climbs, l2):
    rng = np.random.default_rng(4)
    n, d, n_classes = 120, 7, 4
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    codes, weights = rng.integers(0, n_classes, n), rng.random(n) + 0.5
    class_weights = np.array([1.0, 0.5, 0.2, 0.8])
    gains = rng.random((n_classes, n_classes)) + 2.0 * np.eye(n_classes) if climbs else None
    ranges = [(100, 120), (0, 95)]
    wanted = reference(X, codes, weights, ranges, n_classes, class_weights, gains, l2)

    matrix = sparse.csr_matrix(X)
    rows = X if layout == "dense" else (matrix.data, matrix.indices, matrix.indptr)
    shape = (n_classes, d) if layout == "dense" else (d, n_classes)
    model, model_sum = np.zeros(shape), np.zeros(shape)
    intercepts, intercept_sum = np.zeros(n_classes), np.zeros(n_classes)
    counts, state = np.zeros((n_classes, n_classes)), np.zeros(3)
    starts, stops = (np.array(ends) for ends in zip(*ranges, strict=True))
    steps = (_STEP, _GAIN, l2, _EVERY)
    targets = np.stack([codes, weights], axis=1)
    changed = (model, intercepts, model_sum, intercept_sum, counts, state)
    learn_classes(rows, targets, starts, stops, *changed, steps, class_weights, gains)
    found = (model, model_sum) if layout == "dense" else (model.T, model_sum.T)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(intercepts, wanted[1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found[1], wanted[2], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(intercept_sum, wanted[3], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(counts, wanted[4])
    assert tuple(state) == wanted[5]
