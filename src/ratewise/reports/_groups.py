"""The rates of the groups that bounds concern, as a table and a picture of a report."""

from __future__ import annotations

import html
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..counts import Counts
from ..decisions.draws import interval, resampled
from ..measures import Bound, Gap, Measure, Rates
from ._scored import NORMALS, Estimate, ReportedRows
from ._words import percent

_ALERTS = "share of rows predicted positive"
_RATES: dict[str, Any] = {
    "TPR": lambda rates: rates.tpr,
    "FPR": lambda rates: 1.0 - rates.tnr,
    _ALERTS: lambda rates: rates.prevalence * rates.tpr + (1.0 - rates.prevalence) * (1.0 - rates.tnr),
    "TNR": lambda rates: rates.tnr,
    "precision": lambda rates: rates.precision,
}
_USUAL = ("TPR", "FPR", _ALERTS)
_WIDTH, _LEFT, _LINE = 480, 140, 26  # of the picture


class GroupRates(NamedTuple):
    """The rates of each group of labelled rows, and the bounds that the model was fitted for."""

    names: list[str]
    rows: list[int]
    rates: dict[str, list[Estimate]]
    """For each rate, an estimate per group."""
    tables: NDArray[np.float64]
    bounds: tuple[Bound | Gap, ...]

    @classmethod
    def of(
        cls, rows: ReportedRows, predicted: NDArray[np.bool_], groups: NDArray[Any], measure: Measure
    ) -> GroupRates:
        """Count the correctly and incorrectly predicted rows of each group."""
        names, codes = np.unique(groups, return_inverse=True)
        members = [codes.reshape(-1) == code for code in range(names.size)]
        counts = [rows.counts(predicted, mine) for mine in members]
        bounded = {one.kind for one in measure.group_bounds} & set(_RATES)
        shown = [kind for kind in _RATES if kind in _USUAL or kind in bounded]
        return cls(
            [str(name) for name in names.tolist()],
            [int(mine.sum()) for mine in members],
            {kind: [_estimate(kind, one) for one in counts] for kind in shown},
            np.stack([one.weights for one in counts]).astype(np.float64),
            measure.group_bounds,
        )

    def html(self) -> str:
        """Return a section of the page: a table, a sentence for each bound and a picture of each rate."""
        heads = "".join(f'<th scope="col">{html.escape(head)}</th>' for head in ("group", "rows", *self.rates))
        lines = []
        for number, (name, rows) in enumerate(zip(self.names, self.rows, strict=True)):
            cells = [f"{rows:,}", *(_with_ends(found[number]) for found in self.rates.values())]
            data = "".join(f"<td>{cell}</td>" for cell in cells)
            lines.append(f'<tr><th scope="row">{html.escape(name)}</th>{data}</tr>')
        caption = "At the own threshold of the model, or of each group if it has one for each; with 95% intervals"
        table = (
            f'<table class="numbers"><caption>{caption}</caption><thead><tr>{heads}</tr></thead>'
            f"<tbody>{''.join(lines)}</tbody></table>"
        )
        said = "".join(f"<p>{html.escape(self._sentence(one))}</p>" for one in self.bounds)
        bounded = [kind for kind in self.rates if any(one.kind == kind for one in self.bounds)]
        pictures = "".join(self._picture(kind) for kind in bounded or self.rates)
        return (
            '<section aria-labelledby="sensitive-title"><h2 id="sensitive-title">Rates of each group</h2>'
            f'{said}<div class="scroll" tabindex="0" role="region" aria-labelledby="sensitive-title">{table}</div>'
            f'<div class="panels">{pictures}</div></section>'
        )

    def _sentence(self, bound: Bound | Gap) -> str:
        asked = f"The model was fitted for {bound.label}"
        if isinstance(bound, Gap):
            return f"{asked}; on these rows the largest difference is {bound.difference(self.tables):.4f}."
        shares = np.asarray(bound.share(self.tables))
        worst = int(shares.argmin() if bound.at_least else shares.argmax())
        end = "lowest" if bound.at_least else "highest"
        return f"{asked} in every group; on these rows the {end} is {shares[worst]:.4f}, of {self.names[worst]}."

    def _picture(self, kind: str) -> str:
        """Draw the groups' rates with their intervals: between the ends of a bound, if there is one."""
        found, height = self.rates[kind], _LINE * (len(self.names) + 1)
        values = [one.value for one in found]
        parts = []
        for bound in (one for one in self.bounds if one.kind == kind):
            if isinstance(bound, Gap):
                low = 0.5 * (min(values) + max(values) - bound.level)
                wide = _x(min(low + bound.level, 1.0)) - _x(max(low, 0.0))
                where = f'x="{_x(max(low, 0.0)):.1f}" width="{wide:.1f}" y="0" height="{height - _LINE}"'
                parts.append(f'<rect class="band" {where}/>')
            else:
                at = _x(bound.level)
                parts.append(f'<path class="cursor" d="M{at:.1f} 0V{height - _LINE}"/>')
        for number, (name, one) in enumerate(zip(self.names, found, strict=True)):
            y = _LINE * (number + 0.5)
            label = html.escape(name if len(name) <= 18 else f"{name[:17]}…")
            parts.append(f'<text x="{_LEFT - 10}" y="{y + 4}" text-anchor="end">{label}</text>')
            parts.append(f'<path class="range" d="M{_x(one.low):.1f} {y}H{_x(one.high):.1f}"/>')
            parts.append(f'<circle class="dot" cx="{_x(one.value):.1f}" cy="{y}" r="4"/>')
        for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
            where = f'x="{_x(tick):.1f}" y="{height - 6}"'
            parts.append(f'<text class="faint" {where} text-anchor="middle">{tick:g}</text>')
        base = height - _LINE + 2
        parts.append(f'<path class="axis" d="M{_x(0.0):.1f} {base}H{_x(1.0):.1f}"/>')
        words = "; ".join(f"{name} {percent(one.value)}" for name, one in zip(self.names, found, strict=True))
        about = html.escape(f"{kind} of each group: {words}")
        gap = any(isinstance(one, Gap) and one.kind == kind for one in self.bounds)
        note = " The band is as wide as the groups may differ." if gap else ""
        return (
            f'<figure class="panel"><figcaption>{html.escape(kind)}.{note}</figcaption>'
            f'<svg role="img" aria-label="{about}" viewBox="0 0 {_WIDTH} {height}">{"".join(parts)}</svg></figure>'
        )


def _estimate(kind: str, counts: Counts) -> Estimate:
    rate = _RATES[kind]
    value = float(rate(Rates(*map(float, counts.rates))))
    return Estimate(value, *interval(rate(resampled(counts, NORMALS)), value))


def _x(share: float) -> float:
    return _LEFT + share * (_WIDTH - _LEFT - 20)


def _with_ends(one: Estimate) -> str:
    return f"{percent(one.value)} ({percent(one.low)} to {percent(one.high)})"
