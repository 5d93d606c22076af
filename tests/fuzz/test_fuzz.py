"""The fuzzer sees what goes wrong, and what it once found stays cured."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import harness
import pytest
from mutator import mutated
from seeds import csv, npz

from ratewise.cli.app import app

FOLDER = Path(__file__).parent
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="children are watched through /proc")


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def hang():
    time.sleep(60)


def spin():
    resource.setrlimit(resource.RLIMIT_CPU, (1, 5))
    while True:
        pass


def take_memory():
    kept = b"x" * (300 << 20)
    time.sleep(60)
    return kept


def fail():
    raise IndexError("of ours")


def refuse():
    print("Error: not a file.", file=sys.stderr)
    raise SystemExit(1)


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        (crash, "signal"),
        (hang, "timeout"),
        (spin, "timeout"),
        (take_memory, "memory"),
        (fail, "internal error"),
        (refuse, "sentence"),
        (lambda: None, "ok"),
    ],
)
def test_every_way_to_end_is_told_apart(tmp_path, monkeypatch, what, kind):
    monkeypatch.setattr(harness, "PATIENCE", 0.02 if what is hang else 6.0)
    monkeypatch.setattr(harness, "MEMORY", 200 << 20)
    monkeypatch.setattr(app, "main", lambda **_: what() or sys.exit(0))
    assert harness.run_commands([["fit"]], tmp_path).kind == kind


@pytest.mark.parametrize("seed", [csv(), npz()])
def test_a_mutant_is_drawn_by_its_number(seed):
    drawn = [mutated(seed, [seed], random.Random(number)) for number in range(40)]
    assert drawn == [mutated(seed, [seed], random.Random(number)) for number in range(40)]
    assert len(set(drawn)) > 30


@pytest.mark.slow
def test_what_was_found_stays_cured():
    done = subprocess.run([sys.executable, FOLDER, "--replay"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(f"{len(os.listdir(FOLDER / 'corpus'))} files tried\n")
