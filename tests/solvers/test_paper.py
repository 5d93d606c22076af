"""The page that shows the paper's algorithms shows the code as it is."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["spade", "stamp", "amp", "sharpen"])
def test_the_page_of_the_algorithms_shows_the_code_beside_the_papers(name):
    """Between the markers in ``solvers/NAME.py``, and after the marker in ``docs/algorithms.md``."""
    module = (ROOT / f"src/ratewise/solvers/{name}.py").read_text()
    page = (ROOT / "docs/algorithms.md").read_text()
    (code,) = re.findall(r"    # \[algorithm\]\n(.*?)\n+    # \[end\]\n", module, flags=re.DOTALL)
    shown = re.findall(
        rf"```text\n.*?```\n\n<!-- solvers/{name}\.py -->\n```py\n(.*?)```\n", page, flags=re.DOTALL
    )
    assert shown == [textwrap.dedent(code).rstrip() + "\n"]
