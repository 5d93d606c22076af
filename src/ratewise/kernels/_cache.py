"""``njit`` whose compiled loops are kept on disk wherever that is possible, and work where it is not.

numba's own ``cache=True`` raises at import if no folder can be written to, does not look into a folder that can
only be read, and fails on a damaged file.
"""

from __future__ import annotations

import contextlib
import functools
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numba
from numba.core import caching, config
from numba.core.dispatcher import Dispatcher


class CacheWarning(RuntimeWarning):
    """Compiled loops cannot be kept on disk."""


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function as ``numba.njit`` does; ``cache`` keeps it on disk."""

    def compiled(function: Callable[..., Any]) -> Any:
        loop = numba.njit(**options)(function)
        if cache and isinstance(loop, Dispatcher):  # with NUMBA_DISABLE_JIT it is the function itself
            loop._cache = _DiskCache(function)
        return loop

    return compiled


class _DiskCache(caching.NullCache):  # type: ignore[misc]
    """The compiled versions of one function: read from every folder that numba knows, written to the first."""

    def __init__(self, function: Callable[..., Any]):
        self._function = function

    @functools.cached_property
    def _written(self) -> Any:
        """numba's own cache, which knows the folder that can be written to; None if there is none."""
        try:
            return caching.FunctionCache(self._function)
        except RuntimeError:
            return None

    @functools.cached_property
    def _all(self) -> list[Any]:
        return [*([] if self._written is None else [self._written]), *self._read_only()]

    def _read_only(self) -> Iterator[Any]:
        if getattr(config, "CACHE_LOCATOR_CLASSES", ""):  # the user has set where numba caches
            return
        for locator in caching.CompileResultCacheImpl._locator_classes:
            there = type(locator.__name__, (locator,), {"ensure_cache_path": _require_folder})
            implementation = {"_locator_classes": [there]}
            impl = type("_Impl", (caching.CompileResultCacheImpl,), implementation)
            with contextlib.suppress(RuntimeError):  # there is no such folder
                yield type("_ReadOnly", (caching.FunctionCache,), {"_impl_class": impl})(self._function)

    @property
    def cache_path(self) -> str | None:
        return None if self._written is None else self._written.cache_path

    def load_overload(self, signature: Any, target: Any) -> Any:
        for one in self._all:
            with contextlib.suppress(Exception):  # whatever a damaged file leads to, it is compiled again
                if (found := one.load_overload(signature, target)) is not None:
                    return found
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        if self._written is None:
            _warn_once("no folder for them can be written to")
            return
        try:
            self._written.save_overload(signature, compiled)
        except OSError as error:
            _warn_once(str(error))
        except Exception:  # a damaged index
            with contextlib.suppress(Exception):
                self._written.flush()
                self._written.save_overload(signature, compiled)

    def flush(self) -> None:
        if self._written is not None:
            self._written.flush()


def _require_folder(locator: Any) -> None:
    if not os.path.isdir(locator.get_cache_path()):
        raise FileNotFoundError


@functools.cache
def _warn_once(reason: str) -> None:
    warnings.warn(
        f"Compiled loops cannot be kept on disk ({reason}), so that every process compiles its own, which takes "
        "some seconds. Set NUMBA_CACHE_DIR to a folder that can be written to.",
        CacheWarning,
        stacklevel=2,
    )
