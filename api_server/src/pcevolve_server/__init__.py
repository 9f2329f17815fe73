"""The API server: generates images behind an HTTP API like getimg's, and behind OpenAI's Images API.

``cli`` starts the server. ``settings`` declares the flags. ``http`` answers requests, ``queue`` orders them,
and ``engines`` run batches. ``models`` keeps models in memory, and ``work`` defines models and tasks. The
package imports ``pcevolve_shared``, and nothing of the client. Only ``networks`` and the packages of models
import torch.
"""

from __future__ import annotations

from importlib.metadata import version

__version__ = version("pcevolve-server")
