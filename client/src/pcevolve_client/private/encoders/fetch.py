"""Published weights: from the library's cache, or from its origin if that can be reached.

A request names public weights and nothing else; it is made before a run reads any image.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from pcevolve_client.errors import ModelError

_TIMEOUT_S = 10.0  # per socket operation


@contextlib.contextmanager
def download(encoder: str, weights: str, url: str) -> Iterator[None]:
    """Let a library download inside this block, bounded in time and with its failure in one line.

    The origin is asked once beforehand: the libraries themselves retry for minutes when offline.

    Args:
        encoder: The encoder's name.
        weights: Which weights are wanted.
        url: Where they come from, https.

    Raises:
        ModelError: The origin cannot be reached or the download failed.
    """
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_TIMEOUT_S)
    try:
        _ask(url)
        yield
    except (OSError, RuntimeError) as error:
        raise ModelError(
            f"encoder {encoder}: weights {weights} are not cached and {url} gave {type(error).__name__}: "
            "download them where there is a network and pass --encoder-weights PATH, or use bundled"
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
