"""What the theory figure measures is what the theorems are about."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paper.library import LinearModel
from paper.problems import Affine, Disc, Population
from paper.results import Series, TheoryResults
from paper.theorems import NoisyAmp, SpadeExcess, StampSamples
from ratewise.measures import FBeta, QMean


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0, 0.2), min_size=1, max_size=5), st.integers(0, 1000))
def test_noisy_amp_never_passes_its_bound(sizes, seed):
    excess, bound = NoisyAmp().run(Disc(share=0.5, points=40), np.array(sizes), seed)
    assert excess.size == len(sizes) + 1
    assert (excess <= bound + 1e-9).all()


def test_without_errors_amp_on_the_disc_reaches_the_best():
    excess, _ = NoisyAmp().run(Disc(share=0.5), np.zeros(6), seed=0)
    assert excess[0] > 0.1
    assert excess[-1] < 1e-8


def test_mean_rewards_on_the_disc_are_those_of_the_affine_reward():
    disc = Disc(share=0.3)
    w, b = 0.8 * np.cos(1.0), 0.8 * np.sin(1.0)
    rewards = Affine().value(disc.signs * (w * disc.x + b))
    assert rewards.min() >= 0
    assert rewards.max() <= 1
    expected = rewards[disc.signs > 0].mean(), rewards[disc.signs < 0].mean()
    assert disc.mean_rewards(1.0) == pytest.approx(expected)


def test_no_model_tried_at_random_beats_the_best_surrogate():
    population = Population(points=300)
    best = population.best_surrogate(QMean(), LinearModel(np.array([1.0, 0.0]), -1.0))
    rng = np.random.default_rng(0)
    tried = [LinearModel(rng.normal(0, 1, 2), float(rng.normal())) for _ in range(300)]
    assert max(population.surrogate(QMean(), model) for model in tried) <= best <= 1


def test_spades_excess_is_positive_and_falls():
    series = SpadeExcess().series(Population(points=300), "Min", np.array([100, 3_000]), seeds=3)
    assert series.y[0] > 2 * series.y[1] > 0
    assert series.slope < -0.2


def test_an_epoch_ends_with_as_many_points_for_its_level_as_for_its_model():
    np.testing.assert_array_equal(StampSamples().ends_of_epochs(2.0, 1_000), [100, 400, 1_000])


def test_theory_results_are_read_back_and_have_slopes(tmp_path):
    x = np.array([1.0, 10.0, 100.0])
    path = tmp_path / "theory.csv"
    TheoryResults(path).add([Series("spade", "Min", x, 3 * x**-0.5, np.full(3, np.nan))])
    (again,) = TheoryResults(path).of("spade")
    assert again.slope == pytest.approx(-0.5)
    assert np.isnan(again.bound).all()
    path.write_text("nonsense\n")
    with pytest.raises(ValueError, match="not a table of theory results"):
        TheoryResults(path)


def test_f1_on_the_disc_is_the_measure_of_the_mean_rewards():
    disc = Disc(share=0.5)
    value = FBeta(1.0).value(*disc.mean_rewards(disc.angles[7]), 0.5)
    assert disc.values(FBeta(1.0))[7] == pytest.approx(value)
