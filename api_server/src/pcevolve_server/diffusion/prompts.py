"""How much of a prompt a text encoder reads."""

from collections.abc import Sequence
from typing import Any


def cut_tokens(tokenizers: Sequence[Any], prompt: str) -> int:
    """Return how many tokens of ``prompt`` lie beyond the shortest tokenizer's limit.

    The pipeline itself cuts there, by tokens; it says so in a warning that quotes the prompt, which is
    silenced, so the server has to count for itself.
    """
    return max(
        (max(0, len(tokenizer(prompt).input_ids) - tokenizer.model_max_length) for tokenizer in tokenizers),
        default=0,
    )
