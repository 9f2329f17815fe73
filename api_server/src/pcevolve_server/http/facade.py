"""OpenAI's Images API on top of the native API. Translates fields of OpenAI and Stable Diffusion in both directions.

Bodies are bounded before they reach this module, and nothing is copied twice.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pcevolve_server.errors import InvalidRequestError, TooLargeError
from pcevolve_shared import containers, images, limits, wire
from pcevolve_shared.wire import GeneratedImage, ImageToImageRequest, TextToImageRequest, WireModel

_SIZE: Final = re.compile(r"([1-9][0-9]{0,4})x([1-9][0-9]{0,4})")
_AUTO: Final = "auto"
_NATIVE: Final = {"num_inference_steps": "steps", "guidance_scale": "guidance"}
_SHARED: Final = (
    "model",
    "prompt",
    "negative_prompt",
    "n",
    "seed",
    "output_format",
    "strength",
)


_Ignored = Annotated[str | None, Field(max_length=256, description="For clients of OpenAI's API; ignored.")]


class GenerationFields(WireModel):
    """``POST`` :data:`~pcevolve_shared.wire.OPENAI_GENERATIONS`, with the limits of the native fields."""

    model: Annotated[wire.Name | None, Field(description="Absent: the one that the server has.")] = None
    prompt: wire.Prompt
    n: Annotated[int, Field(ge=1, le=limits.MAX_BATCH), wire.WHOLE] = 1
    size: Annotated[
        str | None,
        Field(
            max_length=11,
            description="WIDTHxHEIGHT; absent or auto: the model's own.",
            json_schema_extra={"pattern": rf"^({_AUTO}|{_SIZE.pattern})$"},
        ),
    ] = None
    response_format: Literal["b64_json"] = "b64_json"
    output_format: wire.OutputFormat = "png"
    background: Annotated[
        Literal["auto", "opaque"] | None, Field(description="Images have no transparency.")
    ] = None
    stream: bool | None = None
    partial_images: Annotated[int | None, Field(ge=0, le=3)] = None
    quality: _Ignored = None
    style: _Ignored = None
    moderation: _Ignored = None
    user: _Ignored = None
    negative_prompt: Annotated[wire.Prompt, Field(description="Extension.")] = ""
    num_inference_steps: Annotated[
        int | None, Field(ge=1, le=limits.MAX_STEPS, description="Extension."), wire.WHOLE
    ] = None
    guidance_scale: Annotated[float | None, Field(ge=0, le=limits.MAX_GUIDANCE, description="Extension.")] = (
        None
    )
    seed: Annotated[wire.Seed | None, Field(description="Extension; image k takes seed + k.")] = None


class EditFields(GenerationFields):
    """The text fields of ``POST`` :data:`~pcevolve_shared.wire.OPENAI_EDITS`. A form sends all fields as text."""

    model_config = ConfigDict(strict=False)

    strength: Annotated[wire.Fraction, Field(description="Extension; 0 returns the input.")] = 0.5


def text_to_image(fields: GenerationFields) -> TextToImageRequest:
    """Return the native request.

    Raises:
        InvalidRequestError: The size is not ``WIDTHxHEIGHT``.
    """
    _refuse_streaming(fields)
    given = _native(fields)
    if fields.size not in (None, _AUTO):
        given["width"], given["height"] = _sides(fields.size)
    try:
        return TextToImageRequest(**given)
    except ValidationError as error:
        raise InvalidRequestError(f"size: {error.errors()[0]['msg']}") from None


def image_to_image(content_type: str, body: bytes) -> ImageToImageRequest:
    """Return the native request of a form.

    Raises:
        InvalidRequestError: The body is not a form, a field is wrong, or there is no image.
    """
    parts = parse_form(content_type, body)
    image = parts.pop("image", None)
    if image is None:
        raise InvalidRequestError("image: missing")
    if "mask" in parts:
        raise InvalidRequestError("mask: this server varies whole images: leave out the mask")
    fields = _edit_fields(parts)
    _refuse_streaming(fields)
    _check_image(image, fields.size)
    return ImageToImageRequest(**_native(fields), image=images.to_base64(image))


def answer(made: Sequence[GeneratedImage]) -> str:
    return json.dumps({"created": int(time.time()), "data": [{"b64_json": each.image} for each in made]})


def _refuse_streaming(fields: GenerationFields) -> None:
    if fields.stream or fields.partial_images:
        raise InvalidRequestError(
            "stream: this server sends only complete answers: leave out stream and partial_images"
        )


def _native(fields: BaseModel) -> dict[str, Any]:
    """Return the given fields under their native names. Absent fields stay absent."""
    # Only given fields are passed on, so that the native request's own defaults apply to the rest.
    given = fields.model_dump(include=fields.model_fields_set, exclude_none=True)
    return {_NATIVE.get(name, name): value for name, value in given.items() if name in (*_SHARED, *_NATIVE)}


def _edit_fields(parts: dict[str, bytes]) -> EditFields:
    if sum(map(len, parts.values())) > limits.MAX_FIELDS_BYTES:
        raise TooLargeError(f"the form is longer than {limits.MAX_FIELDS_BYTES} bytes apart from the image")
    try:
        return EditFields.model_validate({name: value.decode() for name, value in parts.items()})
    except UnicodeDecodeError:
        raise InvalidRequestError("a field of the form is not UTF-8") from None
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False)[0]
        raise InvalidRequestError(f"{fault['loc'][0]}: {fault['msg']}") from None


def _check_image(image: bytes, size: str | None) -> None:
    """Before decoding, refuse bytes that are too large or not an image, and a size that would need a resize."""
    # Only the header is read: nothing is decoded before its size is known.
    if len(image) > limits.MAX_IMAGE_BYTES:
        raise InvalidRequestError(f"image: more than {limits.MAX_IMAGE_BYTES} bytes", code="invalid_image")
    try:
        header = containers.read(image)
    except images.ImageError as error:
        raise InvalidRequestError(f"image: {error}", code="invalid_image") from error
    if size not in (None, _AUTO) and _sides(size) != (header.width, header.height):
        raise InvalidRequestError(
            "size: the answer has the size of the image: leave out size, or give the image's size"
        )


def _sides(size: str | None) -> tuple[int, int]:
    found = _SIZE.fullmatch(size or "")
    if found is None:
        raise InvalidRequestError("size: must be WIDTHxHEIGHT or auto")
    return int(found[1]), int(found[2])


_MAX_PARTS: Final = 32
_MAX_HEAD_BYTES: Final = 2048
_KIND: Final = re.compile(
    r'multipart/form-data; *boundary=("?)([0-9A-Za-z\'()+_,./:=?-]{1,70})\1', re.IGNORECASE
)
_NAME: Final = re.compile(
    rb'(?:^|\r\n)content-disposition: *form-data; *name="([A-Za-z0-9_\[\]]{1,64})"', re.IGNORECASE
)


def parse_form(content_type: str, body: bytes) -> dict[str, bytes]:
    """Return a form's parts by name.

    Raises:
        InvalidRequestError: The body is not a form, is incomplete, or has a part twice.
    """
    kind = _KIND.fullmatch(content_type.strip())
    if kind is None:
        raise InvalidRequestError("the body is not multipart/form-data with a boundary")
    # Split off one part more than allowed, so that too many parts are noticed without splitting the whole body.
    pieces = (b"\r\n" + body).split(b"\r\n--" + kind[2].encode("ascii"), _MAX_PARTS + 2)
    if len(pieces) < 2 or pieces[0] or pieces[-1].rstrip(b"\r\n") != b"--":
        raise InvalidRequestError(
            "the form is cut off, has too many parts, or does not begin with its boundary"
        )
    parts: dict[str, bytes] = {}
    for piece in pieces[1:-1]:
        name, content = _part(piece)
        if name in parts:
            raise InvalidRequestError(f"{name}: given twice")
        parts[name] = content
    return parts


def _part(piece: bytes) -> tuple[str, bytes]:
    end = piece.find(b"\r\n\r\n", 0, _MAX_HEAD_BYTES)
    name = _NAME.search(piece[2:end]) if piece.startswith(b"\r\n") and end > 0 else None
    if name is None:
        raise InvalidRequestError("a part of the form has no name, or one that is not plain")
    return name[1].decode("ascii").removesuffix("[]"), piece[end + 4 :]
