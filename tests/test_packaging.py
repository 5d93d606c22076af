"""What pyproject.toml declares: every import of the library, and lower bounds that are tested."""

from __future__ import annotations

import ast
import gc
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAMES = {
    "mpl_toolkits": "matplotlib",
    "sklearn": "scikit-learn",
}  # where the package to install is called otherwise than the module
CORE = PROJECT["dependencies"]
TOOLS = {"hypothesis", "psutil", "pytest", "pytest-cov", "pytest-xdist", "import-linter", "mypy", "ruff"}
# Large, and used through their public classes only: the versions that pip finds are tested, older ones are not.
UNPINNED = {"torch", "river", "lightgbm", "xgboost", "catboost"}
TOOLS |= {"mkdocs-material", "mkdocstrings"}


@pytest.fixture(autouse=True)
def no_garbage_collection():
    """Python 3.11 raises a SystemError if a finalizer runs while ast makes a tree: those of other tests may."""
    gc.disable()
    yield
    gc.enable()


def lower_bounds(requirements):
    """The version after ``>=`` of each package; requirements without one, such as our own extras, are left out."""
    matches = (re.match(r"([A-Za-z0-9-]+)(?:\[.*?\])?>=([\d.]+)$", one) for one in requirements)
    return {match[1]: match[2] for match in matches if match}


def all_requirements():
    return [*CORE, *(one for extra in PROJECT["optional-dependencies"].values() for one in extra)]


def imported(at_the_top_of_a_module=False):
    """The packages that the files of src import."""
    found = set()
    for path in (ROOT / "src").rglob("*.py"):
        tree = ast.parse(path.read_text())
        for node in tree.body if at_the_top_of_a_module else ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(node.module.split(".")[0])
    return {NAMES.get(name, name) for name in found - set(sys.stdlib_module_names) - {"ratewise"}}


def test_everything_imported_is_declared():
    assert imported() <= set(lower_bounds(all_requirements()))


def test_everything_declared_is_imported():
    assert (
        set(lower_bounds(all_requirements())) - TOOLS - UNPINNED - {"imbalanced-learn", "polars", "onnxruntime"}
        <= imported()
    )


def test_what_the_core_declares_is_imported_at_the_top_of_a_module():
    assert set(lower_bounds(CORE)) <= imported(at_the_top_of_a_module=True)


def test_the_lower_bounds_are_the_versions_that_are_tested():
    lines = (ROOT / "requirements" / "oldest.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    tested = {name: bound for name, bound in lower_bounds(all_requirements()).items() if name not in TOOLS}
    bounds = {name: bound for name, bound in tested.items() if name not in UNPINNED}
    assert sorted(pins) == sorted(bounds)
    for name, pin in pins.items():
        assert release(pin) == release(bounds[name]), f"{name}: {pin} is tested, {bounds[name]} is promised"


def release(version):
    """A version as numbers without the zeros at its end, so that 2.0 equals 2.0.0."""
    numbers = [int(number) for number in version.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers
