"""All commands together. Nothing heavy is imported here, so that --help is there at once."""

from __future__ import annotations

import errno
import os
import sys
from typing import Any

import click

from .. import __version__
from ._output import INTERRUPTED, sentence
from .convert import convert
from .demo import demo
from .evaluate import evaluate
from .export import export
from .fit import fit
from .inspect import inspect
from .measures import measures
from .predict import predict
from .report import report
from .warmup import warmup


class Commands(click.Group):
    """A group of commands that never shows a traceback (RATEWISE_DEBUG=1 does).

    An exception becomes one sentence on stderr and an exit code: 1 for bad data, 2 for bad usage.
    """

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # a full disk shows here, not after the last line of ours
            return result
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            click.echo("Stopped.", err=True)
            ctx.exit(INTERRUPTED)
        except Exception as error:
            # click ends quietly when nobody reads on, as in `| head`
            if os.environ.get("RATEWISE_DEBUG") or (isinstance(error, OSError) and error.errno == errno.EPIPE):
                raise
            _drop_unwritten_output()
            raise click.ClickException(sentence(error)) from error


def _drop_unwritten_output() -> None:
    """Drop what stdout could not take, or Python would try again when it ends, and fail with a traceback."""
    try:
        sys.stdout.flush()
    except OSError:
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

    Exit codes: 0 success, 1 bad data, 2 bad usage.
    """


for command in (fit, evaluate, report, predict, inspect, measures, convert, warmup, demo, export):
    app.add_command(command)
