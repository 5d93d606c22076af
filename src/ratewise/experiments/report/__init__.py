"""The report: what it says, and the ways to write it down."""

from .content import contents
from .html import as_html
from .markdown import as_markdown

__all__ = ["as_html", "as_markdown", "contents"]
