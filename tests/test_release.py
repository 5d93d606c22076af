"""What a release consists of: versions that agree, a sound recipe and workflows, and types for users."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import ratewise

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_changelog_begins_with_this_version_and_sorts_changes_by_kind():
    text = (ROOT / "CHANGELOG.md").read_text()
    assert "keepachangelog.com" in text
    assert re.search(r"^## \[(.+?)\]", text, re.MULTILINE)[1] in ("Unreleased", ratewise.__version__)
    kinds = {heading.split(":")[0] for heading in re.findall(r"^### (.+)$", text, re.MULTILINE)}
    assert kinds <= KINDS


def test_the_citation_is_of_this_version_and_names_the_paper():
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == ratewise.__version__
    assert citation["license"] == PROJECT["license"]
    assert "Tale of Two Classes" in citation["preferred-citation"]["title"]


def test_the_conda_recipe_needs_what_the_wheel_needs():
    recipe = (ROOT / "packaging" / "conda" / "meta.yaml").read_text()
    run = set(
        re.findall(r"^    - ([\w-]+ >=[\d.]+)$", recipe.partition("  run:")[2].partition("test:")[0], re.MULTILINE)
    )
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *extras["files"], *extras["persistence"], *extras["cli"]]
    wanted = {one.replace(">=", " >=") for one in wanted if not one.startswith("ratewise")}
    assert run == wanted | {f"python {PROJECT['requires-python']}"}
    assert f'"{ratewise.__version__}"' in recipe


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.name
)
def test_a_workflow_is_sound(path):
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}  # no job may do more unless it says so
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert True in workflow  # "on", which YAML takes for a truth value
    for job in workflow["jobs"].values():
        assert job["runs-on"]
        assert set(job.get("needs", "").split()) <= set(workflow["jobs"])
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            if "uses" in step:
                assert re.fullmatch(r"[\w.-]+/[\w.-]+@[\w./-]+", step["uses"])
            elif step["run"].startswith("make "):
                assert step["run"].split()[1] in targets


def test_publishing_needs_no_token():
    yaml = pytest.importorskip("yaml")
    publish = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert "secrets" not in (ROOT / ".github/workflows/release.yml").read_text()


def test_the_pythons_tested_are_those_declared():
    declared = {
        one.rsplit(" ", 1)[1]
        for one in PROJECT["classifiers"]
        if one.startswith("Programming Language :: Python :: 3.")
    }
    workflow = (ROOT / ".github/workflows/test.yml").read_text()
    assert set(re.findall(r'"(3\.\d+)"', workflow)) == declared
    assert PROJECT["requires-python"] == f">={min(declared, key=lambda one: int(one[2:]))}"


USER_PROJECT = """
import numpy as np
from numpy.typing import NDArray

import ratewise
from ratewise import MeasureClassifier, MeasureMaximizer, Report, load_model, model_card, open_stream, save_model
from ratewise.measures import Constrained, FBeta, Measure, Rates, get_measure, measure_names, rates_from_labels
from ratewise.solvers import Sharpen, Spade, Stamp


def train(X: NDArray[np.float64], y: NDArray[np.int64]) -> MeasureClassifier:
    measure: Measure = Constrained(FBeta(2.0), tnr=0.9)
    classifier = MeasureClassifier(measure, solver=Stamp(first_epoch=50), sharpen=False, random_state=0).fit(X, y)
    labels: NDArray[np.int64] = classifier.predict(X)
    rates: Rates = rates_from_labels(y, labels)
    value: float = classifier.score(X, y) + get_measure("gmean").score(y, labels) + rates.tpr
    print(value, classifier.coef_.shape, measure_names())
    return classifier


def hand_over(classifier: MeasureClassifier, X: NDArray[np.float64], y: NDArray[np.int64]) -> Report:
    save_model(classifier, "model.skops")
    again: MeasureClassifier = load_model("model.skops")
    report: Report = ratewise.report({"again": again}, X, y, measure="f1")
    report.save("report.html")
    model_card(again, X, y).save("README.md")
    return Report.from_scores(again.decision_function(X), y, threshold=0.0)


def from_files() -> MeasureClassifier:
    stream = open_stream("train.parquet", target="label")
    return MeasureClassifier("f1", solver=Spade()).fit_stream(stream, passes=3)
"""


@pytest.mark.slow
def test_the_code_of_a_user_passes_the_strictest_type_check(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "project.py").write_text(USER_PROJECT)
    quiet = ["--strict", "--no-error-summary", "--cache-dir", tmp_path / "cache", "--follow-imports=silent"]
    found = subprocess.run(
        [sys.executable, "-m", "mypy", *quiet, "project.py"],
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout == ""
    assert found.returncode == 0
