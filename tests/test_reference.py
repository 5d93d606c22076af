"""Every public name has an example that runs, and a place in the reference of the site."""

from __future__ import annotations

import ast
import doctest
import gc
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import ratewise

ROOT = Path(__file__).parent.parent
PUBLIC = ["ratewise", *(f"ratewise.{one.name}" for one in pkgutil.iter_modules(ratewise.__path__))]
INNER = {"ratewise.cli", "ratewise.kernels", "ratewise.training"}  # no user imports from them
PUBLIC = [one for one in PUBLIC if one not in INNER and "._" not in one]
SLOW = {"ratewise.distributed", "ratewise.estimators", "ratewise.reports", "ratewise.baselines"}
SLOW |= {"ratewise.onnx", "ratewise.persistence", "ratewise.plots", "ratewise.torch", "ratewise.boosting"}
SLOW |= {"ratewise.river"}


@pytest.fixture(autouse=True)
def no_garbage_collection():
    """Python 3.11 raises a SystemError if a finalizer runs while ast makes a tree: those of other tests may."""
    gc.disable()
    yield
    gc.enable()


def imported(package):
    if package == "ratewise.torch":
        pytest.importorskip("torch")
    if package == "ratewise.river":
        pytest.importorskip("river")
    return importlib.import_module(package)


def public_names(package):
    module = imported(package)
    return {name: getattr(module, name) for name in getattr(module, "__all__", ()) if not name.startswith("_")}


def documented():
    pages = (ROOT / "docs").glob("*.md")
    found = (re.findall(r"^::: ([\w.]+)", page.read_text(), re.MULTILINE) for page in pages)
    return {path.rsplit(".", 1)[1] for one in found for path in one}


@pytest.mark.parametrize("package", PUBLIC)
def test_every_public_name_has_an_example(package):
    without = [
        name for name, one in public_names(package).items() if callable(one) and ">>>" not in (one.__doc__ or "")
    ]
    assert without == []


@pytest.mark.parametrize("package", PUBLIC)
def test_every_public_name_stands_in_the_reference(package):
    assert set(public_names(package)) - documented() == set()


def modules_of(package):
    module = imported(package)
    inner = pkgutil.walk_packages(module.__path__, f"{package}.") if hasattr(module, "__path__") else ()
    return [module, *(importlib.import_module(one.name) for one in inner)]


PACKAGES = [
    f"ratewise.{one.name}"
    for one in pkgutil.iter_modules(ratewise.__path__)
    if one.name not in ("__main__", "cli")
]
MARKED = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in PACKAGES]


@pytest.mark.parametrize("package", MARKED)
def test_the_examples_run(package, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    for module in modules_of(package):
        if inspect.getsourcefile(module):
            assert doctest.testmod(module).failed == 0


def test_every_page_stands_in_the_navigation_of_the_site():
    named = set(re.findall(r"^ +- .+: ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    assert {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"} <= named


def test_the_first_of_several_choices_is_the_default():
    """The site takes it for the default, as numpydoc does, whatever stands behind the choices."""
    wrong = [
        line.strip()
        for path in (ROOT / "src").rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if (found := re.search(r"^ +\w+ : {([^,}]+)[^}]*}.*default=(.+)$", line)) and found[1] != found[2]
    ]
    assert wrong == []


def test_no_two_classes_share_a_name():
    places = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(path.stem)
    shared = {name: files for name, files in places.items() if len(files) > 1}
    assert shared == {"MeasureClassifier": ["classifier", "river"]}  # river's users expect its conventions
