"""Published encoders: whether ``--encoder auto`` takes one that was fetched, and ``pcevolve fetch-encoder``.

What was fetched is told by files' names alone. A run fetches nothing, for a run talks to the configured API and to
nobody else; weights come into the library's cache by a process that reads no private data.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, Literal

from pcevolve.encoders import (
    AUTO,
    BUNDLED,
    CLIP_FILES,
    CLIP_REPOSITORY,
    RESNET18_FILE,
    SHIPPED,
    TRANSFORMER,
    VISION,
    WORDS,
    embeds_texts,
    has_torch,
    require_encoder,
    require_torch,
)
from pcevolve.errors import ModelError, UsageError

_TIMEOUT_S = 10.0  # per socket operation


def resolve(name: str, kind: Literal["image", "text"] = "image") -> tuple[str, str]:
    """Return the encoder that a run uses, and why, if ``auto`` chose it; the choice depends on no private data.

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
    return BUNDLED, f"{' and '.join(PREFERRED)} were not fetched (pcevolve fetch-encoder NAME)"


def is_fetched(name: str) -> bool:
    """True if torch and the published weights of ``clip`` or ``resnet18`` are at hand; nobody is asked.

    Raises:
        ValueError: The encoder is another one, of which nobody knows where its weights would lie.
    """
    if name not in _HAS_WEIGHTS:
        raise ValueError(
            f"only {' and '.join(_HAS_WEIGHTS)} are looked for among what was fetched, not '{name}'"
        )
    return has_torch() and _HAS_WEIGHTS[name]()


def _has_clip() -> bool:
    from huggingface_hub import constants

    if not (Path(constants.HF_HUB_CACHE) / f"models--{CLIP_REPOSITORY.replace('/', '--')}").is_dir():
        return False  # as on most machines; what looks closer takes long to import
    from huggingface_hub import try_to_load_from_cache

    return any(isinstance(try_to_load_from_cache(CLIP_REPOSITORY, file), str) for file in CLIP_FILES)


def _has_resnet18() -> bool:
    return (hub_folder() / "checkpoints" / RESNET18_FILE).is_file()


_HAS_WEIGHTS: Final[Mapping[str, Callable[[], bool]]] = {"clip": _has_clip, "resnet18": _has_resnet18}
PREFERRED: Final = tuple(_HAS_WEIGHTS)
"""Published encoders that ``auto`` takes, better first: who fetched one wants it used."""


def hub_folder() -> Path:
    """Where torch keeps what it downloads, as ``torch.hub.get_dir`` says, which takes seconds to import."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))  # noqa: PTH118 - a home may begin with ~
    return Path(home).expanduser() / "hub"


def fetch_encoder(name: str) -> None:
    """Download an encoder's published weights.

    Raises:
        UsageError: No such encoder, or one that needs no download.
        ModelError: The origin cannot be reached, or the download failed.
    """
    require_encoder(name)
    if name in SHIPPED or name == WORDS:
        raise UsageError(f"encoder {name} comes with the client: there is nothing to fetch")
    if embeds_texts(name):
        raise UsageError(
            f"encoder {name} is fetched by its library: hf download {name.removeprefix(TRANSFORMER)}"
        )
    require_torch(f"encoder {name}")
    if name in VISION:
        from pcevolve.encoders.loading import find_vision_weights

        weights = find_vision_weights(name)
        with _reaching(name, str(weights), str(weights.url)):
            weights.get_state_dict(progress=True, check_hash=True, weights_only=True)
    else:
        _fetch_clip(name)


def _fetch_clip(name: str) -> None:
    import open_clip
    from huggingface_hub import constants

    from pcevolve.encoders.loading import find_clip_weights, parse_clip_name

    model_id, tag = parse_clip_name(name)
    config = find_clip_weights(model_id, tag)
    with _reaching(name, f"{model_id} {tag}", f"{constants.ENDPOINT}/{str(config['hf_hub']).rstrip('/')}"):
        open_clip.download_pretrained(config)


@contextlib.contextmanager
def _reaching(name: str, weights: str, url: str) -> Iterator[None]:
    """Let a library download inside this block, bounded in time and with its failure in one line.

    The origin is asked once beforehand: the libraries themselves retry for minutes when offline.
    """
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_TIMEOUT_S)
    try:
        _ask(url)
        yield
    except (OSError, RuntimeError) as error:
        raise ModelError(
            f"encoder {name}: {url} gave {type(error).__name__}, so weights {weights} were not fetched: "
            "download them where there is a network and pass --set encoder.weights=PATH, or use bundled"
        ) from error
    finally:
        socket.setdefaulttimeout(before)


def _ask(url: str) -> None:
    """Raise OSError unless the origin answers; any HTTP status is an answer."""
    if not url.startswith("https://"):
        raise OSError("not https")
    from urllib.error import HTTPError  # which every run would load that asks for an encoder's name
    from urllib.request import Request, urlopen

    # A refusal such as 403 to HEAD is the library's to handle.
    with contextlib.suppress(HTTPError), urlopen(Request(url, method="HEAD")):  # noqa: S310
        return
