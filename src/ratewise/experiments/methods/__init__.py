"""The methods of the comparison, in the order they run and are listed. To add one: a file and its line."""

from __future__ import annotations

from .base import Method, Record, Task
from .default import DefaultFit
from .logistic import LogisticMethod
from .onepmb import OnePMBMethod
from .plugin import PlugInMethod
from .spade import SPADE
from .stamp import STAMP
from .svmperf import SVMPerfMethod

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

__all__ = ["BEYOND_THE_PAPER", "METHODS", "PAPERS_OWN", "Method", "Record", "Task"]
