"""The process that decodes strangers' images for a keeper, and has neither a private file nor a network.

A decoder is what bytes of anybody's get hold of first. Beside private images it would be the provider's way to them;
here it reaches candidates alone, which the provider has made. What it sends back are pixels, which need no decoder.
Pillow is all that it imports.
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
    """Decode what the keeper of a run sends, until it needs no more."""
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
