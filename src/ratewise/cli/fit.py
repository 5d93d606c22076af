"""`ratewise fit`: learn a model from files."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import click

from . import INTERRUPTED, ignore_interrupts
from ._costs import costs_options, given_costs
from ._options import (
    MeasureName,
    NewFile,
    columns_option,
    decimal_option,
    drop_unlabelled_option,
    format_option,
    json_option,
    quiet_option,
    seed_option,
    sources_argument,
    weight_option,
)
from ._output import Meter, print_json, print_table, printable

_SHOWN = 30
_FEWEST_ORDERED = 50  # rows: fewer may be in order by chance


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
@click.option("--target", metavar="COLUMN", help="The column to predict (svmlight and npz contain their own).")
@columns_option("--features", help="The columns to learn from; all others unless given.")
@columns_option("--exclude", help="Columns to leave out.")
@columns_option("--id", "ids", help="Columns that identify a row, left out too; see `ratewise predict --id`.")
@click.option(
    "--as",
    "taken_for",
    multiple=True,
    metavar="COLUMN=KIND",
    help="Treat a column as a number, boolean, category, date or text. May be repeated.",
)
@weight_option
@drop_unlabelled_option
@click.option("--groups", metavar="COLUMN", help="Rows with the same value here are kept in the same fold.")
@click.option("--time", metavar="COLUMN", help="Validate the later half of the rows by models of the rows before.")
@click.option(
    "--sensitive",
    metavar="COLUMN",
    help="The column with the group of each row, for bounds such as f1-at-tpr-gap-0.05.",
)
@click.option(
    "--target-prevalence",
    type=float,
    metavar="SHARE",
    help="The share of positives where the model is to be used.",
)
@click.option("--measure", type=MeasureName(), help="See `ratewise measures`. [default: f1]")
@costs_options("In place of --measure: what a false positive and a false negative cost, numbers or columns.")
@click.option("--positive", metavar="LABEL", help="The positive class; the last in sorted order unless given.")
@click.option("--passes", type=Passes(), default="auto", show_default=True, help="Passes over the data.")
@click.option("--solver", type=click.Choice(["auto", "spade", "stamp", "amp"]), default="auto", show_default=True)
@click.option(
    "--basis",
    type=click.Choice(["none", "splines", "pairs", "auto"]),
    default="none",
    show_default=True,
    help="Learn curves of the columns (splines), products of two too (pairs), or what is best out of fold (auto).",
)
@click.option("--sharpen/--plain", default=True, help="Sharpen (default), or run the paper's plain algorithm.")
@click.option("--checkpoint", type=NewFile(), help="Where to keep work in progress [OUTPUT.checkpoint].")
@click.option("--checkpoint-every", type=click.IntRange(1), metavar="ROWS", help="Save it after every ROWS rows.")
@click.option(
    "--max-memory",
    type=click.IntRange(0),
    metavar="MB",
    help="How much memory decoded rows may take; a quarter of what is free unless given.",
)
@click.option(
    "--disk-cache/--no-disk-cache",
    default=True,
    help="Keep further rows in an unnamed file beside the checkpoint (default), or read the files in every pass.",
)
@click.option("--resume/--no-resume", default=True, help="Resume from a matching checkpoint, if there is one.")
@seed_option
@decimal_option
@format_option
@click.option("-o", "--output", type=NewFile(), required=True, help="The model file, or - for standard output.")
@json_option
@quiet_option
def fit(
    sources: tuple[str, ...],
    target: str | None,
    features: list[str],
    exclude: list[str],
    ids: list[str],
    taken_for: tuple[str, ...],
    weight: str | None,
    drop_unlabelled: bool,
    groups: str | None,
    time: str | None,
    sensitive: str | None,
    target_prevalence: float | None,
    measure: str | None,
    costs: tuple[str, str] | None,
    true_positive_cost: str | None,
    positive: str | None,
    passes: int | str,
    solver: str,
    basis: str,
    sharpen: bool,
    checkpoint: str | None,
    checkpoint_every: int | None,
    max_memory: int | None,
    disk_cache: bool,
    resume: bool,
    seed: int,
    decimal: str,
    file_format: str | None,
    output: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn a model from files of rows, and save it.

    DATA are files, folders or globs: Parquet, Feather, CSV, svmlight, npy or npz; - is standard input.

    Ctrl-C keeps what was learned in the checkpoint; the same command resumes from there.
    """
    from ._data import columns_are, open_sources, refuse_inputs_as_outputs

    if as_json and output == "-":
        raise click.UsageError("--json and -o - both want standard output.")
    _require_commas(sources, {"--features": features, "--exclude": exclude, "--id": ids})
    kept_in = checkpoint or _default_checkpoint(output)
    refuse_inputs_as_outputs({"-o": output, "--checkpoint": kept_in}, sources, file_format, target, weight)
    if checkpoint is not None and os.path.realpath(checkpoint) == os.path.realpath(output):
        raise click.UsageError(f"-o and --checkpoint both name {output}: name another file for one of them.")
    if target is None and columns_are(sources, file_format) == "named":
        raise click.UsageError("Which column is to be predicted? Name it with --target.")
    columns: dict[str, Any] = {"target": target, "features": features or None, "weight": weight}
    kinds = given_costs(costs, true_positive_cost)
    maximized = _measure(measure, kinds)
    by_row = kinds if maximized == "cost" else None
    keep = list(dict.fromkeys(name for name in (groups, time, sensitive) if name is not None))
    columns |= {"columns": _wanted(taken_for, [*exclude, *ids], keep), "keep": keep}
    columns |= {"decimal": decimal, "drop_unlabelled": drop_unlabelled}
    if by_row is not None:
        columns = _with_costs(columns, by_row, sources, file_format)
    _require_groups(maximized, sensitive)
    stream = open_sources(sources, file_format, **columns)
    # These imports take seconds: errors in the arguments and the files have been reported before.
    from .._trusted_types import require_skops
    from ..estimators._streams import StreamFolds, StreamOptions
    from ..persistence import save_model
    from ..training.checkpoint import CheckpointWarning, remove_checkpoint

    require_skops()
    again = None if positive is None or not stream.repeatable else open_sources(sources, file_format, **columns)
    classifier = _classifier(
        maximized, solver, sharpen, seed, _typed(positive, again), None if basis == "none" else basis
    )
    place = _checkpoint_place(checkpoint, output, stream)
    if place is not None and not resume:
        remove_checkpoint(place)
    began = perf_counter()
    warnings.simplefilter("always", CheckpointWarning)
    try:
        with Meter(quiet=quiet) as meter:
            # Few rows are fitted in memory, as to standard output, unless a checkpoint is asked for.
            asked_for = checkpoint is not None or checkpoint_every is not None
            folds = StreamFolds(target_prevalence, groups, time, sensitive, by_row)
            room = "auto" if max_memory is None else max_memory << 20
            cache = "auto" if disk_cache else False
            options = StreamOptions(folds, place, checkpoint_every, asked_for, meter, room, cache)
            classifier._fit_stream(stream, passes, options)
        save_model(classifier, sys.stdout.buffer if output == "-" else output)
    except KeyboardInterrupt:
        ignore_interrupts()
        _say_how_to_resume(place)
        sys.exit(INTERRUPTED)
    if place is not None:
        remove_checkpoint(place)
    if not quiet:
        if stream.n_unlabelled:
            click.echo(f"Left out {stream.n_unlabelled:,} rows without a label.", err=True)
        if time is None:
            _warn_of_time_order(classifier, stream)
        _report(classifier, output, perf_counter() - began, as_json)


def _require_commas(sources: tuple[str, ...], given: dict[str, list[str]]) -> None:
    """Raise an error for column names separated by spaces: all except the first are read as files."""
    stray = next((one for one in sources if one.isidentifier() and not os.path.exists(one)), None)
    option = next((option for option, names in given.items() if names), None)
    if stray is not None and option is not None:
        raise click.UsageError(
            f"There is no file {stray!r}. If it is a column, put commas between columns: {option} "
            f"{','.join([*given[option], stray])}"
        )


def _measure(name: str | None, costs: dict[str, float | str] | None) -> Any:
    """Return the name of the measure, or the measure of costs that are numbers; "cost" for costs per row."""
    from ..measures import CostMatrix

    if costs is None:
        return name or "f1"
    if name is not None:
        raise click.UsageError("--measure and --costs both say what to maximize: give one of them.")
    if any(isinstance(one, str) for one in costs.values()):
        return "cost"
    fp, fn, tp = costs["false_positive"], costs["false_negative"], costs.get("true_positive", 0.0)
    try:
        return CostMatrix(((0.0, fp), (fn, tp)))  # type: ignore[arg-type]
    except ValueError as error:
        raise click.UsageError(f"--costs: {error}") from error


def _with_costs(
    columns: dict[str, Any], costs: dict[str, float | str], sources: tuple[str, ...], file_format: str | None
) -> dict[str, Any]:
    """Return options of a stream that also keeps the columns of costs, which stay features if they were."""
    from ..estimators._costs import named_columns
    from ._data import open_sources

    if "-" in sources:
        raise click.UsageError("--costs with columns needs files, which are read more than once.")
    features = columns["features"] or list(open_sources(sources, file_format, **columns).feature_names)
    kept = list(dict.fromkeys([*columns["keep"], *named_columns(costs)]))
    return columns | {"features": features, "keep": kept}


def _classifier(measure: Any, solver: str, sharpen: bool, seed: int, positive: Any, basis: str | None) -> Any:
    from .. import MeasureClassifier
    from ..measures import one_vs_rest_measure
    from ..solvers import get_solver

    classifier = MeasureClassifier(
        measure,
        solver=solver,
        sharpen="auto" if sharpen else False,
        pos_label=positive,
        random_state=seed,
        basis=basis,
    )
    try:
        of_a_class = one_vs_rest_measure(measure)
        get_solver(solver, of_a_class).check(of_a_class, 0.5)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return classifier


def _require_groups(measure: Any, sensitive: str | None) -> None:
    """Raise an error for bounds on groups without groups, before anything is read."""
    from ..measures import one_vs_rest_measure

    if one_vs_rest_measure(measure).group_bounds and sensitive is None:
        raise click.UsageError(f"{measure} has bounds on groups of rows: name their column with --sensitive.")


def _wanted(taken_for: tuple[str, ...], exclude: list[str], keep: list[str]) -> dict[str, str] | None:
    """Return the kinds of columns by --as, --exclude and --id; columns that are kept are not features anyway."""
    from ..features.columns import KINDS

    wanted = {name: "ignore" for name in exclude if name not in keep}
    for text in taken_for:
        name, _, kind = text.rpartition("=")
        kind = kind.replace("-", " ")
        if not name or kind not in KINDS:
            kinds = ", ".join(one.replace(" ", "-") for one in KINDS)
            raise click.UsageError(f"--as {text}: give COLUMN=KIND, where KIND is one of {kinds}.")
        wanted[name] = kind
    return wanted or None


def _typed(text: str | None, rows: Any) -> Any:
    """Return the label of this text. Only the labels themselves show whether a 1 is a number or a text."""
    with warnings.catch_warnings(action="ignore"):  # the fit warns about the columns
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
    """Return the file: next to the model unless given; None for a stream that cannot be read again."""
    from ..training.checkpoint import require_checkpoint

    if checkpoint == "-":
        raise click.UsageError("--checkpoint needs a file.")
    if not stream.repeatable:
        return None
    regular = output != "-" and (Path(output).is_file() or not Path(output).exists())
    if checkpoint is None and not regular:
        return None
    place = Path(checkpoint or _default_checkpoint(output))
    try:
        require_checkpoint(place)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return place


def _default_checkpoint(output: str) -> str:
    """Return the checkpoint next to the model."""
    from .._atomic import name_beside

    folder, name = os.path.split(output)
    return os.path.join(folder, name_beside(name, ".checkpoint"))


def _say_how_to_resume(place: Path | None) -> None:
    from ..training.checkpoint import kept_checkpoint

    message = "Stopped before anything could be kept; no model was written."
    if place is not None and (kept := kept_checkpoint(place)) is not None:
        command = shlex.join(["ratewise", *sys.argv[1:]])
        message = f"Stopped. What was learned is kept in {kept}. To resume, run the same command:\n  {command}"
    click.echo(message, err=True)


def _report(classifier: Any, output: str, seconds: float, as_json: bool) -> None:
    from ..estimators._positive import PositiveClass
    from ..measures import measure_name
    from ._classes import classes_of, print_classes
    from ._data import columns_of, interval_words
    from ._groups import groups_of, print_groups

    rates = classifier.rates_
    many = classifier.classes_.size > 2
    value = float(classifier.measure_.value(*([classifier.confusion_] if many else rates)))
    survey = getattr(classifier, "survey_", None)
    rows = None if survey is None else int(survey.rows)
    if as_json:
        found = {"measure": measure_name(classifier.measure_), "value": value}
        if many:
            found |= {"classes": classes_of(classifier, classifier.confusion_)}
        else:
            interval = getattr(classifier, "rates_interval_", None)
            found |= rates._asdict() | {"rates_interval": None if interval is None else interval._asdict()}
        found |= {"constraints_met": classifier.constraints_met_}
        if hasattr(classifier, "groups_"):
            found["groups"] = groups_of(classifier)
        more = {"features": classifier.n_features_in_, "rows": rows, "seconds": seconds, "model": output}
        if survey is not None:
            more |= {"missing": survey.missing, "columns": columns_of(classifier)}
        print_json(found | more)
        return
    to_stderr = output == "-"
    if many:
        print_table(("measure", "value"), [(measure_name(classifier.measure_), value)], to_stderr=to_stderr)
        print_classes(classes_of(classifier, classifier.confusion_), to_stderr=to_stderr)
    else:
        positive = PositiveClass.of_model(classifier).label
        print_table(
            ("measure", "value", "TPR", "TNR", f"share of {positive}"),
            [(measure_name(classifier.measure_), value, rates.tpr, rates.tnr, rates.prevalence)],
            to_stderr=to_stderr,
        )
    if not many and (words := interval_words(classifier)) is not None:
        click.echo(f"On new rows expect {words}.", err=to_stderr)
    if classifier.fitted_to_costs_:
        said = "Decisions are made row by row, by the costs of the row; these numbers are those of one threshold."
        click.echo(said, err=to_stderr)
    if hasattr(classifier, "groups_"):
        print_groups(groups_of(classifier), to_stderr=to_stderr)
    if survey is not None:
        _warn_of_a_common_positive(classifier, survey)
        _warn(survey, mean_for_gaps=classifier.basis_ is None)
    if (taken_for := columns_of(classifier)) is not None:
        heads = [head.replace("_", " ") for head in taken_for[0]]
        print_table(heads, [tuple(one.values()) for one in taken_for[:_SHOWN]], to_stderr=to_stderr)
        if len(taken_for) > _SHOWN:
            click.echo(f"... and {len(taken_for) - _SHOWN:,} more columns.", err=to_stderr)
    counted = f"{rows:,} rows, " if rows is not None else ""
    counted += f"{classifier.classes_.size:,} classes, " if many else ""
    where = "standard output" if to_stderr else output
    columns = f"{classifier.n_features_in_:,} columns"
    click.echo(f"Learned from {counted}{columns} in {seconds:.1f} s; saved in {where}.", err=to_stderr)


def _warn_of_time_order(classifier: Any, stream: Any) -> None:
    """Explain how to validate by time if the first rows are in the order of a column of dates."""
    import numpy as np

    encoder = getattr(classifier, "encoder_", None)
    if encoder is None or not stream.repeatable or not any(one.kind == "date" for one in encoder.codecs):
        return
    window, start = next(iter(stream.windows())), 0
    for codec in encoder.codecs:
        days = window.X[:, [start]] if codec.kind == "date" and codec.width else None
        start += codec.width
        if days is None or days.shape[0] < _FEWEST_ORDERED:
            continue
        steps = np.diff((days.toarray() if hasattr(days, "toarray") else days).ravel())
        if steps.any() and (np.all(steps >= 0) or np.all(steps <= 0)):
            click.echo(
                printable(
                    f"The rows are in the order of {codec.name!r}. If the model is for later rows, validate by "
                    f"time: add --time {shlex.quote(codec.name)}."
                ),
                err=True,
            )
            return


def _warn_of_a_common_positive(classifier: Any, survey: Any) -> None:
    """Name the positive class if the user did not and most rows have it: the user may mean the other class."""
    if classifier.pos_label is None and classifier.classes_.size == 2 and not classifier.multilabel_:
        other, positive = classifier.classes_.tolist()
        share = survey.label_counts.get(positive, 0) / max(survey.rows, 1)
        if share > 0.5:
            text = f"The positive class is {positive}, that of {share:.0%} of the rows. If {other} is meant, "
            click.echo(printable(f"{text}add --positive {shlex.quote(str(other))}."), err=True)


def _warn(survey: Any, *, mean_for_gaps: bool) -> None:
    if survey.missing:
        columns = ", ".join(f"{name} ({count:,})" for name, count in list(survey.missing.items())[:5])
        how = "were replaced by the mean of their column" if mean_for_gaps else "are a level of their own"
        click.echo(printable(f"Missing numbers {how}: {columns}."), err=True)
    if survey.sorted_by_label:
        click.echo("The rows are sorted by label; `ratewise convert` mixes them within windows.", err=True)
