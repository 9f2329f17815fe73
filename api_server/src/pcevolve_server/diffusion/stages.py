"""How long a run takes to encode, to denoise and to decode."""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import nn

ENCODE, DENOISE, DECODE = "encode", "denoise", "decode"


class Stages:
    """Looks on while pipelines of the same networks run; changes nothing.

    On a GPU work is queued and done later, so the clock is read when all of it is done: once a run, before decoding,
    which has to wait for it anyway.
    """

    def __init__(self, denoiser: nn.Module, autoencoder: Any) -> None:  # noqa: ANN401 - it gets another method
        self._begun: dict[str, float] = {}
        self._queues = next(denoiser.parameters()).device.type == "cuda"
        denoiser.register_forward_pre_hook(lambda *_: self._pass(DENOISE))
        decode = autoencoder.decode

        def decoded(*positional: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever pipelines hand over
            self._pass(DECODE)
            return decode(*positional, **named)

        autoencoder.decode = decoded

    def begin(self) -> None:
        """A run begins: prompts and images are encoded until the denoiser first runs."""
        self._begun = {ENCODE: time.perf_counter()}

    def seconds(self) -> dict[str, float]:
        """Of each stage that there was, now that the run is over."""
        ends = [*self._begun.values(), time.perf_counter()][1:]
        return {stage: end - begun for (stage, begun), end in zip(self._begun.items(), ends, strict=True)}

    def _pass(self, stage: str) -> None:
        if stage in self._begun:
            return
        if stage == DECODE and self._queues:
            torch.cuda.synchronize()
        self._begun[stage] = time.perf_counter()
