"""Progress on stderr: rows a second, the running measure, TPR, TNR and the time left."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self


class Meter:
    """Call it with what is known so far; it draws a bar on a terminal and nothing anywhere else.

    It takes the dicts that ``fit_stream`` and ``survey`` report: stage, done_rows, total_rows, and if they are
    known tpr, tnr and value.
    """

    def __init__(self, *, quiet: bool = False, console: Any = None):
        self._bars: Any = None
        self._task: Any = None
        self._stage: str | None = None
        if console is None and (quiet or not sys.stderr.isatty()):
            return
        self._bars = _bars(console)

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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


class Steps:
    """A bar of whole runs, for work that is counted in those: call it with stage, done and total."""

    def __init__(self, *, quiet: bool = False, console: Any = None):
        self._bars: Any = None
        self._task: Any = None
        if console is not None or (not quiet and sys.stderr.isatty()):
            self._bars = _step_bars(console)

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
            self._task = self._bars.add_task("", total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def __call__(self, report: dict[str, Any]) -> None:
        if self._bars is not None:
            self._bars.update(
                self._task,
                description=str(report["stage"]),
                completed=report["done"],
                total=report["total"],
                refresh=True,
            )


def _rates(report: dict[str, Any]) -> str:
    shown = {"value": "measure", "tpr": "TPR", "tnr": "TNR"}
    return " ".join(f"{label} {report[key]:.3f}" for key, label in shown.items() if report.get(key) is not None)


def _short(number: float) -> str:
    """Three digits and a letter: all of a line has to fit on 80 characters."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.0f}"


def _step_bars(console: Any) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console or Console(stderr=True),
        transient=True,
        expand=True,
    )


def _bars(console: Any) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.table import Column
    from rich.text import Text

    class RowsASecond(ProgressColumn):
        def render(self, task: Any) -> Text:
            speed = task.finished_speed or task.speed
            rows = f"{_short(task.completed)} rows"
            return Text(rows if not speed else f"{rows} {_short(speed)}/s", no_wrap=True)

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        RowsASecond(table_column=Column(no_wrap=True, min_width=18)),
        TextColumn("{task.fields[rates]}"),
        TimeRemainingColumn(),
        console=console or Console(stderr=True),
        transient=True,
        expand=True,
    )
