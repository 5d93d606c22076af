"""From data to a report: files, figures, verdicts, and nothing measured twice."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

from paper import protocol
from paper.__main__ import ProgressBar, main
from paper.figures import FIGURES
from paper.figures import theory as theory_figure
from paper.methods import METHODS
from paper.report import Heading, Paragraph, Table, as_html, as_markdown
from paper.reproduce import reproduce
from paper.results import Series
from paper.theorems import AmpRate


@pytest.fixture(autouse=True)
def quick_methods(monkeypatch):
    chosen = [method for method in METHODS if method.name in ("SPADE", "STAMP", "Logistic regression")]
    monkeypatch.setattr(protocol, "METHODS", chosen)


class QuickPanel(AmpRate):
    def measure(self, *, quick):
        return [Series("amp", "F1", np.arange(3.0), np.array([0.5, 0.1, 0.01]), np.array([0.5, 0.3, 0.2]))]


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_a_quick_run_writes_tables_figures_and_a_page_with_everything_in_it(data_folder, tmp_path):
    output = tmp_path / "out"
    result = run("--figure", "qmean", "--figure", "f1", "--quick", "--data", data_folder, "-o", output)
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


@pytest.mark.parametrize("folder", [".", "that is not there"])
def test_without_any_data_the_reason_says_where_to_get_them(folder, tmp_path, monkeypatch):
    def no_network(**options):
        raise OSError("no network")

    monkeypatch.setattr("sklearn.datasets.fetch_covtype", no_network)
    result = run("--figure", "qmean", "--quick", "--data", tmp_path / folder, "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert "libsvmtools" in result.stderr
    assert "fetch_covtype" in result.stderr


def test_data_that_are_missing_are_named_in_the_report(data_folder, tmp_path):
    (data_folder / "ijcnn1.npz").unlink()
    result = run("--figure", "jaccard", "--quick", "--splits", 1, "--data", data_folder, "-o", tmp_path / "out")
    assert "Not measured: ijcnn1" in (tmp_path / "out" / "report.html").read_text()
    assert "Not measured: ijcnn1" in result.stderr
    assert "libsvmtools" in result.stderr


def test_the_command_offers_the_figures_there_are():
    for figure in FIGURES:
        assert figure.name in run("--help").stdout
    assert run("--figure", "moon").exit_code == 2


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


def test_a_terminal_sees_how_many_runs_of_how_many_are_done():
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80, color_system=None)
    with ProgressBar(console=console) as progress:
        progress({"stage": "ijcnn1 f1 STAMP", "done": 3, "total": 14})
    assert "ijcnn1 f1 STAMP" in out.getvalue()
    assert "3/14" in out.getvalue()


def test_runs_are_not_drawn_where_stderr_is_no_terminal(capsys):
    with ProgressBar() as progress:
        progress({"stage": "ijcnn1 f1 STAMP", "done": 3, "total": 14})
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("words", [["paper"], ["-m", "paper"]], ids=" ".join)
def test_the_harness_is_run_as_a_folder_or_as_a_module(words):
    benchmarks = Path(__file__).parents[2] / "benchmarks"
    ended = subprocess.run([sys.executable, *words, "--help"], cwd=benchmarks, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "judge its claims" in ended.stdout
