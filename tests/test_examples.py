"""Everything a reader is shown runs: the examples, and every Python block of the README and the docs."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
NEEDS_TORCH = {"torch_loss.py", "torch.md"}
# Pages of the site that docs/site/hooks.py makes, from the examples and other files.
MADE = {
    "benchmarks.md",
    "changelog.md",
    "command-line-reference.md",
    "contributing.md",
    "gallery.md",
    "report.html",
}
MADE |= {f"gallery/{path.stem}.md" for path in (ROOT / "examples").glob("*.py")}
ARGUMENTS: dict[str, list[str]] = {}
ARGUMENTS |= {name: ["figure.png"] for name in ("plots.py", "shapes.py", "why_not_a_threshold.py")}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


SLOW = {"boosting.md", "boosting.py", "large_data.py", "choosing-a-measure.md", "distributed.md"}


def each(paths):
    """A test per file; those that take seconds are slow tests."""
    marked = [pytest.param(path, marks=[pytest.mark.slow] if path.name in SLOW else []) for path in paths]
    return {"argvalues": marked, "ids": [path.name for path in paths]}


@pytest.mark.parametrize("example", **each(sorted((ROOT / "examples").glob("*.py"))))
def test_the_example_runs(example, monkeypatch, capsys, tmp_path):
    skip_without_torch(example)
    monkeypatch.chdir(tmp_path)  # what an example writes must not land among the sources
    monkeypatch.setattr(sys, "argv", [example.name, *ARGUMENTS.get(example.name, [])])
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()


def skip_without_torch(path):
    if path.name in NEEDS_TORCH:
        pytest.importorskip("torch")


def python_blocks(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", **each([page for page in PAGES if python_blocks(page)]))
def test_the_code_on_the_page_runs(page, monkeypatch, tmp_path):
    skip_without_torch(page)
    monkeypatch.chdir(tmp_path)
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)  # checkpoints pickle the classes that a page defines
    for block in python_blocks(page):
        exec(compile(block, page.name, "exec"), vars(module))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_of_the_project_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        made = page.parent.name == "docs" and target in MADE
        assert made or (page.parent / target).exists(), f"{page.name} links to {target}"
