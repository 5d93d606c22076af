"""`ratewise reproduce`: the paper's experiments, run again."""

from __future__ import annotations

from pathlib import Path

import click

from .options import quiet_option

FIGURES = ("qmean", "min", "f1", "jaccard", "theory")


@click.command()
@click.option(
    "--figure",
    "figures",
    type=click.Choice([*FIGURES, "all"]),
    multiple=True,
    default=["all"],
    show_default=True,
    help="What to measure and draw; may be given several times.",
)
@click.option("--quick", is_flag=True, help="Two data sets and two splits: minutes instead of an hour or two.")
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder of data sets, NAME.npz or as their sources publish them.",
)
@click.option("--splits", type=click.IntRange(1), help="Random splits of the rows [5, or 2 with --quick].")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for results, figures and report [reproduction, or reproduction-quick].",
)
@quiet_option
def reproduce(
    figures: tuple[str, ...], quick: bool, data: Path | None, splits: int | None, output: Path | None, quiet: bool
) -> None:
    """Run the paper's comparison and theorems again, and judge its claims.

    Writes results.csv and theory.csv, the figures (svg and png) and a report (report.html, report.md). What the
    tables hold already is not measured again, so that a run that was stopped goes on where it was.

    Data sets are looked for in --data, then asked of scikit-learn's fetchers, which need a network.
    """
    from ..experiments import reproduce as run_again
    from .progress import Steps

    folder = output or Path("reproduction-quick" if quick else "reproduction")
    with Steps(quiet=quiet) as steps:
        page = run_again(
            folder,
            figures=() if "all" in figures else figures,
            data=data,
            quick=quick,
            splits=splits,
            progress=steps,
        )
    if not quiet:
        click.echo(f"Report: {page}")
