"""What the report says."""

from __future__ import annotations

from ..claims import CLAIMS, TARGETS, THEOREMS, Verdict
from ..comparison import TOLERANCE, Comparison
from ..figures import CurveFigure, Figure, Workshop
from ..methods import METHODS
from ..protocol import PATIENCE
from .blocks import Block, Heading, Paragraph, Picture, Table

PROTOCOL = (
    "70% of the rows to learn from, 30% to test on, in random splits with equal shares of positives (by block "
    "where rows depend on one another). Rewards are hinge rewards; SPADE and STAMP take 25 passes, STAMP's "
    "first epoch has 100 points and each next one twice as many, and its challenge level is the actual "
    "measure. Steps, C and thresholds are tuned on a fifth of the training rows held out, the steps and C off "
    f"the clock. L-BFGS runs to convergence; SVMPerf is stopped after {PATIENCE:g} times the CPU seconds of "
    "SPADE or STAMP. Time is CPU time of one thread, from rows in memory on: standardising and mixing them is "
    "on the clock, compiling and testing are not. Test values are those of 0-1 predictions."
)
TIMES = (
    "Below, k x means: SPADE or STAMP was k times sooner than the other, in CPU seconds, at the level that "
    "both reach, the lower of what the two end with; the median over splits. A method is at a level once it "
    f"stays within {TOLERANCE:g} of it. SPADE or STAMP began when the rows were ready and it had learned from "
    "500 points. A point is a hundredth of a measure."
)


def contents(workshop: Workshop, figures: list[Figure], drawn: list[str]) -> list[Block]:
    """The report, from the verdicts to the protocol."""
    splits = f"{workshop.splits} random split{'s' if workshop.splits > 1 else ''}"
    blocks: list[Block] = [
        Heading("The paper's experiments, run again", 1),
        Paragraph(
            'Narasimhan, Kar and Jain, "Optimizing Non-decomposable Performance Measures: A Tale of Two Classes" '
            f"(ICML 2015): its comparison and its theorems, measured by ratewise reproduce, {splits}"
            + (", a quick run on two data sets." if workshop.quick else ".")
        ),
    ]
    blocks += [Paragraph(f"Not measured: {note}") for note in workshop.notes]
    blocks += [Paragraph(TIMES)]
    blocks += _verdicts(
        "What the paper claims, and what we measured", [claim(workshop.results) for claim in CLAIMS]
    )
    blocks += _verdicts("What this project asks of itself", [target(workshop.results) for target in TARGETS])
    blocks += _verdicts("The theorems", [theorem(workshop.theory) for theorem in THEOREMS])
    blocks += [Heading("Figures")]
    for figure in figures:
        if figure.name in drawn:
            blocks.append(Picture(figure.name, figure.caption))
        if isinstance(figure, CurveFigure):
            blocks += _numbers(figure, workshop)
    return [*blocks, Heading("How it was measured"), Paragraph(PROTOCOL)]


def _verdicts(heading: str, verdicts: list[Verdict]) -> list[Block]:
    rows = [(one.claim, one.verdict, one.evidence, one.why) for one in verdicts]
    headings = ("claim", "verdict", "measured", "why it may differ")
    if not any(one.why for one in verdicts):
        return [Heading(heading), Table(headings[:3], [row[:3] for row in rows], verdict_column=1)]
    return [Heading(heading), Table(headings, rows, verdict_column=1)]


def _numbers(figure: CurveFigure, workshop: Workshop) -> list[Block]:
    """What each method ended with, and how soon."""
    rows = []
    for data in workshop.results.data_sets(figure.name):
        found = Comparison(workshop.results, data, figure.name)
        for method in METHODS:
            if method.name in found:
                value = f"{found.value(method.name):.4f} ± {found.spread(method.name):.4f}"
                soon, whole = found.time_to_best(method.name), found.seconds(method.name)
                rows.append((data, method.name, value, f"{soon:.3g}", f"{whole:.3g}"))
    if not rows:
        return []
    return [Table(("data", "method", figure.title, "CPU s to its best", "CPU s in all"), rows)]
