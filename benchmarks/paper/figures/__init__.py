"""The figures of the report, in its order."""

from __future__ import annotations

from ..base import Figure
from .curves import CurveFigure
from .theory import TheoryFigure

_FIRST_THREE = (("ijcnn1",), ("kddcup08", "creditcard"), ("ppi", "protein_homo"))
_QUICK = (("ijcnn1",), ("covtype-50k",))

FIGURES: list[Figure] = [
    # The paper's four panels, and MNIST, of which its text speaks.
    CurveFigure("qmean", "Q-mean", (*_FIRST_THREE, ("covtype",), ("mnist",)), _QUICK),
    CurveFigure("min", "Min of TPR and TNR", (*_FIRST_THREE, ("mnist",)), _QUICK),
    CurveFigure("f1", "F1", (*_FIRST_THREE, ("covtype",)), _QUICK),
    CurveFigure("jaccard", "Jaccard", (*_FIRST_THREE, ("covtype",)), _QUICK),
    TheoryFigure(),
]
