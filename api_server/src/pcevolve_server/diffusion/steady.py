"""A UNet that sees batches of one size alone, so that no row depends on its companions and requests share model runs.

A library picks its kernels by the shape of the input, and another kernel adds in another order: on a processor a batch
of 2 and one of 32 round otherwise. Batches of one shape add alike, wherever in them a row stands. So every batch is cut
into pieces of one size, and the last is padded. That is for small models, which are several times faster in full
batches; a large one takes about as long for an image in any batch, and padding would cost a multiple of that. Nor is it
for GPUs, whose libraries also choose by what is free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from diffusers import UNet2DConditionModel
from diffusers.models.unets.unet_2d_condition import UNet2DConditionOutput
from torch import Tensor, nn

from pcevolve_server.diffusion.nested import changed

IMAGES = 16
"""In a batch of the fixed size."""
_MOST_WEIGHTS = 100_000_000


def steady(denoiser: nn.Module) -> Steady | None:
    """Let a small UNet on a processor see batches of one size alone; None for other models, which stay as they are."""
    if not isinstance(denoiser, UNet2DConditionModel) or denoiser.device.type != "cpu":
        return None
    if sum(each.numel() for each in denoiser.parameters()) > _MOST_WEIGHTS:
        return None
    found = Steady(denoiser.forward)
    denoiser.forward = found
    return found


class Steady:
    """A UNet's ``forward``.

    Attributes:
        guided: Whether an image takes two rows, as it does under classifier-free guidance.
    """

    def __init__(self, forward: Callable[..., Any]) -> None:
        self._forward = forward
        self.guided = True

    def __call__(
        self,
        sample: Tensor,
        *positional: Any,  # noqa: ANN401 - whatever pipelines hand over
        return_dict: bool = True,
        **named: Any,  # noqa: ANN401
    ) -> UNet2DConditionOutput | tuple[Tensor]:
        """Predict as the UNet does; of inputs that have a row per row of the sample, rows go together."""
        count = len(sample)
        made = []
        for rows, kept in _pieces(count, IMAGES * (2 if self.guided else 1)):
            ordered, by_name = changed(((sample, *positional), named), _picking(rows, count))
            made.append(self._forward(*ordered, **by_name, return_dict=False)[0][:kept])
        predicted = torch.cat(made)
        return UNet2DConditionOutput(sample=predicted) if return_dict else (predicted,)


def _picking(rows: Tensor, count: int) -> Callable[[Tensor], Tensor]:
    return lambda each: each[rows] if each.ndim and len(each) == count else each


def _pieces(count: int, size: int) -> Iterator[tuple[Tensor, int]]:
    """Places of the rows of each piece, and how many of them count: the others repeat the last one."""
    for start in range(0, count, size):
        yield torch.arange(start, start + size).clamp(max=count - 1), min(size, count - start)
