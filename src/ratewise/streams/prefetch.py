"""Reading ahead in a thread, so that the disk and the kernel work at the same time."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_SECONDS_TO_END = 5.0  # a source that waits for a network may never end; its thread then ends with Python


class Prefetched(Generic[T]):
    """An iterator over the items of another iterator, which a thread makes ahead of time.

    At most ``ahead`` items wait or are being made. An error of the source is raised here, in turn. The thread
    starts with the first item asked for, and ends when the items do, when ``close`` is called, when the iterator
    is garbage-collected or when Python ends.
    """

    def __init__(self, source: Iterable[T], ahead: int = 2):
        self._queue = _Queue(source, ahead)
        self._finalizer = weakref.finalize(self, _Queue.stop, self._queue)

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        item: T = self._queue.take()
        return item

    def __enter__(self) -> Prefetched[T]:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the thread and the iteration."""
        self._finalizer()


class _Queue:
    """What the two threads share. It has no reference to the iterator, which can therefore be
    garbage-collected.
    """

    def __init__(self, source: Iterable[Any], ahead: int):
        self._source: Iterable[Any] | None = source
        self._ahead = ahead
        self._ready: deque[Any] = deque()
        self._change = threading.Condition()
        self._stopped = self._finished = False
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def take(self) -> Any:
        with self._change:
            if self._thread is None and not self._stopped:
                self._thread = threading.Thread(target=self._work, name="ratewise-prefetch", daemon=True)
                self._thread.start()
            while not (self._ready or self._finished or self._stopped):
                self._change.wait()
            if self._ready and not self._stopped:
                item = self._ready.popleft()
                self._change.notify_all()
                return item
            error, self._error = self._error, None
        raise StopIteration if error is None else error

    def _work(self) -> None:
        error: BaseException | None = None
        try:
            items, end = iter(self._source or ()), object()
            while self._has_room() and (item := next(items, end)) is not end:
                with self._change:
                    self._ready.append(item)
                    self._change.notify_all()
                del item
        except BaseException as raised:
            error = raised
        with self._change:
            self._finished = True
            self._source = None
            self._error = error
            self._change.notify_all()

    def _has_room(self) -> bool:
        """Wait for room for one more item; return False if the queue was stopped."""
        with self._change:
            while len(self._ready) >= self._ahead and not self._stopped:
                self._change.wait()
            return not self._stopped

    def stop(self) -> None:
        with self._change:
            self._stopped = True
            self._ready.clear()
            self._change.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_SECONDS_TO_END)
