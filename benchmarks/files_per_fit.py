"""Count the library's files that a fit runs through: how much code a reader has to follow.

A file counts if one of its functions or methods runs during the fit. Imports and compiling are over by then: the
same fit has run before. Run: python benchmarks/files_per_fit.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import ratewise
from ratewise import MeasureClassifier

LIBRARY = Path(ratewise.__file__).parent


def files_run(call: Callable[[], Any]) -> tuple[list[str], int]:
    """Return the files of ratewise whose functions `call` runs, and how often it changes folder."""
    call()
    files: list[str] = []

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(LIBRARY):
            file = str(path.relative_to(LIBRARY))
            if not files or files[-1] != file:
                files.append(file)

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    folders = [str(Path(file).parent) for file in files]
    changes = sum(a != b for a, b in pairwise(folders))
    return sorted(set(files)), changes


def main() -> None:
    """Print the files of a default fit for F1 on rows like those of ijcnn1 (22 columns, 10% positive)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50_000, 22)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=len(X)) > 2.0).astype(int)
    files, changes = files_run(lambda: MeasureClassifier("f1", random_state=0).fit(X, y))
    print("\n".join(files))
    print(f"{len(files)} files, {changes} changes of folder")


if __name__ == "__main__":
    main()
