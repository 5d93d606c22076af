"""Many classes: a model of a column of scores per class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class MultinomialLogistic:
    """Logistic regression of all classes at once: the start of a sharpened fit of more than two classes.

    ``l2`` is the strength of the penalty that validation rows chose.
    """

    l2: float


class MulticlassModel(NamedTuple):
    """The scores of all classes are ``rows @ weights.T + intercepts``, in the units of the rows learned from."""

    weights: NDArray[np.float64]
    intercepts: NDArray[np.float64]

    def plus(self, offsets: NDArray[np.float64]) -> MulticlassModel:
        """Return the model whose scores are these and an offset per class."""
        return self._replace(intercepts=self.intercepts + offsets)
