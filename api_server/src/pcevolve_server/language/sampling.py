"""Draws of a language model's tokens, and what ends a run before its texts are as long as they may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import LongTensor, Tensor
from transformers import LogitsProcessor, PreTrainedTokenizerBase, StoppingCriteria, TopPLogitsWarper

from pcevolve_server.work import Unwanted
from pcevolve_shared import limits


class Drawn(LogitsProcessor):  # type: ignore[misc] # the library has no types here
    """Turns "take the likeliest token" into a draw, by noise from a generator of each row's own.

    The likeliest of the scores plus independent Gumbel noise is distributed as the softmax of the scores (Gumbel 1954;
    Maddison, Tarlow, Minka 2014, "A* Sampling"). The library's own sampling draws all rows from one generator.
    """

    def __init__(self, seeds: Sequence[int], temperature: float, top_p: float) -> None:
        """Begin each row's draws.

        Args:
            seeds: Of the rows.
            temperature: Scores are divided by it; 0 takes the likeliest always.
            top_p: Tokens are drawn from the likeliest that have this much probability together.
        """
        self._generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self._temperature = temperature
        self._nucleus = TopPLogitsWarper(top_p) if top_p < 1 else None

    def __call__(self, input_ids: LongTensor, scores: Tensor) -> Tensor:
        """Return scores ``(rows, tokens)`` whose largest is each row's draw."""
        if not self._temperature:
            return scores
        exact = scores.double()
        warm = (
            exact - exact.amax(dim=1, keepdim=True)
        ) / self._temperature  # so that no quotient is infinite
        if self._nucleus is not None:
            warm = self._nucleus(input_ids, warm)
        waits = [torch.empty(scores.shape[1]).exponential_(generator=each) for each in self._generators]
        return warm - torch.stack(waits).log().to(warm)


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
