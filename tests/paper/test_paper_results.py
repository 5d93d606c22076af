"""Results are kept in a file, and curves are read off it."""

from __future__ import annotations

import numpy as np
import pytest

from paper.results import Curve, Key, Results, mean_curve


def test_what_was_added_is_there_when_the_file_is_read_again(tmp_path):
    path = tmp_path / "results.csv"
    key = Key("ijcnn1", "f1", "Plug-in (L-BFGS)", 3)
    Results(path).add(key, Curve(np.array([0.1, 0.25]), np.array([0.5, 0.625]), "C 1"))
    again = Results(path)
    assert key in again
    assert key._replace(split=4) not in again
    np.testing.assert_allclose(again[key].seconds, [0.1, 0.25])
    np.testing.assert_allclose(again[key].values, [0.5, 0.625])
    assert again[key].setting == "C 1"
    again.add(key._replace(split=4), Curve(np.array([1.0]), np.array([1.0])))
    assert len(path.read_text().splitlines()) == 4


def test_runs_of_a_method_come_in_the_order_of_the_splits(made_up):
    for split in (2, 0, 1):
        results = made_up("d", "f1", "m", [1], [split], split=split)
    assert [curve.last for curve in results.curves("d", "f1", "m")] == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [("a,b\n1,2\n", "not a table of results"), ("HEAD\nd,f1,m,0,fast,0.5,\n", "line 2: cannot be read")],
)
def test_a_file_of_something_else_is_refused(tmp_path, text, message):
    path = tmp_path / "results.csv"
    path.write_text(text.replace("HEAD", "data,measure,method,split,cpu_seconds,test_value,setting"))
    with pytest.raises(ValueError, match=message):
        Results(path)


def test_a_curve_holds_its_latest_value_and_knows_when_it_stays_at_a_level():
    curve = Curve(np.array([1.0, 2.0, 4.0]), np.array([0.2, 0.8, 0.6]))
    np.testing.assert_array_equal(curve.at(np.array([0.5, 1.0, 3.0, 9.0])), [np.nan, 0.2, 0.8, 0.6])
    assert curve.settled_at(0.1) == 1.0
    assert curve.settled_at(0.6) == 2.0
    assert curve.settled_at(0.7) == np.inf, "its last model is below that, whatever came before"
    assert curve.last == 0.6


def test_the_mean_curve_begins_when_all_splits_have_a_model():
    curves = [Curve(np.array([1.0, 4.0]), np.array([0.2, 0.4])), Curve(np.array([2.0, 3.0]), np.array([0.4, 0.8]))]
    seconds, mean, spread = mean_curve(curves)
    assert (seconds[0], seconds[-1]) == (2.0, 4.0)
    assert mean[0] == pytest.approx(0.3)
    assert mean[-1] == pytest.approx(0.6)
    assert spread[-1] == pytest.approx(0.2)
