"""Rewards: their slopes, their bounds and their names."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ratewise.rewards import Hinge, Logistic, Sigmoid, get_reward

quick = settings(deadline=None, max_examples=80)
REWARDS = [Hinge(), Logistic(), Sigmoid(), Sigmoid(steepness=4.0)]
every_reward = pytest.mark.parametrize("reward", REWARDS, ids=repr)
scores = st.floats(-30.0, 30.0)


@every_reward
@quick
@given(z=scores)
def test_slopes_are_derivatives(reward, z):
    assume(abs(z - 1.0) > 1e-3)  # the corner of the hinge
    step = 1e-5
    difference = (reward.value(z + step) - reward.value(z - step)) / (2 * step)
    assert reward.slope(z) == pytest.approx(difference, abs=1e-6)


@every_reward
def test_numbers_and_arrays_agree(reward):
    z = np.array([-1e4, -3.0, -1.0, 0.0, 0.5, 1.0, 2.0, 1e4])
    assert reward.value(z) == pytest.approx([float(reward.value(float(one))) for one in z], abs=1e-15)
    assert reward.slope(z) == pytest.approx([float(reward.slope(float(one))) for one in z], abs=1e-15)


@every_reward
@pytest.mark.parametrize("z", [-1e4, 1e4, np.float32(-1e4), np.float32(1e4)])
def test_far_scores_overflow_nowhere(reward, z):
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        assert np.isfinite(reward.value(z))
        assert np.isfinite(reward.slope(z))


def test_far_scores_have_the_rewards_of_their_limits():
    # log2(1 + exp(1e4)) is 1e4 / log 2 to the last digit.
    assert [reward.value(1e4) for reward in REWARDS] == [1.0] * 4
    assert [reward.value(-1e4) for reward in REWARDS] == pytest.approx([-1e4, 1 - 1e4 / math.log(2), 0.0, 0.0])


@every_reward
@quick
@given(z=st.floats(-1e6, 1e6))
def test_no_reward_is_above_its_largest(reward, z):
    assert reward.value(z) <= reward.largest == 1.0
    assert reward.slope(z) >= 0.0


@pytest.mark.parametrize("reward", [Hinge(), Logistic()], ids=repr)
@quick
@given(z=st.floats(-1e3, 1e3))
def test_a_concave_reward_is_nowhere_above_the_zero_one_reward(reward, z):
    assert reward.value(z) <= (1.0 if z > 0 else 0.0)


@quick
@given(z=scores, steepness=st.floats(0.1, 10.0))
def test_the_sigmoid_is_one_half_at_zero_and_point_symmetric(z, steepness):
    reward = Sigmoid(steepness)
    assert reward.value(0.0) == 0.5
    assert reward.value(z) + reward.value(-z) == pytest.approx(1.0)


def test_the_sigmoid_is_the_textbooks():
    # 1 / (1 + exp(-2 * 1.5)) with steepness 2.
    assert Sigmoid(2.0).value(1.5) == pytest.approx(1 / (1 + math.exp(-3)))


def test_hinge_and_logistic_reward_nothing_on_the_fence():
    assert Hinge().value(0.0) == 0.0
    assert Logistic().value(0.0) == pytest.approx(0.0, abs=1e-15)


@every_reward
def test_the_concavity_flag_tells_the_truth(reward):
    bends = np.diff(reward.value(np.linspace(-8.0, 8.0, 401)), n=2)
    assert reward.concave == bool(bends.max() <= 1e-12)


@pytest.mark.parametrize(
    ("name", "reward"), [("hinge", Hinge()), ("logistic", Logistic()), ("sigmoid", Sigmoid())]
)
def test_a_name_stands_for_its_reward(name, reward):
    assert get_reward(name) == reward
    assert get_reward(reward) is reward


@pytest.mark.parametrize(
    ("asked", "hint"), [("hindge", "hinge"), ("Logistic", "logistic"), ("sigmoids", "sigmoid")]
)
def test_a_bad_name_is_answered_with_the_nearest(asked, hint):
    with pytest.raises(ValueError, match=f"There is no reward '{asked}'. Did you mean '{hint}'"):
        get_reward(asked)


@pytest.mark.parametrize("bad", [None, 3, Hinge])
def test_what_is_no_reward_is_refused(bad):
    with pytest.raises(ValueError, match=r"There is no reward .* Known: hinge, logistic, sigmoid"):
        get_reward(bad)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "steep", None])
def test_a_bad_steepness_is_refused_by_name(bad):
    with pytest.raises(ValueError, match="Sigmoid: steepness"):
        Sigmoid(bad)
