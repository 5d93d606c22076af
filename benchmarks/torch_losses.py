"""MeasureLoss against other losses for PyTorch: test F1 in the mean of seeds, and CPU time per training step.

Every loss trains the same network with Adam for the same number of epochs, at several learning rates. After each
epoch the best threshold on the validation rows (a fifth of the training rows) is taken. The learning rate and the
epoch with the best F1 there are reported on the test rows. Soft F1 is one minus the F1 of a mini-batch's
probabilities; AnyLoss is the same of probabilities pushed towards 0 and 1, 73 times as steep, as its authors do.

    python benchmarks/torch_losses.py --data DIR [--only reuters_lasvm] [--seeds 5]

What benchmarks/results/torch_losses.json holds is not run again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional

from datasets import DEFAULT_FOLDER, load
from output import RESULTS, read_json, write_json
from ratewise.measures import FBeta
from ratewise.torch import MeasureLoss, best_threshold

KEPT = 0.01
"""Of the eights of mnist: the test rows keep all, weighted as if they were as rare."""
SHARPENED_SHARE = 0.5
"""Of the steps."""


class Setting(NamedTuple):
    """A data set with its network."""

    network: Callable[[int], nn.Module]
    epochs: int
    batch: int
    learning_rates: tuple[float, ...]
    kept: float = 1.0


def convolutions(n_features: int) -> nn.Module:
    layers = [nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU(), nn.Flatten()]
    return nn.Sequential(nn.Unflatten(1, (1, 28, 28)), *layers, nn.Linear(16 * 49, 1), nn.Flatten(0))


def two_layers(n_features: int) -> nn.Module:
    return nn.Sequential(nn.Linear(n_features, 64), nn.ReLU(), nn.Linear(64, 1), nn.Flatten(0))


def few_units(n_features: int) -> nn.Module:
    return nn.Sequential(nn.Linear(n_features, 8), nn.ReLU(), nn.Linear(8, 1), nn.Flatten(0))


SETTINGS = {
    "ijcnn1": Setting(few_units, 6, 256, (1e-3, 3e-3, 1e-2, 3e-2)),
    "mnist-8": Setting(convolutions, 12, 128, (3e-3, 1e-2), kept=KEPT),
    "reuters_lasvm": Setting(two_layers, 12, 64, (1e-3, 3e-3, 1e-2)),
}


def soft_f1(logits: Tensor, labels: Tensor, steepness: float | None = None) -> Tensor:
    shares = torch.sigmoid(logits)
    if steepness is not None:
        shares = torch.sigmoid(steepness * (shares - 0.5))
    return 1.0 - 2.0 * (shares * labels).sum() / (shares.sum() + labels.sum() + 1e-7)


def loss_functions(prevalence: float, steps: int) -> dict[str, Callable[[Tensor, Tensor], Tensor]]:
    def cross_entropy(exponent: float) -> Callable[[Tensor, Tensor], Tensor]:
        weight = torch.tensor(((1.0 - prevalence) / prevalence) ** exponent)
        return lambda logits, labels: functional.binary_cross_entropy_with_logits(
            logits, labels, pos_weight=weight
        )

    return {
        "cross-entropy": cross_entropy(0.0),
        "root-balanced": cross_entropy(0.5),
        "balanced": cross_entropy(1.0),
        "soft-F1": soft_f1,
        "AnyLoss": lambda logits, labels: soft_f1(logits, labels, 73.0),
        "MeasureLoss": MeasureLoss("f1", sharpen_after=round((1.0 - SHARPENED_SHARE) * steps)),
    }


class Rows(NamedTuple):
    X: Tensor
    y: Tensor
    weights: np.ndarray


def rows_of(name: str, folder: Path, seed: int) -> tuple[Rows, Rows, Rows]:
    """Rows to train on, to validate and to test."""
    problem, kept = load(name, folder), SETTINGS[name].kept
    train, test = next(problem.splits(1, seed))
    rng = np.random.default_rng(seed)
    if kept < 1.0:
        positives = train[problem.y[train]]
        few = rng.choice(positives, round(kept * positives.size), replace=False)
        train = np.concatenate([few, train[~problem.y[train]]])
    train = rng.permutation(train)
    scale = 255.0 if name.startswith("mnist") else 1.0

    def part(which: np.ndarray) -> Rows:
        X = problem.X[which]
        dense = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float32) / scale
        y = problem.y[which].astype(np.float32)
        return Rows(torch.tensor(dense), torch.tensor(y), np.where(y > 0, kept, 1.0))

    fifth = train.size // 5
    return part(train[fifth:]), part(train[:fifth]), part(test)


def run(name: str, method: str, seed: int, rows: tuple[Rows, Rows, Rows]) -> dict[str, Any]:
    """The run whose learning rate is the best on validation rows."""
    runs = [_run_at(name, method, seed, rows, rate) for rate in SETTINGS[name].learning_rates]
    return max(runs, key=lambda one: one["validation_f1"])


def _run_at(name: str, method: str, seed: int, rows: tuple[Rows, Rows, Rows], rate: float) -> dict[str, Any]:
    train, validation, test = rows
    setting = SETTINGS[name]
    torch.manual_seed(seed)
    network = setting.network(train.X.shape[1])
    steps = setting.epochs * (train.y.numel() // setting.batch)
    loss = loss_functions(float(train.y.mean()), steps)[method]
    optimizer = torch.optim.Adam(network.parameters(), lr=rate)
    seconds, best = 0.0, (-1.0, 0.0)
    for _ in range(setting.epochs):
        batches = torch.randperm(train.y.numel()).split(setting.batch)[: train.y.numel() // setting.batch]
        began = time.process_time()
        for batch in batches:
            optimizer.zero_grad()
            loss(network(train.X[batch]), train.y[batch]).backward()
            optimizer.step()
        seconds += time.process_time() - began
        with torch.no_grad():
            cut = best_threshold(network(validation.X), validation.y, "f1")
            if cut.value > best[0]:
                predicted = (network(test.X) > cut.threshold).numpy()
                value = FBeta(1.0).score(test.y.numpy() > 0, predicted, sample_weight=test.weights)
                best = (cut.value, value)
    found = {"validation_f1": best[0], "f1": best[1], "learning_rate": rate}
    return found | {"seconds_per_step": seconds / steps}


def print_table(results: dict[str, Any]) -> None:
    for name in SETTINGS:
        cells = {key.split("/")[1]: [] for key in results if key.startswith(f"{name}/")}
        for key, cell in results.items():
            if key.startswith(f"{name}/"):
                cells[key.split("/")[1]].append(cell)
        if not cells:
            continue
        plain = np.median(
            [cell["seconds_per_step"] for cell in cells.get("cross-entropy", [{}]) if cell] or [np.nan]
        )
        print(f"\n{name}")
        for method, found in cells.items():
            values = np.array([cell["f1"] for cell in found])
            error = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else np.nan
            time_ratio = np.median([cell["seconds_per_step"] for cell in found]) / plain
            print(f"  {method:14} F1 {values.mean():.4f} +- {error:.4f}   time per step x {time_ratio:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DEFAULT_FOLDER)
    parser.add_argument("--only", nargs="*", choices=list(SETTINGS), default=list(SETTINGS))
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    path = RESULTS / "torch_losses.json"
    results = read_json(path)
    for seed in range(arguments.seeds):
        for name in arguments.only:
            rows = None
            for method in loss_functions(0.5, 1):
                key = f"{name}/{method}/{seed}"
                if key not in results:
                    rows = rows or rows_of(name, arguments.data, seed)
                    results[key] = run(name, method, seed, rows)
                    write_json(path, results)
                    print(key, results[key], flush=True)
    print_table(results)


if __name__ == "__main__":
    main()
