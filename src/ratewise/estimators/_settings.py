"""Check the parameters of a classifier and turn them into the configuration of a fit."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from functools import cache
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from ..decisions.sensitive import require_sensitive
from ..features import SplineBasis
from ..features.pairs import FEW_COLUMNS
from ..features.splines import Basis, BasisSettings
from ..measures import (
    Measure,
    one_vs_rest_measure,
)
from ..solvers import Sharpen, WeightedLogistic, get_solver
from ..training import FitConfig
from ._folds import is_number_of_folds

_MOST_PASSES = 100_000


def fit_config(classifier: Any, *, online: bool = False, sensitive: bool = False, **more: Any) -> FitConfig:
    """Return the configuration of a fit from a classifier's parameters, or raise one sentence on an invalid one.

    ``online`` is for rows that arrive in batches: then nothing is sharpened. ``sensitive`` means that rows have
    groups, which bounds may concern.
    """
    measure = one_vs_rest_measure(classifier.measure)
    require_sensitive(measure, sensitive)
    named = None if classifier.solver == "auto" else get_solver(classifier.solver, measure)
    _check(classifier)
    sharpens = classifier.threshold == "tune" if classifier.sharpen == "auto" else bool(classifier.sharpen)
    # Sharpening starts from logistic regression for every measure.
    suited = WeightedLogistic() if sharpens and not online else None
    sharpen = classifier.sharpen if isinstance(classifier.sharpen, Sharpen) else Sharpen()
    share, cv = getattr(classifier, "validation_fraction", "auto"), getattr(classifier, "cv", None)
    if cv is not None:
        _check_folds(cv, share, sharpens=sharpens, online=online)
    if is_number_of_folds(cv):
        share = 1.0 / cv
    return FitConfig(
        measure,
        named or suited or get_solver("auto", measure),
        named,
        sharpen if sharpens else None,
        tune=classifier.threshold == "tune",
        l2=float(classifier.alpha),
        validation_fraction=None if share == "auto" else float(share),
        standardize=bool(classifier.standardize),
        basis=basis_asked_for(getattr(classifier, "basis", None)),
        half_life=half_life_asked_for(classifier, measure) if online else None,
        **more,
    )


def half_life_asked_for(classifier: Any, measure: Measure) -> str | float | None:
    """Return the setting that ``half_life`` means.

    "auto" means None if a solver or threshold="zero" is given, and if the measure has bounds: their threshold is
    certified on a sample of all rows.
    """
    asked = classifier.half_life
    plain = classifier.solver == "auto" and classifier.threshold == "tune"
    if asked is None or (isinstance(asked, str) and asked == "auto"):
        return asked if plain and not measure.bounds else None
    if not isinstance(asked, Real) or isinstance(asked, bool) or not 1 <= float(asked) <= math.inf:
        raise ValueError(f"half_life must be 'auto', None or a number of rows of 1 or more; got {asked!r}.")
    if not plain:
        raise ValueError(
            "A half_life in rows takes logistic regression with a threshold on recent rows: leave solver='auto' "
            "and threshold='tune', or set half_life=None."
        )
    return float(asked)


def basis_asked_for(basis: Any) -> BasisSettings | Basis | str | None:
    """Return the basis that a classifier's parameter ``basis`` means."""
    if basis is None or isinstance(basis, Basis) or (isinstance(basis, str) and basis == "auto"):
        return basis
    if isinstance(basis, str) and basis in ("splines", "pairs"):
        return BasisSettings(pairs=basis == "pairs")
    if not isinstance(basis, SplineBasis):
        raise ValueError(
            f"basis must be None, 'splines', 'pairs', 'auto' or a ratewise.features.SplineBasis; got {basis!r}."
        )
    if hasattr(basis, "basis_"):
        return basis.basis_
    basis.check()
    return BasisSettings(bool(basis.pairs), int(basis.n_knots), float(basis.hinge_deviation))


def require_basis_columns(basis: Any, names: Any) -> None:
    """Raise an error if a fitted SplineBasis has other column names than the rows; None means unknown names."""
    fitted = getattr(basis, "feature_names_in_", None)
    if fitted is None or names is None or len(fitted) != len(names):  # numbers of columns are compared later
        return
    pairs = [(str(theirs), str(ours)) for theirs, ours in zip(fitted, names, strict=True)]
    other = next((place for place, (theirs, ours) in enumerate(pairs) if theirs != ours), None)
    if other is not None:
        raise ValueError(
            f"The basis was fitted on other columns: number {other} was {pairs[other][0]!r}, and in X it is "
            f"{pairs[other][1]!r}. Give X the columns of the basis in their order, or a basis that is not fitted."
        )


def shared_basis(asked: Any, n_columns: int, what: str) -> BasisSettings | Basis:
    """Return a basis for several models (for classes, labels or later rows), chosen without labels."""
    if isinstance(asked, str):
        raise ValueError(f"basis='auto' chooses for two classes, and y has {what}: name 'splines' or 'pairs'.")
    if isinstance(asked, BasisSettings) and asked.pairs and n_columns > FEW_COLUMNS:
        raise ValueError(
            f"Of {n_columns} columns, basis='pairs' keeps the products that tell two classes apart, and y has "
            f"{what}: use basis='splines'."
        )
    found: BasisSettings | Basis = asked
    return found


def passes_asked_for(passes: Any) -> int | None:
    """Return the number of passes over the data that a user wants; None lets the fit choose."""
    if isinstance(passes, str) and passes == "auto":
        return None
    if not isinstance(passes, Integral) or isinstance(passes, bool) or not 0 < int(passes) <= _MOST_PASSES:
        raise ValueError(f"passes must be 'auto' or a whole number from 1 to {_MOST_PASSES:,}; got {passes!r}.")
    return int(passes)


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
    if not classifier.standardize and getattr(classifier, "basis", None) is not None:
        raise ValueError("A basis brings columns to one scale: leave standardize=True, or set basis=None.")
    encode = getattr(classifier, "encode", None)
    if encode is not None and encode != "auto":
        raise ValueError(f"encode must be 'auto' or None; got {encode!r}.")
    fraction = getattr(classifier, "validation_fraction", "auto")
    if fraction != "auto" and not (isinstance(fraction, Real) and 0 < float(fraction) <= 0.5):
        raise ValueError(f"validation_fraction must be 'auto' or above 0 and at most 0.5; got {fraction!r}.")


def _check_folds(cv: Any, share: Any, *, sharpens: bool, online: bool) -> None:
    if online:
        raise ValueError("partial_fit has no folds: set cv=None, or learn from all rows at once by fit.")
    if share != "auto":
        raise ValueError("cv and validation_fraction both say which rows validate: give one of them.")
    if not sharpens:
        raise ValueError(
            "cv= has stages chosen by validation rows, and without sharpening there are none: set it to None."
        )
    if is_number_of_folds(cv) and cv < 2:
        raise ValueError(f"cv must be 2 folds or more, a splitter or an iterable of splits; got {cv!r}.")


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep BLAS to one thread.

    A fit computes thousands of products that take microseconds each: BLAS threads would wait for one another most
    of the time. The threads of ``n_jobs`` share larger pieces of work.
    """
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit


@cache
def _controller() -> ThreadpoolController:
    """Return the controller, created once: finding the libraries takes longer than many fits."""
    return ThreadpoolController()
