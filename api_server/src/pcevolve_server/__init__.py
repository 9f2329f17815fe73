"""The API server: image generation behind a getimg-style HTTP API, and OpenAI's Images API beside it.

``cli`` starts it, ``app`` puts it together, ``routes`` answer, ``service`` and ``batcher`` run the model, and
``generator`` says what a model is. Imports ``pcevolve_shared`` and nothing of the client; torch and diffusers are
imported in ``diffusion`` alone.
"""

from __future__ import annotations

from importlib.metadata import version

__version__ = version("pcevolve-server")
