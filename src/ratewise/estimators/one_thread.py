"""Linear algebra on one thread while a fit is going on."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep BLAS to one thread.

    A fit asks for thousands of products that take microseconds each: its threads would wait for one another for
    most of the time. Threads asked for by ``n_jobs`` share larger pieces of work.
    """
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit


@cache
def _controller() -> ThreadpoolController:
    """Looking for the libraries takes longer than many a fit: once will do."""
    return ThreadpoolController()
