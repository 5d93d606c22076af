"""The small fixed workloads whose instructions are counted; run by benchmarks/instructions.py.

Each is counted over all of its points and over the first half. The difference is what the second half cost: calls,
checks and Python cancel out. Every count begins from the same fresh state, since what a loop does depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ratewise.kernels import (
    StepSizes,
    add_column_moments,
    bin_scores,
    count_predicted,
    evenly_mixed_order,
    gather_standardized,
    hash_dense_rows,
    merge_column_moments,
)
from ratewise.kernels.numpy_fallbacks import compiled_only
from ratewise.measures import get_measure
from ratewise.rewards import Hinge, Logistic, Reward, Sigmoid
from ratewise.solvers.learner import Learner, LearnSettings
from ratewise.solvers.state import Chunk, kernel_rows
from ratewise.training.rows import ArrayRows
from ratewise.transforms import Standardizer

from .callgrind import Callgrind
from .points import SHARE_OF_POSITIVES, made_up_dense, made_up_sparse, rows_of

POINTS = 4096


class Workload(NamedTuple):
    label: str
    prepare: Callable[[int], Callable[[], Any]]
    """From a number of points to the call to count, with a state of its own."""


def learning(label: str, rows: ArrayRows, reward: Reward, measure_name: str | None) -> Workload:
    """The one loop that learns: with hinge as SPADE and STAMP use it, with smooth rewards as sharpening does."""
    measure = None if measure_name is None else get_measure(measure_name)
    settings = fixed_settings(rows, smooth=not isinstance(reward, Hinge))

    def prepare(points: int) -> Callable[[], Any]:
        learner = Learner(rows.n_features, rows.dtype)
        learner.class_weights = (0.5, 0.5)
        chunk = Chunk(kernel_rows(rows.X), rows.signed_weights, np.array([0]), np.array([points]))
        return lambda: learner.learn(chunk, settings, reward, measure)

    return Workload(label, prepare)


def fixed_settings(rows: ArrayRows, *, smooth: bool) -> LearnSettings:
    """About what the solvers would set, but fixed here: other step sizes are not another loop."""
    p, values_a_row = SHARE_OF_POSITIVES, rows.n_values / rows.n_points
    steps = StepSizes(
        step=64.0 / values_a_row if smooth else 0.4 / math.sqrt(values_a_row),
        dual_step=0.0 if smooth else 0.2,
        conjugate_sign=1.0,
        per_positive=1.0 if smooth else 1.0 / p,
        per_negative=1.0 if smooth else 1.0 / (1.0 - p),
        l2=0.0,
        intercept_gain=1.0,
        average_every=max(16, rows.n_features // 50),
    )
    return LearnSettings(steps)


def learning_workloads() -> list[Workload]:
    forms = {f"{d} columns": rows_of(*made_up_dense(POINTS, d)) for d in (22, 54, 784)}
    forms |= {f"CSR, {k} a row": rows_of(*made_up_sparse(POINTS, k)) for k in (10, 100)}
    cases = [(form, name) for form in forms for name in ("pair held", "qmean", "min")]
    cases += [("22 columns", "hmean"), ("22 columns", "gmean")]
    held = {"pair held": None}
    by_hinge = [
        learning(f"learn, hinge, {name}, {form}", forms[form], Hinge(), held.get(name, name))
        for form, name in cases
    ]
    by_sigmoid = [learning(f"learn, sigmoid, {form}", rows, Sigmoid(), None) for form, rows in forms.items()]
    return [
        *by_hinge,
        *by_sigmoid,
        learning("learn, logistic, 22 columns", forms["22 columns"], Logistic(), None),
    ]


def other_workloads() -> list[Workload]:
    X, y = made_up_dense(POINTS, 54)
    S, _ = made_up_sparse(POINTS, 30)
    shift, factor = Standardizer(54).update(X).shift_and_factor(X.dtype)
    order = evenly_mixed_order(y, np.random.default_rng(0))
    scores, signs = X[:, 0].copy(), np.where(y, 1.0, -1.0).astype(np.float32)

    def dense_moments(n: int) -> Callable[[], Any]:
        return lambda: merge_column_moments(X[:n], 0.0, np.zeros(54), np.zeros(54))

    def sparse_moments(n: int) -> Callable[[], Any]:
        last, d = S.indptr[n], S.shape[1]
        return lambda: add_column_moments(S.data[:last], S.indices[:last], np.zeros(d), np.zeros(d))

    def gather(n: int) -> Callable[[], Any]:
        out = np.empty((n, 54), dtype=np.float32)
        return lambda: gather_standardized(X, order[:n], shift, factor, out)

    def binning(n: int) -> Callable[[], Any]:
        return lambda: bin_scores(scores[:n], signs[:n], -6.0, 12.0 / 8192, np.zeros((2, 8192)))

    def hashing(n: int) -> Callable[[], Any]:
        return lambda: hash_dense_rows(X[:n].view(np.uint32), np.empty(n, dtype=np.uint64))

    def counting(n: int) -> Callable[[], Any]:
        return lambda: count_predicted(scores[:n], signs[:n], 0.5)

    return [
        Workload("column moments, 54 columns", dense_moments),
        Workload("column moments, CSR, 30 a row", sparse_moments),
        Workload("standardized gather, 54 columns", gather),
        Workload("row hashes, 54 columns", hashing),
        Workload("bin_scores", binning),
        Workload("count_predicted", counting),
    ]


def main() -> None:
    workloads = [*learning_workloads(), *other_workloads()]
    for workload in workloads:
        workload.prepare(POINTS // 2)()  # compiles, or loads what is compiled
    callgrind = Callgrind()
    for workload in workloads:
        for points in (POINTS // 2, POINTS):
            callgrind.count(f"{workload.label} | {points}", workload.prepare(points))


if __name__ == "__main__":
    with compiled_only():
        main()
