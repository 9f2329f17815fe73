"""The process that decodes foreign images for a keeper; it has neither private files nor a network.

Bytes from a provider may take over a decoder. Beside private images that would give the provider access to
them; here it reaches only candidates, which the provider made. The decoder returns pixels, which need no
decoding. Pillow is the only library that it imports, with the first image.
"""

from __future__ import annotations

import base64
import faulthandler
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import IO, TYPE_CHECKING, Any, Final

from pcevolve.public.processes.pipe import GoneError, Pipe

if TYPE_CHECKING:
    from pcevolve.public.media.images.decoding import DecodedImage

MOST_SECONDS: Final = 60.0
"""Time limit for one image, after which this process ends.

No file is known to take so long: ``pcevolve_shared.containers`` counts a file's parts before they are decoded, and the
slowest file that it admits takes a second.
"""


def serve(_orders: Mapping[str, Any], _enforced: object, _up: Pipe, keeper: Pipe) -> None:
    """Decode the keeper's images until the keeper ends."""
    with suppress(GoneError):
        while (message := keeper.receive())[0] == "decode":
            image = decode_in_time(base64.b64decode(json.loads(message[1])))
            if image is None:
                keeper.send("none")
                continue
            pixels = base64.b64encode(image.tobytes()).decode("ascii")
            width, height = image.size
            keeper.send("picture", json.dumps({"width": width, "height": height, "pixels": pixels}))


def decode_in_time(data: bytes) -> DecodedImage | None:
    """Decode a provider's image in this process, which ends if that takes a minute; None for an undecodable one.

    For the decoder and the runner, each in one thread.
    """
    from pcevolve_shared import images  # a run of texts has none

    # A thread of C, which ends this process whatever the decoder is in the middle of.
    faulthandler.dump_traceback_later(MOST_SECONDS, file=_nowhere(), exit=True)
    try:
        return images.decode(data)
    except images.ImageError:
        return None
    finally:
        faulthandler.cancel_dump_traceback_later()


@cache
def _nowhere() -> IO[str]:
    """Open a file for the traceback, which would hide what the owner is told of the end."""
    return open(os.devnull, "w")  # noqa: PTH123 - pathlib takes 10 ms to import; open while this process is
