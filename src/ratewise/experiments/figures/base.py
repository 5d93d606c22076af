"""What a figure of the report is, and what it is made from."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ..protocol import Progress
from ..results import Results
from ..theory import TheoryResults


class Workshop(NamedTuple):
    """Where figures find what was measured, and put what they measure."""

    results: Results
    theory: TheoryResults
    data: Path | None
    splits: int
    quick: bool
    progress: Progress
    notes: list[str]
    """What the reader should know, such as data that were not there."""


class Figure(Protocol):
    """One picture of the report."""

    @property
    def name(self) -> str:
        """On the command line, and of its files."""

    @property
    def caption(self) -> str:
        """What it shows."""

    def measure(self, workshop: Workshop) -> None:
        """Make the runs that it shows and that are not there yet."""

    def draw(self, workshop: Workshop) -> Any:
        """A matplotlib figure; None if nothing of it was measured."""


def blank(rows: int, columns: int, width: float, height: float) -> tuple[Any, Any]:
    """A figure with so many panels, and its axes as a flat list."""
    try:
        from matplotlib.figure import Figure as Canvas
    except ModuleNotFoundError:
        raise ImportError('Figures need matplotlib: pip install "ratewise[plots]"') from None
    canvas = Canvas(figsize=(width * columns, height * rows), layout="constrained")
    axes = canvas.subplots(rows, columns, squeeze=False).ravel()
    for panel in axes:
        panel.grid(True, color="#dddddd", linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=8)
    return canvas, list(axes)


def logarithmic_seconds(panel: Any) -> None:
    """A logarithmic axis with plain numbers at 1 and 3 of each decade."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    panel.set_xscale("log")
    panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda seconds, place: f"{seconds:g}"))
    panel.xaxis.set_minor_locator(NullLocator())
