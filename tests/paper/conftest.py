"""A folder of tiny data sets under the names of the real ones, and results made up at will."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from tiny_data import clouds

# Last, so that no benchmark hides a module of the same name.
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from paper.results import Curve, Key, Results


@pytest.fixture
def data_folder(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    X, positive = clouds(600)
    np.savez(folder / "ijcnn1.npz", X=X, y=positive.astype(np.int8))
    np.savez(folder / "covtype.npz", X=X, y=np.where(positive, 5, 2).astype(np.int8))
    return folder


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path / "results.csv")


@pytest.fixture
def made_up(results):
    """Add a run of one method: the seconds and the values of its models."""

    def add(data, measure, method, seconds, values, split=0):
        results.add(Key(data, measure, method, split), Curve(np.array(seconds, float), np.array(values, float)))
        return results

    return add
