"""Plots of fits and models, in the form of scikit-learn's Display objects; they need matplotlib.

Every display has class methods that compute the data, attributes that keep them, and ``plot``, which draws them.
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
