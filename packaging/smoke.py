"""What a fresh installation must be able to do: the code and the commands of the first pages, as they are there.

Also fit, report, save and load, in Python and from the command line.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

import ratewise

PAGES = ("README.md", "docs/index.md", "docs/first-model.md")


def run_pages(folder: Path) -> None:
    """Run the programs of the first pages, and their commands on small CSV files of the names that they use."""
    os.chdir(folder)
    X, y = load_breast_cancer(return_X_y=True)
    names = [f"x{number}" for number in range(X.shape[1])]
    for name, rows in (("train", slice(0, 400)), ("test", slice(400, None)), ("new", slice(400, None))):
        columns = X[rows] if name == "new" else np.column_stack([X[rows], y[rows]])
        header = ",".join(names if name == "new" else [*names, "label"])
        np.savetxt(f"{name}.csv", columns, fmt="%.6g", delimiter=",", header=header, comments="")
    for page in PAGES:
        text = (Path(__file__).parents[1] / page).read_text("utf-8")
        blocks = re.findall(r"^```(\w+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        program = "\n".join(code for language, code in blocks if language == "python")
        exec(compile(program, page, "exec"), {})
        commands = "".join(code for language, code in blocks if language == "console").splitlines()
        for command in (one for one in commands if re.match("ratewise (fit|report|predict)", one)):
            subprocess.run([sys.executable, "-m", *shlex.split(command, comments=True)], check=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        before = Path.cwd()
        run_pages(Path(name))
        os.chdir(before)
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
