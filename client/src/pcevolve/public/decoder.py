"""The process that decodes a provider's images for the keeper; it has neither private files nor a network.

Malicious bytes from a provider may take over a decoder. In the keeper, this would expose the private images. In
this process, it exposes only candidates, which the provider made itself. The decoder returns raw pixels, which
need no decoding. Pillow is its only library, imported with the first image.
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
"""Time limit for one image in seconds, after which this process ends.

No known file takes this long: ``pcevolve_shared.containers`` counts a file's parts before they are decoded. The
slowest file that it admits takes a second.
"""


def serve(_orders: Mapping[str, Any], _enforced: object, _up: Pipe, keeper: Pipe) -> None:
    """Decode images for the keeper until the keeper ends."""
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
    """Decode a provider's image in this process, which ends if decoding takes a minute; None for an undecodable image.

    The decoder and the runner call this function, each from one thread.
    """
    from pcevolve_shared import images  # deferred: a run of texts decodes no images

    # Python cannot interrupt a decoder written in C. This timer is a C thread that ends the process at any point.
    faulthandler.dump_traceback_later(MOST_SECONDS, file=_nowhere(), exit=True)
    try:
        return images.decode(data)
    except images.ImageError:
        return None
    finally:
        faulthandler.cancel_dump_traceback_later()


@cache
def _nowhere() -> IO[str]:
    """Open a file that discards the traceback, which would hide the message to the owner about the process's end."""
    return open(os.devnull, "w")  # noqa: PTH123 - pathlib takes 10 ms to import; open while this process is
