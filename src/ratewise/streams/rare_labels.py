"""Labels of very few rows in a file: rare classes, or mistyped labels."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

_ALIKE = 0.75  # as difflib has it: "frud" and "fraud" are 0.89


def mistyped_as(label: Any, counts: Mapping[Any, int]) -> str:
    """Return a question to the user: is this label another label mistyped or, if none is similar, a mistake?"""
    usual = {str(one).strip().casefold(): one for one in counts if counts[one] > counts[label]}
    like = difflib.get_close_matches(str(label).strip().casefold(), usual, n=1, cutoff=_ALIKE)
    if not (like and isinstance(label, str)):
        return "is it a mistake?"
    return f"is it a mistyped {usual[like[0]]!r}?"
