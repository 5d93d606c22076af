"""Write the report, in Markdown and in HTML."""

from __future__ import annotations

import base64
import textwrap
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from .base import Figure, Reproduction
from .claims import CLAIMS, TARGETS, THEOREMS
from .comparison import TOLERANCE, Comparison, Verdict
from .figures.curves import CurveFigure
from .methods import METHODS
from .protocol import TIME_FACTOR

PROTOCOL = (
    "70% of the rows for training, 30% for testing, in random splits with equal shares of positives (by block "
    "where rows depend on one another). Rewards are hinge rewards; SPADE and STAMP take 25 passes, STAMP's "
    "first epoch has 100 points and each next one twice as many, and its challenge level is the actual "
    "measure. Steps, C and thresholds are tuned on validation rows, a fifth of the training rows; tuning steps "
    f"and C does not count as time. L-BFGS runs to convergence; SVMPerf is stopped after {TIME_FACTOR:g} times "
    "the CPU seconds of SPADE or STAMP. Time is CPU time of one thread, from rows in memory on: standardizing and "
    "shuffling them counts, compiling and testing do not. Test values are those of 0-1 predictions."
)
TIMES = (
    "Below, k x means: SPADE or STAMP takes 1/k of the CPU seconds of the other to the level that both reach, the "
    "lower of the two last values; the median over splits. A method has reached a level once it stays within "
    f'{TOLERANCE:g} of it. "Began" is the time at which the rows are ready and SPADE or STAMP has learned from '
    "500 points. A point is a hundredth of a measure."
)
_STYLE = """
:root { color-scheme: light }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; margin: 2rem auto; max-width: 80rem;
       padding: 0 1rem }
h1 { font-size: 1.7rem } h2 { font-size: 1.25rem; margin-top: 2.2rem }
p, figcaption { max-width: 48rem } figcaption { color: #444; font-size: .9rem }
figure { margin: 1.5rem 0 .5rem } img { width: 100%; height: auto }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-size: .9rem; margin: .5rem 0 }
td, th { padding: .35rem .7rem; text-align: left; vertical-align: top; border-bottom: 1px solid #ddd }
th { border-bottom: 2px solid #888 }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
td.verdict + td { min-width: 26rem }
td.verdict { font-weight: 600; white-space: nowrap }
.agrees { color: #00664a } .partly { color: #8a5a00 } .disagrees { color: #a33c00 } .not-measured { color: #666 }
"""


class Heading(NamedTuple):
    text: str
    level: int = 2


class Paragraph(NamedTuple):
    text: str


class Table(NamedTuple):
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    verdict_column: int | None = None
    """The column of verdicts, which are coloured."""


class Picture(NamedTuple):
    file: str
    """Its name without the ending, in the folder of the report."""
    caption: str


Block = Heading | Paragraph | Table | Picture


def contents(reproduction: Reproduction, figures: list[Figure], drawn: list[str]) -> list[Block]:
    """Return the report, from the verdicts to the protocol."""
    results, splits = reproduction.results, reproduction.splits
    blocks: list[Block] = [
        Heading("The paper's experiments, run again", 1),
        Paragraph(
            'Narasimhan, Kar and Jain, "Optimizing Non-decomposable Performance Measures: A Tale of Two Classes" '
            "(ICML 2015): its comparison and its theorems, measured by ratewise's make reproduce, "
            f"{splits} random split{'s' if splits > 1 else ''}"
            + (", a quick run on two data sets." if reproduction.quick else ".")
        ),
        *(Paragraph(f"Not measured: {note}") for note in reproduction.notes),
        Paragraph(TIMES),
        *_verdicts("The paper's claims, and what was measured", [claim(results) for claim in CLAIMS]),
        *_verdicts("Targets of this project", [target(results) for target in TARGETS]),
        *_verdicts("The theorems", [theorem(reproduction.theory) for theorem in THEOREMS]),
        Heading("Figures"),
    ]
    for figure in figures:
        if figure.name in drawn:
            blocks.append(Picture(figure.name, figure.caption))
        if isinstance(figure, CurveFigure):
            blocks += _numbers(figure, reproduction)
    return [*blocks, Heading("How it was measured"), Paragraph(PROTOCOL)]


def _verdicts(heading: str, verdicts: list[Verdict]) -> list[Block]:
    columns = 4 if any(one.why for one in verdicts) else 3
    headings = ("claim", "verdict", "measured", "why it may differ")
    return [Heading(heading), Table(headings[:columns], [one[:columns] for one in verdicts], verdict_column=1)]


def _numbers(figure: CurveFigure, reproduction: Reproduction) -> list[Block]:
    """Return a table of the last value of each method, and its times."""
    rows = []
    for data in reproduction.results.data_sets(figure.name):
        found = Comparison(reproduction.results, data, figure.name)
        for method in METHODS:
            if method.name in found:
                value = f"{found.value(method.name):.4f} ± {found.spread(method.name):.4f}"
                soon, whole = found.seconds_to_best(method.name), found.seconds(method.name)
                rows.append((data, method.name, value, f"{soon:.3g}", f"{whole:.3g}"))
    if not rows:
        return []
    return [Table(("data", "method", figure.title, "CPU s to its best", "CPU s in all"), rows)]


def as_markdown(blocks: Iterable[Block]) -> str:
    """Return the report as a page of Markdown, beside its pictures."""
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {block.text}"
    if isinstance(block, Paragraph):
        return textwrap.fill(block.text, 118, break_long_words=False, break_on_hyphens=False)
    if isinstance(block, Picture):
        return f"![{block.caption}]({block.file}.png)\n\n*{block.caption}*"
    lines = [block.headings, ["---"] * len(block.headings), *block.rows]
    escaped = [[text.replace("|", "\\|").replace("\n", "<br>") for text in line] for line in lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in escaped)


def as_html(blocks: Iterable[Block], folder: Path) -> str:
    """Return the report as one HTML page; pictures are read from the folder and embedded."""
    body = "\n".join(_html(block, folder) for block in blocks)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>ratewise: the paper's experiments, run again</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"{body}\n</body>\n</html>\n"
    )


def _html(block: Block, folder: Path) -> str:
    if isinstance(block, Heading):
        return f"<h{block.level}>{escape(block.text)}</h{block.level}>"
    if isinstance(block, Paragraph):
        return f"<p>{escape(block.text)}</p>"
    if isinstance(block, Picture):
        picture = base64.b64encode((folder / f"{block.file}.svg").read_bytes()).decode()
        caption = escape(block.caption)
        return (
            f'<figure><img src="data:image/svg+xml;base64,{picture}" alt="{caption}">'
            f"<figcaption>{caption}</figcaption></figure>"
        )
    head = "".join(f"<th>{escape(heading)}</th>" for heading in block.headings)
    rows = "\n".join(
        "<tr>"
        + "".join(_html_cell(text, number == block.verdict_column) for number, text in enumerate(row))
        + "</tr>"
        for row in block.rows
    )
    return f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table></div>'


def _html_cell(text: str, is_verdict: bool) -> str:
    if is_verdict:
        return f'<td class="verdict {text.replace(" ", "-")}">{escape(text)}</td>'
    shown = escape(text).replace("\n", "<br>")
    number = text[:1].isdigit() and len(text) < 20
    return f'<td class="number">{shown}</td>' if number else f"<td>{shown}</td>"
