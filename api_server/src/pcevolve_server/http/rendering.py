"""Images in an answer: in its JSON, or where they wait for some minutes to be fetched.

They lie in memory for some minutes. Who made an image fetches it, with the same key, by a name that nobody can guess.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from starlette.requests import Request

from pcevolve_server.errors import ContentRejectedError, GenerationError, InvalidRequestError, NotFoundError
from pcevolve_server.work import Picture
from pcevolve_shared import images, limits, wire
from pcevolve_shared.wire import (
    BatchResponse,
    GeneratedImage,
    GenerationRequest,
    ImageResponse,
    LinkBatchResponse,
    LinkedImage,
    LinkResponse,
    OutputFormat,
)

_COST = 0.0
_EFFORT = 3
"""Of compression: half the time of the usual 6, for files that are a hundredth larger."""


@dataclass(frozen=True)
class Answer:
    """A response's JSON and what its headers tell."""

    body: str
    cut_tokens: int


Made = Sequence[GeneratedImage] | Sequence[LinkedImage]
Layout = Callable[[Sequence[GeneratedImage]], str]
"""Puts images, or where they can be fetched, into an API's JSON."""


def native(made: Made) -> str:
    """Return the native JSON: a single image, or address, stands alone."""
    linked = isinstance(made[0], LinkedImage)
    one, several = (LinkResponse, LinkBatchResponse) if linked else (ImageResponse, BatchResponse)
    given = made[0].model_dump() if len(made) == 1 else {"images": tuple(made)}
    return (one if len(made) == 1 else several)(**given, cost=_COST).model_dump_json()


def render(
    body: GenerationRequest, seeds: Sequence[int], pictures: Sequence[Picture], spelled: Layout
) -> Answer:
    """Return the answer to ``body``; takes a while, for images are compressed.

    Raises:
        ContentRejectedError: No picture has an image; where one has, others' places stay empty.
        GenerationError: An image is too large for the contract.
    """
    made = [
        GeneratedImage(image=_encode(picture, body), seed=seed)
        for seed, picture in zip(seeds, pictures, strict=True)
    ]
    if all(each.image is None for each in made):
        raise ContentRejectedError(
            f"the safety checker refused {'the image' if len(made) == 1 else 'all images'} and every retry: change the"
            " prompt, or, where it errs, as of skin and wounds, start the server with --safety-checker off"
        )
    return Answer(spelled(made), max(picture.cut_tokens for picture in pictures))


def _encode(picture: Picture, body: GenerationRequest) -> str | None:
    if picture.image is None:
        return None
    data = images.encode(picture.image, body.output_format, _EFFORT)
    if len(data) > limits.MAX_IMAGE_BYTES:
        raise GenerationError("the image is larger than the contract allows", code="image_too_large")
    return images.to_base64(data)


SECONDS: Final = 600.0
"""That an image can be fetched for."""
MOST_BYTES: Final = 64 * 2**20
"""Of one key's images; the oldest go when there are more, and an answer may have no more."""
_NAME_BYTES: Final = 32
_HOST: Final = re.compile(r"(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")


@dataclass(frozen=True)
class StoredImage:
    """An image that can be fetched.

    Attributes:
        data: The file.
        media_type: Its kind.
        caller: The name of the key that it was made for.
        until: When it goes, by the store's clock.
    """

    data: bytes = field(repr=False)
    media_type: str
    caller: str
    until: float


class Links:
    """Images by name, the oldest first; safe to use from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._kept, self._lock = clock, OrderedDict[str, StoredImage](), threading.Lock()

    def of(
        self, caller: str, base: str, output_format: OutputFormat
    ) -> Callable[[Sequence[GeneratedImage]], list[LinkedImage]]:
        """Return a function that keeps a caller's images and returns where they are.

        Args:
            base: Of the addresses: the server's, as the caller wrote it, with a slash at the end.
        """
        return partial(self._link, caller, base, f"image/{output_format}")

    def find(self, name: str, caller: str) -> StoredImage:
        """Return the image of a name.

        Raises:
            NotFoundError: There is none, or none any more, or it is another caller's.
        """
        with self._lock:
            self._forget()
            found = self._kept.get(name)
        if found is None or found.caller != caller:
            raise NotFoundError(
                f"no image here: it can be fetched for {SECONDS / 60:.0f} minutes, by who asked for it",
                code="image_not_found",
            )
        return found

    def _link(
        self, caller: str, base: str, media_type: str, made: Sequence[GeneratedImage]
    ) -> list[LinkedImage]:
        names = [None if each.image is None else secrets.token_urlsafe(_NAME_BYTES) for each in made]
        files = {
            name: StoredImage(images.from_base64(each.image), media_type, caller, self._clock() + SECONDS)
            for name, each in zip(names, made, strict=True)
            if name is not None and each.image is not None
        }
        with self._lock:
            self._forget()
            self._make_room(caller, sum(len(each.data) for each in files.values()))
            self._kept.update(files)
        path = base + wire.LINKS.removeprefix("/")
        return [
            LinkedImage(url=None if name is None else f"{path}/{name}", seed=each.seed)
            for name, each in zip(names, made, strict=True)
        ]

    def _forget(self) -> None:
        """Let go of all whose time is over."""
        now = self._clock()
        while self._kept and next(iter(self._kept.values())).until <= now:
            self._kept.popitem(last=False)

    def _make_room(self, caller: str, needed: int) -> None:
        own = [name for name, each in self._kept.items() if each.caller == caller]
        held = needed + sum(len(self._kept[name].data) for name in own)
        for name in own:
            if held <= MOST_BYTES:
                return
            held -= len(self._kept.pop(name).data)


def address_of(request: Request) -> str:
    """Return the server's address as the caller wrote it, with a slash at the end.

    Raises:
        InvalidRequestError: The Host header is no name or address.
    """
    host = request.headers.get("Host", "")
    if not _HOST.fullmatch(host):
        raise InvalidRequestError(
            "the Host header is no name or address, so no image could be fetched from it"
        )
    return f"{request.scope['scheme']}://{host}/"
