"""The API server: image generation behind a getimg-style HTTP API."""

from __future__ import annotations

from importlib.metadata import version

__version__ = version("pcevolve-server")
