"""SPADE with the paper's settings: hinge rewards, 25 passes."""

from ...measures import ConcaveMeasure
from ...solvers import Spade
from .point_by_point import PointByPoint

SPADE = PointByPoint("SPADE", Spade(passes=25, reward="hinge"), ConcaveMeasure)  # type: ignore[type-abstract]
