"""The methods of the comparison, in the order they run and are listed."""

from __future__ import annotations

from ..base import Method
from .online import SPADE, STAMP
from .rivals import DefaultFit, LogisticMethod, OnePMBMethod, PlugInMethod, SVMPerfMethod

# The paper's own come first: what others are allowed depends on their time.
PAPERS_OWN: list[Method] = [SPADE, STAMP]
BEYOND_THE_PAPER: list[Method] = [DefaultFit()]
METHODS: list[Method] = [
    *PAPERS_OWN,
    PlugInMethod(),
    SVMPerfMethod(),
    OnePMBMethod(),
    LogisticMethod(),
    *BEYOND_THE_PAPER,
]
