"""What a report is made of; each way of writing it knows these four."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Heading(NamedTuple):
    text: str
    level: int = 2


class Paragraph(NamedTuple):
    text: str


class Table(NamedTuple):
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    verdict_column: int | None = None
    """Where verdicts stand, which are set off."""


class Picture(NamedTuple):
    file: str
    """Its name without the ending, in the folder of the report."""
    caption: str


Block = Heading | Paragraph | Table | Picture
