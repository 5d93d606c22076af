"""The command line: ``python benchmarks/paper``, or ``python -m paper`` from the benchmarks folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Self

import click

if not __package__:  # run as a folder
    sys.path[0] = str(Path(__file__).parents[1])

from paper.figures import FIGURES
from paper.reproduce import reproduce


class ProgressBar:
    """A bar of whole runs on stderr, if that is a terminal: call it with stage, done and total."""

    def __init__(self, *, quiet: bool = False, console: Any = None):
        self._bars: Any = None
        if console is None and (quiet or not sys.stderr.isatty()):
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = TextColumn("{task.description}"), BarColumn(None), MofNCompleteColumn(), TimeElapsedColumn()
        self._bars = Progress(*columns, console=console or Console(stderr=True), transient=True, expand=True)

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
            self._task = self._bars.add_task("", total=None)
        return self

    def __exit__(self, *error: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def __call__(self, report: dict[str, Any]) -> None:
        if self._bars is not None:
            stage, done, total = str(report["stage"]), report["done"], report["total"]
            self._bars.update(self._task, description=stage, completed=done, total=total, refresh=True)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--figure",
    "figures",
    type=click.Choice([*(figure.name for figure in FIGURES), "all"]),
    multiple=True,
    default=["all"],
    show_default=True,
    help="What to measure and draw; may be given several times.",
)
@click.option("--quick", is_flag=True, help="Two data sets and two splits: minutes instead of an hour or two.")
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder of data sets, NAME.npz or as their sources publish them.",
)
@click.option("--splits", type=click.IntRange(1), help="Random splits of the rows [5, or 2 with --quick].")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for results, figures and report [reproduction, or reproduction-quick].",
)
@click.option("--quiet", "-q", is_flag=True, help="No progress bar and no summary.")
def main(
    figures: tuple[str, ...], quick: bool, data: Path | None, splits: int | None, output: Path | None, quiet: bool
) -> None:
    """Run the paper's comparison and theorems again, and judge its claims.

    Writes results.csv and theory.csv, the figures (svg and png) and a report (report.html, report.md). What the
    tables hold already is not measured again, so that a run that was stopped goes on where it was.

    Data sets are looked for in --data, then asked of scikit-learn's fetchers, which need a network.
    """
    folder = output or Path("reproduction-quick" if quick else "reproduction")
    chosen = () if "all" in figures else figures
    missing: list[str] = []
    try:
        with ProgressBar(quiet=quiet) as progress:
            settings: dict[str, Any] = {"data": data, "quick": quick, "splits": splits}
            page = reproduce(folder, figures=chosen, progress=progress, warn=missing.append, **settings)
    except (ValueError, ImportError, OSError) as error:
        raise click.ClickException(str(error)) from error
    if not quiet:
        for note in missing:
            click.echo(f"Not measured: {note}", err=True)
        click.echo(f"Report: {page}")


if __name__ == "__main__":
    main()
