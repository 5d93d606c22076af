"""Which engine a fit runs on."""

from __future__ import annotations

import importlib
from typing import Any

from .dask_engine import DaskEngine
from .local import LocalEngine
from .protocol import Engine


def engine_for(shards: list[Any], client: Any, timeout: float) -> Engine:
    """That of the client, of the current one if None is given, or this process if there is none."""
    import dask

    if isinstance(client, str):
        return _OwnClient(_connected(client, timeout), shards, timeout)
    if client is None:
        client = _current()
    if client is None:
        return LocalEngine([dask.compute(shard, scheduler="synchronous")[0] for shard in shards])
    return DaskEngine(client, shards, timeout)


def require_dask() -> None:
    """One sentence to whoever has not installed it."""
    try:
        for name in ("dask.array", "distributed"):
            importlib.import_module(name)
    except ImportError:
        raise ImportError('Fits on a cluster need Dask: pip install "ratewise[dask]"') from None


def _connected(address: str, timeout: float) -> Any:
    from distributed import Client

    try:
        return Client(address, timeout=timeout, set_as_default=False)
    except OSError as error:
        raise ConnectionError(
            f"No Dask scheduler answers at {address} within {timeout:g} seconds: see whether it runs."
        ) from error


def _current() -> Any:
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


class _OwnClient(DaskEngine):
    """Closes the connection that it came with."""

    def close(self) -> None:
        super().close()
        self._client.close()
