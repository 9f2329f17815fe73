"""Devices, precision and memory of the server's neural networks, and errors and logs of their libraries."""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import ModuleType
from typing import Any, Final

import torch
import torch.utils.deterministic
import transformers
from safetensors import SafetensorError
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode

from pcevolve_server.errors import AbandonedError, ModelLoadError
from pcevolve_server.model_settings import Attention, Precision
from pcevolve_server.work import IsCancelled, never_cancelled

_NATIVE = "amx_bf16"
"""Matrix units of a processor. Without them, bfloat16 is slower than float32 (docs/server.md)."""
_DTYPES = {Precision.FLOAT32: torch.float32, Precision.BFLOAT16: torch.bfloat16}


def gpu_dtype(wanted: Precision, *, brain: bool = False) -> torch.dtype:
    """Return the number format of a whole model on a GPU. The default is float16.

    Args:
        brain: Whether ``auto`` means bfloat16, on GPUs that have it.
    """
    if brain and wanted is Precision.AUTO and torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.bfloat16
    return _DTYPES.get(wanted, torch.float16)


def cpu_dtype(wanted: Precision) -> torch.dtype:
    """Return the number format in which the main network computes on a processor.

    Raises:
        ModelLoadError: The number format is too slow on processors.
    """
    if wanted is Precision.FLOAT16:
        raise ModelLoadError("float16 needs a GPU: use --precision auto, float32 or bfloat16")
    native = bool(torch.cpu.get_capabilities().get(_NATIVE))
    return _DTYPES.get(wanted, torch.bfloat16 if native else torch.float32)


def find_device(name: str) -> torch.device:
    """Return the device that a name denotes. ``auto`` denotes the best device.

    Raises:
        ModelLoadError: There is no such device.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        if device.type == "cuda" and device.index is not None:
            torch.cuda.set_device(device)  # or libraries put some of their own on the first
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ModelLoadError(f"device {name} is not available: use --device auto or cpu") from error
    return device


def compute_alike(device: torch.device) -> None:
    """Let a GPU's libraries choose kernels that give the same result for the same request, if such kernels exist."""
    if device.type != "cuda":
        return
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    torch.use_deterministic_algorithms(True, warn_only=True)
    # By default, each new tensor would be filled with NaN first.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]


_KERNELS = {
    Attention.FLASH: SDPBackend.FLASH_ATTENTION,
    Attention.EFFICIENT: SDPBackend.EFFICIENT_ATTENTION,
    Attention.CUDNN: SDPBackend.CUDNN_ATTENTION,
    Attention.MATH: SDPBackend.MATH,
}


def attend_by(wanted: Attention) -> AbstractContextManager[None]:
    """Compute attention by chosen kernels in the with block. Where these cannot run, PyTorch's plain kernels do."""
    if wanted is Attention.AUTO:
        return nullcontext()
    kernels: AbstractContextManager[None] = sdpa_kernel(
        [_KERNELS[wanted], SDPBackend.MATH], set_priority=True
    )
    return kernels


def list_gpus() -> tuple[str, ...]:
    """Return the names of the GPUs that this process may use."""
    return tuple(f"cuda:{number}" for number in range(torch.cuda.device_count()))


def quieten(*more: ModuleType) -> None:
    """Stop the libraries from quoting prompts in warnings, and from drawing progress bars into the JSON log.

    Args:
        more: ``logging`` modules of other libraries. They have the same functions as the module of transformers.
    """
    for log in (transformers.utils.logging, *more):
        log.set_verbosity_error()
        log.disable_progress_bar()
        log.disable_default_handler()
        log.enable_propagation()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)


class Interrupter:
    """Ends a run of networks within a step: it checks for cancellation before each block of the networks."""

    def __init__(self, networks: Iterable[nn.Module]) -> None:
        """Watch these networks from now on. One thread runs all of them."""
        self._is_cancelled: IsCancelled = never_cancelled
        for block in {block for network in networks for block in _list_blocks(network)}:
            block.register_forward_pre_hook(self._ask)

    @contextmanager
    def listening(self, is_cancelled: IsCancelled, slow: bool = False) -> Iterator[None]:
        """Check ``is_cancelled`` in the with block.

        Args:
            slow: Whether one attention may take many seconds. If so, cancellation is also checked within attention.

        Raises:
            AbandonedError: The run was cancelled. Raised inside the running network.
        """
        self._is_cancelled = is_cancelled
        try:
            with _AttentionInPieces(self._ask) if slow else nullcontext():
                yield
        finally:
            self._is_cancelled = never_cancelled

    def _ask(self, *_: object) -> None:
        # Compiled networks are compiled without this check.
        if not torch.compiler.is_compiling() and self._is_cancelled():
            raise AbandonedError("the caller no longer waits for this image")


_QUERIES: Final = 2048
"""Number of queries in a part of an attention.

It is a multiple of the block of PyTorch's kernel, so that the result has the same bits as in one part.
"""
_SDPA_ARGUMENTS: Final = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")


class _AttentionInPieces(TorchFunctionMode):
    """Computes attention without a mask for some queries at a time, and checks for cancellation before each part.

    For an image of 2048 x 2048 pixels, one attention takes a processor a minute.
    """

    def __init__(self, ask: Callable[[], None]) -> None:
        super().__init__()
        self._ask = ask

    def __torch_function__(self, func: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
        """Call any other function unchanged."""
        if func is not functional.scaled_dot_product_attention:
            return func(*args, **(kwargs or {}))
        given = dict(zip(_SDPA_ARGUMENTS, args, strict=False)) | (kwargs or {})
        if given.get("attn_mask") is not None or given.get("is_causal"):
            return func(**given)
        pieces = []
        for piece in given.pop("query").split(_QUERIES, dim=-2):
            self._ask()
            pieces.append(func(piece, **given))
        return torch.cat(pieces, dim=-2)


def _list_blocks(network: nn.Module) -> Iterator[nn.Module]:
    """Yield the parts of a network that run one after the other. Each part is fast."""
    for module in network.modules():
        if isinstance(module, nn.ModuleList):
            yield from (each for each in module if each is not None and any(True for _ in each.children()))


def weight(network: nn.Module) -> int:
    """Return the bytes of a network's weights, on any device."""
    return sum(each.nbytes for each in (*network.parameters(), *network.buffers()))


def give_back() -> None:
    """Release the memory of dropped networks. glibc keeps blocks below 32 MiB, and most weights are smaller."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc alone has it
    if trim is not None:
        trim(0)


LOAD_ERRORS = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    ImportError,
    RuntimeError,
    SafetensorError,
)
"""Errors of loading a missing, partial or malformed model, as far as the libraries document them."""
