"""Precision of networks, their layout in memory, and the test for small networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from diffusers import UNet2DConditionModel
from diffusers.models.autoencoders.vae import Decoder
from torch import nn


def convert(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:  # noqa: ANN401 - see above
    """Return a copy of a value, with ``change`` applied to every tensor in it."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return type(value)({name: convert(each, change) for name, each in value.items()})
    if isinstance(value, tuple | list):
        return type(value)(convert(each, change) for each in value)
    return value


def lower(network: nn.Module, dtype: torch.dtype) -> None:
    """Let a network compute in another precision than the pipeline or network around it.

    Only the network's own sums are rounded more coarsely. Guidance and scheduler compute as before.
    """
    network.to(dtype)
    network.register_forward_pre_hook(
        lambda _, positional, named: _cast((positional, named), dtype), with_kwargs=True
    )
    network.register_forward_hook(lambda _, positional, found: _cast(found, torch.float32))


def _cast(value: Any, dtype: torch.dtype) -> Any:  # noqa: ANN401 - whatever a pipeline hands to a denoiser
    # A timestep for each image keeps its type, because above 512 bfloat16 has only every fourth integer.
    # Denoisers embed timesteps directly.
    return convert(value, lambda each: each.to(dtype) if each.is_floating_point() and each.ndim > 1 else each)


def speed_up_decoder(decoder: Decoder, dtype: torch.dtype) -> None:
    """Let a decoder on a processor compute in ``dtype`` with channels last in memory, except in its last layer.

    The last layer computes in float32, so that colours are not rounded to the lower precision.
    """
    decoder.to(memory_format=torch.channels_last)
    if dtype != torch.float32:
        lower(decoder, dtype)
        lower(decoder.conv_out, torch.float32)


_MOST_WEIGHTS = 100_000_000


def is_small(denoiser: nn.Module) -> bool:
    """True for a small UNet on a processor, which batches make several times faster."""
    # A network that is on a GPU only while it runs is on the processor now, and has a hook that moves it.
    visits = hasattr(denoiser, "_hf_hook")
    if not isinstance(denoiser, UNet2DConditionModel) or denoiser.device.type != "cpu" or visits:
        return False
    weights: int = sum(each.numel() for each in denoiser.parameters())
    return weights <= _MOST_WEIGHTS
