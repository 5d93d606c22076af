"""Output of all commands: tables for people, JSON for machines, a progress bar, and errors as sentences."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Literal, Self

import click

_EXTRAS = {"rich": "cli", "pyarrow": "files", "skops": "persistence", "onnx": "onnx", "skl2onnx": "onnx"}

# What Python calls features= is --features here.
_OPTION = re.compile(
    r"\b(features|target|format|weight|pos_label|sensitive_features)=(?:'?(\w+)'?)?(?=[\s.,:;)]|$)"
)

# Advice for Python and for the shell, as in "columns={'id': 'ignore'} (command line: --exclude id)".
_ADVICE = re.compile(r"\b\w+=(?:\{[^}]*\}|\w+) \(command line: ([^()]*)\)")

_NAMES = {"pos_label": "--positive", "sensitive_features": "--sensitive"}


def sentence(error: Exception) -> str:
    """Return the message for the user."""
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"{where}{error.strerror or error}"
    if isinstance(error, MemoryError):
        return f"There is not enough memory for this. {error}".strip()
    if isinstance(error, ModuleNotFoundError) and error.name in _EXTRAS and "pip install" not in str(error):
        return f'This needs {error.name}: pip install "ratewise[{_EXTRAS[error.name]}]"'
    if isinstance(error, (ValueError, ImportError)):
        return _OPTION.sub(
            lambda found: " ".join([_NAMES.get(found[1], "--" + found[1]), *filter(None, [found[2]])]),
            _for_the_shell(str(error)),
        )
    return (
        f"Something went wrong inside ratewise ({type(error).__name__}: {error}). This is a defect of ours; "
        "RATEWISE_DEBUG=1 shows where it happened."
    )


def _for_the_shell(text: str) -> str:
    """Return a message that names the command's option instead of the Python parameter."""
    return _ADVICE.sub(r"\1", text)


def say_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Print a warning of ratewise as a sentence. Warnings of numpy, such as overflow, do not help the user."""
    if category.__module__.partition(".")[0] == __name__.partition(".")[0] or os.environ.get("RATEWISE_DEBUG"):
        click.echo(f"Warning: {printable(_for_the_shell(str(message)))}", err=True)


def printable(text: str) -> str:
    """Return text of a file or a model for a terminal: with control characters spelled out, such as \\x1b."""
    return "".join(one if one.isprintable() or one in "\n\t" else ascii(one)[1:-1] for one in text)


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON object on stdout; what JSON lacks, such as NaN, becomes null or text."""
    text = json.dumps(_plain(content), indent=2, ensure_ascii=False)
    click.echo(
        re.sub(r"[^\n -~]", lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], text)
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if hasattr(value, "tolist"):  # numpy
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def print_table(
    headings: Sequence[str], rows: Iterable[Sequence[Any]], *, to_stderr: bool = False, whole_names: bool = False
) -> None:
    """Print a table with right-aligned numbers; empty headings are left out.

    ``whole_names`` keeps the first column, names that may be typed again, from being broken into lines.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = [tuple(row) for row in rows]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_header=any(headings))
    for number, heading in enumerate(headings):
        numeric = bool(rows) and all(isinstance(row[number], (int, float)) for row in rows)
        justify: Literal["left", "right"] = "right" if numeric else "left"
        table.add_column(
            Text(printable(heading)), justify=justify, overflow="fold", no_wrap=whole_names and number == 0
        )
    for row in rows:
        table.add_row(*(Text(printable(shown(cell))) for cell in row))
    Console(file=sys.stderr if to_stderr else sys.stdout, highlight=False).print(table)


def shown(cell: Any) -> str:
    """Return a number with its significant digits."""
    if isinstance(cell, bool):
        return str(cell)
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        return f"{cell:.4f}" if 1e-3 <= abs(cell) < 1e4 or cell == 0 else f"{cell:.4g}"
    return str(cell)


class Meter:
    """Progress on stderr: rows per second, the running measure, TPR, TNR and the time left.

    Call it with what is known so far; it draws a bar on a terminal and nothing anywhere else. It takes the dicts
    that ``fit_stream`` and ``survey`` report: stage, done_rows, total_rows, and if they are known tpr, tnr and
    value.
    """

    def __init__(self, *, quiet: bool = False, console: Any = None):
        draws = console is not None or (not quiet and sys.stderr.isatty())
        self._bars = _bars(console) if draws else None
        self._task: Any = None
        self._stage: str | None = None

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def __call__(self, report: dict[str, Any]) -> None:
        if self._bars is None:
            return
        stage = str(report.get("stage", ""))
        total = report.get("total_rows")
        if stage != self._stage:
            if self._task is not None:
                self._bars.remove_task(self._task)
            self._task = self._bars.add_task(stage, total=total, rates="")
            self._stage = stage
        self._bars.update(
            self._task, completed=report.get("done_rows", 0), total=total, rates=_rates(report), refresh=True
        )


def _rates(report: dict[str, Any]) -> str:
    labels = {"value": "measure", "tpr": "TPR", "tnr": "TNR"}
    return " ".join(f"{label} {report[key]:.3f}" for key, label in labels.items() if report.get(key) is not None)


def _short(number: float) -> str:
    """Return three digits and a letter, because the whole line must fit into 80 characters."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.0f}"


def _bars(console: Any) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.table import Column
    from rich.text import Text

    class RowsPerSecond(ProgressColumn):
        def render(self, task: Any) -> Text:
            speed = task.finished_speed or task.speed
            rows = f"{_short(task.completed)} rows"
            return Text(rows if not speed else f"{rows} {_short(speed)}/s", no_wrap=True)

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        RowsPerSecond(table_column=Column(no_wrap=True, min_width=18)),
        TextColumn("{task.fields[rates]}"),
        TimeRemainingColumn(),
        console=console or Console(stderr=True),
        transient=True,
        expand=True,
    )
