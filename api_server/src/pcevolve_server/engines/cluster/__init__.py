"""Batches on a Ray cluster: one Serve deployment of replicas, each with the model on its own thread.

HTTP, keys, limits and the queue stay in the server's own process. The cluster gets only whole batches. Ray is
imported when the engine is opened, because the rest of the server does not need it.
"""

from __future__ import annotations

import importlib.util

from pcevolve_server.engines import Engine, Opening
from pcevolve_server.engines.cluster.connection import Connection
from pcevolve_server.errors import SettingsError
from pcevolve_server.settings import Settings


def opening(settings: Settings) -> Opening:
    """Return a function that opens the engine.

    Args:
        settings: The settings of the model apply only to a cluster that has no model yet.

    Raises:
        SettingsError: Ray is not installed, or does not support the settings.
    """
    if importlib.util.find_spec("ray") is None:
        raise SettingsError("--engine ray needs Ray: pip install 'pcevolve-server[ray]'")
    if ":" in settings.model.device:
        raise SettingsError("Ray assigns a GPU to each replica: write --device cuda without a number")

    async def open_connected() -> Engine:
        connection = Connection(settings)
        try:
            await connection.start()
            # Imported late, because Ray's first import reads the environment that the connection has set.
            from pcevolve_server.engines.cluster import engine

            return await engine.open_engine(connection, settings)
        except BaseException:
            await connection.end()
            raise

    return open_connected
