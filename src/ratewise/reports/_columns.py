"""A table of the contributions of columns to the scores of boosting and of the stack."""

from __future__ import annotations

import html
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..estimators import MeasureMaximizer
from ..estimators._positive import PositiveClass
from ..plots._scores import inner_classifier, rows_inside

_MOST_ROWS = 1_000
_MOST_COLUMNS = 20

Floats = NDArray[np.float64]


class ColumnShares(NamedTuple):
    """The names of the columns that add most, the mean size of their contributions, and the means by class."""

    names: list[str]
    sizes: Floats
    of_positives: Floats
    """The mean over the rows that are predicted positive."""
    of_others: Floats
    rows: int
    columns: int

    @classmethod
    def of(cls, model: Any, X: Any, positive: PositiveClass) -> Self | None:
        """Return the contributions of a MeasureMaximizer's columns; None for other models, or if it has none."""
        classifier = inner_classifier(model)
        if not isinstance(classifier, MeasureMaximizer) or PositiveClass.of_model(classifier) != positive:
            return None
        rows = rows_inside(model, X)
        step = max(-(-rows.shape[0] // _MOST_ROWS), 1)
        some = rows.iloc[::step] if hasattr(rows, "iloc") else rows[::step]
        try:
            found = classifier.explain(some)
        except ValueError:
            return None
        values, called = found.contributions, found.scores > 0.0
        sizes = np.ravel(abs(values).mean(axis=0))
        largest = np.argsort(-sizes, kind="stable")[:_MOST_COLUMNS]
        means = [np.ravel(values[mine].mean(axis=0)) if mine.any() else 0.0 * sizes for mine in (called, ~called)]
        return cls(
            [found.names[place] for place in largest],
            sizes[largest],
            means[0][largest],
            means[1][largest],
            int(called.size),
            len(found.names),
        )

    def html(self, positive: str) -> str:
        """Return the table, as the page shows it."""
        lines = []
        widest = max(float(self.sizes.max(initial=0.0)), 1e-300)
        for name, size, above, below in zip(
            self.names, self.sizes, self.of_positives, self.of_others, strict=True
        ):
            bar = f'<rect class="bar influence-up" x="0" y="2" width="{198 * size / widest:.1f}" height="12"/>'
            picture = (
                f'<svg viewBox="0 0 200 16" width="200" height="16" aria-hidden="true" class="meter">{bar}</svg>'
            )
            cells = "".join(
                f"<td>{cell}</td>" for cell in (picture, f"{size:.3f}", f"{above:+.3f}", f"{below:+.3f}")
            )
            lines.append(f'<tr><th scope="row">{html.escape(name)}</th>{cells}</tr>')
        called = html.escape(positive)
        heads = ("mean size", f"mean where {called} is predicted", "mean elsewhere")
        titles = "".join(f'<th scope="col">{head}</th>' for head in heads)
        return (
            '<section aria-labelledby="added-title"><h2 id="added-title">What each column adds to a score</h2>'
            "<p>The score of a row is the mean vote of the models less the threshold: above 0 it is predicted "
            f"{called}. It is a sum over columns; these are the {len(self.names)} of {self.columns:,} that add "
            "most.</p>"
            '<div class="scroll" tabindex="0" role="region" aria-labelledby="added-title"><table class="numbers">'
            f"<caption>Contributions to the scores of {self.rows:,} rows</caption>"
            f'<thead><tr><th scope="col">column</th><td></td>{titles}</tr></thead>'
            f"<tbody>{''.join(lines)}</tbody></table></div></section>"
        )
