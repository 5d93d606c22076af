"""The one place where an exception becomes a sentence and an exit code: 1 for bad data, 2 for bad usage."""

from __future__ import annotations

import errno
import os
import re
import sys
from typing import Any, NoReturn

import click

INTERRUPTED = 130

_EXTRAS = {"rich": "cli", "pyarrow": "files", "skops": "persistence", "onnx": "onnx", "skl2onnx": "onnx"}

# What Python calls features= is --features here.
_OPTION = re.compile(r"\b(features|target|format|weight)=(?:'(\w+)')?(?=[\s.,:;)]|$)")


class Failure(click.ClickException):
    """One sentence on stderr, and exit code 1."""

    exit_code = 1


class Commands(click.Group):
    """A group of commands that never shows a traceback (RATEWISE_DEBUG=1 does)."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # a full disk shows here, not after the last line of ours
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            click.echo("Stopped.", err=True)
            ctx.exit(INTERRUPTED)
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise  # click ends quietly when nobody reads on, as in `| head`
            if os.environ.get("RATEWISE_DEBUG"):
                raise
            _fail(error)
        return result


def _fail(error: Exception) -> NoReturn:
    _drop_unwritten_output()
    raise Failure(sentence(error)) from error


def sentence(error: Exception) -> str:
    """What to tell the user."""
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"{where}{error.strerror or error}"
    if isinstance(error, MemoryError):
        return f"There is not enough memory for this. {error}".strip()
    if isinstance(error, ModuleNotFoundError) and error.name in _EXTRAS and "pip install" not in str(error):
        return f'This needs {error.name}: pip install "ratewise[{_EXTRAS[error.name]}]"'
    if isinstance(error, (ValueError, ImportError)):
        return _OPTION.sub(lambda found: " ".join(["--" + found[1], *filter(None, [found[2]])]), str(error))
    return (
        f"Something went wrong inside ratewise ({type(error).__name__}: {error}). This is a defect of ours; "
        "RATEWISE_DEBUG=1 shows where it happened."
    )


def _drop_unwritten_output() -> None:
    """What stdout could not take would be tried again when Python ends, and fail again with a traceback."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
