"""Measure, draw, report."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from .base import Figure, Progress, Reproduction
from .figures import FIGURES
from .library import write_whole
from .report import as_html, as_markdown, contents
from .results import Results, TheoryResults

SPLITS = 5
QUICK_SPLITS = 2


def reproduce(
    output: Path,
    *,
    figures: Sequence[str] = (),
    data: Path | None = None,
    quick: bool = False,
    splits: int | None = None,
    progress: Progress = lambda report: None,
    warn: Callable[[str], object] = lambda note: None,
) -> Path:
    """Run the paper's comparison, write the results and a report, and return the page to open.

    Parameters
    ----------
    output : folder
        Gets results.csv, theory.csv, the figures, report.html and report.md. Runs whose results are there already
        are not made again.
    figures : names
        Which of :data:`FIGURES` to make; all unless given.
    data : folder
        Where the data sets are, as ``NAME.npz`` or as their sources publish them. scikit-learn's fetchers are
        asked for what is not there.
    quick : bool
        Two data sets and two splits instead of five and five.
    splits : int
        Random splits into training and test rows, if another number is wanted.
    progress : function of a dict
        Called with the stage, and how many runs of how many are done.
    warn : function of a text
        Called with each data set that is missing, and where it is available.
    """
    chosen = _chosen(figures)
    output.mkdir(parents=True, exist_ok=True)
    reproduction = Reproduction(
        results=Results(output / "results.csv"),
        theory=TheoryResults(output / "theory.csv"),
        data=data,
        splits=splits or (QUICK_SPLITS if quick else SPLITS),
        quick=quick,
        progress=progress,
        notes=[],
    )
    with threadpool_limits(1):  # threads that wait for one another would count as CPU time
        for figure in chosen:
            figure.measure(reproduction)
    page = _write_report(reproduction, chosen, output)
    for note in reproduction.notes:
        warn(note)
    return page


def _write_report(reproduction: Reproduction, figures: Sequence[Figure], output: Path) -> Path:
    """Draw the figures, and write the report in both its forms."""
    drawn = [figure.name for figure in figures if _draw(figure, reproduction, output)]
    if not drawn:
        raise ValueError("Nothing could be measured. " + " ".join(reproduction.notes))
    blocks = contents(reproduction, list(figures), drawn)
    write_whole(output / "report.md", as_markdown(blocks))
    write_whole(output / "report.html", as_html(blocks, output))
    return output / "report.html"


def _chosen(names: Sequence[str]) -> list[Figure]:
    known = [figure.name for figure in FIGURES]
    for name in names:
        if name not in known:
            raise ValueError(f"There is no figure {name!r}. Known: {', '.join(known)}.")
    return [figure for figure in FIGURES if not names or figure.name in names]


def _draw(figure: Figure, reproduction: Reproduction, output: Path) -> bool:
    canvas: Any = figure.draw(reproduction)
    if canvas is None:
        return False
    import matplotlib

    # The same results make the same files: no date, and no random names.
    with matplotlib.rc_context({"svg.hashsalt": "ratewise"}):
        for ending, more in (("svg", {"metadata": {"Date": None}}), ("png", {"dpi": 110})):
            picture = io.BytesIO()
            canvas.savefig(picture, format=ending, **more)
            write_whole(output / f"{figure.name}.{ending}", picture.getvalue())
    return True
