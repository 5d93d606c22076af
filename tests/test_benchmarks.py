"""The parts of the benchmarks that decide: what counts as a slowdown, and what as reaching a rival."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from unittest.mock import MagicMock

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"

MKDOCS = ("config", "config.defaults", "exceptions", "structure", "structure.files", "structure.pages", "utils")

DUMP = """# callgrind format
desc: Trigger: Client Request: learn, 22 columns | {points}
events: Ir
summary: {total}
"""


@pytest.fixture(autouse=True)
def on_the_path(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def test_instructions_a_point_are_the_difference_between_all_points_and_half_of_them():
    from instructions import per_point

    dumps = [DUMP.format(points=100, total=5_000 + 100 * 7), DUMP.format(points=200, total=5_000 + 200 * 7)]
    assert per_point([*dumps, "desc: Trigger: Program termination\nsummary: 9\n"]) == {"learn, 22 columns": 7.0}


def test_a_loop_is_slower_beyond_five_percent_only_and_a_new_one_never():
    from instructions import is_slower

    assert is_slower(100.0, 105.1)
    assert not is_slower(100.0, 104.9)
    assert not is_slower(None, 1e9)


def test_the_message_names_the_loop_and_says_when_the_compiler_differs():
    from instructions import message

    text = message(["learn"], ["gather"], "numba 1", "numba 2")
    assert "above the accepted count: learn" in text
    assert "no longer counted: gather" in text
    assert "the compiler may be why" in text
    assert "compiler" not in message(["learn"], [], "numba 1", "numba 1")


def entry(ours: list[tuple[float, float]], online: list[tuple[float, float]] | None = None) -> dict:
    from timing import reach

    def points(pairs):
        return [{"at": "", "seconds": seconds, "value": value} for seconds, value in pairs]

    plug_in = points([(0.5, 0.6), (0.8, 0.71), (1.0, 0.7)])
    curves = {reach.PLAIN: points(ours), reach.ONLINE: points(online or []), reach.PLUG_IN: plug_in}
    return {"data": "d", "measure": "f1", "curves": curves}


def test_arrival_is_the_cheapest_fit_that_does_as_well_as_the_whole_plug_in():
    from timing import reach

    assert reach.arrival(entry([(0.1, 0.69), (0.2, 0.7), (0.3, 0.75)])).seconds == 0.2
    assert reach.arrival(entry([(0.1, 0.69)])) is None
    assert reach.arrival(entry([(0.1, 0.9)]), of_plug_in=True).seconds == 0.8


def test_a_value_never_reached_is_a_missed_target():
    from timing.targets import of_reach

    targets = list(of_reach([entry([(0.01, 0.69)]), entry([(0.05, 0.7)]), entry([(0.2, 0.7)])]))
    assert [target.met for target in targets] == [False, False, True, True, False, False]
    assert targets[0].shown == "not reached"


def test_what_is_there_from_a_part_of_the_rows_is_told_apart_from_fits_to_all():
    from timing.targets import of_reach

    any_way, all_rows = of_reach([entry(ours=[(0.2, 0.7)], online=[(0.05, 0.7)])])
    assert (any_way.met, all_rows.met) == (True, False)
    assert all_rows.claim.endswith("by a fit to all rows")


def test_low_memory_may_take_a_tenth_of_a_copy():
    from timing.targets import of_memory

    peaks = {"default": 449.0, "low_memory=True": 91.0}
    plain, low = of_memory([{"data": "d", "float32 copy, MB": 400.0, "peak above the data, MB": peaks}])
    assert (plain.bar, plain.met) == (450.0, True)
    assert (low.bar, low.met) == (90.0, False)


def test_pages_state_the_mean_gain_that_was_measured():
    from quality import KEPT, STATING, Results, with_mean_gain

    for page in STATING:
        text = page.read_text("utf-8")
        assert text.count("<!--mean gain-->") == 1
        assert with_mean_gain(text, Results(KEPT)) == text, f"{page.name}: run make quality"


def page_maker(monkeypatch):
    """Return docs/site/hooks.py; what it imports of mkdocs, which only the site needs, plays no part here."""
    for name in ("mkdocs", *(f"mkdocs.{one}" for one in MKDOCS)):
        monkeypatch.setitem(sys.modules, name, MagicMock())
    spec = importlib.util.spec_from_file_location("hooks_of_the_site", BENCHMARKS.parent / "docs/site/hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_one_split_has_no_standard_error(monkeypatch):
    import numpy as np

    from quality import cell

    site = page_maker(monkeypatch)
    assert site._cell(site.Mean([0.5])) == "0.500"
    assert site._cell(site.Mean([0.4, 0.6])) == "0.500 ± 0.100"
    assert cell(np.array([0.5])) == "0.500"
    assert cell(np.array([0.4, 0.6])) == "0.500 ± 0.100"
