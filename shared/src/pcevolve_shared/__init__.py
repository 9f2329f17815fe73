"""The wire contract between client and API server; imports neither side."""

from __future__ import annotations

from importlib.metadata import version

__version__ = version("pcevolve-shared")
