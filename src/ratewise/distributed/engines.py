"""Which engine a fit runs on."""

from __future__ import annotations

from typing import Any

from .dask_engine import DaskEngine
from .local import LocalEngine
from .protocol import Engine


def engine_for(shards: list[Any], client: Any, timeout: float) -> Engine:
    """That of the client, of the current one if None is given, or this process if there is none."""
    try:
        import dask

        from distributed import Client
    except ImportError:
        raise ImportError(NEEDED) from None
    if isinstance(client, str):
        try:
            client = Client(client, timeout=timeout, set_as_default=False)
        except OSError as error:
            raise ConnectionError(
                f"No Dask scheduler answers at {client} within {timeout:g} seconds: see whether it runs."
            ) from error
        return _OwnClient(client, shards, timeout)
    if client is None:
        client = _current()
    if client is None:
        return LocalEngine([dask.compute(shard, scheduler="synchronous")[0] for shard in shards])
    return DaskEngine(client, shards, timeout)


def require_dask() -> None:
    """One sentence to whoever has not installed it."""
    try:
        import dask.array

        import distributed  # noqa: F401
    except ImportError:
        raise ImportError('Fits on a cluster need Dask: pip install "ratewise[dask]"') from None


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
