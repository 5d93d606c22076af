"""The report as one HTML page with everything in it."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from html import escape
from pathlib import Path

from .blocks import Block, Heading, Paragraph, Picture, Table

_STYLE = """
:root { color-scheme: light }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; margin: 2rem auto; max-width: 80rem;
       padding: 0 1rem }
h1 { font-size: 1.7rem } h2 { font-size: 1.25rem; margin-top: 2.2rem }
p, figcaption { max-width: 48rem } figcaption { color: #444; font-size: .9rem }
figure { margin: 1.5rem 0 .5rem } img { width: 100%; height: auto }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-size: .9rem; margin: .5rem 0 }
td, th { padding: .35rem .7rem; text-align: left; vertical-align: top; border-bottom: 1px solid #ddd }
th { border-bottom: 2px solid #888 }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
td.verdict + td { min-width: 26rem }
td.verdict { font-weight: 600; white-space: nowrap }
.agrees { color: #00664a } .partly { color: #8a5a00 } .disagrees { color: #a33c00 } .not-measured { color: #666 }
"""


def as_html(blocks: Iterable[Block], folder: Path) -> str:
    """The page; pictures are read from the folder and put in."""
    body = "\n".join(_block(block, folder) for block in blocks)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>ratewise: the paper's experiments, run again</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"{body}\n</body>\n</html>\n"
    )


def _block(block: Block, folder: Path) -> str:
    if isinstance(block, Heading):
        return f"<h{block.level}>{escape(block.text)}</h{block.level}>"
    if isinstance(block, Paragraph):
        return f"<p>{escape(block.text)}</p>"
    if isinstance(block, Picture):
        picture = base64.b64encode((folder / f"{block.file}.svg").read_bytes()).decode()
        caption = escape(block.caption)
        return (
            f'<figure><img src="data:image/svg+xml;base64,{picture}" alt="{caption}">'
            f"<figcaption>{caption}</figcaption></figure>"
        )
    return _table(block)


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(heading)}</th>" for heading in table.headings)
    rows = "\n".join(
        "<tr>" + "".join(_cell(text, number == table.verdict_column) for number, text in enumerate(row)) + "</tr>"
        for row in table.rows
    )
    return f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table></div>'


def _cell(text: str, is_verdict: bool) -> str:
    if is_verdict:
        return f'<td class="verdict {text.replace(" ", "-")}">{escape(text)}</td>'
    shown = escape(text).replace("\n", "<br>")
    number = text[:1].isdigit() and len(text) < 20
    return f'<td class="number">{shown}</td>' if number else f"<td>{shown}</td>"
