"""Compiled loops on disk: used where they are, and never in the way."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import json, sys, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import loops
    values = [loops.twice(3.0), loops.thrice(3.0)]
hits = [sum(loop.stats.cache_hits.values()) for loop in (loops.twice, loops.thrice)]
print(json.dumps([values, hits, [one.category.__name__ for one in caught]]))
"""

LOOPS = """
from ratewise.kernels._cache import njit

@njit(cache=True)
def twice(x):
    return 2 * x

@njit(cache=True)
def thrice(x):
    return 3 * x
"""

# Root may write anywhere, unless this right is taken away; others may not write to a folder of mode 555.
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
WITHOUT_RIGHTS = ["setpriv", "--bounding-set=-dac_override"] if IS_ROOT else []


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "loops.py").write_text(LOOPS)
    yield tmp_path
    for path in tmp_path.rglob("*"):
        if path.is_dir():
            path.chmod(0o755)


def run(folder, *, cache=None, restricted=False):
    """Call two loops in a process of its own: their values, how often each was read from disk, the warnings."""
    import ratewise

    source = Path(ratewise.__file__).parents[1]
    environment = {"PYTHONPATH": f"{folder / 'code'}:{source}", "HOME": str(folder / "nowhere")}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "PATH": os.environ["PATH"]}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    if restricted and WITHOUT_RIGHTS and shutil.which("setpriv") is None:
        pytest.skip("root, who may write anywhere, cannot give this up here")
    words = [*(WITHOUT_RIGHTS if restricted else []), sys.executable, "-c", CODE]
    ended = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=folder, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def make_read_only(folder):
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            path.chmod(0o555)


def test_without_a_folder_to_write_to_loops_are_compiled_and_this_is_said_once(folder):
    make_read_only(folder)
    assert run(folder, restricted=True) == [[6.0, 9.0], [0, 0], ["CacheWarning"]]


@pytest.mark.parametrize("own", [True, False], ids=["NUMBA_CACHE_DIR", "beside the module"])
def test_a_warm_cache_that_can_only_be_read_is_used(folder, own):
    cache = folder / "cache" if own else None
    assert run(folder, cache=cache) == [[6.0, 9.0], [0, 0], []]
    make_read_only(folder)
    assert run(folder, cache=cache, restricted=True) == [[6.0, 9.0], [1, 1], []]


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("length", [0, 40])
def test_a_damaged_file_is_compiled_and_written_again(folder, kind, length):
    cache = folder / "cache"
    run(folder, cache=cache)
    for path in cache.rglob(f"*.{kind}"):
        path.write_bytes(path.read_bytes()[:length])
    assert run(folder, cache=cache) == [[6.0, 9.0], [0, 0], []]
    assert run(folder, cache=cache) == [[6.0, 9.0], [1, 1], []]
