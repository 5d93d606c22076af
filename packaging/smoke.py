"""What a fresh installation must be able to do: fit, report, save, load, and the same from the command line."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

import ratewise


def main() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    classifier = ratewise.MeasureClassifier("gmean", random_state=0).fit(X[:400], y[:400])
    assert classifier.score(X[400:], y[400:]) > 0.85
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ratewise.report(classifier, X[400:], y[400:]).save(folder / "report.html")
        assert (folder / "report.html").stat().st_size > 50_000
        ratewise.save_model(classifier, folder / "model.skops")
        assert (ratewise.load_model(folder / "model.skops").predict(X) == classifier.predict(X)).all()
        np.savez(folder / "rows.npz", X=X, y=y)
        command = [sys.executable, "-m", "ratewise"]
        subprocess.run([*command, "fit", folder / "rows.npz", "-o", folder / "cli.skops", "--quiet"], check=True)
        subprocess.run([*command, "evaluate", folder / "cli.skops", folder / "rows.npz", "--quiet"], check=True)
    print(f"ratewise {ratewise.__version__} works on Python {sys.version.split()[0]}, from {ratewise.__file__}")


if __name__ == "__main__":
    main()
