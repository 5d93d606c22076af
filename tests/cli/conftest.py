"""Small files and a model made from them, by the commands themselves."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ratewise.cli.app import app

# Before click 8.2 a runner kept standard error apart only when asked to; since then it always does.
APART = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}


def table(rows, seed):
    """Three numbers, a text, and a label that depends on two of them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(rows, 3)).round(4), columns=["age", "height", "noise"])
    frame["colour"] = rng.choice(["red", "green", "blue"], size=rows)
    score = frame["age"] + 1.5 * (frame["colour"] == "red") + 0.4 * rng.normal(size=rows)
    frame["label"] = (score > 1.0).astype(int)
    return frame


@pytest.fixture(scope="session")
def run():
    """Run a command line in this process; the result has exit_code, stdout and stderr."""

    def invoke(*words, **kwargs):
        return CliRunner(**APART).invoke(app, [str(word) for word in words], **kwargs)

    return invoke


@pytest.fixture(scope="session")
def files(tmp_path_factory, run):
    """train.csv, train.parquet, test.csv, new.csv (without labels) and model.skops in one folder."""
    folder = tmp_path_factory.mktemp("files")
    train, test = table(400, 0), table(200, 1)
    train.to_csv(folder / "train.csv", index=False)
    train.to_parquet(folder / "train.parquet", index=False)
    test.to_csv(folder / "test.csv", index=False)
    test.to_parquet(folder / "test.parquet", index=False)
    test.drop(columns="label").to_csv(folder / "new.csv", index=False)
    result = run("fit", folder / "train.csv", "--target", "label", "-o", folder / "model.skops")
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="session")
def rows_to_test():
    return table(200, 1)
