"""Get the pixels of a provider's images from the decoder process (``public/decoder.py``)."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from typing import Annotated

from PIL import Image
from pydantic import BaseModel, ConfigDict, Field

from pcevolve.errors import ProtocolError
from pcevolve.public.media.images.decoding import DecodedImage
from pcevolve.public.processes.pipe import GoneError, Pipe, PipeError
from pcevolve_shared.limits import MAX_PIXELS, MAX_SIDE

_FAULT = "the process that decodes images {}; what is paid for is on record: --resume goes on"
_ENDED = "ended, as it does after a minute with one image"


class DecodedPixels(BaseModel):
    """The pixels of an image: RGB, one byte per channel, row by row, in base64."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    width: Annotated[int, Field(ge=1, le=MAX_SIDE)]
    height: Annotated[int, Field(ge=1, le=MAX_SIDE)]
    pixels: Annotated[str, Field(max_length=4 * MAX_PIXELS)]

    def draw(self) -> DecodedImage:
        """Return the image (``ValueError`` if the number of pixels is wrong)."""
        pixels = base64.b64decode(self.pixels, validate=True)
        if len(pixels) != 3 * self.width * self.height:
            raise ValueError("another number of pixels")
        return Image.frombytes("RGB", (self.width, self.height), pixels)


class Elsewhere:
    """Decodes in the process at the other end of a pipe."""

    def __init__(self, pipe: Pipe) -> None:
        """Take a pipe for exclusive use. Requests are sent one at a time."""
        self._pipe = pipe

    def decode(self, data: bytes) -> DecodedImage | None:
        """Return an image's pixels; None if it is undecodable (``ProtocolError`` if the process has ended)."""
        try:
            self._pipe.send("decode", json.dumps(base64.b64encode(data).decode("ascii")))
            name, body = self._pipe.receive()
            return None if name == "none" else DecodedPixels.model_validate_json(body).draw()
        except GoneError:
            raise ProtocolError(_FAULT.format(_ENDED)) from None
        except (PipeError, ValueError):
            raise ProtocolError(_FAULT.format("sent what is no image")) from None

    def end(self) -> None:
        """Tell the process that there are no more images to decode."""
        with suppress(GoneError):
            self._pipe.send("end")
