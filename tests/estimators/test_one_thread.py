"""Linear algebra keeps to one thread while a fit is going on."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from ratewise import MeasureClassifier
from ratewise.measures import get_measure

POOLS = ThreadpoolController().select(user_api="blas")  # to find them takes longer than a fit


def blas_threads():
    return {pool["num_threads"] for pool in POOLS.info()}


@pytest.mark.parametrize("classes", [2, 3])
def test_a_fit_keeps_blas_to_one_thread_and_gives_the_others_back(classes):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    y = np.digitize(X[:, 0], np.linspace(-0.5, 0.5, classes - 1))
    seen = set()

    def balanced(tpr, tnr):
        seen.update(blas_threads())
        return 0.5 * (tpr + tnr)

    measure = get_measure(balanced)  # tries the function
    seen.clear()
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        MeasureClassifier(measure, random_state=0).fit(X, y)
        assert blas_threads() == before == {2}
    assert seen == {1}
