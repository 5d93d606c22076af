"""`ratewise warmup`: compile now what would be compiled on first use."""

from __future__ import annotations

from typing import Any

import click

from .options import quiet_option


@click.command()
@quiet_option
def warmup(quiet: bool) -> None:
    """Compile the loops for every measure, dense and sparse rows, memory and files, and keep them on disk.

    Worth it once after installing, for instance when a container image is built.
    """
    from ..measures import measure_names
    from ..solvers import MANY_ROWS
    from .progress import Meter

    X, y = _some_rows()
    jobs = [(name, rows, sharpen) for rows in X for name in measure_names() for sharpen in (False, "auto")]
    with Meter(quiet=quiet) as meter:
        for done, (name, rows, sharpen) in enumerate(jobs):
            meter({"stage": f"compiling {name}", "done_rows": done, "total_rows": len(jobs)})
            _fit(name, rows, y, sharpen)
        meter({"stage": "compiling the loops of files", "done_rows": len(jobs), "total_rows": len(jobs)})
        _fit_large(*_some_rows(MANY_ROWS))
        _read_svmlight()
    if not quiet:
        click.echo(f"Ready: {len(measure_names())} measures, dense and sparse rows.")


def _some_rows(rows: int = 60) -> tuple[list[Any], Any]:
    import numpy as np
    from scipy import sparse

    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3)).astype(np.float32)
    return [X, sparse.csr_matrix(X)], X[:, 0] + rng.normal(size=rows) > 0


def _fit(name: str, X: Any, y: Any, sharpen: bool | str) -> None:
    import warnings

    from ..estimators import MeasureClassifier
    from ..measures import ConstraintWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)  # nobody will use these models
        MeasureClassifier(name, sharpen=sharpen, validation_fraction=0.5, random_state=0).fit(X, y)


def _fit_large(X: list[Any], y: Any) -> None:
    """Many rows are whitened, and streams of them are learned from window by window."""
    from ..estimators import MeasureClassifier
    from ..streams import open_stream

    for rows in X:
        MeasureClassifier(random_state=0).fit(rows, y)
        MeasureClassifier(random_state=0).fit_stream(open_stream([(rows, y)]), 2)


def _read_svmlight() -> None:
    """The parser of text."""
    import io

    from ..streams.formats.svmlight import load_svmlight, read_svmlight

    text = b"+1 1:0.5 2:1e3 # comment\n-1 qid:1 2:1\n"
    for chunk in read_svmlight(io.BytesIO(text)):
        assert chunk.y.size
    load_svmlight(io.BytesIO(text))
