"""Networks that see batches of one size alone, so that no row depends on its companions and requests share model runs.

A library picks its kernels by the shape of the input, and another kernel adds in another order: on a processor a batch
of 2 and one of 32 round otherwise. Batches of one shape add alike, wherever in them a row stands. So every batch is cut
into pieces of one size, and the last is padded. That is for small models, which are several times faster in full
batches; a large one takes about as long for an image in any batch, and padding would cost a multiple of that. Nor is it
for GPUs, whose libraries also choose by what is free.

A shape that never changes can be compiled for, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from diffusers import AutoencoderKL, UNet2DConditionModel
from diffusers.models.autoencoders.vae import DecoderOutput
from diffusers.models.unets.unet_2d_condition import UNet2DConditionOutput
from torch import Tensor, nn

from pcevolve_server.diffusion.nested import changed

IMAGES = 16
"""In a batch of the denoiser's fixed size."""
_DECODED = 4  # in a batch of the decoder's: as fast as any larger one, and little to pad for a lone image
_MOST_WEIGHTS = 100_000_000


def is_small(denoiser: nn.Module) -> bool:
    """Whether a denoiser is of the kind that batches make several times faster: a small UNet on a processor."""
    if not isinstance(denoiser, UNet2DConditionModel) or denoiser.device.type != "cpu":
        return False
    weights: int = sum(each.numel() for each in denoiser.parameters())
    return weights <= _MOST_WEIGHTS


def steady(denoiser: UNet2DConditionModel) -> Steady:
    """Let a UNet, a small one, see batches of one size alone."""
    found = Steady(denoiser.forward)
    denoiser.forward = found
    return found


def steady_decoder(autoencoder: AutoencoderKL) -> None:
    """Let an autoencoder decode batches of one size alone."""
    decode = autoencoder.decode

    def decoded(z: Tensor, return_dict: bool = True, **named: Any) -> DecoderOutput | tuple[Tensor]:  # noqa: ANN401
        count = len(z)
        made = [
            decode(z[rows], return_dict=False, **named)[0][:kept] for rows, kept in _pieces(count, _DECODED)
        ]
        sample = torch.cat(made)
        return DecoderOutput(sample=sample) if return_dict else (sample,)

    autoencoder.decode = decoded


class Steady:
    """A UNet's ``forward``.

    Attributes:
        guided: Whether an image takes two rows, as it does under classifier-free guidance.
    """

    def __init__(self, forward: Callable[..., Any]) -> None:
        self._forward = self._compiled = forward
        self._shape: tuple[int, ...] = ()
        self.guided = True

    def compile(self, height: int, width: int, channels: int, guided: bool) -> None:
        """Compile for pieces of one shape; any other shape is computed as before, whatever came first.

        Args:
            height: Of the latents.
            width: Of the latents.
            channels: Of the latents.
            guided: Whether an image takes two rows.
        """
        self._shape = (_rows(guided), channels, height, width)
        self._compiled = torch.compile(self._forward, dynamic=False)

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
        for rows, kept in _pieces(count, _rows(self.guided)):
            ordered, by_name = changed(((sample, *positional), named), _picking(rows, count))
            forward = self._compiled if ordered[0].shape == self._shape else self._forward
            made.append(forward(*ordered, **by_name, return_dict=False)[0][:kept])
        predicted = torch.cat(made)
        return UNet2DConditionOutput(sample=predicted) if return_dict else (predicted,)


def _rows(guided: bool) -> int:
    return IMAGES * (2 if guided else 1)


def _picking(rows: Tensor, count: int) -> Callable[[Tensor], Tensor]:
    return lambda each: each[rows] if each.ndim and len(each) == count else each


def _pieces(count: int, size: int) -> Iterator[tuple[Tensor, int]]:
    """Places of the rows of each piece, and how many of them count: the others repeat the last one."""
    for start in range(0, count, size):
        yield torch.arange(start, start + size).clamp(max=count - 1), min(size, count - start)
