"""`ratewise fit`: learn a model from files."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import click

from . import INTERRUPTED, ignore_interrupts
from ._options import (
    ColumnNames,
    MeasureName,
    NewFile,
    format_option,
    json_option,
    quiet_option,
    seed_option,
    sources_argument,
)
from ._output import Meter, print_json, print_table, printable


class Passes(click.ParamType):  # type: ignore[type-arg]
    name = "number|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        if value == "auto":
            return "auto"
        if not str(value).isdecimal() or int(value) < 1:
            self.fail(f"Passes must be 'auto' or a whole number above 0; got {value!r}.", param, ctx)
        return int(value)


@click.command()
@sources_argument
@click.option("--target", metavar="COLUMN", help="The column to predict (svmlight and npz carry their own).")
@click.option("--features", type=ColumnNames(), help="The columns to learn from; all others unless given.")
@click.option("--weight", metavar="COLUMN", help="A column of sample weights.")
@click.option("--measure", type=MeasureName(), default="f1", show_default=True, help="See `ratewise measures`.")
@click.option("--positive", metavar="LABEL", help="The positive class; the last in sorted order unless given.")
@click.option("--passes", type=Passes(), default="auto", show_default=True, help="Passes over the data.")
@click.option("--solver", type=click.Choice(["auto", "spade", "stamp", "amp"]), default="auto", show_default=True)
@click.option("--sharpen/--plain", default=True, help="Sharpen (default), or run the paper's plain algorithm.")
@click.option("--checkpoint", type=NewFile(), help="Where to keep work in progress [OUTPUT.checkpoint].")
@click.option("--checkpoint-every", type=click.IntRange(1), metavar="ROWS", help="Keep it after so many rows.")
@click.option("--resume/--no-resume", default=True, help="Go on from a checkpoint that fits, if there is one.")
@seed_option
@format_option
@click.option("-o", "--output", type=NewFile(), required=True, help="The model file, or - for standard output.")
@json_option
@quiet_option
def fit(
    sources: tuple[str, ...],
    target: str | None,
    features: list[str] | None,
    weight: str | None,
    measure: str,
    positive: str | None,
    passes: int | str,
    solver: str,
    sharpen: bool,
    checkpoint: str | None,
    checkpoint_every: int | None,
    resume: bool,
    seed: int,
    file_format: str | None,
    output: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn a model from files of rows, and save it.

    DATA are files, folders or globs: Parquet, Feather, CSV, svmlight, npy or npz; - is standard input.

    Ctrl-C keeps what was learned in the checkpoint; the same command goes on from there.
    """
    from ..persistence import require_skops, save_model
    from ..training.checkpoint import CheckpointWarning, remove_checkpoint
    from ._data import columns_are, open_sources, refuse_inputs_as_outputs

    if as_json and output == "-":
        raise click.UsageError("--json and -o - both want standard output.")
    require_skops()
    kept_in = checkpoint or f"{output}.checkpoint"
    refuse_inputs_as_outputs({"-o": output, "--checkpoint": kept_in}, sources, file_format, target, weight)
    if checkpoint is not None and os.path.realpath(checkpoint) == os.path.realpath(output):
        raise click.UsageError(f"-o and --checkpoint both name {output}: name another file for one of them.")
    if target is None and columns_are(sources, file_format) == "named":
        raise click.UsageError("Which column is to be predicted? Name it with --target.")
    columns = {"target": target, "features": features, "weight": weight}
    stream = open_sources(sources, file_format, **columns)
    again = None if positive is None or not stream.repeatable else open_sources(sources, file_format, **columns)
    classifier = _classifier(measure, solver, sharpen, seed, _typed(positive, again))
    place = _checkpoint_place(checkpoint, output, stream)
    if place is not None and not resume:
        remove_checkpoint(place)
    began = time.perf_counter()
    warnings.simplefilter("always", CheckpointWarning)
    try:
        with Meter(quiet=quiet) as meter:
            # Few rows are fitted in memory, as to standard output, unless a checkpoint is asked for.
            asked_for = checkpoint is not None or checkpoint_every is not None
            classifier._fit_stream(stream, passes, place, checkpoint_every, meter, in_windows=asked_for)
        save_model(classifier, sys.stdout.buffer if output == "-" else output)
    except KeyboardInterrupt:
        ignore_interrupts()
        _say_how_to_resume(place)
        sys.exit(INTERRUPTED)
    if place is not None:
        remove_checkpoint(place)
    if not quiet:
        _report(classifier, output, time.perf_counter() - began, as_json)


def _classifier(measure: str, solver: str, sharpen: bool, seed: int, positive: Any) -> Any:
    from .. import MeasureClassifier
    from ..measures import get_measure
    from ..solvers import get_solver

    classifier = MeasureClassifier(
        measure, solver=solver, sharpen="auto" if sharpen else False, pos_label=positive, random_state=seed
    )
    try:
        get_solver(solver, get_measure(measure)).check(get_measure(measure), 0.5)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return classifier


def _typed(text: str | None, rows: Any) -> Any:
    """Return the label of this text. Only the labels themselves show whether a 1 is a number or a text."""
    first = None if text is None or rows is None else next(iter(rows.windows()), None)
    if text is None or (first is not None and first.labels is not None and first.labels.dtype.kind in "UO"):
        return text
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for number in (int, float):
        with contextlib.suppress(ValueError):
            return number(text)
    return text


def _checkpoint_place(checkpoint: str | None, output: str, stream: Any) -> Path | None:
    """Return the file: beside the model unless given, none for a stream that cannot be read again."""
    from ..training.checkpoint import require_checkpoint

    if checkpoint == "-":
        raise click.UsageError("--checkpoint needs a file.")
    if not stream.repeatable:
        return None
    regular = output != "-" and (Path(output).is_file() or not Path(output).exists())
    if checkpoint is None and not regular:
        return None
    place = Path(checkpoint or f"{output}.checkpoint")
    try:
        require_checkpoint(place)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return place


def _say_how_to_resume(place: Path | None) -> None:
    from ..training.checkpoint import kept_checkpoint

    message = "Stopped before anything could be kept; no model was written."
    if place is not None and (kept := kept_checkpoint(place)) is not None:
        command = shlex.join(["ratewise", *sys.argv[1:]])
        message = f"Stopped. What was learned is kept in {kept}. To go on, run the same command:\n  {command}"
    click.echo(message, err=True)


def _report(classifier: Any, output: str, seconds: float, as_json: bool) -> None:
    from ..measures import measure_name
    from ._data import interval_words

    rates = classifier.rates_
    value = float(classifier.measure_.value(*rates))
    survey = getattr(classifier, "survey_", None)
    rows = None if survey is None else int(survey.rows)
    if as_json:
        found = {"measure": measure_name(classifier.measure_), "value": value, **rates._asdict()}
        interval = getattr(classifier, "rates_interval_", None)
        found |= {"rates_interval": None if interval is None else interval._asdict()}
        found |= {"constraints_met": bool(classifier.constraints_met_)}
        more = {"features": classifier.n_features_in_, "rows": rows, "seconds": seconds, "model": output}
        if survey is not None:
            more |= {"missing": survey.missing, "categories": survey.categories, "hashed": survey.hashed}
        print_json(found | more)
        return
    to_stderr = output == "-"
    print_table(
        ("measure", "value", "TPR", "TNR", "positives"),
        [(measure_name(classifier.measure_), value, rates.tpr, rates.tnr, rates.prevalence)],
        to_stderr=to_stderr,
    )
    if (words := interval_words(classifier)) is not None:
        click.echo(f"On new rows expect {words}.", err=to_stderr)
    if survey is not None:
        _warn_of_a_common_positive(classifier, survey)
        _warn(survey)
    counted = f"{rows:,} rows, " if rows is not None else ""
    where = "standard output" if to_stderr else output
    columns = f"{classifier.n_features_in_:,} columns"
    click.echo(f"Learned from {counted}{columns} in {seconds:.1f} s; saved in {where}.", err=to_stderr)


def _warn_of_a_common_positive(classifier: Any, survey: Any) -> None:
    """Say which class is the positive one where the user did not, and most rows are of it: it may not be meant."""
    if classifier.pos_label is None and classifier.classes_.size == 2 and not classifier.multilabel_:
        other, positive = classifier.classes_.tolist()
        share = survey.label_counts.get(positive, 0) / max(survey.rows, 1)
        if share > 0.5:
            text = f"The positive class is {positive}, that of {share:.0%} of the rows. If {other} is meant, "
            click.echo(printable(f"{text}add --positive {shlex.quote(str(other))}."), err=True)


def _warn(survey: Any) -> None:
    if survey.missing:
        columns = ", ".join(f"{name} ({count:,})" for name, count in list(survey.missing.items())[:5])
        click.echo(printable(f"Missing numbers were replaced by the mean of their column: {columns}."), err=True)
    if survey.categories:
        columns = ", ".join(f"{name} ({count:,})" for name, count in list(survey.categories.items())[:5])
        click.echo(printable(f"Text became categories, of so many columns: {columns}."), err=True)
    if survey.hashed:
        click.echo(printable(f"Columns with too many values were hashed: {', '.join(survey.hashed)}."), err=True)
    if survey.sorted_by_label:
        click.echo("The rows are sorted by label; `ratewise convert` mixes them within windows.", err=True)
