"""What all pictures share."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from ratewise.plots import ComparisonDisplay, HistoryDisplay, RatesPlaneDisplay, ThresholdDisplay

Y = np.array([0, 1, 0, 1])
SCORES = np.array([0.1, 0.2, 0.3, 0.4])
DRAWINGS = {
    "plane": lambda: RatesPlaneDisplay.from_predictions(Y, SCORES, measure="f1"),
    "threshold": lambda: ThresholdDisplay.from_predictions(Y, SCORES, measure="f1", threshold=0.0),
    "history": lambda: HistoryDisplay({"points": [1, 2, 1], "value": [0.1, 0.2, 0.3], "run": [0, 0, 1]}).plot(),
    "comparison": lambda: ComparisonDisplay.from_predictions(Y, {"a": Y, "b": 1 - Y}, measure="f1"),
}
every_drawing = pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)


@every_drawing
def test_without_matplotlib_one_sentence_tells_what_to_install(draw, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ModuleNotFoundError, match=r'^Plots need matplotlib: pip install "ratewise\[plots\]"$'):
        draw()


def test_matplotlib_is_imported_when_something_is_drawn_only():
    code = "import sys, ratewise.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@every_drawing
@pytest.mark.parametrize("font_size", [7, 10, 15])
def test_legends_lie_below_the_axes_and_inside_the_figure(draw, font_size):
    from matplotlib import rc_context
    from matplotlib.legend import Legend

    with rc_context({"font.size": font_size}):
        display = draw()
    display.figure_.draw_without_rendering()
    label = display.ax_.xaxis.label.get_window_extent()
    legends = [child for child in display.ax_.get_children() if isinstance(child, Legend)]
    boxes = [legend.get_window_extent() for legend in legends]
    assert boxes
    for box in boxes:
        assert 0 <= box.y0 < box.y1 <= label.y0
        assert 0 <= box.x0 < box.x1 <= display.figure_.bbox.width
    assert not any(one.overlaps(other) for k, one in enumerate(boxes) for other in boxes[:k])
