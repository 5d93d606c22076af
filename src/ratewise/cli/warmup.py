"""`ratewise warmup`: compile now what would be compiled on first use."""

from __future__ import annotations

from typing import Any

import click

from ._options import quiet_option
from ._output import Meter

_MANY_ROWS = 50_000  # whitened, and read from streams window by window


@click.command()
@quiet_option
def warmup(quiet: bool) -> None:
    """Compile the loops for every measure, dense and sparse rows, memory and files, and keep them on disk.

    Worth it once after installing, for instance when a container image is built.
    """
    from ..measures import measure_names

    X, y = _some_rows()
    jobs = [(name, rows, sharpen) for rows in X for name in measure_names() for sharpen in (False, "auto")]
    with Meter(quiet=quiet) as meter:
        for done, (name, rows, sharpen) in enumerate(jobs):
            meter({"stage": f"compiling {name}", "done_rows": done, "total_rows": len(jobs)})
            _fit(name, rows, y, sharpen)
        meter({"stage": "compiling the loops of files", "done_rows": len(jobs), "total_rows": len(jobs)})
        _fit_large(*_some_rows(_MANY_ROWS))
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

    from .. import ConstraintWarning, MeasureClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)  # nobody will use these models
        MeasureClassifier(name, sharpen=sharpen, validation_fraction=0.5, random_state=0).fit(X, y)


def _fit_large(X: list[Any], y: Any) -> None:
    """Compile what only fits of many rows call, in memory and from streams."""
    from .. import MeasureClassifier, open_stream

    for rows in X:
        MeasureClassifier(random_state=0).fit(rows, y)
        MeasureClassifier(random_state=0).fit_stream(open_stream([(rows, y)]), 2)


def _read_svmlight() -> None:
    """Compile the parser of text."""
    import tempfile
    from pathlib import Path

    from .. import open_stream

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.svm"
        path.write_text("+1 1:0.5 2:1e3 # comment\n-1 qid:1 2:1\n")
        for window in open_stream(path).windows():
            assert window.X.shape[0]
