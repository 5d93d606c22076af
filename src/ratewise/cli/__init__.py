"""The command line: `ratewise fit`, `evaluate`, `predict` and others."""

from __future__ import annotations

import _thread
import errno
import io
import os
import signal
import sys
import threading
from functools import partial
from typing import Any, NoReturn

INTERRUPTED = 130
"""The exit code after Ctrl-C."""


def main() -> None:
    """Run the command line, for `ratewise` and `python -m ratewise`."""
    try:
        signal.signal(signal.SIGINT, _interrupt_once)
        sys.unraisablehook = _interrupt_again
        _replace_closed_streams()
        try:
            import click  # noqa: F401
        except ModuleNotFoundError:
            print('The command line needs click and rich: pip install "ratewise[cli]"', file=sys.stderr)
            raise SystemExit(1) from None
        from .app import app

        app(prog_name="ratewise")
    except KeyboardInterrupt:  # before the commands were loaded, or after their end
        ignore_interrupts()
        print("Stopped.", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None


def _interrupt_once(number: int, frame: Any) -> NoReturn:
    ignore_interrupts()
    raise KeyboardInterrupt


def _interrupt_again(lost: Any) -> None:
    """Repeat a Ctrl-C that arrived during a callback from C, where Python can only print and drop it."""
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupt_once)
    repeat = partial(os.kill, os.getpid(), signal.SIGINT) if os.name == "posix" else _thread.interrupt_main
    threading.Timer(0.05, repeat).start()  # by then the call has returned


def ignore_interrupts() -> None:
    """Ignore further Ctrl-C while the last messages are printed; within another program change nothing."""
    if signal.getsignal(signal.SIGINT) is _interrupt_once:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _replace_closed_streams() -> None:
    """Replace closed streams (`>&-`) of a command by streams that raise a clear error when they are used."""
    missing = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    while (
        missing and (number := os.open(os.devnull, os.O_RDWR)) <= 2
    ):  # or a file would get the number of a stream
        os.set_inheritable(number, True)
    for name in missing:
        closed = _Closed(f"Standard {name.removeprefix('std')}put is closed")
        setattr(sys, name, open(os.devnull, "w") if name == "stderr" else closed)  # noqa: SIM115


class _Closed(io.TextIOBase):
    """A stream that can be neither read nor written."""

    def __init__(self, message: str):
        self._message = message

    @property
    def buffer(self) -> Any:
        return self

    def read(self, *args: Any) -> NoReturn:
        raise OSError(errno.EBADF, self._message)

    write = readline = readinto = readable = read  # type: ignore[assignment]
