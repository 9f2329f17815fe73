"""When a run of a language model ends before its texts are as long as they may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase, StoppingCriteria

from pcevolve_server.generator import Unwanted
from pcevolve_shared import limits

_TAIL = 4 * limits.MAX_STOP_CHARS
"""Tokens, of a byte or more, that the longest stop fits into, wherever it ends."""


class Watch(StoppingCriteria):  # type: ignore[misc] # the library has no types here
    """Ends a run that nobody wants any more, after the token that it is at.

    Attributes:
        gave_up: Whether it did.
    """

    def __init__(self, unwanted: Unwanted, most: int) -> None:
        self._unwanted, self._most, self._done = unwanted, most, 0
        self.gave_up = False

    def __call__(self, input_ids: Tensor, scores: Tensor, **_: Any) -> Tensor:  # noqa: ANN401 - the library's own
        """Return which rows end: none, or all."""
        self._done += 1
        self.gave_up = self.gave_up or self._unwanted(self._done, self._most)
        return torch.full((len(input_ids),), self.gave_up, device=input_ids.device)


class Stops(StoppingCriteria):  # type: ignore[misc] # the library has no types here
    """Ends a text that has one of some strings in it; the library's own looks for them in the prompt, too."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, stops: Sequence[str], begin: int) -> None:
        """Keep what to look for.

        Args:
            tokenizer: Of the model.
            stops: The strings.
            begin: Tokens of each row that are the prompt's.
        """
        self._tokenizer, self._stops, self._begin = tokenizer, stops, begin

    def __call__(self, input_ids: Tensor, scores: Tensor, **_: Any) -> Tensor:  # noqa: ANN401 - the library's own
        """Return which rows end."""
        begin = max(self._begin, input_ids.shape[1] - _TAIL)
        texts = self._tokenizer.batch_decode(input_ids[:, begin:], skip_special_tokens=True)
        found = [any(stop in text for stop in self._stops) for text in texts]
        return torch.tensor(found, device=input_ids.device)
