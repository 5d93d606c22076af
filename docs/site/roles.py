"""Sphinx roles of the docstrings as links of the site: :class:`~ratewise.solvers.Spade` for one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from griffe import Extension

_ROLE = re.compile(r":(?:class|func|meth|mod|attr):`(~?)([^`]+)`")
# What the package offers at its top stands on the site under the module that defines it.
_HOMES = {
    "ratewise.MeasureClassifier": "ratewise.estimators.MeasureClassifier",
    "ratewise.MeasureMaximizer": "ratewise.estimators.MeasureMaximizer",
    "ratewise.ConstraintWarning": "ratewise.measures.ConstraintWarning",
    "ratewise.open_stream": "ratewise.streams.open_stream",
    "ratewise.Report": "ratewise.reports.Report",
    "ratewise.report": "ratewise.reports.report",
}


_DOCUMENTED = {
    line.split()[1]
    for page in Path(__file__).parents[1].glob("api-*.md")
    for line in page.read_text("utf-8").splitlines()
    if line.startswith(":::")
}


def _link(found: re.Match[str]) -> str:
    short, path = found.groups()
    shown = path.rsplit(".", 1)[-1] if short else path
    path = _HOMES.get(path, path)
    known = path in _DOCUMENTED or path.rsplit(".", 1)[0] in _DOCUMENTED
    return f"[`{shown}`][{path}]" if known else f"`{shown}`"


class Roles(Extension):
    """Rewrites the roles of every docstring."""

    def on_object(self, *, obj: Any, **kwargs: Any) -> None:
        if obj.docstring is not None and not obj.is_alias:
            obj.docstring.value = _ROLE.sub(_link, obj.docstring.value)

    on_instance = on_object
