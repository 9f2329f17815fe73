"""A decoder that takes less time for the same image, or nearly."""

import torch
from diffusers.models.autoencoders.vae import Decoder

from pcevolve_server.diffusion import precision


def quicken(decoder: Decoder, dtype: torch.dtype) -> None:
    """Let a decoder on a processor compute in ``dtype`` up to its last layer, with channels side by side in memory.

    The last layer, which makes colours of features, computes in float32, so that they are not rounded to those of a
    lower precision.
    """
    decoder.to(memory_format=torch.channels_last)
    if dtype != torch.float32:
        precision.lower(decoder, dtype)
        precision.lower(decoder.conv_out, torch.float32)
