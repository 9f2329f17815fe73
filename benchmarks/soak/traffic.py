"""Callers of the API server: some ask for images, others break every rule; each returns the status it got."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx
from PIL import Image

from pcevolve_shared import limits, wire

KEY, KEY_OF_BREAKERS = ("soak-" + each * 16 for each in "ab")
CLOSED = 0
"""Instead of a status: the connection ended without one, by whichever side."""
_OBJECTS = ["glyph", "digit", "letter", "leaf", "cell", "scan", "photograph", "texture", "tile", "engraving"]
_MANY = 64


@dataclass(frozen=True)
class Site:
    """Where the server is, and a client that keeps connections to it."""

    url: str
    client: httpx.AsyncClient

    async def post(self, path: str, body: object, key: str = KEY_OF_BREAKERS, timeout: float = 300) -> int:
        """Status of a request with a JSON body."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        answer = await self.client.post(path, content=content, headers=headers, timeout=timeout)
        if answer.status_code >= httpx.codes.BAD_REQUEST:
            wire.ErrorResponse.model_validate_json(answer.content)
        return answer.status_code

    async def raw(self, sent: bytes, pause: float = 0.0, read: bool = True) -> int:
        """Status after writing bytes to a connection of its own, slowly if there is a pause; then hang up."""
        parts = urlsplit(self.url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        try:
            for start in range(0, len(sent), 8 if pause else len(sent)):
                writer.write(sent[start : start + (8 if pause else len(sent))])
                await writer.drain()
                await asyncio.sleep(pause)
            line = await asyncio.wait_for(reader.readline(), 30) if read else b""
            return int(line.split()[1]) if line else CLOSED
        except (ConnectionError, TimeoutError):
            return CLOSED
        finally:
            writer.close()


Caller = Callable[[Site], Awaitable[int]]


def _prompt() -> str:
    """One of ten thousand: whatever is kept for each text grows for as long as nothing bounds it."""
    return f"A printed {random.choice(_OBJECTS)} image number {random.randrange(1000)}"


def _image() -> str:
    buffer = io.BytesIO()
    Image.linear_gradient("L").resize((64, 64)).rotate(random.randrange(360)).convert("RGB").save(
        buffer, "PNG"
    )
    return base64.b64encode(buffer.getvalue()).decode()


def _request_body(**changes: object) -> dict[str, object]:
    return {"prompt": _prompt(), "steps": 4, "guidance": 1.0, "seed": random.randrange(2**32)} | changes


async def creation(site: Site) -> int:
    """A few images by prompt."""
    return await site.post(wire.TEXT_TO_IMAGE, _request_body(n=random.choice((1, 1, 1, 4, 16))), KEY)


async def sized(site: Site) -> int:
    """An image of another size, up to sixteen times the model's own pixels."""
    width, height = random.choice((64, 128, 256)), random.choice((64, 128, 256))
    return await site.post(wire.TEXT_TO_IMAGE, _request_body(width=width, height=height), KEY)


async def variation(site: Site) -> int:
    """Variations of an image."""
    return await site.post(
        wire.IMAGE_TO_IMAGE, _request_body(image=_image(), strength=random.random(), n=2), KEY
    )


async def openai(site: Site) -> int:
    """An image as OpenAI's clients ask for it."""
    return await site.post(wire.OPENAI_GENERATIONS, {"prompt": _prompt(), "n": 2, "size": "auto"}, KEY)


async def list_models(site: Site) -> int:
    """Ask what models there are, and how the server is doing."""
    for path in (wire.MODELS, wire.METRICS, wire.READY):
        answer = await site.client.get(path, headers={"Authorization": f"Bearer {KEY}"})
    return answer.status_code


async def burst(site: Site) -> int:
    """More than the queue takes."""
    body = _request_body(n=_MANY, steps=20)
    asked = [site.post(wire.TEXT_TO_IMAGE, body, timeout=1200) for _ in range(8)]
    return max(await asyncio.gather(*asked))


async def nonsense(site: Site) -> int:
    """Bodies that are no request."""
    body = random.choice(
        (b"{", b"[]", b"null", b'{"prompt": 1e999}', b'{"prompt": "\xff"}', b"[" * 5000, b"{}")
    )
    return await site.post(wire.TEXT_TO_IMAGE, body)


async def impossible(site: Site) -> int:
    """Requests that no model can answer."""
    wrong = {"width": 9, "steps": 0, "n": 10**6, "model": "x" * 300, "scheduler": "none", "seed": -1}
    name, value = random.choice(list(wrong.items()))
    return await site.post(wire.TEXT_TO_IMAGE, _request_body(**{name: value}))


async def broken_image(site: Site) -> int:
    """Something else where an image should be."""
    text = random.choice(
        (_image()[:60], "AAAA", "not base64!", base64.b64encode(b"\x89PNG\r\n\x1a\n" * 9).decode())
    )
    return await site.post(wire.IMAGE_TO_IMAGE, _request_body(image=text))


async def stranger(site: Site) -> int:
    """Without the key."""
    return await site.post(wire.TEXT_TO_IMAGE, _request_body(), key="guess")


async def ask_nowhere(site: Site) -> int:
    """Routes and methods that are not there."""
    path = wire.TEXT_TO_IMAGE + random.choice(("", "/no"))
    headers = {"Authorization": f"Bearer {KEY_OF_BREAKERS}"}
    answer = await site.client.request(random.choice(("GET", "PUT", "DELETE")), path, headers=headers)
    return answer.status_code


async def giant(site: Site) -> int:
    """A body that is announced to be too large."""
    return await site.raw(_head(limits.MAX_REQUEST_BYTES + 1) + b"x" * 1000)


async def hang_up(site: Site) -> int:
    """A hang-up in the middle of a body."""
    return await site.raw(_head(10_000) + b'{"prompt": "', read=False)


async def dawdler(site: Site) -> int:
    """A head that never ends."""
    return await site.raw(b"POST / HTTP/1.1\r\nX: " + b"y" * 200, pause=0.25)


async def impatient(site: Site) -> int:
    """A hang-up while the images are made."""
    try:
        return await site.post(wire.TEXT_TO_IMAGE, _request_body(n=_MANY, steps=40), timeout=0.2)
    except httpx.TimeoutException:
        return CLOSED


def _head(length: int) -> bytes:
    lines = (
        f"POST {wire.TEXT_TO_IMAGE} HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {KEY_OF_BREAKERS}",
    )
    return "\r\n".join(
        (*lines, "Content-Type: application/json", f"Content-Length: {length}", "", "")
    ).encode()


VALID: tuple[Caller, ...] = (creation, sized, variation, openai, list_models)
HOSTILE: tuple[Caller, ...] = (
    burst, nonsense, impossible, broken_image, stranger, ask_nowhere, giant, hang_up, dawdler, impatient,
)  # fmt: skip
