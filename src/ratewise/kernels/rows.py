"""The two things a loop does with a row, whatever the layout: take its score, and add it to the model.

``dense.py`` and ``csr.py`` say how. The loops are written once, against these names.
"""

from __future__ import annotations

from typing import Any

# Plain fastmath=True would let the compiler assume that no NaN exists, and a diverging run must be seen.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


def dot(rows: Any, i: int, vector: Any) -> float:
    """Row i times the vector."""
    raise NotImplementedError("compiled code only")


def add_row(rows: Any, i: int, factor: float, mass: float, direction: Any, shadow: Any) -> float:
    """Add ``factor`` times row i to the direction; unless the mass is 0, ``mass * factor`` times to the shadow.

    Returns the squared length of the row, which the loop needs to keep the model's own length.
    """
    raise NotImplementedError("compiled code only")
