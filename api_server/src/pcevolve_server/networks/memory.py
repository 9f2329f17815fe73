"""How much memory networks take."""

from __future__ import annotations

import ctypes
import gc

import torch
from torch import nn


def weight(network: nn.Module) -> int:
    """Bytes of a network's weights, on whatever device they are."""
    return sum(each.nbytes for each in (*network.parameters(), *network.buffers()))


def give_back() -> None:
    """Give back what dropped networks took.

    They hold themselves in circles; and glibc keeps blocks of less than 32 MiB, as most weights are, for itself.
    """
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc alone has it
    if trim is not None:
        trim(0)
