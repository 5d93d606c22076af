"""The report as a page of Markdown, beside its pictures."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from .blocks import Block, Heading, Paragraph, Picture, Table


def as_markdown(blocks: Iterable[Block]) -> str:
    return "\n\n".join(_block(block) for block in blocks) + "\n"


def _block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {block.text}"
    if isinstance(block, Paragraph):
        return textwrap.fill(block.text, 118, break_long_words=False, break_on_hyphens=False)
    if isinstance(block, Picture):
        return f"![{block.caption}]({block.file}.png)\n\n*{block.caption}*"
    return _table(block)


def _table(table: Table) -> str:
    lines = [table.headings, ["---"] * len(table.headings), *table.rows]
    return "\n".join("| " + " | ".join(_cell(text) for text in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", "<br>")
