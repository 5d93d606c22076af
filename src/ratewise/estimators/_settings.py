"""The parameters of a classifier, checked, and what its fits have in common."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from contextlib import AbstractContextManager
from functools import cache
from numbers import Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from ..measures import ConstraintWarning, get_measure
from ..solvers import Sharpen, get_solver
from ..training import FitConfig


def fit_config(classifier: Any, **more: Any) -> FitConfig:
    """Return what a classifier's parameters ask of a fit, or raise one sentence on what is wrong with them."""
    measure = get_measure(classifier.measure)
    solver = get_solver(classifier.solver, measure)
    _check(classifier)
    sharpens = classifier.threshold == "tune" if classifier.sharpen == "auto" else bool(classifier.sharpen)
    sharpen = classifier.sharpen if isinstance(classifier.sharpen, Sharpen) else Sharpen()
    share = getattr(classifier, "validation_fraction", "auto")
    return FitConfig(
        measure,
        solver,
        None if classifier.solver == "auto" else solver,
        sharpen if sharpens else None,
        tune=classifier.threshold == "tune",
        l2=float(classifier.alpha),
        validation_fraction=None if share == "auto" else float(share),
        standardize=bool(classifier.standardize),
        **more,
    )


def threads_of(n_jobs: int | None) -> int:
    return int(effective_n_jobs(n_jobs))


def _check(classifier: Any) -> None:
    if classifier.threshold not in ("tune", "zero"):
        raise ValueError(f"threshold must be 'tune' or 'zero'; got {classifier.threshold!r}.")
    if not isinstance(classifier.sharpen, (bool, Sharpen)) and classifier.sharpen != "auto":
        raise ValueError(f"sharpen must be 'auto', True, False or a Sharpen; got {classifier.sharpen!r}.")
    if classifier.threshold == "zero" and classifier.sharpen not in ("auto", False):
        raise ValueError("threshold='zero' needs sharpen=False: sharpening ends with the choice of a threshold.")
    if not isinstance(classifier.alpha, Real) or not 0 <= float(classifier.alpha) < np.inf:
        raise ValueError(f"alpha must be a finite number of 0 or more; got {classifier.alpha!r}.")
    encode = getattr(classifier, "encode", None)
    if encode is not None and encode != "auto":
        raise ValueError(f"encode must be 'auto' or None; got {encode!r}.")
    fraction = getattr(classifier, "validation_fraction", "auto")
    if fraction != "auto" and not (isinstance(fraction, Real) and 0 < float(fraction) <= 0.5):
        raise ValueError(f"validation_fraction must be 'auto' or above 0 and at most 0.5; got {fraction!r}.")


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep BLAS to one thread.

    A fit asks for thousands of products that take microseconds each: its threads would wait for one another for
    most of the time. Threads asked for by ``n_jobs`` share larger pieces of work.
    """
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit


@cache
def _controller() -> ThreadpoolController:
    """Finding the libraries takes longer than many a fit: once will do."""
    return ThreadpoolController()


def first_message(names: Iterable[str], messages: Iterable[str | None]) -> str | None:
    """Return the message on the first of several classes or labels that misses a bound."""
    found = ((name, message) for name, message in zip(names, messages, strict=True) if message is not None)
    return next((f"{name}: {message}" for name, message in found), None)


def warn_of_constraints(message: str | None, stacklevel: int) -> None:
    if message is not None:
        warnings.warn(message, ConstraintWarning, stacklevel=stacklevel + 1)
