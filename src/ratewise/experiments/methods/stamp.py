"""STAMP with the paper's settings: hinge rewards, 25 passes, epochs of 100 points and doubling, actual levels."""

from ...measures import PseudoLinearMeasure
from ...solvers import Stamp
from .point_by_point import PointByPoint

STAMP = PointByPoint(
    "STAMP",
    Stamp(passes=25, reward="hinge", first_epoch=100, growth=2.0, level="actual"),
    PseudoLinearMeasure,  # type: ignore[type-abstract]
)
