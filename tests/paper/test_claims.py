"""Verdicts follow from the results, and from nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from paper import claims
from paper.claims import CLAIMS, TARGETS, THEOREMS
from paper.comparison import AGREES, DISAGREES, NOT_MEASURED, PARTLY, Comparison
from paper.results import Series, TheoryResults

PLUG_IN, SVMPERF, LOGISTIC = "Plug-in (L-BFGS)", "SVMPerf", "Logistic regression"


def test_without_results_nothing_is_measured(results, tmp_path):
    assert {claim(results).verdict for claim in (*CLAIMS, *TARGETS)} == {NOT_MEASURED}
    assert {claim(TheoryResults(tmp_path / "theory.csv")).verdict for claim in THEOREMS} == {NOT_MEASURED}


def test_times_sooner_is_measured_at_a_level_both_reach_or_at_our_best_or_at_theirs(made_up):
    made_up("d", "qmean", "SPADE", [1, 2, 4], [0.7, 0.9, 0.901])
    made_up("d", "qmean", "higher", [1, 10, 50], [0.5, 0.9, 0.95])
    results = made_up("d", "qmean", "lowest", [1, 6, 50], [0.5, 0.7, 0.7])
    found = Comparison(results, "d", "qmean")
    assert found.times_sooner("higher") == 10 / 2
    assert found.times_sooner("lowest") == 6 / 1
    assert found.times_sooner_at_best("higher") == 10 / 2
    assert found.times_sooner_at_best("lowest") == 6 / 2
    assert found.times_sooner_there("lowest") == 6 / 1
    assert found.times_sooner_there("higher") == 0
    assert found.times_sooner_at_best_than_end("lowest") == 50 / 2
    assert found.times_sooner_there_than_end("lowest") == 50 / 1
    assert found.best_rival() == "higher"
    assert found.lead() == pytest.approx(-0.049)
    assert found.lead("lowest") == pytest.approx(0.201)


def test_ratewises_default_is_no_rival(made_up):
    made_up("d", "f1", "STAMP", [1], [0.5])
    made_up("d", "f1", PLUG_IN, [1], [0.4])
    results = made_up("d", "f1", "ratewise (default)", [1], [0.9])
    assert Comparison(results, "d", "f1").best_rival() == PLUG_IN


@pytest.mark.parametrize(
    ("leads", "verdict"),
    [((0.025, 0.03), AGREES), ((0.025, 0.0), PARTLY), ((0.001, -0.02), DISAGREES)],
)
def test_the_lead_on_ijcnn1_and_covtype_is_judged_on_each(made_up, leads, verdict):
    for data, lead in zip(("ijcnn1", "covtype-50k"), leads, strict=True):
        made_up(data, "qmean", "SPADE", [1], [0.8 + lead])
        results = made_up(data, "qmean", PLUG_IN, [1], [0.8])
    found = claims.above_every_other(results)
    assert found.verdict == verdict
    assert bool(found.why) == (verdict != AGREES)
    assert f"{100 * leads[1]:+.1f} points on {PLUG_IN}" in found.evidence


def test_data_of_another_name_are_not_spoken_of(made_up):
    made_up("covtypes", "qmean", "SPADE", [1], [0.9])
    results = made_up("covtypes", "qmean", PLUG_IN, [1], [0.8])
    assert claims.above_every_other(results).verdict == NOT_MEASURED


@pytest.mark.parametrize(("slow", "verdict"), [(30, AGREES), (5, DISAGREES)])
def test_svmperf_must_be_ten_times_slower(made_up, slow, verdict):
    made_up("d", "qmean", "SPADE", [1], [0.9])
    results = made_up("d", "qmean", SVMPERF, [0.5, slow], [0.1, 0.9])
    assert claims.svmperf_ten_times_slower(results).verdict == verdict


def test_the_targets_are_those_of_the_project(made_up):
    made_up("mnist", "qmean", "SPADE", [1], [0.9])
    made_up("mnist", "qmean", SVMPERF, [0.5, 10], [0.1, 0.9])
    results = made_up("mnist", "qmean", PLUG_IN, [0.5, 3], [0.1, 0.9])
    assert claims.mnist_qmean_target(results).verdict == AGREES
    made_up("covtype", "f1", "STAMP", [1, 2, 9], [0.1, 0.3, 0.31])
    results = made_up("covtype", "f1", PLUG_IN, [5, 6], [0.1, 0.3])
    assert claims.covtype_f1_target(results).verdict == AGREES
    results = made_up("covtype", "f1", PLUG_IN, [4, 5, 6], [0.1, 0.3, 0.3])
    assert claims.covtype_f1_target(results).verdict == PARTLY
    results = made_up("covtype", "f1", PLUG_IN, [4, 5], [0.1, 0.3])
    assert claims.covtype_f1_target(results).verdict == DISAGREES


def test_1pmb_struggles_if_it_ends_lower_or_takes_longer(made_up):
    made_up("low", "f1", "STAMP", [1], [0.5])
    made_up("low", "f1", "1PMB", [1], [0.4])
    made_up("late", "f1", "STAMP", [1], [0.5])
    results = made_up("late", "f1", "1PMB", [1, 4], [0.1, 0.5])
    assert claims.onepmb_struggles(results).verdict == AGREES
    made_up("well", "f1", "STAMP", [1], [0.5])
    results = made_up("well", "f1", "1PMB", [1], [0.5])
    assert claims.onepmb_struggles(results).verdict == PARTLY


@pytest.mark.parametrize(("power", "verdict"), [(-0.5, AGREES), (-0.1, DISAGREES)])
def test_the_rate_of_spade_is_judged_by_its_slope(tmp_path, power, verdict):
    found = TheoryResults(tmp_path / "theory.csv")
    x = np.array([1e2, 1e3, 1e4])
    found.add([Series("spade", "Min", x, x**power, np.full(3, np.nan))])
    assert claims.spade_rate(found).verdict == verdict


@pytest.mark.parametrize(("factor", "verdict"), [(0.9, AGREES), (1.1, DISAGREES)])
def test_a_bound_is_not_to_be_passed(tmp_path, factor, verdict):
    found = TheoryResults(tmp_path / "theory.csv")
    x, bound = np.arange(3.0), np.array([1.0, 0.5, 0.25])
    for panel in ("amp", "noisy"):
        found.add([Series(panel, "F1", x, factor * bound, bound)])
    assert claims.amp_rate(found).verdict == claims.noisy_amp_bound(found).verdict == verdict
