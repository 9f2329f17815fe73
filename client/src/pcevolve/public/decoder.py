"""The process that decodes foreign images for a keeper; it has neither private files nor a network.

Bytes from a provider may take over a decoder. Beside private images that would give the provider access to
them; here it reaches only candidates, which the provider made. The decoder returns pixels, which need no
decoding. Pillow is the only library that it imports.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pcevolve.public.processes.pipe import GoneError, Pipe
from pcevolve_shared import images


def serve(_orders: Mapping[str, Any], _enforced: object, _up: Pipe, keeper: Pipe) -> None:
    """Decode what the keeper sends, until it sends no more."""
    with suppress(GoneError):
        while (told := keeper.receive())[0] == "decode":
            try:
                image = images.decode(base64.b64decode(json.loads(told[1])))
            except images.ImageError:
                keeper.send("none")
                continue
            pixels = base64.b64encode(image.tobytes()).decode("ascii")
            width, height = image.size
            keeper.send("picture", json.dumps({"width": width, "height": height, "pixels": pixels}))
