"""Reading ahead in a thread."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time

import pytest

from ratewise.streams.prefetch import Prefetched


def prefetch_threads():
    return [thread for thread in threading.enumerate() if thread.name == "ratewise-prefetch"]


def wait_until(condition):
    limit = time.monotonic() + 10.0
    while not condition() and time.monotonic() < limit:
        time.sleep(0.002)
    return condition()


def test_items_come_in_order():
    assert list(Prefetched(range(100))) == list(range(100))


def test_items_are_made_in_another_thread():
    names = list(Prefetched(threading.current_thread().name for _ in range(3)))
    assert names == ["ratewise-prefetch"] * 3


def test_no_more_items_are_made_ahead_than_asked_for():
    made = []
    items = Prefetched((made.append(i) or i for i in range(50)), ahead=2)
    assert next(items) == 0
    assert wait_until(lambda: len(made) == 3)
    time.sleep(0.02)
    assert len(made) == 3
    assert next(items) == 1
    assert wait_until(lambda: len(made) == 4)
    items.close()


def test_what_the_source_raises_is_raised_after_the_items_before_it():
    def failing():
        yield 1
        yield 2
        raise KeyError("the third")

    items = Prefetched(failing())
    assert [next(items), next(items)] == [1, 2]
    with pytest.raises(KeyError, match="the third"):
        next(items)
    with pytest.raises(StopIteration):
        next(items)


def test_the_thread_ends_with_the_items():
    assert list(Prefetched(range(5))) == [0, 1, 2, 3, 4]
    assert wait_until(lambda: not prefetch_threads())


def test_no_thread_is_started_before_the_first_item_is_asked_for():
    items = Prefetched(range(5))
    assert prefetch_threads() == []
    assert next(items) == 0
    items.close()


@pytest.mark.parametrize("taken", [0, 1, 3])
def test_closing_ends_the_thread_and_the_source(taken):
    closed = []

    def endless():
        try:
            while True:
                yield 0
        finally:
            closed.append(True)

    items = Prefetched(endless())
    for _ in range(taken):
        next(items)
    items.close()
    assert prefetch_threads() == []
    assert closed == [True] * (taken > 0)
    with pytest.raises(StopIteration):
        next(items)


def test_forgetting_the_iterator_ends_the_thread():
    items = Prefetched(iter(int, 1))
    assert next(items) == 0
    assert prefetch_threads()
    del items
    gc.collect()
    assert wait_until(lambda: not prefetch_threads())


def test_leaving_a_loop_early_ends_the_thread():
    def first_of(items):
        for item in items:
            return item
        return None

    assert first_of(Prefetched(iter(int, 1))) == 0
    gc.collect()
    assert wait_until(lambda: not prefetch_threads())


def test_python_ends_while_items_are_left():
    module = "ratewise.streams.prefetch"
    code = f"from {module} import Prefetched\nitems = Prefetched(iter(int, 1))\nprint(next(items))\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "0\n"
    assert done.stderr == ""
