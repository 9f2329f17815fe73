"""Tokens drawn so that each text depends on its own seed, whoever is written beside it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import LongTensor, Tensor
from transformers import LogitsProcessor, TopPLogitsWarper


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
