"""Engines run batches: on a thread of this process, in other processes, on a cluster."""

from pcevolve_server.engines.engine import Engine, Losable, Opening, Told, untold

__all__ = ["Engine", "Losable", "Opening", "Told", "untold"]
