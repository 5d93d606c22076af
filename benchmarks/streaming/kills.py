"""`ratewise fit --checkpoint` killed (SIGKILL) at random moments and run again: the same model, bit for bit?"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from ratewise import load_model

from . import tables

ROWS = 600_000
EVERY = 150_000


def measure(folder: Path, kills: int, seed: int | None = None) -> dict[str, Any]:
    path, kept, model = folder / "rows.parquet", folder / "kept", folder / "model.skops"
    tables.write_parquet(path, ROWS)
    words = [sys.executable, "-m", "ratewise", "fit", path, "--target", "label", "-q", "-o", model]
    words += ["--checkpoint", kept, "--checkpoint-every", str(EVERY)]
    subprocess.run(words, check=True)  # compiles
    began = time.perf_counter()
    subprocess.run(words, check=True)
    whole_time = time.perf_counter() - began
    whole = bits(model)
    print(f"left alone, the command takes {whole_time:.1f} s", flush=True)
    rng = np.random.default_rng(seed)
    report: dict[str, Any] = {"kills": 0, "same bits": 0, "gone on with from a checkpoint": 0, "left behind": 0}
    while report["kills"] < kills:
        model.unlink(missing_ok=True)
        moment = float(rng.uniform(0.1, 1.0)) * whole_time
        process = subprocess.Popen(words)
        try:
            process.wait(moment)
            continue  # it came to its end before
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        was_kept, half_a_model = kept.exists(), model.exists()
        began = time.perf_counter()
        subprocess.run(words, check=True)
        same = bits(model) == whole
        left = [one.name for one in folder.iterdir() if one not in (path, model)]
        report["kills"] += 1
        report["same bits"] += same
        report["gone on with from a checkpoint"] += was_kept
        report["left behind"] += len(left)
        state = "a checkpoint" if was_kept else "none yet"
        print(f"{report['kills']:3d}: killed after {moment:5.1f} s ({state}), gone on for", end=" ")
        print(f"{time.perf_counter() - began:5.1f} s: {'the same' if same else 'ANOTHER'} model", end="")
        print(f"{', HALF A MODEL' * half_a_model}{', left ' + str(left) if left else ''}", flush=True)
    path.unlink()
    return report


def bits(model: Path) -> bytes:
    fitted = load_model(model)
    return fitted.coef_.tobytes() + fitted.intercept_.tobytes()
