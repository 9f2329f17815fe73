"""What text encoders make of a prompt and an autoencoder of an image: once for each, always one at a time.

Whatever runs one at a time cannot depend on its companions; and what is kept has the bits that it would have if it were
computed anew. The variations of one prototype share both encodings, in one run or several, of one request or several.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch
from diffusers import AutoencoderKL, DiffusionPipeline
from diffusers.models.modeling_outputs import AutoencoderKLOutput
from torch import Tensor

from pcevolve_server.diffusion import traits
from pcevolve_server.diffusion.kept import Kept

_MOST_BYTES: Final = 64 * 2**20
"""Of prompts, and of images: 280 prompts of Stable Diffusion 1.5, 15 of Flux; 170 images of 512 x 512 pixels."""
MOST_BYTES: Final = 2 * _MOST_BYTES
"""Of all that is kept beside a model's weights."""

Prompt = Callable[[str], Mapping[str, Tensor]]
"""From a text to its embeddings, one row each, by the names under which a pipeline takes them."""

# What ``encode_prompt`` returns, by diffusers' names of the families; where it is none of a call's arguments, nothing.
_SEVERAL: Final = ("prompt_embeds", "", "pooled_prompt_embeds", "")
_RETURNED: Final = {
    "stable-diffusion": ("prompt_embeds", ""),
    "lcm": ("prompt_embeds", ""),
    "stable-diffusion-xl": _SEVERAL,
    "stable-diffusion-3": _SEVERAL,
    "flux": ("prompt_embeds", "pooled_prompt_embeds", ""),
}


def prompts_of(pipeline: DiffusionPipeline) -> Prompt | None:
    """What embeds the prompts of a pipeline, and keeps the last of them; None for families that have to themselves."""
    names = _RETURNED.get(traits.family(pipeline))
    if names is None:
        return None
    arguments = _arguments(pipeline)
    kept: Kept[dict[str, Tensor]] = Kept(_MOST_BYTES, lambda each: sum(map(_bytes, each.values())))

    def embedded(prompt: str) -> dict[str, Tensor]:
        # What is kept would otherwise keep all that it was computed from, for gradients that nobody asks for.
        with torch.inference_mode():
            returned = pipeline.encode_prompt(prompt=prompt, **arguments)
        return {name: found for name, found in zip(names, returned, strict=True) if name}

    return lambda prompt: kept.get(prompt, lambda: embedded(prompt))


def _arguments(pipeline: DiffusionPipeline) -> dict[str, Any]:
    """How all prompts of a pipeline are embedded: the same text for each encoder, once, without a negative one."""
    known = inspect.signature(pipeline.encode_prompt).parameters
    wanted = {
        "prompt_2": None,  # as the first
        "prompt_3": None,
        "device": pipeline.device,
        "num_images_per_prompt": 1,
        "do_classifier_free_guidance": False,
    }
    return {name: value for name, value in wanted.items() if name in known}


def together(encoded: Prompt, positive: Sequence[str], negative: Sequence[str]) -> dict[str, Tensor]:
    """Arguments of a pipeline's call for prompts and as many negative ones, or none."""
    rows = [encoded(each) for each in positive]
    found = {name: torch.cat([row[name] for row in rows]) for name in rows[0]}
    if not negative:
        return found
    return found | {f"negative_{name}": value for name, value in together(encoded, negative, ()).items()}


def remember_images(autoencoder: Any) -> None:  # noqa: ANN401 - it gets another method
    """Let an autoencoder encode an image once, however often it is asked for, as long as others do not take its place.

    Pipelines encode one image at a time, because each has a generator of its own; what is kept is the distribution from
    which they draw. Autoencoders of other kinds than that of Stable Diffusion and Flux stay as they are.
    """
    if not isinstance(autoencoder, AutoencoderKL):
        return
    encode = autoencoder.encode
    kept: Kept[AutoencoderKLOutput] = Kept(_MOST_BYTES, _bytes_of_distribution)

    def encoded(x: Tensor, return_dict: bool = True) -> AutoencoderKLOutput | tuple[Any]:
        # Of a copy: where in memory an image lies, alone or among others, must not show in any bit.
        found = kept.get((_digest(x), autoencoder.dtype), lambda: encode(x.clone()))
        return found if return_dict else (found.latent_dist,)

    autoencoder.encode = encoded


def _digest(pixels: Tensor) -> bytes:
    """Of shape, type and every bit."""
    digest = hashlib.sha256(f"{tuple(pixels.shape)} {pixels.dtype} {pixels.device}".encode())
    digest.update(pixels.detach().cpu().contiguous().view(torch.uint8).numpy().data)
    return digest.digest()


def _bytes_of_distribution(encoded: AutoencoderKLOutput) -> int:
    return sum(_bytes(each) for each in vars(encoded.latent_dist).values() if isinstance(each, Tensor))


def _bytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()
