"""Cache the encodings of prompts and images. Each encoding is made once, and alone.

An encoding that is made alone does not depend on other tasks, so a cached encoding has the same bits as a new
one. All variations of one image share its encoding, within a run and between runs and requests of one caller.
Callers do not share encodings: the time of an answer would show one caller what another had requested.
"""

from __future__ import annotations

import hashlib
import inspect
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Generic, TypeVar

import torch
from diffusers import AutoencoderKL, DiffusionPipeline
from diffusers.models.modeling_outputs import AutoencoderKLOutput
from torch import Tensor

from pcevolve_server.diffusion.families import family_of

_Value = TypeVar("_Value")


class BoundedCache(Generic[_Value]):
    """Values by key. The least recently used value is dropped first. For one thread only."""

    def __init__(self, most_bytes: int, weigh: Callable[[_Value], int]) -> None:
        """Start empty.

        Args:
            most_bytes: Largest number of bytes of all values together. A larger value is returned but not stored.
        """
        self._most, self._weigh = most_bytes, weigh
        self._values: OrderedDict[Hashable, _Value] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable, make: Callable[[], _Value]) -> _Value:
        """Return the value of ``key``. Make the value if it is not stored."""
        if key in self._values:
            self._values.move_to_end(key)
            return self._values[key]
        value = make()
        if self._weigh(value) <= self._most:
            self._keep(key, value)
        return value

    def _keep(self, key: Hashable, value: _Value) -> None:
        self._values[key] = value
        self._bytes += self._weigh(value)
        # If a single value exceeds the limit, it is returned but not kept.
        while self._bytes > self._most:
            _, dropped = self._values.popitem(last=False)
            self._bytes -= self._weigh(dropped)


_NAMES = ("tokenizer", "tokenizer_2", "tokenizer_3")

Reader = tuple[Callable[[str], int], int]
"""A function that counts a prompt's tokens, and the number of tokens that are read."""


def find_readers(pipeline: DiffusionPipeline) -> list[Reader]:
    """Return the tokenizers of the pipeline's text encoders, each with the number of tokens that its encoder reads."""
    asked = inspect.signature(type(pipeline).__call__).parameters.get("max_sequence_length")
    found: list[Reader] = []
    for tokenizer in filter(None, (getattr(pipeline, name, None) for name in _NAMES)):
        own = tokenizer.model_max_length
        # The pipeline's argument for this number applies only to encoders other than CLIP's.
        is_clip = "CLIP" in type(tokenizer).__name__
        most = own if asked is None or is_clip else min(own, asked.default)
        found.append((partial(_count_tokens, pipeline, tokenizer), most))
    return found


def cut_tokens(read_by: Sequence[Reader], prompt: str) -> int:
    """Return how many tokens at the end of ``prompt`` no text encoder reads.

    The pipeline itself cuts the prompt there. Its warning is silenced because it quotes the prompt, so the server
    has to count.
    """
    return min((max(0, count(prompt) - most) for count, most in read_by), default=0)


def _count_tokens(pipeline: DiffusionPipeline, tokenizer: Any, prompt: str) -> int:  # noqa: ANN401
    """Return the number of tokens. A word of textual inversion may have several."""
    if hasattr(pipeline, "maybe_convert_prompt"):
        prompt = pipeline.maybe_convert_prompt(prompt, tokenizer)
    return len(tokenizer(prompt).input_ids)


_MOST_BYTES: Final = 64 * 2**20
"""Size in bytes of each of two caches: for prompts, and for images.

They suffice for 280 prompts of Stable Diffusion 1.5 or 15 of Flux, and for 170 images of 512 x 512 pixels.
"""
MOST_BYTES: Final = 2 * _MOST_BYTES
"""Bytes of all caches, in addition to a model's weights."""

Prompt = Callable[[str, str], Mapping[str, Tensor]]
"""Returns embeddings of a caller's text, of one row each. Keys are the names of a pipeline's arguments."""


def remember_prompts(pipeline: DiffusionPipeline) -> Prompt | None:
    """Return a function that embeds a pipeline's prompts and caches the embeddings.

    Return None for families whose pipelines have to embed prompts themselves.
    """
    names = family_of(type(pipeline).__name__).embeds
    if names is None:
        return None
    arguments = _arguments(pipeline)
    cache: BoundedCache[dict[str, Tensor]] = BoundedCache(
        _MOST_BYTES, lambda each: sum(map(_bytes, each.values()))
    )

    def embed(prompt: str) -> dict[str, Tensor]:
        # With gradients, a cached value would keep all tensors from which it was computed. Gradients are never used.
        with torch.inference_mode():
            returned = pipeline.encode_prompt(prompt=prompt, **arguments)
        return {name: found for name, found in zip(names, returned, strict=True) if name}

    return lambda caller, prompt: cache.get((caller, prompt), lambda: embed(prompt))


def _arguments(pipeline: DiffusionPipeline) -> dict[str, Any]:
    """Return the arguments that embed any prompt: one text for all encoders, without a negative prompt."""
    known = inspect.signature(pipeline.encode_prompt).parameters
    wanted = {
        "prompt_2": None,  # as the first
        "prompt_3": None,
        "device": pipeline._execution_device,  # where its networks run, which is not always where they are
        "num_images_per_prompt": 1,
        "do_classifier_free_guidance": False,
    }
    return {name: value for name, value in wanted.items() if name in known}


def stack_prompts(
    encoded: Prompt, callers: Sequence[str], positive: Sequence[str], negative: Sequence[str]
) -> dict[str, Tensor]:
    """Return a pipeline call's arguments for prompts, their callers, and a negative prompt for each prompt, or none."""
    rows = [encoded(*each) for each in zip(callers, positive, strict=True)]
    found = {name: torch.cat([row[name] for row in rows]) for name in rows[0]}
    if not negative:
        return found
    opposite = stack_prompts(encoded, callers, negative, ())
    return found | {f"negative_{name}": value for name, value in opposite.items()}


class ImageEncodings:
    """Lets an autoencoder encode a caller's image only once, as long as the image is in the cache.

    Pipelines encode one image at a time, because each image has its own generator. The cache contains the
    distribution from which a pipeline draws.
    """

    def __init__(self, autoencoder: AutoencoderKL) -> None:
        """Replace the autoencoder's ``encode``."""
        self._autoencoder, self._encode = autoencoder, autoencoder.encode
        self._cache: BoundedCache[AutoencoderKLOutput] = BoundedCache(_MOST_BYTES, _bytes_of_distribution)
        self._callers: deque[str] = deque()
        autoencoder.encode = self._encode_once

    def expect(self, callers: Iterable[str]) -> None:
        """Begin a run with images of these callers. The images are encoded in the callers' order."""
        self._callers = deque(callers)

    def _encode_once(self, x: Tensor, return_dict: bool = True) -> AutoencoderKLOutput | tuple[Any]:
        # Encode a copy, because an image's position in memory must not change a bit of the encoding.
        def encode() -> AutoencoderKLOutput:
            return self._encode(x.clone())

        if len(x) == 1 and self._callers:
            key = (self._callers.popleft(), _digest(x), self._autoencoder.dtype)
            found = self._cache.get(key, encode)
        else:  # several at once: nobody knows whose they are
            found = encode()
        return found if return_dict else (found.latent_dist,)


def _digest(pixels: Tensor) -> bytes:
    digest = hashlib.sha256(f"{tuple(pixels.shape)} {pixels.dtype} {pixels.device}".encode())
    digest.update(pixels.detach().cpu().contiguous().view(torch.uint8).numpy().data)
    return digest.digest()


def _bytes_of_distribution(encoded: AutoencoderKLOutput) -> int:
    return sum(_bytes(each) for each in vars(encoded.latent_dist).values() if isinstance(each, Tensor))


def _bytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()
