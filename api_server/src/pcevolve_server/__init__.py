"""The API server: image generation behind a getimg-style HTTP API, and OpenAI's Images API beside it.

``cli`` starts it and ``settings`` declares its flags; ``http`` answers, ``queue`` decides who is next, ``engines`` run
batches on what ``models`` keeps in memory, and ``work`` says what a model is. Imports ``pcevolve_shared`` and nothing
of the client; torch is imported by ``networks`` and the packages of models alone.
"""

from __future__ import annotations

from importlib.metadata import version

__version__ = version("pcevolve-server")
