"""The client: private data stay here; only paid-for DP releases leave."""

from __future__ import annotations

from importlib.metadata import version

__version__ = version("pcevolve")
