"""The API server: image generation behind a getimg-style HTTP API and OpenAI's Images API.

``cli`` starts it, and ``settings`` declares its flags. ``http`` answers requests, ``queue`` orders them,
``engines`` run batches, ``models`` keeps models in memory, and ``work`` defines models and tasks. Imports
``pcevolve_shared`` and nothing of the client. Only ``networks`` and the packages of models import torch.
"""

from __future__ import annotations

from importlib.metadata import version

__version__ = version("pcevolve-server")
