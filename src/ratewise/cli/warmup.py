"""`ratewise warmup`: compile all loops now instead of on first use."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click

from ._options import quiet_option
from ._output import Meter

_FEW_ROWS = 60


class MadeUpRows(NamedTuple):
    """Made-up rows, dense or CSR."""

    X: Any
    y: Any


class Job(NamedTuple):
    stage: str
    run: Callable[[], object]


@click.command()
@quiet_option
def warmup(quiet: bool) -> None:
    """Compile all loops ahead of time, and keep them on disk.

    These are the loops for every measure, for dense and sparse rows, in memory and from files. Worth it once after
    installing, for instance when a container image is built.
    """
    from .. import ConstraintWarning
    from ..kernels.numpy_fallbacks import compiled_only
    from ..measures import measure_names

    todo = list(jobs())
    with Meter(quiet=quiet) as meter, warnings.catch_warnings(), compiled_only():
        warnings.simplefilter("ignore", ConstraintWarning)  # nobody will use these models
        for done, job in enumerate(todo):
            meter({"stage": f"compiling {job.stage}", "done_rows": done, "total_rows": len(todo)})
            job.run()
    if not quiet:
        click.echo(f"Ready: {len(measure_names())} measures, dense and sparse rows.")


def jobs() -> Iterator[Job]:
    """Yield fits that together call every loop with all the types that any fit uses."""
    import numpy as np

    from ..measures import measure_names
    from ..training import config

    for rows in made_up_rows(_FEW_ROWS, np.float32):
        for name in measure_names():
            yield Job(name, partial(_fit, name, rows, sharpen=False))
    for dtype in (np.float32, np.float64):
        for rows in made_up_rows(config.MANY_ROWS, dtype):
            yield Job("fits of many rows", partial(_fit, "f1", rows))
            yield Job("fits with sample weights", partial(_fit, "f1", rows, weighted=True))
            yield Job("streams in windows", partial(_fit_in_windows, rows))
            yield Job("partial_fit", partial(_fit_in_batches, rows))
            yield Job("curves and pairs", partial(_fit_in_a_basis, rows))
    yield Job("the reader of svmlight", read_svmlight)


def made_up_rows(number: int, dtype: Any) -> Iterator[MadeUpRows]:
    """Yield the same rows, dense and as CSR."""
    import numpy as np
    from scipy import sparse

    rng = np.random.default_rng(0)
    X = rng.normal(size=(number, 3)).astype(dtype)
    y = X[:, 0] + rng.normal(size=number) > 0
    yield MadeUpRows(X, y)
    yield MadeUpRows(sparse.csr_matrix(X), y)


def _fit(name: str, rows: MadeUpRows, *, sharpen: bool | str = "auto", weighted: bool = False) -> None:
    import numpy as np

    from .. import MeasureClassifier

    weights = np.linspace(0.5, 1.5, rows.y.size) if weighted else None
    fraction = 0.5 if rows.y.size == _FEW_ROWS else "auto"  # two folds of few rows are as good as five
    classifier = MeasureClassifier(name, sharpen=sharpen, validation_fraction=fraction, random_state=0)
    classifier.fit(rows.X, rows.y, sample_weight=weights).predict(rows.X)


def _fit_in_windows(rows: MadeUpRows) -> None:
    from .. import MeasureClassifier, open_stream

    for fraction in ("auto", 0.5):  # many rows have one fold, unless a fraction is given
        classifier = MeasureClassifier(validation_fraction=fraction, random_state=0)
        with tempfile.TemporaryDirectory() as folder:  # with a checkpoint, streams of any size are read in windows
            classifier.fit_stream(open_stream([tuple(rows)]), 2, checkpoint=Path(folder) / "checkpoint")


def _fit_in_batches(rows: MadeUpRows) -> None:
    from .. import MeasureClassifier

    classifier = MeasureClassifier(random_state=0)
    for batch in (slice(0, 100), slice(100, 200)):
        classifier.partial_fit(rows.X[batch], rows.y[batch], classes=[False, True])


def _fit_in_a_basis(rows: MadeUpRows) -> None:
    from .. import MeasureClassifier

    MeasureClassifier("f1", basis="pairs", random_state=0).fit(rows.X, rows.y).predict(rows.X[:100])


def read_svmlight() -> None:
    from .. import open_stream

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.svm"
        path.write_text("+1 1:0.5 2:1e3 # comment\n-1 qid:1 2:1\n")
        for window in open_stream(path).windows():
            assert window.X.shape[0]
