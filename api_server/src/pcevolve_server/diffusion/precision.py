"""The numbers that a denoiser, which does nearly all of the work, computes in."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from pcevolve_server.diffusion.nested import changed


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
