"""Turn images into the JSON of an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pcevolve_server.errors import ContentRejectedError, GenerationError
from pcevolve_server.work import Picture
from pcevolve_shared import images, limits
from pcevolve_shared.wire import BatchResponse, GeneratedImage, GenerationRequest, ImageResponse

_COST = 0.0


@dataclass(frozen=True)
class EncodedResponse:
    """A response's JSON, and the value of its header."""

    body: str
    cut_tokens: int


Layout = Callable[[Sequence[GeneratedImage]], str]
"""Puts images into an API's JSON."""


def native(made: Sequence[GeneratedImage]) -> str:
    """Return the native JSON. A single image is not in a list."""
    if len(made) == 1:
        return ImageResponse(**made[0].model_dump(), cost=_COST).model_dump_json()
    return BatchResponse(images=tuple(made), cost=_COST).model_dump_json()


def render(
    body: GenerationRequest, seeds: Sequence[int], pictures: Sequence[Picture], layout: Layout
) -> EncodedResponse:
    """Return the answer to ``body``. This takes a while, because images are compressed.

    Raises:
        ContentRejectedError: No picture has an image. If at least one has, the others are null.
        GenerationError: An image is too large for the contract.
    """
    made = [
        GeneratedImage(image=_encode(picture, body), seed=seed)
        for seed, picture in zip(seeds, pictures, strict=True)
    ]
    if all(each.image is None for each in made):
        raise ContentRejectedError(
            f"the safety checker refused {'the image' if len(made) == 1 else 'all images'} and every"
            " retry: change the prompt or, if the checker is wrong, as it can be about skin and"
            " wounds, start the server with --safety-checker off"
        )
    return EncodedResponse(layout(made), max(picture.cut_tokens for picture in pictures))


def _encode(picture: Picture, body: GenerationRequest) -> str | None:
    image = picture.image
    if image is None:
        return None
    data = images.encode(image, body.output_format, fast=True)
    if len(data) > limits.MAX_IMAGE_BYTES:
        raise GenerationError("the image is larger than the contract allows", code="image_too_large")
    return images.to_base64(data)
