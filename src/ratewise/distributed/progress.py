"""How far a fit has come, on stderr."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self, TextIO


class StatusLine:
    """One line that is written over, on a terminal; nothing anywhere else."""

    def __init__(self, *, wanted: bool, stream: TextIO | None = None):
        self._stream = sys.stderr if stream is None else stream
        self._wanted = wanted and self._stream.isatty()
        self._began = time.monotonic()
        self._rounds = 0
        self._known = ""
        self._width = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._wanted and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()

    def __call__(self, told: dict[str, Any]) -> None:
        self._rounds += 1
        if not self._wanted:
            return
        if "value" in told:
            self._known = f"  value {told['value']:.4f}  tpr {told['tpr']:.4f}  tnr {told['tnr']:.4f}"
        seconds = time.monotonic() - self._began
        line = f"[ratewise] {told.get('stage', '')}: round {self._rounds}, {seconds:.0f} s{self._known}"
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)
