"""The site that `make docs` built, in a real browser: contrast, headings, links, and search without a server."""

from __future__ import annotations

import re
import time
from itertools import pairwise
from pathlib import Path

import pytest
from test_page import CONTRAST

SITE = Path(__file__).parents[2] / "site"
PAGES = ["index", "first-model", "api-estimators", "gallery", "benchmarks", "command-line-reference", "reports"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="`make docs` has not built the site"),
]


@pytest.fixture(params=PAGES)
def page(browser, request):
    browser.open(SITE / f"{request.param}.html")
    yield browser
    assert browser.errors() == []


@pytest.mark.parametrize("scheme", ["default", "slate"])  # light and dark
def test_text_stands_out(page, scheme):
    page.run(f"document.body.dataset.mdColorScheme = '{scheme}'")
    time.sleep(0.4)  # colours fade from one scheme to the other
    lowest = page.run(CONTRAST)
    assert lowest["ratio"] >= 4.5, lowest


def test_headings_do_not_skip_a_level(page):
    levels = page.run(
        "return [...document.querySelectorAll('article h1, article h2, article h3, article h4, article h5')]"
        ".map((one) => Number(one.tagName[1]))"
    )
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_a_narrow_page_does_not_scroll_sideways(page):
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page._call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": size})
    beyond = page.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
    page._call("POST", "/goog/cdp/execute", {"cmd": "Emulation.clearDeviceMetricsOverride", "params": {}})
    assert beyond <= 0


def test_every_link_inside_the_site_leads_to_a_file():
    for path in SITE.rglob("*.html"):
        for target in re.findall(r'(?:href|src)="([^"#?]+)', path.read_text("utf-8")):
            if re.match(r"[a-z]+:|//|/", target):
                continue
            assert (path.parent / target).exists(), f"{path.relative_to(SITE)}: {target}"


def test_search_works_from_a_folder(browser):
    browser.open(SITE / "index.html")
    time.sleep(1)
    browser.press("input[name=query]", *"sharpening")
    found = "return [...document.querySelectorAll('.md-search-result__item')].map((one) => one.textContent)"
    for _ in range(30):
        results = browser.run(found)
        if results:
            break
        time.sleep(0.5)
    assert any("Sharpening" in one for one in results)
    assert browser.errors() == []
