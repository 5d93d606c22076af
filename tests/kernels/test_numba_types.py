"""A user's own measure in compiled code: at full speed, cached between processes, never stale."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass

import pytest
from sklearn.datasets import make_classification

from ratewise import MeasureClassifier
from ratewise.measures import MinRate

MEASURE = """
from dataclasses import dataclass
import numpy as np
from numba import njit
from ratewise.measures import ConcaveMeasure

TILT = 1.0

@njit
def helper(x):
    return x * TILT

@dataclass(frozen=True)
class WeightedMin(ConcaveMeasure):
    share: float = 0.5

    def value(self, tpr, tnr, prevalence=None):
        return np.minimum(tpr / self.share, tnr / (1.0 - self.share)) / 2.0

    def project(self, alpha, beta, epsilon=0.0):
        # the segment from (1 / (2 share), 0) to (0, 1 / (2 (1 - share)))
        x, y = 0.5 / self.share, 0.5 / (1.0 - self.share)
        along = (x * (helper(alpha) - 0.0) - y * (beta - y)) / (x * x + y * y)
        along = min(max(along, 0.0), 1.0)
        return along * x, (1.0 - along) * y
"""

SCRIPT = """
import numpy as np
from my_measure import WeightedMin
from ratewise import MeasureClassifier
from ratewise.kernels import learn

rng = np.random.default_rng(0)
X = rng.standard_normal((400, 3))
y = X[:, 0] + rng.standard_normal(400) > 1
classifier = MeasureClassifier(WeightedMin(0.4), threshold="zero", sharpen=False, random_state=0).fit(X, y)
hits = sum(learn.stats.cache_hits.values())
misses = sum(learn.stats.cache_misses.values())
print(hits, misses, *[float(c).hex() for c in classifier.coef_[0]])
"""


@pytest.fixture
def run(tmp_path):
    """Run SCRIPT in a process of its own, with a measure in a module of the user's and a fresh cache."""
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run_with(measure_source):
        (tmp_path / "my_measure.py").write_text(textwrap.dedent(measure_source))
        done = subprocess.run(
            [sys.executable, "-B", "script.py"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        hits, misses, *coefficients = done.stdout.split()
        return int(hits), int(misses), coefficients

    return run_with


@pytest.mark.slow
def test_a_users_measure_is_cached_between_processes_and_never_stale(run):
    hits, misses, first = run(MEASURE)
    assert (hits, misses) == (0, 1)

    hits, misses, again = run(MEASURE)
    assert (hits, misses) == (1, 0), "the second process must find the compiled loop on disk"
    assert again == first

    edited = MEASURE.replace("0.5 / (1.0 - self.share)", "0.9 / (1.0 - self.share)")
    hits, misses, after_edit = run(edited)
    assert misses == 1, "an edited method must be compiled anew"
    assert after_edit != first

    edited = MEASURE.replace("return x * TILT", "return 2.0 * x * TILT")
    hits, misses, after_helper = run(edited)
    assert misses == 1, "so must a method whose helper function was edited"
    assert after_helper != first

    edited = MEASURE.replace("TILT = 1.0", "TILT = 3.0")
    hits, misses, after_constant = run(edited)
    assert misses == 1, "and one whose module constant was"
    assert after_constant != first

    hits, misses, back = run(MEASURE)
    assert (hits, misses) == (1, 0)
    assert back == first


def plain_python_function(x):
    return x


def test_a_measure_that_cannot_be_compiled_is_refused_with_a_sentence():
    @dataclass(frozen=True)
    class Wordy(MinRate):
        def project(self, alpha, beta, epsilon=0.0):
            return plain_python_function(alpha), beta

    X, y = make_classification(200, weights=[0.8], random_state=0)
    with pytest.raises(TypeError, match=r"Wordy\(\) cannot be compiled.*plain floats"):
        MeasureClassifier(Wordy(), sharpen=False).fit(X, y)
