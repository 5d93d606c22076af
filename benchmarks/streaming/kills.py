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
    until_kept, afterwards = left_alone(words, folder)
    whole = bits(model)
    print(f"left alone: {until_kept:.1f} s to the first checkpoint, {afterwards:.1f} s from there to the model")
    rng = np.random.default_rng(seed)
    report: dict[str, Any] = {"kills": 0, "same bits": 0, "gone on with from a checkpoint": 0, "left behind": 0}
    while report["kills"] < kills:
        model.unlink(missing_ok=True)
        # One in five before anything is kept, the others at any moment from the first checkpoint on.
        early = bool(rng.random() < 0.2)
        moment = float(rng.random()) * (until_kept if early else afterwards)
        if not was_killed(words, folder, early, moment):
            continue  # it came to its end before
        was_kept, half_a_model = has_checkpoint(folder), model.exists() and bits(model) != whole
        subprocess.run(words, check=True)
        same = bits(model) == whole
        left = [one.name for one in folder.iterdir() if one not in (path, model)]
        report["kills"] += 1
        report["same bits"] += same
        report["gone on with from a checkpoint"] += was_kept
        report["left behind"] += len(left) + half_a_model
        since = "after the start" if early else "after the first checkpoint"
        print(
            f"{report['kills']:3d}: killed {moment:5.2f} s {since}: {'the same' if same else 'ANOTHER'} model",
            end="",
        )
        print(f"{', HALF A MODEL' * half_a_model}{', left ' + str(left) if left else ''}", flush=True)
    path.unlink()
    return report


def left_alone(words: list[Any], folder: Path) -> tuple[float, float]:
    """Seconds to the first checkpoint, and from there to the end."""
    began = time.perf_counter()
    process = subprocess.Popen(words)
    wait_for_checkpoint(process, folder)
    kept = time.perf_counter()
    if process.wait() != 0:
        raise SystemExit(f"ratewise fit ended with {process.returncode}.")
    return kept - began, time.perf_counter() - kept


def was_killed(words: list[Any], folder: Path, early: bool, moment: float) -> bool:
    process = subprocess.Popen(words)
    if not early:
        wait_for_checkpoint(process, folder)
    try:
        process.wait(moment)
        return False
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return True


def wait_for_checkpoint(process: subprocess.Popen[bytes], folder: Path) -> None:
    while process.poll() is None and not has_checkpoint(folder):
        time.sleep(0.01)


def has_checkpoint(folder: Path) -> bool:
    return (folder / "kept").exists() or (folder / "kept.before").exists()


def bits(model: Path) -> bytes:
    fitted = load_model(model)
    return fitted.coef_.tobytes() + fitted.intercept_.tobytes()
