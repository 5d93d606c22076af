"""The paper's comparison as a harness: data sets, methods, figures and claims, one small file each.

A data set, a method, a figure or a claim is a file, and a line in its folder's list. They meet through few names:
a ``DataSet`` loads rows, a ``Method`` learns from them and records models with the CPU seconds each took, and a
``Figure`` has runs made and draws them. Results are rows of a CSV file.
"""

from .datasets import DATA_SETS
from .figures import FIGURES
from .methods import METHODS
from .reproduce import reproduce

__all__ = ["DATA_SETS", "FIGURES", "METHODS", "reproduce"]
