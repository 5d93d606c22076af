"""`ratewise warmup`: compile now what would be compiled on first use."""

from __future__ import annotations

from typing import Any

import click

from .options import quiet_option


@click.command()
@quiet_option
def warmup(quiet: bool) -> None:
    """Compile the loops for every measure, for dense and for sparse rows, and keep them on disk.

    Worth it once after installing, for instance when a container image is built.
    """
    from ..measures import measure_names
    from .progress import Meter

    X, y = _some_rows()
    jobs = [(name, rows, sharpen) for rows in X for name in measure_names() for sharpen in (False, "auto")]
    with Meter(quiet=quiet) as meter:
        for done, (name, rows, sharpen) in enumerate(jobs):
            meter({"stage": f"compiling {name}", "done_rows": done, "total_rows": len(jobs)})
            _fit(name, rows, y, sharpen)
    if not quiet:
        click.echo(f"Ready: {len(measure_names())} measures, dense and sparse rows.")


def _some_rows() -> tuple[list[Any], Any]:
    import numpy as np
    from scipy import sparse

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)).astype(np.float32)
    return [X, sparse.csr_matrix(X)], X[:, 0] + rng.normal(size=60) > 0


def _fit(name: str, X: Any, y: Any, sharpen: bool | str) -> None:
    import warnings

    from ..estimators import MeasureClassifier
    from ..measures import ConstraintWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)  # nobody will use these models
        MeasureClassifier(name, sharpen=sharpen, validation_fraction=0.5, random_state=0).fit(X, y)
