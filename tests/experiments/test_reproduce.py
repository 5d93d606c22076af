"""From data to a report: files, figures, verdicts, and nothing measured twice."""

from __future__ import annotations

import re

import numpy as np
import pytest
from click.testing import CliRunner

from ratewise.cli.app import app
from ratewise.cli.reproduce import FIGURES as OFFERED
from ratewise.experiments import FIGURES, protocol, reproduce
from ratewise.experiments.figures import theory as theory_figure
from ratewise.experiments.methods import METHODS
from ratewise.experiments.report.blocks import Heading, Paragraph, Table
from ratewise.experiments.report.html import as_html
from ratewise.experiments.report.markdown import as_markdown
from ratewise.experiments.theory import Series


@pytest.fixture(autouse=True)
def quick_methods(monkeypatch):
    chosen = [method for method in METHODS if method.name in ("SPADE", "STAMP", "Logistic regression")]
    monkeypatch.setattr(protocol, "METHODS", chosen)


class QuickPanel:
    name = "amp"

    def measure(self, *, quick):
        return [Series("amp", "F1", np.arange(3.0), np.array([0.5, 0.1, 0.01]), np.array([0.5, 0.3, 0.2]))]


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_quick_run_writes_tables_figures_and_a_page_with_everything_in_it(data_folder, tmp_path):
    output = tmp_path / "out"
    result = run(
        "reproduce", "--figure", "qmean", "--figure", "f1", "--quick", "--data", data_folder, "-o", output
    )
    assert result.exit_code == 0, result.output
    assert str(output / "report.html") in result.output
    assert {path.name for path in output.iterdir()} == {
        *("results.csv", "report.html", "report.md"),
        *("qmean.svg", "qmean.png", "f1.svg", "f1.png"),
    }
    page = (output / "report.html").read_text()
    assert page.count("data:image/svg+xml;base64,") == 2
    assert not re.search(r'(src|href)="(?!data:)', page)
    assert "outperformed every other method" in page
    assert "covtype-50k" in page
    rows = (output / "results.csv").read_text().splitlines()
    assert {tuple(row.split(",")[:3]) for row in rows[1:]} == {
        (data, measure, method)
        for data in ("ijcnn1", "covtype-50k")
        for measure, ours in (("qmean", "SPADE"), ("f1", "STAMP"))
        for method in (ours, "Logistic regression")
    }


def test_a_second_run_measures_nothing_and_says_the_same(data_folder, tmp_path):
    reports = []
    stages = []
    for _ in range(2):
        stages.clear()
        page = reproduce(
            tmp_path / "out", figures=["min"], data=data_folder, quick=True, splits=1, progress=stages.append
        )
        reports.append(page.read_text())
    assert stages == []
    assert reports[0] == reports[1]


def test_the_theory_figure_needs_no_data(tmp_path, monkeypatch):
    monkeypatch.setattr(theory_figure, "PANELS", [QuickPanel()])
    page = reproduce(tmp_path / "out", figures=["theory"])
    assert "after one round" in page.read_text()
    assert (tmp_path / "out" / "theory.csv").exists()


def test_without_any_data_the_reason_says_where_to_get_them(tmp_path, monkeypatch):
    def no_network(**options):
        raise OSError("no network")

    monkeypatch.setattr("sklearn.datasets.fetch_covtype", no_network)
    result = run("reproduce", "--figure", "qmean", "--quick", "--data", tmp_path, "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert "libsvmtools" in result.stderr
    assert "fetch_covtype" in result.stderr


def test_data_that_are_missing_are_named_in_the_report(data_folder, tmp_path):
    (data_folder / "ijcnn1.npz").unlink()
    page = reproduce(tmp_path / "out", figures=["jaccard"], data=data_folder, quick=True, splits=1)
    assert "Not measured: ijcnn1" in page.read_text()


def test_the_command_offers_the_figures_there_are():
    assert list(OFFERED) == [figure.name for figure in FIGURES]
    assert run("reproduce", "--figure", "moon").exit_code == 2


def test_an_unknown_figure_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"no figure 'moon'.*qmean"):
        reproduce(tmp_path / "out", figures=["moon"])
    assert not (tmp_path / "out").exists()


def test_reports_escape_what_the_page_would_take_for_markup(tmp_path):
    blocks = [Heading("a < b"), Paragraph("c & d"), Table(("x | y",), [("<i>",), ("not measured",)], 0)]
    page = as_html(blocks, tmp_path)
    assert "a &lt; b" in page
    assert "c &amp; d" in page
    assert 'class="verdict not-measured"' in page
    assert "x \\| y" in as_markdown(blocks)
