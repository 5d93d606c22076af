"""The common part of all reports: saving to a file, and display in a notebook."""

from __future__ import annotations

import html
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, BinaryIO

from .. import __version__
from .._atomic import write_bytes


class Page(ABC):
    """One HTML file about some models, with its styles and its numbers; it needs no other file."""

    models: Any

    def __init__(self, models: Any, *, title: str | None = None):
        self.models = models
        self.title = title or f"Report: {', '.join(model.name for model in models)}"

    @abstractmethod
    def html(self) -> str:
        """Return the page."""

    def save(self, path: str | os.PathLike[str] | BinaryIO) -> None:
        """Write the page to a file, completely or not at all."""
        write_bytes(path, self.html().encode("utf-8"))

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="{html.escape(self.title)}" style="width:100%;height:820px;border:1px solid #8888" '
            f'srcdoc="{html.escape(self.html())}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<{self.title}: save(path) writes it as HTML>"

    def _filled(self, template: str, parts: Mapping[str, str]) -> str:
        """Return a template with its parts filled in: HTML, or the texts of files of this package."""
        common = {"title": html.escape(self.title), "version": __version__, "style": part_of_page("page.css")}
        every = common | dict(parts)
        return re.sub(r"{{(\w+)}}", lambda place: every[place[1]], part_of_page(template))


def part_of_page(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")
