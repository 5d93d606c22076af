"""Reports: one HTML file about a classifier on labelled rows, and a model card from the same facts."""

from __future__ import annotations

from ._card import model_card
from ._classes import ClassReport
from ._document import Report
from ._report import report

__all__ = ["ClassReport", "Report", "model_card", "report"]
