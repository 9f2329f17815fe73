"""Classify errors of a device: too little memory, or a device that this process cannot use any more.

Errors are recognized by names and words, because this module does not import the libraries that raise them. After
a CUDA error that is not about memory, the process's context is mostly unusable, so that every later call fails.
"""

from __future__ import annotations

import re
from typing import Final

_MEMORY: Final = re.compile(
    r"out of memory|can't allocate memory|not enough memory|STATUS_ALLOC_FAILED", re.I
)
_LOST: Final = re.compile(
    r"CUDA (?:driver )?error|CUBLAS_STATUS_|cu(?:BLAS|DNN|SOLVER|FFT|SPARSE) error|CUDNN_STATUS_|device-side assert"
    r"|illegal memory access|unspecified launch failure|HIP error|NCCL error|Triton Error \[CUDA\]"
    r"|MPS backend .*(?:fail|error)|command buffer .*(?:fail|error)",
    re.I,
)


def is_out_of_memory(error: BaseException) -> bool:
    """True if a device or the machine had too little memory."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & {"OutOfMemoryError", "MemoryError"}:
        return True
    return isinstance(error, RuntimeError) and _MEMORY.search(str(error)) is not None


def is_device_lost(error: BaseException) -> bool:
    """True if an error or its cause means that this process cannot use the device any more."""
    if is_out_of_memory(error):
        return False
    names = {kind.__name__ for kind in type(error).__mro__}
    if "AcceleratorError" in names or (isinstance(error, RuntimeError) and _LOST.search(str(error))):
        return True
    return error.__cause__ is not None and is_device_lost(error.__cause__)
