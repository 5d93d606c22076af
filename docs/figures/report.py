"""Draw docs/figures/report.png: the top of a report, as Chromium shows it. Nothing happens where there is none.

make figures
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent


def main() -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        print("There is no chromium here: docs/figures/report.png stays as it is.")
        return
    page = (FOLDER.parent / "reports.md").read_text("utf-8")
    program = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[0]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        exec(compile(program.replace('"report.html"', repr(str(report))), "reports.md", "exec"), {})
        shown = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1100,1280"]
        picture = f"--screenshot={FOLDER / 'report.png'}"
        subprocess.run([chromium, *shown, picture, report.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    main()
