"""Make docs/speed.md from benchmarks/results/speed.json."""

from __future__ import annotations

from typing import Any

from . import cost, reach
from .targets import targets

HEAD = """# Speed, measured

How long will my fit take, and what does it cost beside what I use now?
"""

HOW = """
## How this was measured

This page is made from benchmarks/results/speed.json by `make bench`, or by `python benchmarks/speed.py` alone
(about 30 minutes; `--only SECTION ...` for a part of it).

- Rivals alternate in one process, with one thread each, so a ratio is of one run. All times are CPU time without
  compiling, except for those on the clock where threads are compared.
- A figure is the median of at least three repetitions.
- Load on the machine changes even ratios, so run the benchmark on a quiet one.
- The processor changes ratios too; each section says when and on what it was measured. With AVX-512, OpenBLAS's
  product is about twice as fast. On 18 November 2026 a pass over ijcnn1 cost 4.2 to 4.7 products there, and one
  over covtype 1.2 to 2.0. Instructions per point have not changed.
"""

GUARD = """
## The guard against slowdowns

`python benchmarks/instructions.py` counts the instructions of each compiled loop per point, under valgrind,
compiled for one fixed processor on any machine. It fails where a count is 5% above the one in
benchmarks/results/instructions.json; `--update` accepts new counts. It is the last step of `make bench`.
"""


def page(sections: dict[str, Any], pictures: str) -> str:
    makers = {
        "cost": cost_tables,
        "rivals": rivals_tables,
        "files": files_tables,
        "threads": threads_table,
        "memory": memory_table,
        "reach": reach_tables,
        "passes": pass_tables,
        "sgd": sgd_table,
        "growth": growth_tables,
    }
    parts = [HEAD]
    for name, maker in makers.items():
        if name in sections:
            body = maker(sections[name]["found"])
            parts.append(body.replace("PICTURE", pictures) + "\n" + conditions(sections[name]["measured"]))
    return "".join([*parts, target_table(sections), HOW, GUARD])


def cost_tables(found: dict[str, Any]) -> str:
    ways = list(found["rows"][0]["seconds"])[1:]
    largest = found["rows"][-1]
    ours, theirs = (largest["seconds"][name] for name in (cost.OURS, cost.LOGISTIC))
    times = f"{theirs / ours:.1f} times as long" if theirs > ours else f"{theirs / ours:.2f} times that"
    text = (
        f"\nA default fit of {largest['rows']:,} rows of {largest['columns']} columns in memory takes {ours:.2f} "
        f"CPU seconds; `LogisticRegression` takes {times}, and has no threshold for the measure yet.\n\n"
        "![Rows per second against rows](PICTURE-rows.svg)\n\n"
        f"CPU seconds of a fit for F1, {largest['columns']} columns, all with their defaults. The columns are "
        "made up and independent, which `LogisticRegression` solves in a few steps; real ones take more. "
        "`TunedThresholdClassifierCV` fits it once per fold. HistGradientBoosting learns curves and interactions, "
        "the others do not. The dotted line of the chart is one product of the rows and a vector, which no "
        "fit can do without.\n\n"
    )
    rows = [[f"{one['rows']:,}", *(_seconds(one["seconds"].get(way)) for way in ways)] for one in found["rows"]]
    text += table(["rows", *ways], rows)
    text += (
        "\n## What makes a fit expensive\n\n![Cost against rows, columns, classes, threads](PICTURE-cost.svg)\n\n"
    )
    text += (
        "A choice among starts, by up to five folds, costs most where rows are few: it pays there. The more rows, "
        "the less is spent on it, so that 100,000 rows take less time than 10,000. Many columns and many classes "
        "cost in proportion to their number, or more.\n\n"
    )
    for key, unit in (("columns", "columns"), ("classes", "classes")):
        one = found[key][0]
        fixed = f"{one['rows']:,} rows" + ("" if key == "columns" else f" of {one['columns']} columns")
        rows = [
            [name, *(_seconds(each["seconds"][name]) for each in found[key])]
            for name in (cost.OURS, cost.LOGISTIC)
        ]
        text += table([fixed, *(f"{each[key]:,} {unit}" for each in found[key])], rows) + "\n"
    return text


def _seconds(time: float | None) -> str:
    return "" if time is None else f"{time:.2g}" if time < 0.1 else f"{time:.2f}"


def threads_table(found: list[dict[str, Any]]) -> str:
    text = (
        f"\n## Threads\n\nTime on the clock of one fit of {cost.ROWS_OF_THREADS:,} rows of {cost.COLUMNS} columns "
        "with `n_jobs=`, and of a product of the same rows and a vector, shared out among as many threads.\n\n"
    )
    first = found[0]["seconds"]
    rows = [
        [
            str(one["threads"]),
            *(f"{time:.3f} ({first[name] / time:.2f}x)" for name, time in one["seconds"].items()),
        ]
        for one in found
    ]
    return text + table(["threads", *first], rows)


def conditions(measured: dict[str, Any]) -> str:
    return "Measured " + ", ".join(f"{what} {value}" for what, value in measured.items()) + ".\n"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def target_table(sections: dict[str, Any]) -> str:
    rows = [
        [one.claim, one.where, one.shown, f"{one.bar:.3g}{one.unit}", "met" if one.met else "**missed**"]
        for one in targets(sections)
    ]
    met = sum(row[-1] == "met" for row in rows)
    head = ["what, at most", "where", "measured", "target", ""]
    return f"\n## Targets\n\n{met} of {len(rows)} met.\n\n" + table(head, rows)


def pass_tables(found: dict[str, Any]) -> str:
    text = "\n## A pass against a product of the same rows and a vector\n"
    for title, form in (("Dense rows, float32", "dense"), ("Sparse rows, CSR, float32", "sparse")):
        solvers = list(found[form][0]["pass / product"])
        rows = [
            [
                row["data"],
                f"{row['rows']:,}",
                f"{row['columns']:,}",
                f"{row['values a row']:.0f}",
                f"{row['product, ns a row']:.1f}",
                *(f"{row['pass / product'][name]:.2f}" for name in solvers),
            ]
            for row in found[form]
        ]
        text += f"\n{title}:\n\n"
        text += table(["data", "rows", "columns", "values per row", "product, ns per row", *solvers], rows)
    return text


def sgd_table(found: list[dict[str, Any]]) -> str:
    solvers = list(found[0]["pass / its pass"])
    rows = [
        [
            row["data"],
            str(row["columns"]),
            f"{row['SGDClassifier, passes a second']:.1f} ({row['its rows']})",
            *(f"{row['passes a second'][name]:.1f}, {row['pass / its pass'][name]:.3f}" for name in solvers),
        ]
        for row in found
    ]
    text = "\n## Passes per second against SGDClassifier\n\nHinge loss, `average=True`, on the "
    text += "width of rows (float32 or float64) on which it is faster. The other columns: passes per second, and "
    text += "the time of a pass as a share of SGDClassifier's.\n\n"
    return text + table(["data", "columns", "SGDClassifier", *solvers], rows)


def arrived(ours: reach.Arrival | None) -> str:
    return "not reached" if ours is None else f"{ours.seconds:.3f} ({ours.way})"


def reach_tables(found: list[dict[str, Any]]) -> str:
    rows = []
    for entry in found:
        goal, own = reach.target(entry), reach.arrival(entry, of_plug_in=True)
        default = entry["curves"][reach.DEFAULT][0]
        assert own is not None  # the plug-in's last point reaches its own value
        rows.append(
            [
                entry["data"],
                entry["measure"],
                f"{goal['value']:.4f}",
                f"{goal['seconds']:.3f}",
                f"{own.seconds:.3f} ({own.at})",
                arrived(reach.arrival(entry)),
                arrived(reach.arrival(entry, online=False)),
                f"{default['value']:.4f} in {default['seconds']:.3f}",
            ]
        )
    head = [
        "data",
        "measure",
        "plug-in's test value",
        "its CPU s",
        "it reaches it after",
        "we reach it after",
        "by a fit to all rows",
        "our default fit",
    ]
    text = "\n## CPU time to the plug-in's test value\n\n![Test value against CPU time](PICTURE.svg)\n\n"
    text += "Each point is a fit from raw rows: of 1 to 25 passes, of 3 to 1,000 iterations of L-BFGS, or of the "
    text += "first calls of `partial_fit`, each with an eighth of the rows.\n\n"
    return text + table(head, rows)


def growth_tables(found: dict[str, Any]) -> str:
    text = "\n## Growth\n\nCPU seconds of a fit with five passes, `sharpen=False`, synthetic float32 rows.\n\n"
    for part, heading in (("points", "{:,} points"), ("columns", "{:,} columns")):
        part_found = found[part]
        rows = [[name, *(f"{s:.4f}" for s in fit["seconds"])] for name, fit in part_found["fits"].items()]
        fixed = f"{part_found['columns']} columns" if part == "points" else f"{part_found['values']:,} values"
        text += table([fixed, *(heading.format(size) for size in part_found[part])], rows) + "\n"
    return text


def memory_table(found: list[dict[str, Any]]) -> str:
    if not found:
        return "\n## Memory\n\nNot measured on this system.\n"
    fits = list(found[0]["peak above the data, MB"])
    rows = [
        [
            row["data"],
            f"{row['float32 copy, MB']:.0f}",
            *(f"{row['peak above the data, MB'][name]:.0f}" for name in fits),
        ]
        for row in found
    ]
    text = "\n## Peak memory above the data, MB\n\nF1, one process per fit.\n\n"
    return text + table(["data", "a float32 copy", *fits], rows)


def files_tables(found: dict[str, Any]) -> str:
    text = "\n## Fits from files, and predictions\n\n"
    text += (
        f"`fit_stream` with its defaults, F1, {found['rows']:,} rows of {found['columns']} columns (mixed: 20 "
        "numbers, 5 texts of 10 to 10,000 values, 2 times). Decoded rows are kept in memory, or on disk "
        "(`max_memory=0, disk_cache=FOLDER`), or nowhere, so that every pass reads the file. CPU seconds, medians "
        f"of {found['turns']}; in brackets per scan, which is pyarrow reading the file once.\n\n"
    )
    rows = []
    for name, times in found["fits"].items():
        cells = [f"{times[way]:.2f} ({times[way] / times['scan']:.1f})" for way in list(times)[1:]]
        rows.append([name, f"{times['scan']:.2f}", *cells])
    text += table(["file", "scan", "in memory", "on disk", "file read in every pass"], rows)
    times = found["predict"]
    text += (
        f"\n`predict` of a million float32 rows of {found['columns']} columns takes "
        f"{times['predict'] / times['product']:.1f} times their float32 product with a vector; of one row, "
        f"{1e3 * times['one row']:.0f} microseconds.\n"
    )
    return text


def rivals_tables(found: dict[str, Any]) -> str:
    text = (
        "\n## Fits in memory against LogisticRegression\n\n"
        "CPU seconds, both with their defaults, on made-up rows of independent columns, which LogisticRegression "
        "solves in a few steps. Medians of three. In brackets F1 on as many other rows (macro-F1 of three "
        "classes).\n\n"
    )
    rows = []
    for name, one in found["fits"].items():
        cells = [f"{time:.3f} ({one['values'][way]:.3f})" for way, time in one["seconds"].items()]
        ratio = one["seconds"]["MeasureClassifier"] / one["seconds"]["LogisticRegression"]
        rows.append([f"{name}, {one['rows']:,} x {one['columns']:,}", *cells, f"{ratio:.1f}"])
    text += table(["rows", "LogisticRegression", "MeasureClassifier", "ratio"], rows)
    text += "\nA fit under a bound trains on two folds, so that the bound can be certified. 1,000,000 x 30:\n\n"
    plain = found["bounds"]["f1"]
    rows = [[name, f"{time:.2f}", f"{time / plain:.1f}"] for name, time in found["bounds"].items()]
    text += table(["measure", "CPU seconds", "per fit for F1"], rows)
    times = found["members"]
    many, one_row = (times[f"members{of}"] / times[f"booster{of}"] for of in ("", ", one row"))
    text += (
        f"\n`MeasureMaximizer.predict` with five LightGBM models takes {many:.1f} times one model's `predict` for "
        f"50,000 rows, and {one_row:.1f} times for one row. Each of the five has half as many trees again as the "
        f"one: their own `predict` of 50,000 rows takes {times['each member'] / times['booster']:.1f} times the "
        "one's.\n"
    )
    return text
