"""The first pages run with what `pip install "ratewise[cli]"` brings; what needs more says what to install."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# What the tests install beside it, and the first pages must not need.
ABSENT = """
import sys

class Absent:
    names = NAMES

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""


BOOSTERS = {"catboost", "lightgbm", "xgboost"}


def run_without(names, program, folder):
    """Run a program in a Python that lacks these packages."""
    program = ABSENT.replace("NAMES", repr(names)) + program
    return subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/first-model.md"])
def test_the_code_of_the_first_pages_needs_no_other_package(page, tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    absent = BOOSTERS | {"dask", "imblearn", "matplotlib", "onnx", "pandas", "polars"}
    done = run_without(absent, "\n".join(blocks), tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report.html").exists()


FITTED = """
import numpy as np
from sklearn.linear_model import LogisticRegression
from ratewise import MeasureClassifier, MeasureMaximizer, export_onnx
X = np.random.default_rng(0).normal(size=(200, 2))
y = X[:, 0] > 0.5
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("absent", "program", "message"),
    [
        (
            "skl2onnx",
            "export_onnx(MeasureClassifier(sharpen=False).fit(X, y), 'model.onnx')",
            'Export to ONNX needs skl2onnx: pip install "ratewise[onnx]"',
        ),
        (
            "onnxruntime",
            "export_onnx(MeasureMaximizer(LogisticRegression(), rounds=1).fit(X, y), 'model.onnx')",
            'Export to ONNX needs onnxruntime: pip install "ratewise[onnx]"',
        ),
        (
            "pyarrow",
            "MeasureClassifier(encode='auto').fit({'a': X[:, 0].astype(str)}, y)",
            'Reading text columns needs pyarrow: pip install "ratewise[files]"',
        ),
        (
            "pyarrow",
            "import pandas; MeasureClassifier(encode='auto').fit(pandas.DataFrame(X).add_prefix('x'), y)",
            'Reading tables of pandas needs pyarrow: pip install "ratewise[files]"',
        ),
        (
            "skl2onnx",
            "import sys; from ratewise import save_model; from ratewise.cli import main\n"
            "save_model(MeasureClassifier(sharpen=False).fit(X, y), 'model.skops')\n"
            "sys.argv = ['ratewise', 'export', 'model.skops', 'model.onnx']; main()",
            'Export to ONNX needs skl2onnx: pip install "ratewise[onnx]"',
        ),
    ],
)
def test_what_is_missing_is_named_with_what_to_install(absent, program, message, tmp_path):
    done = run_without({absent}, FITTED + program, tmp_path)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].endswith(message)


def test_boosting_of_numbers_from_polars_does_not_need_pyarrow(tmp_path):
    pytest.importorskip("polars")
    program = """
import polars
from sklearn.ensemble import HistGradientBoostingClassifier
frame = polars.DataFrame({"a": X[:, 0], "b": X[:, 1]})
print(MeasureMaximizer(HistGradientBoostingClassifier(max_iter=5), cv=2).fit(frame, y).score(frame, y))
"""
    done = run_without({"pyarrow"}, FITTED + program, tmp_path)
    assert done.returncode == 0, done.stderr
