"""Slopes against differences."""

from __future__ import annotations

import pytest


def assert_slopes_are_derivatives(measure, tpr, tnr, prevalence, tolerance=1e-4):
    step = 1e-6
    by_tpr = measure.value(tpr + step, tnr, prevalence) - measure.value(tpr - step, tnr, prevalence)
    by_tnr = measure.value(tpr, tnr + step, prevalence) - measure.value(tpr, tnr - step, prevalence)
    expected = (by_tpr / (2 * step), by_tnr / (2 * step))
    assert measure.slopes(tpr, tnr, prevalence) == pytest.approx(expected, rel=tolerance, abs=tolerance)
