"""Which measures the search for the most violated labelling can take, and what it may rely on for each."""

from __future__ import annotations

from ..measures import GMean, HMean, Measure, MinRate, PseudoLinearMeasure, QMean
from .labelling import GMEAN, HMEAN, MIN, QMEAN, RATIO, TableLoss

_NOTHING = (0.0, 0.0, 0.0)
_CONCAVE: dict[type[Measure], int] = {MinRate: MIN, QMean: QMEAN, GMean: GMEAN, HMean: HMEAN}


def table_loss_of(measure: Measure, prevalence: float) -> TableLoss:
    """The loss 1 - measure at this share of positives, in the form compiled code takes.

    Raises
    ------
    ValueError
        If no fast search is known for the measure.
    """
    if isinstance(measure, PseudoLinearMeasure):
        return _ratio(measure, prevalence)
    if type(measure) in _CONCAVE:
        kind = _CONCAVE[type(measure)]
        return TableLoss(kind, _NOTHING, _NOTHING, concave=False, rising=False, transposed=False)
    raise ValueError(
        f"There is no fast search for the most violated labelling under {measure.label}: structural SVMs take "
        "pseudo-linear measures (F-beta, Jaccard, ...), min, qmean, gmean and hmean. PlugIn takes any measure."
    )


def _ratio(measure: PseudoLinearMeasure, prevalence: float) -> TableLoss:
    measure.check_against(prevalence)
    a, b = measure.coefficients(prevalence)
    if b[0] < 0:
        a, b = (-a[0], -a[1], -a[2]), (-b[0], -b[1], -b[2])
    numerator, denominator = (float(a[0]), float(a[1]), float(a[2])), (float(b[0]), float(b[1]), float(b[2]))
    concave = b[2] <= 0 or b[1] <= 0
    return TableLoss(RATIO, numerator, denominator, concave, rising=True, transposed=b[2] > 0 and concave)
