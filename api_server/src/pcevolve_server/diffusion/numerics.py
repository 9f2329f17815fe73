"""Arithmetic of networks: batches of one size, and their precision.

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
from diffusers.models.autoencoders.vae import Decoder, DecoderOutput
from diffusers.models.unets.unet_2d_condition import UNet2DConditionOutput
from torch import Tensor, nn


def changed(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:  # noqa: ANN401 - see above
    """The same with every tensor changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return type(value)({name: changed(each, change) for name, each in value.items()})
    if isinstance(value, tuple | list):
        return type(value)(changed(each, change) for each in value)
    return value


def lower(network: nn.Module, dtype: torch.dtype) -> None:
    """Let a network compute in another precision inside a pipeline, or a network, that does not.

    Only sums within it round more; guidance and scheduler compute as before.
    """
    network.to(dtype)
    network.register_forward_pre_hook(
        lambda _, positional, named: _cast((positional, named), dtype), with_kwargs=True
    )
    network.register_forward_hook(lambda _, positional, found: _cast(found, torch.float32))


def _cast(value: Any, dtype: torch.dtype) -> Any:  # noqa: ANN401 - whatever a pipeline hands to a denoiser
    return changed(
        value, lambda each: each.to(dtype) if each.is_floating_point() and _is_wide(each) else each
    )


def _is_wide(tensor: torch.Tensor) -> bool:
    """Not a timestep for each image, of which bfloat16 knows one in four above 512; denoisers embed it as it is."""
    return tensor.ndim > 1


def quicken(decoder: Decoder, dtype: torch.dtype) -> None:
    """Let a decoder on a processor compute in ``dtype`` up to its last layer, with channels side by side in memory.

    The last layer, which makes colours of features, computes in float32, so that they are not rounded to those of a
    lower precision.
    """
    decoder.to(memory_format=torch.channels_last)
    if dtype != torch.float32:
        lower(decoder, dtype)
        lower(decoder.conv_out, torch.float32)


IMAGES = 16
"""In a batch of the denoiser's fixed size."""
_DECODED = 4  # in a batch of the decoder's: as fast as any larger one, and little to pad for a lone image
_MOST_WEIGHTS = 100_000_000


def is_small(denoiser: nn.Module) -> bool:
    """Return whether a denoiser is of the kind that batches make several times faster: a small UNet on a processor."""
    # One that visits a GPU to run is on the processor meanwhile, and has a hook that brings it there.
    visits = hasattr(denoiser, "_hf_hook")
    if not isinstance(denoiser, UNet2DConditionModel) or denoiser.device.type != "cpu" or visits:
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
