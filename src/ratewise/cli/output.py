"""What commands print: tables for people, JSON for machines."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import click


def print_json(content: dict[str, Any]) -> None:
    """One JSON object on stdout; what JSON has no word for, such as NaN, becomes null or text."""
    click.echo(json.dumps(_plain(content), indent=2, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if hasattr(value, "tolist"):  # numpy
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def print_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    to_stderr: bool = False,
    whole_names: bool = False,
) -> None:
    """A table whose numbers are set to the right; empty headings are left out.

    ``whole_names`` keeps the first column, names that may be typed again, from being broken into lines.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = [tuple(row) for row in rows]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_header=any(headings))
    for number, heading in enumerate(headings):
        numeric = bool(rows) and all(isinstance(row[number], (int, float)) for row in rows)
        justify: Literal["left", "right"] = "right" if numeric else "left"
        table.add_column(heading, justify=justify, overflow="fold", no_wrap=whole_names and number == 0)
    for row in rows:
        table.add_row(*(Text(shown(cell)) for cell in row))
    console = Console(file=sys.stderr if to_stderr else sys.stdout, highlight=False)
    console.print(table)


def shown(cell: Any) -> str:
    """A number with the digits that matter."""
    if isinstance(cell, bool):
        return str(cell)
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        return f"{cell:.4f}" if 1e-3 <= abs(cell) < 1e4 or cell == 0 else f"{cell:.4g}"
    return str(cell)


def print_line(text: str, *, to_stderr: bool = False) -> None:
    click.echo(text, err=to_stderr)
