"""What is asked of the speed, each with what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from . import reach


class Target(NamedTuple):
    claim: str
    where: str
    measured: float | None
    """None if it was never reached."""
    bar: float
    unit: str = ""

    @property
    def met(self) -> bool:
        return self.measured is not None and self.measured <= self.bar

    @property
    def shown(self) -> str:
        if self.measured is None:
            return "not reached"
        return f"{self.measured:.3g}{self.unit}" if abs(self.measured) < 100 else f"{self.measured:.0f}{self.unit}"


def targets(sections: dict[str, Any]) -> list[Target]:
    """Of the sections that were measured."""
    makers = {"passes": of_passes, "sgd": of_sgd, "reach": of_reach, "growth": of_growth, "memory": of_memory}
    makers |= {"files": of_files, "rivals": of_rivals}
    return [
        target for name, maker in makers.items() if name in sections for target in maker(sections[name]["found"])
    ]


def of_passes(found: dict[str, Any]) -> Iterator[Target]:
    narrow = [row for row in found["dense"] if row["columns"] < 54]
    wide = [row for row in found["dense"] if row["columns"] >= 54]
    for name in found["dense"][0]["pass / product"]:
        stamp = name.startswith("STAMP")
        yield slowest(f"{name}: pass / product, 22 columns", narrow, name, 3.0 if stamp else 5.0)
        yield slowest(f"{name}: pass / product, 54 columns or more", wide, name, 1.5 if stamp else 1.8)
    for name in found["sparse"][0]["pass / product"]:
        yield slowest(f"{name}: pass / CSR product", found["sparse"], name, 3.0)


def slowest(claim: str, rows: list[dict[str, Any]], solver: str, bar: float) -> Target:
    """The data that a pass costs most on; if it is above the bar, all that are."""
    ratios = {row["data"]: row["pass / product"][solver] for row in rows}
    above = [f"{data} {ratio:.2f}" for data, ratio in ratios.items() if ratio > bar]
    worst = max(ratios, key=ratios.__getitem__)
    where = (
        f"{len(above)} of {len(rows)} above: {', '.join(above)}" if above else f"slowest of {len(rows)}: {worst}"
    )
    return Target(claim, where, ratios[worst], bar)


def of_sgd(found: list[dict[str, Any]]) -> Iterator[Target]:
    for row in found:
        where = f"{row['data']}, {row['columns']} columns"
        for name, ratio in row["pass / its pass"].items():
            yield Target(f"{name}: pass / SGDClassifier's pass", where, ratio, 0.2)


def of_reach(found: list[dict[str, Any]]) -> Iterator[Target]:
    for entry in found:
        where = f"{entry['data']}, {entry['measure']}"
        for online, claim in ((True, ""), (False, ", by a fit to all rows")):
            ours = reach.arrival(entry, online=online)
            ratio = None if ours is None else ours.seconds / reach.target(entry)["seconds"]
            yield Target(f"CPU time to the plug-in's test value / the plug-in's{claim}", where, ratio, 0.1)


def of_growth(found: dict[str, Any]) -> Iterator[Target]:
    for name, fit in found["points"]["fits"].items():
        where = f"{found['points']['columns']} columns"
        yield Target(f"{name}: time of 10^7 points / of 10^5", where, fit["10^7 / 10^5"], 110.0)


def of_memory(found: list[dict[str, Any]]) -> Iterator[Target]:
    for row in found:
        for name, peak in row["peak above the data, MB"].items():
            share = 0.1 if "low_memory" in name else 1.0
            bar = share * row["float32 copy, MB"] + 50.0
            yield Target(f"peak above the data, {name}", row["data"], peak, bar, " MB")


# Per scan of the file by pyarrow: where decoded rows fit into memory, and where they are kept on disk.
_BARS_OF_FILES = {
    "Parquet, snappy, numbers": (6.0, 10.0),
    "Parquet, zstd, numbers": (6.0, 10.0),
    "Parquet, zstd, mixed": (10.0, 10.0),
    "CSV, numbers": (3.0, 10.0),
    "CSV, mixed": (5.0, 10.0),
}


def of_files(found: dict[str, Any]) -> Iterator[Target]:
    for name, times in found["fits"].items():
        for way, bar in zip(("in memory", "on disk"), _BARS_OF_FILES[name], strict=True):
            yield Target(f"fit_stream, rows kept {way} / scan", name, times[way] / times["scan"], bar)
    times = found["predict"]
    yield Target("predict / product, float32", "1,000,000 rows", times["predict"] / times["product"], 1.5)
    yield Target("predict, one row", f"{found['columns']} columns", 1e3 * times["one row"], 60.0, " us")


def of_rivals(found: dict[str, Any]) -> Iterator[Target]:
    for name, one in found["fits"].items():
        ratio = one["seconds"]["MeasureClassifier"] / one["seconds"]["LogisticRegression"]
        where = f"{name}, {one['rows']:,} x {one['columns']:,}"
        yield Target("CPU time of a fit / LogisticRegression's", where, ratio, 3.0 if one["classes"] > 2 else 5.0)
    plain = found["bounds"]["f1"]
    for name, seconds in found["bounds"].items():
        if name != "f1":
            yield Target("CPU time of a fit under a bound / of the F1 fit", name, seconds / plain, 4.0)
    times = found["members"]
    yield Target(
        "MeasureMaximizer's predict / one LightGBM's", "5 members", times["members"] / times["booster"], 5.2
    )
