"""`ratewise fit --checkpoint` of six formats, killed (SIGKILL) at random moments and run again: the same model?"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.datasets import dump_svmlight_file

from ratewise import load_model

from . import tables

ROWS = 260_000  # more bytes than are read into memory
EVERY = 60_000
MOST_KILLS = 4  # of one fit


def write_svmlight(path: Path, rows: int) -> None:
    X, y = _arrays(rows)
    dump_svmlight_file(X, y, str(path), zero_based=False)


def write_npy(path: Path, rows: int) -> None:
    X, y = _arrays(rows)
    np.save(path, X)
    np.save(path.with_name("labels.npy"), y)


def write_npz(path: Path, rows: int) -> None:
    X, y = _arrays(rows)
    np.savez_compressed(path, X=X, y=y)


def _arrays(rows: int) -> tuple[Any, Any]:
    table = pa.concat_tables(tables.blocks(rows))
    *columns, label = (column.to_numpy() for column in table.columns)
    return np.column_stack(columns), label


FORMATS = {
    "rows.parquet": (tables.write_parquet, ["--target", "label"]),
    "rows.feather": (tables.write_feather, ["--target", "label"]),
    "rows.csv": (tables.write_csv, ["--target", "label"]),
    "rows.svm": (write_svmlight, []),
    "rows.npy": (write_npy, ["--target", "labels.npy"]),
    "rows.npz": (write_npz, []),
}


def measure(folder: Path, fits: int, seed: int | None = None) -> dict[str, Any]:
    """Make so many fits, of each format in turn; kill each one to four times."""
    rng = np.random.default_rng(seed)
    report: dict[str, Any] = {}
    for number, (name, (write, options)) in enumerate(FORMATS.items()):
        report[name] = _of_format(folder / name, write, options, len(range(number, fits, len(FORMATS))), rng)
    return report | {"all": {key: sum(one[key] for one in report.values()) for key in report["rows.csv"]}}


def _of_format(path: Path, write: Any, options: list[str], fits: int, rng: np.random.Generator) -> dict[str, int]:
    folder = path.parent / path.suffix[1:]
    folder.mkdir()
    path = folder / path.name
    write(path, ROWS)
    given = set(folder.iterdir())
    model = folder / "model.skops"
    words = [sys.executable, "-m", "ratewise", "fit", path.name, *options, "-q", "-o", model.name]
    words += ["--checkpoint", "kept", "--checkpoint-every", str(EVERY)]
    subprocess.run(words, check=True, cwd=folder)  # compiles
    until_kept, afterwards = left_alone(words, folder)
    whole = bits(model)
    print(f"{path.name}: {until_kept:.1f} s to the first checkpoint, {afterwards:.1f} s from there to the model")
    report = {"fits": 0, "kills": 0, "same bits": 0, "gone on with from a checkpoint": 0, "left behind": 0}
    while report["fits"] < fits:
        model.unlink(missing_ok=True)
        kills = []
        for _ in range(rng.integers(1, MOST_KILLS + 1)):
            # One in five before anything is kept, the others at any moment from the first checkpoint on.
            early = bool(rng.random() < 0.2)
            moment = float(rng.random()) * (until_kept if early else afterwards)
            if not was_killed(words, folder, early, moment):
                break  # it came to its end before
            kills.append(round(moment, 2))
            report["gone on with from a checkpoint"] += has_checkpoint(folder)
            report["left behind"] += model.exists() and bits(model) != whole
        if not kills:
            continue
        subprocess.run(words, check=True, cwd=folder)
        same = bits(model) == whole
        left = [one.name for one in folder.iterdir() if one not in given and one != model]
        report["fits"] += 1
        report["kills"] += len(kills)
        report["same bits"] += same
        report["left behind"] += len(left)
        print(f"  killed at {kills}: {'the same' if same else 'ANOTHER'} model; left {left}", flush=True)
    shutil.rmtree(folder)
    return report


def left_alone(words: list[Any], folder: Path) -> tuple[float, float]:
    """Seconds to the first checkpoint, and from there to the end."""
    began = time.perf_counter()
    process = subprocess.Popen(words, cwd=folder)
    wait_for_checkpoint(process, folder)
    kept = time.perf_counter()
    if process.wait() != 0:
        raise SystemExit(f"ratewise fit ended with {process.returncode}.")
    return kept - began, time.perf_counter() - kept


def was_killed(words: list[Any], folder: Path, early: bool, moment: float) -> bool:
    process = subprocess.Popen(words, cwd=folder)
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
