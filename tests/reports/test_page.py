"""The page of a report in a real browser: the sliders move it, and its numbers are those of Python."""

from __future__ import annotations

import json

import numpy as np
import pytest
from browser import ARROW_LEFT, ARROW_RIGHT, END

from ratewise import Report
from ratewise.measures import Constrained, PseudoLinear, TPRAtTNR, at_prevalence, get_measure, measure_names
from ratewise.reports._scored import MEASURES_OF_THE_PAGE, formula_of
from ratewise.reports._words import shown

pytestmark = pytest.mark.slow

NUMBERS = """
const nameOf = (row) => row.cells[0].textContent.replace("recall (TPR)", "TPR");
const rows = (id) => Object.fromEntries([...document.querySelectorAll(`#${id} tbody tr`)].map((row) =>
  [nameOf(row), [...row.cells].slice(1, 4).map((cell) => cell.textContent)]));
return {...rows("rates"), ...rows("measures")};
"""
SLIDE = """
const slider = document.getElementById(arguments[0]);
slider.value = arguments[1];
slider.dispatchEvent(new Event("input", {bubbles: true}));
"""


@pytest.fixture
def page(browser, two, tmp_path):
    two.save(tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    yield browser
    assert browser.errors() == []


def slide(page, slider, place):
    page.run(SLIDE, slider, place)
    page.settle()


def as_shown(found):
    return {name: [shown(number) for number in one] for name, one in found.items()}


def test_the_numbers_are_those_of_python_at_every_threshold_and_prevalence(page, two):
    first, positions = two.models[0], [0, 100, 333]
    assert page.run(NUMBERS) == as_shown(first.at())
    last = first.stops.thresholds.size - 1
    for stop in (0, 7, last // 2, last - 3, last):
        slide(page, "threshold", stop)
        assert page.run(NUMBERS) == as_shown(first.at(stop)), f"stop {stop}"
    for position in positions:
        slide(page, "prevalence", position)
        prevalence = page.run("return ratewise.state.prevalence")
        assert page.run(NUMBERS) == as_shown(first.at(last, prevalence)), f"prevalence {prevalence}"


def test_the_confusion_table_is_that_of_predict(page, models, rows):
    X, _, y = rows
    predicted = models["ratewise"].predict(X)
    cells = ["true-positives", "false-negatives", "false-positives", "true-negatives"]
    counts = [int(page.text(f"#{cell}").replace(",", "")) for cell in cells]
    truth = [("fraud", "fraud"), ("fraud", "fine"), ("fine", "fraud"), ("fine", "fine")]
    assert counts == [int(((y == is_) & (predicted == called)).sum()) for is_, called in truth]


def test_the_keyboard_moves_the_sliders_and_the_live_region_speaks(page):
    before = page.text("#now")
    page.press("#threshold", *[ARROW_RIGHT] * 40)
    assert page.text("#now") != before
    stop = page.run("return ratewise.state.stop")
    page.press("#threshold", ARROW_LEFT)
    assert page.run("return ratewise.state.stop") == stop - 1
    page.press("#threshold", END)
    assert page.text("#true-positives") == page.text("#false-positives") == "0"
    page.press("#prevalence", ARROW_RIGHT)
    assert "10,000" in page.text("#confusion-caption")
    page.click("#as-here")
    page.click("#own")
    assert page.text("#now") == before
    spoken = (
        "const done = arguments[0]; setTimeout(() => done(document.getElementById('spoken').textContent), 600)"
    )
    assert page._call("POST", "/execute/async", {"script": spoken, "args": []}) == before


def test_the_best_threshold_is_the_best_of_the_stops(page, two):
    page.run("document.getElementById('measure').value = 'gmean';"
             "document.getElementById('measure').dispatchEvent(new Event('change'))")  # fmt: skip
    page.settle()
    page.click("#best")
    first = two.models[0]
    values = [first.counts(stop).rates for stop in range(first.stops.thresholds.size)]
    best = max(float(get_measure("gmean").value(*rates)) for rates in values)
    assert page.run(NUMBERS)["gmean"][0] == shown(best)


def test_models_stand_side_by_side_and_can_be_chosen(page, two):
    side = page.run(
        "return [...document.querySelectorAll('#models tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    )
    for row in side:
        for model, cell in zip(two.models, row[1:], strict=True):
            one = [shown(number) for number in model.at()[row[0].replace("recall (TPR)", "TPR")]]
            assert cell == f"{one[0]} ({one[1]} to {one[2]})"
    page.run("document.getElementById('model').value = '1';"
             "document.getElementById('model').dispatchEvent(new Event('change'))")  # fmt: skip
    page.settle()
    assert page.run(NUMBERS) == as_shown(two.models[1].at())


def test_names_are_text_and_not_markup(page):
    assert page.text("h1") == "Two <models> & {{data}}"


def test_every_control_and_picture_has_a_name_and_headings_do_not_skip(page):
    unnamed = """
    const named = (one) => one.labels?.length || one.getAttribute("aria-label") || one.textContent.trim();
    const all = document.querySelectorAll("input, select, button, svg[role=img]");
    return [...all].filter((one) => !named(one)).length"""
    assert page.run(unnamed) == 0
    levels = page.run("return [...document.querySelectorAll('h1,h2,h3,h4')].map((one) => Number(one.tagName[1]))")
    assert levels[0] == 1
    assert max(np.diff(levels)) <= 1
    assert page.run("return document.querySelectorAll('table:not(:has(caption))').length") == 0


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_from_what_is_behind_it(page, dark):
    mode = "dark" if dark else "light"
    page._call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {
        "features": [{"name": "prefers-color-scheme", "value": mode}]}})  # fmt: skip
    lowest = page.run(CONTRAST)
    page._call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {"features": []}})
    assert lowest["ratio"] >= 4.5, lowest


CONTRAST = """
const parts = (colour) => { const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
const over = ([r, g, b, a], [s, t, u]) => [r * a + s * (1 - a), g * a + t * (1 - a), b * a + u * (1 - a)];
const light = (colour) => {
  const [r, g, b] = colour.map((one) => {
    const c = one / 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (one) => {
  if (!one) return [255, 255, 255];
  const colour = parts(getComputedStyle(one).backgroundColor);
  return colour[3] === 1 ? colour : over(colour, behind(one.parentElement));
};
const opacity = (one) => (one ? getComputedStyle(one).opacity * opacity(one.parentElement) : 1);
let lowest = {ratio: 99};
for (const one of document.querySelectorAll("body *")) {
  const text = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  const seen = one.checkVisibility({opacityProperty: true, visibilityProperty: true});
  if (!text || !seen || ["SCRIPT", "STYLE", "NOSCRIPT", "OPTION"].includes(one.tagName)) continue;
  if (one.closest(".md-search__output, .md-dialog, .headerlink")) continue;  // shown when asked for only
  const style = getComputedStyle(one), back = behind(one);
  const ink = parts(one instanceof SVGElement ? style.fill : style.color);
  const a = light(over([ink[0], ink[1], ink[2], ink[3] * opacity(one)], back)), b = light(back);
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < lowest.ratio) lowest = {ratio, text: one.textContent.trim().slice(0, 40), kind: one.className};
}
return lowest;
"""


def every_measure():
    named = [get_measure(name) for name in measure_names()]
    return [
        *named,
        TPRAtTNR(0.9),
        Constrained("f1", tnr=0.95, precision=0.5, tpr=0.2),
        Constrained("f1", alert_rate=0.05),
        get_measure("recall-at-precision-0.9").at_prevalence(0.1),
        PseudoLinear((0.0, 1.0, 1.0), (3.0, -0.5, -0.5)),
        at_prevalence(get_measure("f1"), 0.01),
        at_prevalence(get_measure("mcc"), 0.01),
    ]


def test_the_page_computes_every_measure_as_python_does(page):
    rng = np.random.default_rng(0)
    rates = np.concatenate([rng.random((300, 3)), [[0, 0, 0.5], [1, 1, 0.5], [0, 1, 0.1], [1, 0, 0.1]]])
    known = page.run("return Object.keys(MEASURES)")
    assert sorted(known) == sorted(MEASURES_OF_THE_PAGE)
    for measure in every_measure():
        formula = json.loads(json.dumps(formula_of(measure)))
        script = "const f = measureFrom(arguments[0]); return arguments[1].map(([p, n, q]) => f(p, n, q))"
        computed = page.run(script, formula, rates.tolist())
        expected = [float(measure.value(*one)) for one in rates]
        assert computed == pytest.approx(expected, rel=1e-12, abs=1e-12), measure


def test_a_measure_of_ones_own_is_shown_from_a_table(browser, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.3

    def own(tpr, tnr, prevalence):
        return min(tpr, tnr) if prevalence > 0.1 else 0.0

    about = Report.from_scores(y + 0.6 * rng.normal(size=400), y, measure=own, threshold=0.5)
    about.save(tmp_path / "own.html")
    browser.open(tmp_path / "own.html")
    assert browser.run(NUMBERS) == as_shown(about.models[0].at())
    slide(browser, "prevalence", 30)
    assert browser.run(NUMBERS)["own"] == ["\N{EN DASH}"] * 3
    assert browser.errors() == []


def test_weighted_rows_agree_too(browser, tmp_path):
    rng = np.random.default_rng(0)
    y, weights = rng.random(500) < 0.2, rng.choice([0.0, 0.5, 1.0, 3.0], size=500)
    about = Report.from_scores(y + 0.7 * rng.normal(size=500), y, threshold=0.4, sample_weight=weights)
    about.save(tmp_path / "weighted.html")
    browser.open(tmp_path / "weighted.html")
    assert browser.run(NUMBERS) == as_shown(about.models[0].at())
    assert browser.errors() == []
