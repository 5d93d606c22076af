"""`ratewise report`: one HTML file about a model, for people without Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ._options import MeasureName, NewFile, format_option, quiet_option
from ._output import Meter

_SLICED_COLUMNS = 20


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="MODEL DATA...")
@click.option("-o", "--output", type=NewFile(), required=True, help="The HTML file to write.")
@click.option("--target", metavar="COLUMN", help="The column with the labels; the model's own unless given.")
@click.option("--weight", metavar="COLUMN", help="A column of sample weights.")
@click.option(
    "--and", "others", multiple=True, metavar="MODEL", help="Another model to set beside it; repeatable."
)
@click.option(
    "--slice",
    "slices",
    multiple=True,
    metavar="COLUMN",
    help="Group rows by this column; all of a few if not given.",
)
@click.option(
    "--measure", type=MeasureName(), help="What to judge by; what the model was trained for unless given."
)
@click.option("--score", metavar="COLUMN", help="DATA are scores of any model, in this column; there is no MODEL.")
@click.option(
    "--threshold", type=float, help="With --score: rows above it are called positive; the best if not given."
)
@click.option("--title", help="The title of the page.")
@format_option
@quiet_option
def report(
    files: tuple[str, ...],
    output: str,
    target: str | None,
    weight: str | None,
    others: tuple[str, ...],
    slices: tuple[str, ...],
    measure: str | None,
    score: str | None,
    threshold: float | None,
    title: str | None,
    file_format: str | None,
    quiet: bool,
) -> None:
    """Write a report about a model on rows with labels: one HTML file that needs nothing else.

    It says in words what to expect, with intervals, and has sliders for the threshold and the prevalence. The file
    holds counts, no rows.

    \b
    ratewise report model.skops test.parquet -o report.html
    ratewise report scores.csv --score score --target label -o report.html
    """
    from ._data import refuse_inputs_as_outputs, written

    sources = files if score is not None else files[1:]
    refuse_inputs_as_outputs({"-o": output}, sources, file_format, *files, *others)
    with Meter(quiet=quiet) as meter:
        if score is not None:
            if others or slices:
                raise click.UsageError("--and and --slice need a MODEL; --score is for scores alone.")
            made = _of_scores(files, score, target, weight, measure, threshold, file_format, meter)
        else:
            if len(files) < 2:
                raise click.UsageError("Give a model and then the data: ratewise report MODEL DATA... -o FILE.")
            if threshold is not None:
                raise click.UsageError("--threshold is for --score; a model has its own.")
            made = _of_models((files[0], *others), files[1:], target, weight, measure, slices, file_format, meter)
    if title:
        made.title = title
    page = made.html().encode("utf-8")
    with written(output) as file:
        file.write(page)
    if not quiet and output != "-":
        click.echo(f"Wrote {output}: {len(page):,} bytes.", err=True)


def _of_models(
    paths: tuple[str, ...],
    sources: tuple[str, ...],
    target: str | None,
    weight: str | None,
    measure: str | None,
    slices: tuple[str, ...],
    file_format: str | None,
    meter: Meter,
) -> Any:
    from ..reports import Report
    from ._data import load_two_class, stream_for, target_of

    found: list[Any] = []
    for path in paths:
        classifier = load_two_class(path)
        encoder = getattr(classifier, "encoder_", None)
        labels_in = target_of(classifier, target)
        stream = stream_for(classifier, sources, target=labels_in, file_format=file_format, weight=weight)
        rows = _StreamRows.of(classifier, stream, encoder, slices, meter, weighted=weight is not None)
        found.append(Report.from_scored(classifier, rows.scores, rows.labels, measure, rows.weights, rows.columns))
        name = Path(path).stem
        known = [one.models[0].name for one in found[:-1]]
        found[-1].models[0].name = name if name not in known else f"{name} ({len(found)})"
    return Report([one.models[0] for one in found])


class _StreamRows:
    """Scores, labels, weights and the columns to group by, of all rows of a stream."""

    def __init__(self) -> None:
        self.scores: Any = []
        self.labels: Any = []
        self.weights: Any = []
        self.columns: dict[str, Any] = {}

    @classmethod
    def of(
        cls, classifier: Any, stream: Any, encoder: Any, slices: tuple[str, ...], meter: Meter, *, weighted: bool
    ) -> _StreamRows:
        import numpy as np

        from ._data import scores_of, windows_with_progress
        from .evaluate import check_labels

        rows, spans = cls(), _spans(encoder, slices)
        kept: dict[str, list[Any]] = {name: [] for name in spans}
        for window in windows_with_progress(stream, meter, "counting"):
            check_labels(window, classifier.classes_)
            rows.scores.append(scores_of(classifier, window))
            rows.labels.append(window.labels)
            rows.weights.append(window.weights)
            for name, (start, values) in spans.items():
                kept[name].append(_column(window.X, start, values))
        if not rows.scores:
            raise ValueError("There are no rows to report on.")
        rows.scores, rows.labels = np.concatenate(rows.scores), np.concatenate(rows.labels)
        rows.weights = np.concatenate(rows.weights) if weighted else None
        rows.columns = {name: np.concatenate(parts) for name, parts in kept.items()}
        return rows


def _spans(encoder: Any, slices: tuple[str, ...]) -> dict[str, tuple[int, list[str] | None]]:
    """Return where each column to group by begins in the matrix, and the values of a category."""
    columns = [] if encoder is None else list(encoder.columns)
    for name in slices:
        if name not in columns:
            raise click.UsageError(
                f"--slice: the model has no column {name}. Its columns: {', '.join(columns[:20])}."
            )
    few = len(columns) <= _SLICED_COLUMNS
    found: dict[str, tuple[int, list[str] | None]] = {}
    start = 0
    for name in columns:
        category = name in encoder.categories
        values = list(encoder.vocabularies.get(name, ())) if category else None
        hashed = category and name in encoder.buckets
        if not hashed and (name in slices if slices else category or few):
            found[name] = (start, values)
        start += encoder.width(name)
    return found


def _column(X: Any, start: int, values: list[str] | None) -> Any:
    import numpy as np

    part = X[:, start : start + (1 if values is None else len(values))]
    part = part.toarray() if hasattr(part, "toarray") else part
    if values is None:
        return np.array(part[:, 0], dtype=np.float64)
    names = np.array([*values, "missing or unknown"])
    return (
        names[np.where(part.any(axis=1), part.argmax(axis=1), len(values))] if values else names[[0] * len(part)]
    )


def _of_scores(
    sources: tuple[str, ...],
    score: str,
    target: str | None,
    weight: str | None,
    measure: str | None,
    threshold: float | None,
    file_format: str | None,
    meter: Meter,
) -> Any:
    import numpy as np

    from ..reports import Report
    from ._data import open_sources, windows_with_progress

    if target is None:
        raise click.UsageError("--score needs --target, the column with the labels.")
    stream = open_sources(sources, file_format, features=[score], target=target, weight=weight)
    parts = [(one.X, one.labels, one.weights) for one in windows_with_progress(stream, meter, "counting")]
    scores, labels = (np.concatenate([part[place] for part in parts]) for place in (0, 1))
    if scores.shape[1] != 1:
        raise ValueError(f"{score} is not a column of numbers.")
    return Report.from_scores(
        scores[:, 0],
        labels,
        measure=measure or "f1",
        threshold=None if threshold is None else float(np.float32(threshold)),  # the scores are float32 too
        sample_weight=None if weight is None else np.concatenate([part[2] for part in parts]),
        name=score,
    )
