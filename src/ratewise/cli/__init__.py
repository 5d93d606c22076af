"""The command line: `ratewise fit`, `evaluate`, `predict` and friends."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, for `ratewise` and `python -m ratewise`."""
    try:
        import click  # noqa: F401
    except ModuleNotFoundError:
        print('The command line needs click and rich: pip install "ratewise[cli]"', file=sys.stderr)
        raise SystemExit(1) from None
    from .app import app

    app(prog_name="ratewise")
