"""Models whose encoder is of a version before the rules: they encode as they did."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ratewise import load_model
from ratewise.features.encode import Encoder

pd = pytest.importorskip("pandas")
FILES = Path(__file__).parents[1] / "model_files"
EXPECTED = json.loads((FILES / "tables.json").read_text())


def rows():
    """The rows that the models were fitted to, with a value that they have not seen."""
    table = pd.DataFrame(
        {
            "amount": [None if i % 11 == 0 else float((i * 37) % 101) for i in range(400)],
            "colour": [["red", "blue", "green", None][i % 4] for i in range(400)],
            "user": [f"user {(i * 13) % 300}" for i in range(400)],
            "known": [i % 3 == 0 for i in range(400)],
            "when": pd.to_datetime([f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(400)]),
        }
    )
    table.loc[5, "colour"] = "never seen"
    return table


@pytest.mark.parametrize("name", EXPECTED)
def test_an_old_model_predicts_as_it_did(name):
    pytest.importorskip("skops")
    model, expected = load_model(FILES / f"{name}.skops"), EXPECTED[name]
    assert isinstance(model.encoder_, Encoder)
    assert model.encoder_.columns == expected["columns"]
    assert model.get_feature_names_out().tolist() == expected["names"]
    assert np.array_equal(model.decision_function(rows()), expected["scores"])
