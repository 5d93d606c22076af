"""All commands together. Nothing heavy is imported here, so that --help is there at once."""

from __future__ import annotations

import click

from .. import __version__
from .convert import convert
from .demo import demo
from .errors import Commands
from .evaluate import evaluate
from .export import export
from .fit import fit
from .inspect import inspect
from .measures import measures
from .predict import predict
from .warmup import warmup


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ratewise")
def app() -> None:
    """Train linear classifiers for the measure you report, from files of any size.

    \b
    ratewise fit train.parquet --target label --measure f1 -o model.skops
    ratewise evaluate model.skops test.parquet
    ratewise predict model.skops new.csv -o labels.csv

    Exit codes: 0 success, 1 bad data, 2 bad usage.
    """


for command in (fit, evaluate, predict, inspect, measures, convert, warmup, demo, export):
    app.add_command(command)
