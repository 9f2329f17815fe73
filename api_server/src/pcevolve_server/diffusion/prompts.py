"""How much of a prompt the text encoders read."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from diffusers import DiffusionPipeline

_NAMES = ("tokenizer", "tokenizer_2", "tokenizer_3")

Reader = tuple[Any, int]
"""A tokenizer, and the number of tokens that are read of its."""


def readers(pipeline: DiffusionPipeline) -> list[Reader]:
    """The tokenizers of the pipeline's text encoders, each with how much its encoder reads."""
    asked = inspect.signature(type(pipeline).__call__).parameters.get("max_sequence_length")
    found = []
    for tokenizer in filter(None, (getattr(pipeline, name, None) for name in _NAMES)):
        own = tokenizer.model_max_length
        # The argument of the pipelines is about encoders other than CLIP's.
        found.append((tokenizer, own if asked is None or _is_clip(tokenizer) else min(own, asked.default)))
    return found


def cut_tokens(read_by: Sequence[Reader], prompt: str) -> int:
    """Return how many tokens at the end of ``prompt`` no text encoder reads.

    The pipeline itself cuts there, by tokens; it says so in a warning that quotes the prompt, which is
    silenced, so the server has to count for itself.
    """
    return min((max(0, len(tokenizer(prompt).input_ids) - most) for tokenizer, most in read_by), default=0)


def _is_clip(tokenizer: object) -> bool:
    return "CLIP" in type(tokenizer).__name__
