"""Ask libraries not to report their use to their makers."""

from __future__ import annotations

import os

VARIABLES = (
    "DO_NOT_TRACK",  # what several makers agreed on
    "HF_HUB_DISABLE_TELEMETRY",  # Hugging Face's hub, transformers and diffusers
    "ORT_DISABLE_TELEMETRY",  # onnxruntime, which diffusers loads wherever it is installed
)
"""Environment variables that forbid such reports when set to "1"."""


def keep_quiet() -> None:
    """Set the variables for this process and its children. Values that are already set stay."""
    for variable in VARIABLES:
        os.environ.setdefault(variable, "1")
