"""``pcevolve fetch-encoder``: downloads published weights into the cache of their library.

A run downloads nothing, because it connects to the configured API only. This process reads no private data.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator

from pcevolve.errors import ModelError, UsageError
from pcevolve.public.encoders import (
    FETCHED,
    SHIPPED,
    TRANSFORMER,
    VISION,
    require_encoder,
    require_torch,
)

_TIMEOUT_S = 10.0  # limit per socket operation


def fetch_encoder(name: str) -> None:
    """Download an encoder's published weights.

    Raises:
        UsageError: There is no such encoder, or it needs no download.
        ModelError: The host cannot be reached, or the download failed.
    """
    if name.partition(":")[0] not in (*FETCHED, *SHIPPED, TRANSFORMER.rstrip(":")):
        raise UsageError(
            f"encoder {name!r} cannot be fetched: choose one of {', '.join(FETCHED)} or clip:MODEL:TAG"
        )
    require_encoder(name)
    if name in SHIPPED:
        raise UsageError(f"encoder {name} is included in the client, so it need not be fetched")
    if name.startswith(TRANSFORMER):
        raise UsageError(
            f"encoder {name} is fetched with its own library: hf download {name.removeprefix(TRANSFORMER)}"
        )
    require_torch(f"encoder {name}")
    if name in VISION:
        from pcevolve.public.encoders.loading import find_vision_weights

        weights = find_vision_weights(name)
        with _reaching(name, str(weights), str(weights.url)):
            weights.get_state_dict(progress=True, check_hash=True, weights_only=True)
    else:
        _fetch_clip(name)


def _fetch_clip(name: str) -> None:
    # This way of downloading needs system calls that a confined process does not have.
    os.environ["HF_HUB_DISABLE_XET"] = "1"
    import open_clip
    from huggingface_hub import constants

    from pcevolve.public.encoders.loading import find_clip_weights, parse_clip_name

    model_id, tag = parse_clip_name(name)
    config = find_clip_weights(model_id, tag)
    with _reaching(name, f"{model_id} {tag}", f"{constants.ENDPOINT}/{str(config['hf_hub']).rstrip('/')}"):
        open_clip.download_pretrained(config)


@contextlib.contextmanager
def _reaching(name: str, weights: str, url: str) -> Iterator[None]:
    """Run a library's download inside this block, with a time limit and one-line errors.

    The host is contacted once beforehand, because the libraries retry for minutes when offline.
    """
    before = socket.getdefaulttimeout()
    # For the whole process, because the libraries take no time limit.
    socket.setdefaulttimeout(_TIMEOUT_S)
    try:
        _ask(url)
        yield
    except (OSError, RuntimeError) as error:
        raise ModelError(
            f"encoder {name}: weights {weights} could not be downloaded from {url} "
            f"({type(error).__name__}): download them on a machine with a network and give --set "
            "encoder.weights=PATH, or use bundled"
        ) from error
    finally:
        socket.setdefaulttimeout(before)


def _ask(url: str) -> None:
    """Raise OSError unless the host answers; any HTTP status is an answer."""
    if not url.startswith("https://"):
        raise OSError("not https")
    from urllib.error import HTTPError  # imported late: few runs need urllib
    from urllib.request import Request, urlopen

    # The library itself handles a refusal of HEAD, such as 403.
    with contextlib.suppress(HTTPError), urlopen(Request(url, method="HEAD")):  # noqa: S310
        return
