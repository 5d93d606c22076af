"""Any function of the rates is a measure."""

from __future__ import annotations

import numpy as np
import pytest

from ratewise import MeasureClassifier
from ratewise.measures import FunctionMeasure, get_measure


def youden(tpr, tnr):
    return tpr + tnr - 1.0


def accuracy(tpr, tnr, prevalence):
    return prevalence * tpr + (1 - prevalence) * tnr


def written_for_numbers(tpr, tnr):
    return tpr if tnr > 0.5 else 0.0


def test_a_function_of_two_rates_is_taken_as_it_is():
    measure = get_measure(youden)
    assert measure.value(0.9, 0.8) == pytest.approx(0.7)
    np.testing.assert_allclose(measure.value(np.array([0.9, 0.5]), 0.8), [0.7, 0.3])
    assert measure.label == "youden"


def test_a_function_of_three_arguments_gets_the_prevalence():
    assert get_measure(accuracy).value(1.0, 0.0, 0.3) == pytest.approx(0.3)
    assert get_measure(accuracy).score([0, 0, 1, 1], [0, 1, 1, 1]) == pytest.approx(0.75)


def test_a_function_written_for_numbers_works_on_arrays_too():
    values = get_measure(written_for_numbers).value(np.array([0.9, 0.8]), np.array([0.4, 0.6]))
    np.testing.assert_array_equal(values, [0.0, 0.8])


def test_slopes_come_from_the_function():
    np.testing.assert_allclose(get_measure(youden).slopes(0.6, 0.7), (1.0, 1.0), rtol=1e-6)


@pytest.mark.parametrize("tpr", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("tnr", [0.0, 0.6, 1.0])
def test_slopes_are_taken_inside_the_rates_that_there_are(tpr, tnr):
    def product(p, n):
        assert 0.0 <= p <= 1.0
        assert 0.0 <= n <= 1.0
        return p * p * n + 3.0 * n * n

    expected = 2.0 * tpr * tnr, tpr * tpr + 6.0 * tnr
    assert get_measure(product).slopes(tpr, tnr) == pytest.approx(expected, abs=1e-5)


def test_numbers_get_what_the_function_returns_and_arrays_an_array():
    assert type(get_measure(youden).value(0.9, 0.8)) is float
    assert get_measure(youden).value(0.5, np.array([0.5, 1.0])).tolist() == [0.0, 0.5]
    constant = get_measure(lambda tpr, tnr: 0.25)
    assert constant.value(np.zeros((2, 1)), np.zeros(3)).tolist() == [[0.25] * 3] * 2


@pytest.mark.parametrize("bad", [lambda: 1.0, lambda tpr: tpr, lambda a, b, c, d: a])
def test_a_function_of_another_number_of_arguments_is_refused(bad):
    with pytest.raises(ValueError, match=r"function of \(tpr, tnr\) or \(tpr, tnr, prevalence\)"):
        FunctionMeasure(bad)


def test_only_arguments_that_must_be_given_in_order_count():
    assert not FunctionMeasure(lambda tpr, tnr, exponent=2.0: tpr**exponent * tnr).takes_prevalence
    assert FunctionMeasure(lambda tpr, tnr, p, *, power=1.0: tpr).takes_prevalence
    assert not FunctionMeasure(lambda tpr, tnr, **more: tpr).takes_prevalence
    assert FunctionMeasure(max).value(0.5, 0.7) == 0.7  # a function without a signature


def test_what_is_no_function_is_refused():
    with pytest.raises(ValueError, match="needs a function"):
        FunctionMeasure("f1")


def test_partial_fit_tunes_its_threshold_for_a_function_too():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_000, 3))
    y = X[:, 0] + rng.standard_normal(2_000) > 1.5
    classifier = MeasureClassifier(youden, random_state=0)
    for _ in range(3):
        classifier.partial_fit(X, y, classes=[False, True])
    best = max(
        youden(y[X[:, 0] > t].sum() / y.sum(), (~y[X[:, 0] <= t]).sum() / (~y).sum()) for t in (0, 0.5, 1.0)
    )
    assert classifier.score(X, y) > best - 0.05
