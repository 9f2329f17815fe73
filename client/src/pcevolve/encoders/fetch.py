"""``pcevolve fetch-encoder``: published weights into the library's cache, by a process that reads no private data.

A run never does this, for a run talks to the configured API and to nobody else.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from pcevolve.errors import ModelError, UsageError

_TIMEOUT_S = 10.0  # per socket operation


def fetch_encoder(name: str) -> None:
    """Download an encoder's published weights.

    Args:
        name: As ``load_encoder`` takes it.

    Raises:
        UsageError: No such encoder, or one that needs no download.
        ModelError: The origin cannot be reached, or the download failed.
    """
    from pcevolve.encoders import BUNDLED_FRAMES, VISION, require_encoder

    require_encoder(name)
    if name in BUNDLED_FRAMES:
        raise UsageError(f"encoder {name} comes with the client: there is nothing to fetch")
    if name in VISION:
        from pcevolve.encoders.vision import ARCHITECTURES

        weights = ARCHITECTURES[name].published
        with _reaching(name, str(weights), str(weights.url)):
            weights.get_state_dict(progress=True, check_hash=True, weights_only=True)
    else:
        _fetch_clip(name)


def _fetch_clip(name: str) -> None:
    import open_clip
    from huggingface_hub import constants

    from pcevolve.encoders.clip import find_published, parse_name

    model_id, tag = parse_name(name)
    config = find_published(model_id, tag)
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
    # A refusal such as 403 to HEAD is the library's to handle.
    with contextlib.suppress(HTTPError), urlopen(Request(url, method="HEAD")):  # noqa: S310
        return
