"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = ("parquet", "feather", "csv", "svmlight", "npy", "npz")

sources_argument = click.argument("sources", nargs=-1, required=True, metavar="DATA...")
format_option = click.option(
    "--format",
    "file_format",
    type=click.Choice(FORMATS),
    help="Format of the data, if the file name does not show it.",
)
decimal_option = click.option(
    "--decimal",
    type=click.Choice([".", ","]),
    default=".",
    show_default=True,
    help="The decimal sign of numbers in CSV files.",
)
target_option = click.option(
    "--target", metavar="COLUMN", help="The column with the labels; the model's own unless given."
)
weight_option = click.option("--weight", metavar="COLUMN", help="A column of sample weights.")
positive_option = click.option(
    "--positive", metavar="LABEL", help="The positive class; a model accepts only its own."
)
drop_unlabelled_option = click.option(
    "--drop-unlabelled", is_flag=True, help="Leave out rows without a label, and say how many they were."
)
sensitive_option = click.option(
    "--sensitive",
    metavar="COLUMN",
    help="The column with the group of each row; that of the model unless given.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for machines.")
quiet_option = click.option("--quiet", "-q", is_flag=True, help="No progress bar and no summary.")
seed_option = click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True)


class ColumnNames(click.ParamType):  # type: ignore[type-arg]
    """Names separated by commas."""

    name = "a,b,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        names = [name.strip() for name in str(value).split(",")]
        if not all(names):
            self.fail("Give column names with commas between them.", param, ctx)
        return names


def columns_option(*names: str, help: str) -> Callable[[Command], Command]:
    """Return an option that takes column names separated by commas, and may be repeated."""
    return click.option(
        *names,
        type=ColumnNames(),
        multiple=True,
        callback=lambda ctx, param, given: [name for some in given for name in some],
        help=f"{help} May be repeated.",
    )


class NewFile(click.ParamType):  # type: ignore[type-arg]
    """A file to be written, or - for standard output. Refused before hours of work if it cannot be written."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        path = Path(value)
        if str(value) == "-":
            return "-"
        if path.is_dir():
            self.fail(f"{value} is a folder.", param, ctx)
        if not path.absolute().parent.is_dir():
            self.fail(f"The folder {path.parent} does not exist.", param, ctx)
        if not path.exists() and not os.access(path.absolute().parent, os.W_OK):
            self.fail(f"The folder {path.parent} cannot be written to.", param, ctx)
        return str(value)


class MeasureName(click.ParamType):  # type: ignore[type-arg]
    """A measure of the registry."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from ..measures import one_vs_rest_measure

        try:
            one_vs_rest_measure(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return str(value)
