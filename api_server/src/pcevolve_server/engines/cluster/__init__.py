"""Batches on a Ray cluster: one Serve deployment of replicas, each with the model on a thread of its own.

HTTP, keys, limits and the queue stay in the server's own process; nothing but whole batches goes to the cluster. Ray is
imported when the engine is opened: the rest of the server does without it.
"""

from __future__ import annotations

import importlib.util

from pcevolve_server.engines import Engine, Opening
from pcevolve_server.engines.cluster.connection import Connection
from pcevolve_server.errors import SettingsError
from pcevolve_server.settings import Settings


def opening(settings: Settings) -> Opening:
    """Return what opens the engine.

    Args:
        settings: Those of the model are told to a cluster that has no model yet.

    Raises:
        SettingsError: Ray is not installed, or cannot do what the settings ask for.
    """
    if importlib.util.find_spec("ray") is None:
        raise SettingsError("--engine ray needs Ray: pip install 'pcevolve-server[ray]'")
    if ":" in settings.model.device:
        raise SettingsError("Ray gives each replica its GPU: --device cuda, without a number")

    async def open_connected() -> Engine:
        connection = Connection(settings)
        try:
            await connection.start()
            # Only now: the first import of Ray reads what the connection has put into the environment.
            from pcevolve_server.engines.cluster import engine

            return await engine.open_engine(connection, settings)
        except BaseException:
            await connection.end()
            raise

    return open_connected
