"""What a change of units must be able to do."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Units(Protocol):
    """Rows into units that are good to learn in, and linear models back into the user's."""

    @property
    def unit_scale(self) -> bool:
        """Whether entries in the new units are about 1 in size."""

    @property
    def scale(self) -> NDArray[np.float64]:
        """How much each of the user's columns varies."""

    def transform(self, X: Any, order: NDArray[np.signedinteger[Any]], dtype: Any, threads: int = 1) -> Any:
        """The rows of X in this order, in the new units."""

    def to_user_units(self, weights: NDArray[Any], intercept: float) -> tuple[NDArray[np.float64], float]:
        """A model of the new columns as the same model of the user's columns."""

    def to_standard_units(self, coef: NDArray[Any], intercept: float) -> tuple[NDArray[np.float64], float]:
        """The other way round."""
