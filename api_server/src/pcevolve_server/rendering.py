"""From pictures to the JSON of an answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pcevolve_server.errors import ContentRejectedError, GenerationError
from pcevolve_server.generator import Picture
from pcevolve_shared import images, limits
from pcevolve_shared.wire import (
    BatchResponse,
    GeneratedImage,
    GenerationRequest,
    ImageResponse,
    LinkBatchResponse,
    LinkedImage,
    LinkResponse,
)

_COST_PER_IMAGE = 0.0
_EFFORT = 3
"""Of compression: half the time of the usual 6, for files that are a hundredth larger."""


@dataclass(frozen=True)
class Answer:
    """A response's JSON and what its headers tell."""

    body: str
    cut_tokens: int


Spelling = Callable[[Sequence[GeneratedImage]], str]
"""How an API puts images into JSON."""
Linking = Callable[[Sequence[GeneratedImage]], Sequence[LinkedImage]]
"""Keeps images, and says where they can be fetched."""


def native(made: Sequence[GeneratedImage]) -> str:
    """Return the native JSON: a single image stands alone."""
    cost = _COST_PER_IMAGE * len(made)
    response = (
        ImageResponse(image=made[0].image, seed=made[0].seed, cost=cost)
        if len(made) == 1
        else BatchResponse(images=tuple(made), cost=cost)
    )
    return response.model_dump_json()


def native_links(linked: Linking, made: Sequence[GeneratedImage]) -> str:
    """Return the native JSON with an address in place of each image."""
    cost, links = _COST_PER_IMAGE * len(made), linked(made)
    response = (
        LinkResponse(url=links[0].url, seed=links[0].seed, cost=cost)
        if len(links) == 1
        else LinkBatchResponse(images=tuple(links), cost=cost)
    )
    return response.model_dump_json()


def render(
    body: GenerationRequest, seeds: Sequence[int], pictures: Sequence[Picture], spelled: Spelling
) -> Answer:
    """Return the answer to ``body``; takes a while, for images are compressed.

    Raises:
        ContentRejectedError: One of the pictures has no image.
        GenerationError: An image is too large for the contract.
    """
    made = [
        GeneratedImage(image=_encoded(picture, body), seed=seed)
        for seed, picture in zip(seeds, pictures, strict=True)
    ]
    return Answer(spelled(made), max(picture.cut_tokens for picture in pictures))


def _encoded(picture: Picture, body: GenerationRequest) -> str:
    if picture.image is None:
        raise ContentRejectedError("the safety checker refused the image and every retry: change the prompt")
    data = images.encode(picture.image, body.output_format, _EFFORT)
    if len(data) > limits.MAX_IMAGE_BYTES:
        raise GenerationError("the image is larger than the contract allows", code="image_too_large")
    return images.to_base64(data)
