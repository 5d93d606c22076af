"""`ratewise report`: one HTML file about a model, for people without Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ._costs import OF_THE_FIT, costs_for, costs_options, given_costs
from ._options import (
    MeasureName,
    NewFile,
    decimal_option,
    drop_unlabelled_option,
    format_option,
    positive_option,
    quiet_option,
    sensitive_option,
    target_option,
    weight_option,
)
from ._output import Meter, printable

_SLICED_COLUMNS = 20


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="MODEL DATA...")
@click.option("-o", "--output", type=NewFile(), required=True, help="The HTML file to write.")
@target_option
@weight_option
@positive_option
@sensitive_option
@costs_options(OF_THE_FIT)
@drop_unlabelled_option
@click.option(
    "--and", "others", multiple=True, metavar="MODEL", help="Another model to compare with. May be repeated."
)
@click.option(
    "--slice",
    "slices",
    multiple=True,
    metavar="COLUMN",
    help="Group rows by this column; by all of a few if not given. May be repeated.",
)
@click.option(
    "--measure", type=MeasureName(), help="What to judge by; what the model was trained for unless given."
)
@click.option("--score", metavar="COLUMN", help="DATA are scores of any model, in this column; there is no MODEL.")
@click.option(
    "--threshold", type=float, help="With --score: rows above it are predicted positive; the best if not given."
)
@click.option("--title", help="The title of the page.")
@decimal_option
@format_option
@quiet_option
def report(
    files: tuple[str, ...],
    output: str,
    target: str | None,
    weight: str | None,
    positive: str | None,
    sensitive: str | None,
    costs: tuple[str, str] | None,
    true_positive_cost: str | None,
    drop_unlabelled: bool,
    others: tuple[str, ...],
    slices: tuple[str, ...],
    measure: str | None,
    score: str | None,
    threshold: float | None,
    title: str | None,
    decimal: str,
    file_format: str | None,
    quiet: bool,
) -> None:
    """Write a report about a model on rows with labels.

    The report is one HTML file that needs nothing else. It says in words what to expect, with intervals, and has
    sliders for the threshold and the prevalence. With more than two classes it shows the confusion table and the
    recall and precision of each class. The file holds counts and quantiles, no rows.

    \b
    ratewise report model.skops test.parquet -o report.html
    ratewise report scores.csv --score score --target label -o report.html
    """
    from ._data import refuse_inputs_as_outputs, require_files, written

    sources = files if score is not None else files[1:]
    refuse_inputs_as_outputs({"-o": output}, sources, file_format, *files, *others)
    require_files(others if score is not None else [files[0], *others], sources, file_format)
    read: dict[str, Any] = {"file_format": file_format, "target": target, "weight": weight}
    read |= {"decimal": decimal, "drop_unlabelled": drop_unlabelled}
    with Meter(quiet=quiet) as meter:
        if score is not None:
            if others or slices or sensitive or costs:
                raise click.UsageError(
                    "--and, --slice, --sensitive and --costs need a MODEL; --score is for scores alone."
                )
            made = _of_scores(files, score, positive, measure, threshold, read, meter)
        else:
            if len(files) < 2:
                raise click.UsageError("Give a model and then the data: ratewise report MODEL DATA... -o FILE.")
            if threshold is not None:
                raise click.UsageError("--threshold is for --score; a model has its own.")
            given = given_costs(costs, true_positive_cost)
            made = _of_models(
                (files[0], *others), files[1:], positive, measure, slices, sensitive, given, read, meter
            )
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
    positive: str | None,
    measure: str | None,
    slices: tuple[str, ...],
    sensitive: str | None,
    given: dict[str, float | str] | None,
    read: dict[str, Any],
    meter: Meter,
) -> Any:
    from ..estimators._costs import named_columns
    from ..reports import ClassReport, Report
    from ._data import column_of_groups, load_of_classes, require_positive, stream_for, target_of

    models = [load_of_classes(path) for path in paths]
    names = _names_of(paths)
    many = [path for path, model in zip(paths, models, strict=True) if model.classes_.size > 2]
    if many and len(many) < len(models):
        raise click.UsageError(f"{many[0]} is a model of more than two classes; the others are of two.")
    if many and slices:
        raise click.UsageError(f"{many[0]} is a model of more than two classes: leave out --slice.")
    found: list[Any] = []
    for path, name, classifier in zip(paths, names, models, strict=True):
        require_positive(classifier, path, positive)
        groups = column_of_groups(classifier, path, sensitive)
        costs = costs_for(classifier, path, given)
        keep = [*([] if groups is None else [groups]), *named_columns(costs)]
        own = {"target": target_of(classifier, read["target"]), "keep": keep}
        stream = stream_for(classifier, sources, **read | own)
        weighted = read["weight"] is not None
        if many:
            found.append(_of_classes(name, classifier, stream, measure, meter, weighted=weighted))
            continue
        encoder = getattr(classifier, "encoder_", None)
        rows = _StreamRows.of(classifier, stream, encoder, slices, groups, costs, meter, weighted=weighted)
        scored = (rows.scores, rows.labels, measure, rows.weights, rows.columns)
        found += Report.from_scored(classifier, *scored, sensitive=groups, costs=rows.costs(costs, encoder)).models
        found[-1].name = name
    return (ClassReport if many else Report)(found)


def _names_of(paths: tuple[str, ...]) -> list[str]:
    """Return the names of files without their folders and endings; a number tells equal ones apart."""
    names = [Path(path).stem for path in paths]
    return [name if name not in names[:k] else f"{name} ({k + 1})" for k, name in enumerate(names)]


def _of_classes(
    name: str, classifier: Any, stream: Any, measure: str | None, meter: Meter, *, weighted: bool
) -> Any:
    """Return what a report says of a model of more than two classes."""
    from ..reports._classes import counted_model
    from ._classes import counts_of_classes

    counts, rows = counts_of_classes(classifier, stream, meter, "counting", weighted=weighted)
    judged_by = classifier.measure_ if measure is None else measure
    return counted_model(name, counts, rows, classifier.classes_, judged_by)


class _StreamRows:
    """Scores, labels, weights and the columns to group by, of all rows of a stream."""

    def __init__(self) -> None:
        self.scores: Any = []
        self.labels: Any = []
        self.weights: Any = []
        self.columns: dict[str, Any] = {}
        self.kept: dict[str, list[Any]] = {}

    def costs(self, asked: Any, encoder: Any) -> Any:
        """Return the costs of the rows by kind; None without any."""
        from ..estimators._costs import costs_in_columns

        return None if asked is None else costs_in_columns(asked, self.kept, encoder)

    @classmethod
    def of(
        cls,
        classifier: Any,
        stream: Any,
        encoder: Any,
        slices: tuple[str, ...],
        groups: str | None,
        costs: Any,
        meter: Meter,
        *,
        weighted: bool,
    ) -> _StreamRows:
        import numpy as np

        from ..decisions.sensitive import group_of_each_row
        from ..estimators._costs import named_columns
        from ._data import check_labels, decisions_of, windows_with_progress

        rows, spans = cls(), _spans(encoder, slices)
        kept: dict[str, list[Any]] = {name: [] for name in spans}
        for window in windows_with_progress(stream, meter, "counting"):
            check_labels(window, classifier.classes_)
            rows.scores.append(decisions_of(classifier, window, groups))
            rows.labels.append(window.labels)
            rows.weights.append(window.weights)
            for name, (start, codec) in spans.items():
                kept[name].append(_column(window.X, start, codec))
            for name in named_columns(costs):
                rows.kept.setdefault(name, []).extend(window.kept[name])
            if groups is not None:
                kept.setdefault(groups, []).append(group_of_each_row(window.kept[groups], window.X.shape[0]))
        if not rows.scores:
            raise ValueError("There are no rows to report on.")
        rows.scores, rows.labels = np.concatenate(rows.scores), np.concatenate(rows.labels)
        rows.weights = np.concatenate(rows.weights) if weighted else None
        rows.columns = {name: np.concatenate(parts) for name, parts in kept.items()}
        return rows


def _spans(encoder: Any, slices: tuple[str, ...]) -> dict[str, tuple[int, Any]]:
    """Return where each column to group by begins in the matrix, and how it was encoded."""
    columns = [] if encoder is None else list(encoder.columns)
    for name in slices:
        if name not in columns:
            raise click.UsageError(
                f"--slice: the model has no column {name}. Its columns: {', '.join(columns[:20])}."
            )
    few = len(columns) <= _SLICED_COLUMNS
    found: dict[str, tuple[int, Any]] = {}
    start = 0
    for name in columns:
        codec = encoder.codec(name) if encoder.codecs else None
        kind = "number" if codec is None else codec.kind
        told = kind in ("category", "number", "boolean", "date")
        if told and (name in slices if slices else kind == "category" or few):
            found[name] = (start, codec)
        start += 1 if codec is None else codec.width
    return found


def _column(X: Any, start: int, codec: Any) -> Any:
    """Return a column of the table again: categories, numbers, or dates."""
    import numpy as np

    values = list(codec.levels) if codec is not None and codec.kind == "category" else None
    part = X[:, start : start + (1 if values is None else len(values))]
    is_sparse = hasattr(part, "toarray")
    part = part.toarray() if is_sparse else part
    if values is None:
        numbers = np.array(part[:, 0], dtype=np.float64)
        if codec is not None and codec.kind == "date" and codec.order not in ("time", "seconds"):
            return np.round(numbers * 86_400.0 + codec.origin).astype("datetime64[s]")
        return numbers + codec.centre if is_sparse and codec is not None else numbers
    names = np.array([*values, "missing or unknown"])
    return (
        names[np.where(part.any(axis=1), part.argmax(axis=1), len(values))] if values else names[[0] * len(part)]
    )


def _of_scores(
    sources: tuple[str, ...],
    score: str,
    positive: str | None,
    measure: str | None,
    threshold: float | None,
    read: dict[str, Any],
    meter: Meter,
) -> Any:
    import numpy as np

    from ..reports import Report
    from ._data import open_sources, windows_with_progress

    if read["target"] is None:
        raise click.UsageError("--score needs --target, the column with the labels.")
    stream = open_sources(sources, features=[score], **read)
    parts = [(one.X, one.labels, one.weights) for one in windows_with_progress(stream, meter, "counting")]
    scores, labels = (np.concatenate([part[place] for part in parts]) for place in (0, 1))
    if scores.shape[1] != 1:
        raise ValueError(f"{score} is not a column of numbers.")
    classes = np.unique(labels).tolist()
    taken = [one for one in classes if str(one) == positive] if positive is not None else classes[-1:]
    if not taken:
        raise click.UsageError(f"--positive {positive}: the labels are {', '.join(map(str, classes[:5]))}.")
    if positive is None:
        named = printable(f"The positive class is {taken[0]}, the last in sorted order; --positive names another.")
        click.echo(named, err=True)
    return Report.from_scores(
        scores[:, 0],
        labels,
        pos_label=taken[0],
        measure=measure or "f1",
        threshold=None if threshold is None else float(np.float32(threshold)),  # the scores are float32 too
        sample_weight=None if read["weight"] is None else np.concatenate([part[2] for part in parts]),
        name=score,
    )
