"""`ratewise demo`: the commands at work on real data."""

from __future__ import annotations

import contextlib
import csv
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

_FILES = ("train.csv", "test.csv", "model.skops")


@click.command()
@click.option("--keep", type=click.Path(file_okay=False), help="A folder to keep the files in.")
@click.pass_context
def demo(ctx: click.Context, keep: str | None) -> None:
    """Find the eights among 1,797 handwritten digits: fit, evaluate and inspect, step by step."""
    assert ctx.parent is not None
    commands = ctx.parent.command
    assert isinstance(commands, click.Group)
    with _folder(keep) as folder:
        train, test, model = (str(folder / name) for name in _FILES)
        _write_digits(train, test)
        click.echo(f"1,347 digits in {train}, 450 more in {test}; one in ten is an eight.")
        for line in (
            ["fit", train, "--target", "is_eight", "--measure", "f1", "-o", model],
            ["evaluate", model, test],
            ["inspect", model, "--top", "5"],
        ):
            click.echo(f"\n$ {shlex.join(['ratewise', *line])}")
            command = commands.commands[line[0]]
            with command.make_context(line[0], line[1:], parent=ctx.parent) as context:
                command.invoke(context)


@contextlib.contextmanager
def _folder(keep: str | None) -> Iterator[Path]:
    if keep is not None:
        Path(keep).mkdir(parents=True, exist_ok=True)
        if there := [name for name in _FILES if (Path(keep) / name).exists()]:
            raise click.UsageError(f"{keep} holds {' and '.join(there)} already: name another folder.")
        yield Path(keep)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _write_digits(train: str, test: str) -> None:
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    names = [f"row{i}_column{j}" for i in range(8) for j in range(8)]
    for path, rows in zip((train, test), train_test_split(range(len(y)), stratify=y, random_state=0), strict=True):
        with open(path, "w", newline="") as file:
            lines = csv.writer(file)
            lines.writerow([*names, "is_eight"])
            lines.writerows([*X[i].astype(int).tolist(), int(y[i] == 8)] for i in rows)
