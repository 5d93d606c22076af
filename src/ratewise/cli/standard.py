"""Models and results from standard input and to standard output, where a `-` stands for a file."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

import click

from .._atomic import atomic_write


def load(path: str) -> Any:
    """The model of a file, or of standard input."""
    from ..persistence import load_model

    if path == "-":
        return load_model(io.BytesIO(sys.stdin.buffer.read()))
    return load_model(path)


def load_two_class(path: str) -> Any:
    """The same for commands that speak of one positive class."""
    model = load(path)
    if model.multilabel_ or model.classes_.size > 2:
        what = f"{model.coef_.shape[0]} {'labels' if model.multilabel_ else 'classes'}"
        raise click.UsageError(
            f"{path} is a model of {what}, and this command is for two classes. In Python: "
            "ratewise.load_model(...), then predict or score; or `ratewise export`."
        )
    return model


@contextlib.contextmanager
def written(path: str) -> Iterator[BinaryIO]:
    """A file that is there whole or not at all, or standard output."""
    if path != "-":
        with atomic_write(path) as file:
            yield file
        return
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()
