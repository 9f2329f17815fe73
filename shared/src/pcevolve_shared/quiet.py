"""Asks libraries not to tell their makers who uses them: in both commands, and in what runs on a cluster's machines."""

from __future__ import annotations

import os

VARIABLES = (
    "DO_NOT_TRACK",  # what several makers agreed on
    "HF_HUB_DISABLE_TELEMETRY",  # Hugging Face's hub, transformers and diffusers
    "ORT_DISABLE_TELEMETRY",  # onnxruntime, which diffusers loads wherever it is installed
)
"""Environment variables that are "1" where nothing is to be told."""


def keep_quiet() -> None:
    """Set them in this process and all that it starts; what somebody has set otherwise stays."""
    for variable in VARIABLES:
        os.environ.setdefault(variable, "1")
