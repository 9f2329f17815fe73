"""``--encoder auto``: a published encoder where one was fetched, else the bundled one; from files' names alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from pcevolve.encoders import (
    BUNDLED,
    CLIP_FILES,
    CLIP_REPOSITORY,
    RESNET18_FILE,
    WORDS,
    embeds_texts,
    has_torch,
)
from pcevolve.errors import UsageError

AUTO = "auto"
PREFERRED = ("clip", "resnet18")
"""Published encoders, better first: who fetched one wants it used."""


def resolve(name: str, kind: Literal["image", "text"] = "image") -> tuple[str, str]:
    """Return the encoder that a run uses, and why, if ``auto`` chose it; the choice depends on no private data.

    Args:
        name: ``auto``, or an encoder's name, which is returned as it is.
        kind: Of what is embedded.

    Returns:
        A name that ``load_encoder`` takes, and a reason, empty unless ``auto`` was asked for.

    Raises:
        UsageError: The encoder is for another kind.
    """
    if name != AUTO:
        if embeds_texts(name) != (kind == "text"):
            raise UsageError(
                f"encoder '{name}' does not embed {kind}s: choose another --encoder, or leave it out"
            )
        return name, ""
    if kind == "text":
        return WORDS, "it is the one for texts"
    for published in PREFERRED:
        if is_fetched(published):
            return published, "its published weights were fetched to this machine"
    return BUNDLED, f"none of {' and '.join(PREFERRED)} was fetched to this machine (pcevolve fetch-encoder)"


def is_fetched(name: str) -> bool:
    """True if torch and the published weights of ``clip`` or ``resnet18`` are at hand; nobody is asked."""
    if not has_torch():
        return False
    if name == "clip":
        from huggingface_hub import constants

        if not (Path(constants.HF_HUB_CACHE) / f"models--{CLIP_REPOSITORY.replace('/', '--')}").is_dir():
            return False  # as on most machines; what looks closer takes long to import
        from huggingface_hub import try_to_load_from_cache

        return any(isinstance(try_to_load_from_cache(CLIP_REPOSITORY, file), str) for file in CLIP_FILES)
    return (hub_folder() / "checkpoints" / RESNET18_FILE).is_file()


def hub_folder() -> Path:
    """Where torch keeps what it downloads, as ``torch.hub.get_dir`` says, which takes seconds to import."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))  # noqa: PTH118 - a home may begin with ~
    return Path(home).expanduser() / "hub"
