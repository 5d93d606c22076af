"""Plots of fits and models, in the form of scikit-learn's Display objects; they need matplotlib.

Every display has class methods that compute what is drawn, keeps it in attributes, and draws it with ``plot``.
``pip install "ratewise[plots]"`` installs matplotlib.
"""

from __future__ import annotations

from .compare import ComparisonDisplay
from .confusion import ConfusionDisplay
from .curves import ShapesDisplay, shapes
from .history import HistoryDisplay
from .plane import RatesPlaneDisplay
from .threshold import ThresholdDisplay
from .watch import MonitorDisplay

__all__ = [
    "ComparisonDisplay",
    "ConfusionDisplay",
    "HistoryDisplay",
    "MonitorDisplay",
    "RatesPlaneDisplay",
    "ShapesDisplay",
    "ThresholdDisplay",
    "shapes",
]
