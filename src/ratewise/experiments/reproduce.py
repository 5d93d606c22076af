"""Everything together: measure, draw, report."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._atomic import atomic_write
from .figures import FIGURES, Figure, Workshop
from .protocol import Progress
from .report import as_html, as_markdown, contents
from .results import Results
from .theory import TheoryResults

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
) -> Path:
    """Run the paper's comparison and write what came of it; returns the page to open.

    Parameters
    ----------
    output : folder
        Gets results.csv, theory.csv, the figures, report.html and report.md. Runs whose results are there already
        are not made again.
    figures : names
        Which of :data:`FIGURES` to make; all unless given.
    data : folder
        Where the data sets are, as ``NAME.npz`` or as their sources publish them. What is not there is asked of
        scikit-learn's fetchers.
    quick : bool
        Two data sets and two splits instead of five and five.
    splits : int
        Random splits into training and test rows, if another number is wanted.
    progress : function of a dict
        Told the stage, and how many runs of how many are done.
    """
    from threadpoolctl import threadpool_limits

    chosen = _chosen(figures)
    output.mkdir(parents=True, exist_ok=True)
    workshop = Workshop(
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
            figure.measure(workshop)
    return write_report(workshop, chosen, output)


def write_report(workshop: Workshop, figures: Sequence[Figure], output: Path) -> Path:
    """Draw the figures, and write the report in both its forms."""
    drawn = [figure.name for figure in figures if _draw(figure, workshop, output)]
    if not drawn:
        raise ValueError("Nothing could be measured. " + " ".join(workshop.notes))
    blocks = contents(workshop, list(figures), drawn)
    _write(output / "report.md", as_markdown(blocks).encode())
    _write(output / "report.html", as_html(blocks, output).encode())
    return output / "report.html"


def _chosen(names: Sequence[str]) -> list[Figure]:
    known = [figure.name for figure in FIGURES]
    for name in names:
        if name not in known:
            raise ValueError(f"There is no figure {name!r}. Known: {', '.join(known)}.")
    return [figure for figure in FIGURES if not names or figure.name in names]


def _draw(figure: Figure, workshop: Workshop, output: Path) -> bool:
    canvas: Any = figure.draw(workshop)
    if canvas is None:
        return False
    import matplotlib

    # The same results are to make the same files: no date, and no names drawn at random.
    with matplotlib.rc_context({"svg.hashsalt": "ratewise"}):
        for ending, more in (("svg", {"metadata": {"Date": None}}), ("png", {"dpi": 110})):
            picture = io.BytesIO()
            canvas.savefig(picture, format=ending, **more)
            _write(output / f"{figure.name}.{ending}", picture.getvalue())
    return True


def _write(path: Path, content: bytes) -> None:
    with atomic_write(path) as file:
        file.write(content)
