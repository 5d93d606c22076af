"""Files of results, written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def read_json(path: Path) -> dict[str, Any]:
    """Return what a file of results holds; nothing if there is none yet."""
    return json.loads(path.read_text()) if path.exists() else {}


def write_json(path: Path, content: Any, **layout: Any) -> None:
    write_text(path, json.dumps(content, **({"indent": 1} | layout)) + "\n")


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.write_text(text)
    temporary.replace(path)
