"""A published image-to-text model on this machine, such as BLIP or ViT with GPT-2, by directory or hub's id."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import torch

from pcevolve.public.encoders.pretrained import load_pretrained
from pcevolve.public.media import Item

LONGEST: Final = 60
"""Tokens of a caption."""


@dataclass(frozen=True, eq=False)
class ModelCaptioner:
    """A ``Captioner`` that asks a network, without sampling: the same image gets the same caption.

    Attributes:
        name: Of its directory or on its hub, and the digest of its weights.
        network: In eval mode.
        processor: Brings images into the network's form.
        tokenizer: Reads what the network says.
    """

    name: str
    network: Any = field(repr=False)
    processor: Any = field(repr=False)
    tokenizer: Any = field(repr=False)

    def captions(self, images: Sequence[Item]) -> list[str]:
        """Caption each image by the network, one by one."""
        return [self._one(each) for each in images]

    @torch.inference_mode()
    def _one(self, image: Item) -> str:
        pixels = self.processor(images=image.convert("RGB"), return_tensors="pt")["pixel_values"]
        said = self.network.generate(pixel_values=pixels, max_new_tokens=LONGEST, do_sample=False)
        return str(self.tokenizer.decode(said[0], skip_special_tokens=True))


def load_captioner(source: str) -> ModelCaptioner:
    """Load a model from a directory, or a hub's from its library's cache; nothing is downloaded, no code of it is run.

    Args:
        source: Directory, or id.

    Raises:
        ModelError: The library or the files are not at hand, or it is no such model.
    """
    network, processor, tokenizer = load_pretrained(
        f"captioner {source}",
        source,
        source,
        "--captioner ",
        "AutoModelForImageTextToText",
        "AutoImageProcessor",
        "AutoTokenizer",
    )
    path = Path(source).expanduser()
    named = f"{path.name if path.is_dir() else source} ({_digest(network)[:16]})"
    return ModelCaptioner(named, network, processor, tokenizer)


def _digest(network: torch.nn.Module) -> str:
    """SHA-256 of all weights by name, whatever files they came in."""
    found = hashlib.sha256()
    for name, weights in sorted(network.state_dict().items()):
        found.update(f"{name} {weights.dtype} {tuple(weights.shape)}\n".encode())
        found.update(weights.contiguous().view(torch.uint8).numpy().tobytes() if weights.numel() else b"")
    return found.hexdigest()
