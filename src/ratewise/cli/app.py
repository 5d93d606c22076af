"""All commands together. Nothing heavy is imported here, so that --help is instant."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from typing import Any, NoReturn

import click

from .. import __version__
from . import INTERRUPTED, ignore_interrupts
from ._output import printable, say_warning, sentence
from .convert import convert
from .demo import demo
from .evaluate import evaluate
from .export import export
from .fit import fit
from .follow import follow
from .inspect import inspect
from .measures import measures
from .predict import predict
from .report import report
from .warmup import warmup


class Commands(click.Group):
    """A group of commands that never shows a traceback (except with RATEWISE_DEBUG=1).

    This is the only place where the end of a command becomes a sentence on stderr and an exit code: 0 success,
    1 bad data, 2 bad usage, 130 after Ctrl-C.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of use, not in alphabetical order."""
        return list(self.commands)

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        with warnings.catch_warnings():
            warnings.showwarning = say_warning
            sys.exit(self._exit_code(*args, **kwargs | {"standalone_mode": False}))

    def _exit_code(self, *args: Any, **kwargs: Any) -> int:
        try:
            code = super().main(*args, **kwargs)  # the code given to ctx.exit, for example by --help
            sys.stdout.flush()  # a full disk raises its error here, not after our last line
            return code if isinstance(code, int) else 0
        except click.ClickException as error:
            message, code = error, error.exit_code
        except (KeyboardInterrupt, click.Abort):
            ignore_interrupts()
            message, code = None, INTERRUPTED
        except Exception as error:
            if os.environ.get("RATEWISE_DEBUG"):
                raise
            message, code = click.ClickException(printable(sentence(error))), 1
        _drop_unwritten_output()
        with contextlib.suppress(OSError):  # nobody reads the messages
            message.show() if message is not None else click.echo("Stopped.", err=True)
        return code


def _drop_unwritten_output() -> None:
    """Drop output that stdout could not take: at exit Python would try again, and fail with a traceback."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ratewise")
def app() -> None:
    """Train linear classifiers for the measure you report, from files of any size.

    \b
    ratewise fit train.parquet --target label --measure f1 -o model.skops
    ratewise evaluate model.skops test.parquet
    ratewise report model.skops test.parquet -o report.html
    ratewise predict model.skops new.csv -o labels.csv

    Exit codes: 0 success, 1 bad data, 2 bad usage, 130 after Ctrl-C.
    """


for command in (fit, evaluate, report, predict, follow, inspect, measures, convert, warmup, demo, export):
    app.add_command(command)
