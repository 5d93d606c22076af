"""`ratewise follow`: predict rows as they come, and learn from those that have a label."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import select
import signal
import sys
from collections.abc import Iterator
from time import monotonic
from typing import Any

import click

from . import INTERRUPTED
from ._options import ColumnNames, NewFile, quiet_option, target_option

_AT_ONCE = 100  # rows that are predicted before they are learned from
_CHUNK_BYTES, _LONGEST_ROW = 1 << 16, 1 << 20
_LOOK_EVERY = 0.2  # seconds, for a signal or the time to save


@click.command()
@click.argument("model")
@click.option(
    "-o",
    "--output",
    type=NewFile(),
    required=True,
    help="Where the model and its state are kept. If the file is there, learning goes on from it.",
)
@target_option
@click.option("--id", "ids", type=ColumnNames(), help="Columns to write in front, such as a row's name.")
@click.option(
    "--save-every",
    type=click.FloatRange(0.0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How often the state is saved while there is something new.",
)
@quiet_option
def follow(
    model: str, output: str, target: str | None, ids: list[str] | None, save_every: float, quiet: bool
) -> None:
    """Predict rows as they come, and learn from labelled ones.

    Rows are CSV with a header, from standard input; a label, a score and a probability of each go to standard
    output at once, as CSV. Then the row is learned from as by partial_fit, unless its label is missing: give it
    again once the label is known.

    MODEL is a file that `ratewise fit` wrote: learning begins there. The state is saved at intervals, at the end
    of the rows, after Ctrl-C and after SIGTERM.
    """
    from .._trusted_types import require_skops

    if output == "-":
        raise click.UsageError("-o: the state needs a file.")
    require_skops()
    follower = _Follower(model, output, target, ids or [])
    stopped = _Signals()
    with stopped.caught():
        try:
            follower.follow(_rows_as_they_come(stopped), save_every)
        finally:
            follower.save()
    if not quiet:
        follower.report()
    if stopped.by == signal.SIGINT:
        sys.exit(INTERRUPTED)


class _Signals:
    """Remembers a signal to stop, so that no row is left half learned."""

    def __init__(self) -> None:
        self.by: int | None = None

    @contextlib.contextmanager
    def caught(self) -> Iterator[None]:
        asked = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, self._remember) for number in asked]
        try:
            yield
        finally:
            for number, handler in zip(asked, before, strict=True):
                signal.signal(number, handler)

    def _remember(self, number: int, frame: Any) -> None:
        self.by = number


def _rows_as_they_come(stopped: _Signals) -> Iterator[list[list[str]]]:
    """Yield the new rows from standard input as texts; the header comes first, alone.

    An empty list is yielded while no rows arrive.
    """
    file: Any = sys.stdin.buffer
    rest, encoding = b"", "utf-8-sig"
    while stopped.by is None:
        if not _is_ready(file):
            yield []
            continue
        chunk = file.read1(_CHUNK_BYTES)
        rest += chunk
        end = rest.rfind(b"\n") + 1 if chunk else len(rest)
        if end and (rest.count(b'"', 0, end) % 2 == 0 or not chunk):  # else a quoted value goes on
            rows, rest = _parsed(rest[:end], encoding), rest[end:]
            if rows and encoding == "utf-8-sig":
                encoding = "utf-8"
                yield [rows.pop(0)]
            for start in range(0, len(rows), _AT_ONCE):
                yield rows[start : start + _AT_ONCE]
        if len(rest) > _LONGEST_ROW:
            raise ValueError(
                f"Standard input: a row has more than {_LONGEST_ROW:,} bytes. Is a quote never closed?"
            )
        if not chunk:
            return


def _parsed(text: bytes, encoding: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(io.StringIO(text.decode(encoding), newline="")) if row]
    except UnicodeDecodeError:
        raise ValueError(
            "Standard input: this is not UTF-8 text. Convert it first, for instance with iconv."
        ) from None
    except csv.Error as error:
        raise ValueError(f"Standard input: it cannot be read as CSV: {error}.") from error


def _is_ready(file: Any) -> bool:
    """Return whether there is something to read, or the end; wait a moment for it."""
    try:
        return bool(select.select([file], [], [], _LOOK_EVERY)[0])
    except (OSError, ValueError):  # no file of the system's, or not one that it can wait for
        return True


class _Follower:
    """A model that predicts rows, learns from them, and keeps its state in a file."""

    def __init__(self, model: str, output: str, target: str | None, ids: list[str]):
        from ._data import load_of_classes, target_of

        self._model, self._path, self._ids = load_of_classes(model), output, ids
        if not getattr(getattr(self._model, "encoder_", None), "named", False):
            raise click.UsageError(f"{model} knows no columns by name: fit it with `ratewise fit` on a table.")
        if hasattr(self._model, "group_thresholds_"):
            raise click.UsageError(f"{model} has a threshold for each group, and follow takes one for all rows.")
        self._target = target_of(self._model, target)
        if self._target is None:
            raise click.UsageError("Which column has the labels? Name it with --target.")
        if os.path.exists(output):
            self._model = self._resumed(model)
        self._classes = {str(label).lower(): label for label in self._model.classes_.tolist()}
        self._header: list[str] = []
        self._rows = self._learned = self._unsaved = 0

    def _resumed(self, begun_from: str) -> Any:
        """Return the model with its state, if it may have started from the given model."""
        from ._data import load_of_classes

        kept, first = load_of_classes(self._path), self._model
        if getattr(kept, "_online", None) is None:
            raise click.UsageError(f"{self._path} is a model without the state of a stream: name another file.")
        same = (
            kept.measure_ == first.measure_
            and kept.classes_.tolist() == first.classes_.tolist()
            and kept.encoder_.feature_names == first.encoder_.feature_names
        )
        if not same:
            raise click.UsageError(f"{self._path} did not begin from {begun_from}: name another file.")
        return kept

    def follow(self, rows_as_they_come: Iterator[list[list[str]]], save_every: float) -> None:
        writer, saved_at = csv.writer(sys.stdout, lineterminator="\n"), monotonic()
        for rows in rows_as_they_come:
            if rows and not self._header:
                self._read_header(rows.pop(0))
            if rows:
                self._take(rows, writer)
            if self._unsaved and monotonic() - saved_at >= save_every:
                self.save()
                saved_at = monotonic()

    def _read_header(self, names: list[str]) -> None:
        from ..features.encode import missing_column

        for name in [*self._model.encoder_.used, *self._ids]:
            if name not in names:
                raise missing_column(name, "standard input", names, "follow needs")
        self._header = names

    def _take(self, rows: list[list[str]], writer: Any) -> None:
        """Write the predictions for rows, then learn from the rows with a label."""
        import numpy as np

        from .predict import predicted_columns

        columns = self._columns(rows)
        labels = [self._label(one, k) for k, one in enumerate(columns.get(str(self._target), [""] * len(rows)))]
        features = {name: np.array(columns[name], dtype=object) for name in self._model.encoder_.used}
        found = {name: columns[name] for name in self._ids}
        found |= predicted_columns(self._model, self._model.decision_function(features))
        if not self._rows:
            writer.writerow(found)
        writer.writerows(zip(*found.values(), strict=True))
        sys.stdout.flush()
        known = np.array([label is not None for label in labels])
        if known.any():
            y = np.array([label for label in labels if label is not None], dtype=self._model.classes_.dtype)
            self._model.partial_fit({name: column[known] for name, column in features.items()}, y)
            self._learned += y.size
            self._unsaved += y.size
        self._rows += len(rows)

    def _columns(self, rows: list[list[str]]) -> dict[str, list[str]]:
        for k, row in enumerate(rows):
            if len(row) != len(self._header):
                raise ValueError(
                    f"Standard input, row {self._rows + k + 1:,}: {len(row):,} values, where the header has "
                    f"{len(self._header):,} columns."
                )
        return {name: list(column) for name, column in zip(self._header, zip(*rows, strict=True), strict=True)}

    def _label(self, text: str, k: int) -> Any:
        """Return the class of a text; None if it is missing."""
        from ..features.kinds import GAPS

        if text.strip() in GAPS:
            return None
        key = text.strip().lower()
        with contextlib.suppress(ValueError):
            if key not in self._classes and float(key).is_integer():
                key = str(int(float(key)))
        if key not in self._classes:
            raise ValueError(
                f"Standard input, row {self._rows + k + 1:,}: the label {text!r} is unknown to the model, whose "
                f"classes are {self._model.classes_.tolist()}."
            )
        return self._classes[key]

    def save(self) -> None:
        """Save the model and its state, if anything is new."""
        from ..persistence import save_model

        if self._unsaved:
            save_model(self._model, self._path, state=True)
            self._unsaved = 0

    def report(self) -> None:
        words = f"Rows predicted: {self._rows:,}; learned from: {self._learned:,}"
        click.echo(f"{words}; saved in {self._path}." if self._learned else f"{words}.", err=True)
