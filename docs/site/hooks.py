"""Pages that are made when the site is built: from the examples, the command line, the benchmarks and the root."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import runpy
import statistics
import sys
import tempfile
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PICTURES = {"report": "figures/report.png"}
"""Pictures of what examples make that draw none."""

LATER = {"promises.md", "tables.md", "boosting.md", "torch.md", "reliability.md"}
"""Pages of the navigation that may be missing."""

sys.path.insert(0, str(ROOT / "src"))
sys.path.insert(0, str(Path(__file__).parent))


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the examples in the navigation, and leave out of it what is not written yet."""
    examples = [{_title(one): f"gallery/{one.stem}.md"} for one in EXAMPLES]
    shown = {"Gallery": [{"All examples": "gallery.md"}, *examples]}
    config.nav = [shown if "Gallery" in one else _existing(one) for one in config.nav]
    return config


def _existing(entry: object) -> object:
    if isinstance(entry, dict):
        return {name: _existing(inner) for name, inner in entry.items()}
    if isinstance(entry, list):
        missing = [one for one in entry if isinstance(one, dict) and _missing(*one.values())]
        return [_existing(one) for one in entry if one not in missing]
    return entry


def _missing(page: object) -> bool:
    return page in LATER and not (ROOT / "docs" / str(page)).exists()


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    made = {
        "command-line-reference.md": command_line(),
        "benchmarks.md": benchmarks(),
        "changelog.md": from_the_root("CHANGELOG.md"),
        "contributing.md": from_the_root("CONTRIBUTING.md"),
        "report.html": report(),
    } | gallery(Path(config.config_file_path).parent / ".gallery")
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))
    return files


# ---- the command line


def command_line() -> str:
    """Return the help of every command, as the commands print it."""
    import click

    from ratewise.cli.app import app

    parts = [
        "# Every command and option\n\nWhat `ratewise --help` prints, command by command. "
        "[The command line](command-line.md) shows how they work together.\n"
    ]
    for name, command in {"": app, **app.commands}.items():
        context = click.Context(
            command, info_name=f"ratewise {name}".strip(), terminal_width=88, max_content_width=88
        )
        parts.append(f"## ratewise {name}".rstrip() + f"\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


# ---- the report of docs/reports.md


def report() -> str:
    """Return the page that the lines of docs/reports.md write."""
    program = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "docs/reports.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
    )[0]
    names: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        there = os.getcwd()
        os.chdir(folder)
        try:
            exec(compile(program, "reports.md", "exec"), names)
        finally:
            os.chdir(there)
        return (Path(folder) / "report.html").read_text("utf-8")


# ---- pages of the root


def from_the_root(name: str) -> str:
    """Return a page of the repository with its links as they are on the site."""
    text = (ROOT / name).read_text("utf-8")
    text = re.sub(r"\]\(docs/([^)]+)\)", r"](\1)", text)
    text = text.replace("](CONTRIBUTING.md)", "](contributing.md)").replace("](CHANGELOG.md)", "](changelog.md)")
    return re.sub(r"\[([^\]]+)\]\((?!https?:|#|[\w-]+\.md)[^)]+\)", r"`\1`", text)


# ---- the gallery


def gallery(kept: Path) -> dict[str, str | bytes]:
    """Return the pages of the examples, run now, with what they print and draw. What ran unchanged is kept."""
    made: dict[str, str | bytes] = {}
    cards: dict[str, bool] = {}
    for example in EXAMPLES:
        source = example.read_text("utf-8")
        printed, pictures = _run(example, source, kept / example.stem)
        title, _, rest = _docstring(source).partition("\n")
        name = f"gallery/{example.stem}.md"
        shown = "".join(f"![{title}]({example.stem}-{place}.png)\n\n" for place in range(len(pictures)))
        made[name] = (
            f"# {title.rstrip('.')}\n\n{rest.strip()}\n\n{shown}It prints:\n\n```text\n{printed.rstrip()}\n```\n\n"
            f'## The program\n\n```py title="examples/{example.name}"\n{source}```\n'
        )
        for place, picture in enumerate(pictures):
            made[f"gallery/{example.stem}-{place}.png"] = picture
        picture = f"gallery/{example.stem}-0.png" if pictures else PICTURES.get(example.stem)
        image = "" if picture is None else f"[![{title}]({picture}){{ width=640 }}]({name})\n\n"
        cards[f"## [{_title(example)}]({name})\n\n{image}{_prose(rest)}\n"] = picture is not None
    made["gallery.md"] = (
        "# Gallery\n\nThe programs of `examples/`. They ran when this site was built.\n\n"
        + "\n".join(sorted(cards, key=cards.__getitem__, reverse=True))
    )
    return made


def _prose(text: str) -> str:
    """Return the paragraphs that are not code."""
    return "\n\n".join(one for one in text.strip("\n").split("\n\n") if one.strip() and not one.startswith(" "))


def _title(example: Path) -> str:
    return _docstring(example.read_text("utf-8")).partition("\n")[0].partition(":")[0].rstrip(".")


def _docstring(source: str) -> str:
    import ast

    return ast.get_docstring(ast.parse(source)) or ""


def _run(example: Path, source: str, folder: Path) -> tuple[str, list[bytes]]:
    """Return what an example prints and the PNGs it writes, from the last time if it has not changed since."""
    record = folder / "printed.json"
    if record.exists():
        kept = json.loads(record.read_text("utf-8"))
        if kept["source"] == source:
            return kept["printed"], [path.read_bytes() for path in sorted(folder.glob("*.png"))]
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.png"):
        old.unlink()
    drawn = {name: ["figure.png"] for name in ("plots", "shapes", "why_not_a_threshold")}
    arguments = {"digits": ["--splits", "1"], **drawn}.get(example.stem, [])
    before, there, printed = sys.argv, os.getcwd(), io.StringIO()
    try:
        sys.argv = [example.name, *arguments]
        os.chdir(folder)
        with contextlib.redirect_stdout(printed):
            runpy.run_path(str(example), run_name="__main__")
    except ModuleNotFoundError as error:  # an extra that is not installed here
        return f"Not run when this site was built: {error.name} was not installed.", []
    finally:
        sys.argv = before
        os.chdir(there)
    record.write_text(json.dumps({"source": source, "printed": printed.getvalue()}), "utf-8")
    return printed.getvalue(), [path.read_bytes() for path in sorted(folder.glob("*.png"))]


# ---- benchmarks


class Mean(float):
    """The mean of a value over splits, with its standard error, which one split does not tell."""

    error: float | None

    def __new__(cls, values: list[float]) -> Mean:
        one = super().__new__(cls, statistics.fmean(values))
        one.error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else None
        return one


SUMMARISED = (
    "quality",
    "boosting",
    "many_classes",
    "fit_time",
    "streams",
    "svmlight",
    "promises",
)
"""The results that fit on a page; the others are named with the program that wrote them."""

COLUMNS = {
    "fair": "mean log odds",
    "ours": "MeasureMaximizer",
    "probability": "mean probabilities",
    "tuned": "TunedThresholdClassifierCV",
    "balanced": "balanced weights, mean log odds",
}
"""The methods of the results by the names that the pages use."""

LONGEST = 20  # rows of a table that is not folded


def benchmarks() -> str:
    """Return the results of benchmarks/results as tables: means over splits, the best of each row in bold."""
    lines = [
        "# All results\n",
        "F1 on test rows of the 24 tables on which methods were designed. On other tables the gains are smaller: "
        "[Quality](quality.md) has the figures, and says how they were measured.\n",
        "![F1 of a linear model, curves and pairs, and a small LightGBM](figures/gains.png){ width=640 }\n",
        "[Speed](speed.md) compares the CPU time of a fit with that of logistic regression. [The paper's "
        "experiments](reproduction.md) were run again, with a verdict on each claim.\n",
        "The tables below were read from `benchmarks/results` when this site was built. Values are means over "
        "random splits with their standard errors, or of one split without; the best of each row is bold.\n",
    ]
    others = []
    for path in sorted((ROOT / "benchmarks" / "results").glob("*.json")):
        script = ROOT / "benchmarks" / f"{path.stem.split('-')[0]}.py"
        says = _docstring(script.read_text("utf-8")).partition("\n")[0] if script.exists() else ""
        tables = _tables(_means(json.loads(path.read_text("utf-8")))) if path.stem in SUMMARISED else []
        if tables:
            lines += [
                f"## {path.stem.replace('_', ' ').capitalize()}\n",
                f"{says} (`{path.name}`)\n".lstrip(),
                *tables,
            ]
        else:
            others.append(f"- `{path.name}`: {says}")
    return "\n".join([*lines, "## Other files\n", *others, ""])


def _means(content: object) -> object:
    """Return results with the splits, numbered 0 to n, replaced by their means."""
    if not isinstance(content, dict):
        return content
    if content and all(key.isdigit() for key in content):
        splits = list(content.values())
        if all(isinstance(one, dict) for one in splits):
            shared = [key for key in splits[0] if all(key in one for one in splits)]
            return {key: _means({str(n): one[key] for n, one in enumerate(splits)}) for key in shared}
        values = [one[0] if isinstance(one, list) else one for one in splits]
        return Mean(values) if all(isinstance(one, (int, float)) for one in values) else None
    return {key: _means(one) for key, one in content.items()}


def _tables(content: object, title: str = "", depth: int = 3) -> list[str]:
    """Return nested results as Markdown tables: rows by the outer of the two innermost keys."""
    if not isinstance(content, dict) or not content:
        return []
    inner = [one for one in content.values() if isinstance(one, dict)]
    heading = [f"{'#' * min(depth, 5)} {title}\n"] if title else []
    if len(inner) == len(content) and all(
        not any(isinstance(x, (dict, list)) for x in one.values()) for one in inner
    ):
        columns = list(dict.fromkeys(key for one in inner for key in one))
        rows = [[name, *_bold([one.get(key) for key in columns])] for name, one in content.items()]
        return [*heading, _table(["", *(COLUMNS.get(one, one) for one in columns)], rows)]
    if len(inner) == len(content):
        deeper = [x for one in inner for x in one.values()]
        if all(isinstance(x, dict) and all(isinstance(y, Mean) for y in x.values()) for x in deeper):
            return [*heading, *_three_levels(content, depth)]
        below = depth + bool(title)
        return [*heading, *(line for key, one in content.items() for line in _tables(one, str(key), below))]
    return []


def _three_levels(content: dict[str, dict[str, dict[str, Mean]]], depth: int) -> list[str]:
    """Return a table for each measure, data by methods; or one of all, if no key is a measure."""
    from ratewise.measures import measure_names

    middle = {key for one in content.values() for key in one}
    innermost = {key for one in content.values() for x in one.values() for key in x}
    if innermost <= set(measure_names()):
        by_measure = {
            m: {d: {k: v.get(m) for k, v in one.items()} for d, one in content.items()} for m in innermost
        }
    elif middle <= set(measure_names()):
        by_measure = {m: {d: one.get(m, {}) for d, one in content.items()} for m in middle}
    else:
        flat = {d: {f"{k}, {n}": y for k, x in one.items() for n, y in x.items()} for d, one in content.items()}
        return _tables(flat, depth=depth)
    return [line for m, one in sorted(by_measure.items()) for line in _tables(one, m, depth)]


def _bold(cells: list[object]) -> list[str]:
    """Return the cells of a row as text; the best of several means is bold."""
    means = [one for one in cells if isinstance(one, Mean)]
    best = f"{max(means):.3f}" if len(means) > 1 else None
    return [f"**{_cell(one)}**" if isinstance(one, Mean) and f"{one:.3f}" == best else _cell(one) for one in cells]


def _cell(value: object) -> str:
    if isinstance(value, Mean):
        return f"{value:.3f}" if value.error is None else f"{value:.3f} ± {value.error:.3f}"
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value).replace("|", "/").replace("\n", " ")[:80]


def _table(headings: list[str], rows: list[list[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
    if len(rows) <= LONGEST:
        return table
    return f"<details markdown>\n<summary>{len(rows)} rows</summary>\n\n{table}\n</details>\n"


# ---- search without a server


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Let search work from a folder: the script that this needs comes from the site, not from a host."""
    asked_for = "https://unpkg.com/iframe-worker/shim"
    if asked_for not in output:
        raise PluginError(f"The theme no longer asks for {asked_for}: see whether search works from a folder.")
    return output.replace(asked_for, get_relative_url("site/worker.js", page.url))
