"""What a model holds cannot steer a terminal."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from ratewise import MeasureClassifier, save_model

pty = pytest.importorskip("pty", exc_type=ImportError)


@pytest.mark.slow
def test_predict_spells_out_the_control_characters_of_a_class_for_a_terminal_only(tmp_path):
    X = np.random.default_rng(0).standard_normal((60, 2))
    model = MeasureClassifier("f1", sharpen=False, random_state=0).fit(X, np.where(X[:, 0] > 0, "\x1b[2J", "no"))
    save_model(model, tmp_path / "model.skops")
    np.save(tmp_path / "rows.npy", X)
    command = [sys.executable, "-m", "ratewise", "predict", "model.skops", "rows.npy", "--quiet"]
    piped = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout
    assert b"\x1b[2J," in piped
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, cwd=tmp_path, stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux says so that the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait() == 0
    assert b"\\x1b[2J," in shown
    assert b"\x1b" not in shown
