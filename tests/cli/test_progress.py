"""Progress is for terminals only."""

from __future__ import annotations

import io

from rich.console import Console

from ratewise import MeasureClassifier, open_stream
from ratewise.cli._output import Meter


def drawn(reports):
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80, color_system=None)
    with Meter(console=console) as meter:
        for report in reports:
            meter(report)
    return out.getvalue()


def test_a_terminal_sees_the_stage_the_rows_the_measure_and_the_rates():
    text = drawn(
        [
            {"stage": "survey", "done_rows": 500, "total_rows": None},
            {"stage": "pass 1", "done_rows": 1000, "total_rows": 4000, "tpr": 0.75, "tnr": 0.5, "value": 0.625},
            {"stage": "pass 1", "done_rows": 3000, "total_rows": 4000, "tpr": 0.8, "tnr": 0.9, "value": 0.85},
        ]
    )
    for word in ("survey", "500 rows", "pass 1", "3k rows", "/s", "measure 0.850", "TPR 0.800", "TNR 0.900"):
        assert word in text


def test_nothing_is_drawn_where_stderr_is_no_terminal(capsys):
    with Meter() as meter:
        meter({"stage": "pass 1", "done_rows": 10, "total_rows": 20})
    assert capsys.readouterr() == ("", "")


def test_rows_fitted_in_memory_are_reported_as_they_are_read_and_after_every_training_run(files):
    reports = []
    stream = open_stream(files / "train.csv", target="label")
    MeasureClassifier(random_state=0).fit_stream(stream, progress=reports.append)
    assert list(dict.fromkeys(one["stage"] for one in reports)) == ["survey", "reading", "learning"]
    learning = [(one["done_rows"], one["total_rows"]) for one in reports if one["stage"] == "learning"]
    of_the_folds = [(400 * done, 2000) for done in range(6)]
    assert learning == [*of_the_folds, (0, 400), (400, 400)]  # the chosen stages learn from all rows
