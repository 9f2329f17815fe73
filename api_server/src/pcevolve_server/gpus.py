"""Memory in use on GPUs, as PyTorch counts it; asking does not begin to use one."""

import sys
from collections import Counter
from typing import Protocol, runtime_checkable


@runtime_checkable
class Elsewhere(Protocol):
    """An engine whose models are in other processes, of which each tells what it holds."""

    @property
    def device_memory(self) -> Counter[str]:
        """Bytes by the GPU's number, of all its processes together, each as of its last answer."""


def in_use() -> Counter[str]:
    """Bytes that this process holds, by the GPU's number; nothing where PyTorch is not there or uses no GPU."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return Counter()
    return Counter({str(device): cuda.memory_allocated(device) for device in range(cuda.device_count())})
