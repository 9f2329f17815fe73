"""Published encoders: decide by file names whether ``--encoder auto`` uses a fetched encoder."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from pcevolve.errors import UsageError
from pcevolve.public.encoders import (
    AUTO,
    CLIP_FILES,
    CLIP_REPOSITORY,
    RESNET18_FILE,
    SHIPPED,
    find_embedded,
    has_torch,
)
from pcevolve.public.modality import MODALITIES, Kind


def resolve(name: str, kind: Kind = "image") -> tuple[str, str]:
    """Return the encoder that a run uses, and the reason if ``auto`` chose it. No private data are used.

    Returns:
        A name for ``load_encoder``, and a reason, which is empty unless the name was ``auto``.

    Raises:
        UsageError: The encoder is for another kind.
    """
    many = MODALITIES[kind].nouns.many
    if name != AUTO:
        if find_embedded(name) != kind:
            raise UsageError(
                f"encoder '{name}' does not embed {many}: choose another --encoder, or leave it out"
            )
        return name, ""
    found = list_at_hand(kind)[0]
    if found in PREFERRED:
        return found, "its published weights were fetched to this machine"
    published = [each for each in PREFERRED if find_embedded(each) == kind]
    if not published:
        return found, f"it is the one for {many}"
    return found, f"{' and '.join(published)} were not fetched (pcevolve fetch-encoder NAME)"


def list_at_hand(kind: Kind) -> list[str]:
    """List the available encoders of a kind, better ones first, the shipped one last."""
    own = next(name for name, each in SHIPPED.items() if each.embeds == kind)
    fetched = [each for each in PREFERRED if find_embedded(each) == kind and is_fetched(each)]
    return [*fetched, own]


def is_fetched(name: str) -> bool:
    """Return True if this machine has torch and the published weights of ``clip`` or ``resnet18``. Uses no network.

    Raises:
        ValueError: The encoder is neither of these. The place of its weights is not known here.
    """
    if name not in _HAS_WEIGHTS:
        raise ValueError(
            f"fetched weights can be looked up only for {' and '.join(_HAS_WEIGHTS)}, not for '{name}'"
        )
    return has_torch() and _HAS_WEIGHTS[name]()


def _has_clip() -> bool:
    if not (hugging_face_folder() / f"models--{CLIP_REPOSITORY.replace('/', '--')}").is_dir():
        return False  # as on most machines; what looks closer takes long to import
    from huggingface_hub import try_to_load_from_cache

    return any(isinstance(try_to_load_from_cache(CLIP_REPOSITORY, file), str) for file in CLIP_FILES)


def _has_resnet18() -> bool:
    return (hub_folder() / "checkpoints" / RESNET18_FILE).is_file()


_HAS_WEIGHTS: Final[Mapping[str, Callable[[], bool]]] = {"clip": _has_clip, "resnet18": _has_resnet18}
PREFERRED: Final = tuple(_HAS_WEIGHTS)
"""Published encoders that ``auto`` uses, better ones first. A user who fetched one wants to use it."""


def hugging_face_folder() -> Path:
    """Return huggingface_hub's download folder, which is the value of its ``HF_HUB_CACHE``."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("HF_HOME", os.path.join(cache, "huggingface"))  # noqa: PTH118 - as below
    found = os.environ.get("HUGGINGFACE_HUB_CACHE", os.path.join(home, "hub"))  # noqa: PTH118
    return Path(os.path.expandvars(os.environ.get("HF_HUB_CACHE", found))).expanduser()


def hub_folder() -> Path:
    """Return torch's download folder, as ``torch.hub.get_dir`` would. Importing torch would take seconds."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))  # noqa: PTH118 - a home may begin with ~
    return Path(home).expanduser() / "hub"
