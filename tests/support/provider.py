"""A provider that speaks the native wire inside the process: a fake at the transport seam, for tests only."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image

from pcevolve.wire.egress.transport import Incoming, Outgoing
from pcevolve_shared import images, wire
from pcevolve_shared.blanks import BLANK, parse_question

SIZE = 16
WORDS = ("bird", "fever", "river", "lung", "bread", "violin", "a", "the", "of", "small", "pain", "boat")
Answer = Callable[[Outgoing], Incoming | None]


def png(seed: int, source: bytes | None = None, strength: float = 1.0) -> bytes:
    """A small image that depends on the seed, and on a source as far as the strength lets it."""
    pixels = np.random.default_rng(seed).integers(0, 256, (SIZE, SIZE, 3)).astype(float)
    if source is not None:
        pixels = strength * pixels + (1 - strength) * np.asarray(images.decode(source), dtype=float)
    buffer = io.BytesIO()
    Image.fromarray(pixels.round().astype(np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def ok(payload: object) -> Incoming:
    """An answer of status 200."""
    return Incoming(200, (("content-type", "application/json"),), json.dumps(payload).encode())


class FakeProvider:
    """Answers like the real server; ``meddle`` may answer instead."""

    def __init__(self, meddle: Answer = lambda request: None) -> None:
        self.requests: list[Outgoing] = []
        self.closed = False
        self._meddle = meddle

    def send(self, request: Outgoing) -> Incoming:
        self.requests.append(request)
        return self._meddle(request) or self.answer(request)

    def close(self) -> None:
        self.closed = True

    def answer(self, request: Outgoing) -> Incoming:
        if request.url.endswith(wire.MODELS):
            return ok([_model()])
        fields = json.loads(request.body)
        if request.url.endswith(wire.CHAT):
            return ok(answer_chat(fields))
        source = images.from_base64(fields["image"]) if "image" in fields else None
        made = [
            {"image": images.to_base64(png(seed, source, fields.get("strength", 1.0))), "seed": seed}
            for seed in ((fields["seed"] + k) % 2**32 for k in range(fields.get("n", 1)))
        ]
        return ok({"images": made, "cost": 0.0} if len(made) > 1 else {**made[0], "cost": 0.0})


def text(seed: int, question: str = "") -> str:
    """A few words that depend on the seed; of a question about a text with blanks, that text without them."""
    words = np.random.default_rng(seed).choice(WORDS, 6)
    found = parse_question(question)
    if found is None:
        return " ".join(words)
    return " ".join(
        words[place % 6] if word == BLANK else word for place, word in enumerate(found[1].split())
    )


def answer_chat(fields: dict[str, Any]) -> dict[str, Any]:
    question = fields["messages"][-1]["content"]
    said = [text((fields.get("seed", 0) + k) % 2**32, question) for k in range(fields.get("n", 1))]
    choices = [{"index": k, "message": {"role": "assistant", "content": each}} for k, each in enumerate(said)]
    return {"object": "chat.completion", "model": fields["model"], "choices": choices}


def _model() -> dict[str, object]:
    return {
        "id": "bundled",
        "name": "bundled",
        "family": "stable-diffusion",
        "pipelines": ["text-to-image", "image-to-image"],
        "base_resolution": {"width": SIZE, "height": SIZE},
    }


def linking(request: Outgoing) -> Incoming | None:
    """An API that answers with addresses of images."""
    if request.method == "POST":
        fields = json.loads(request.body)
        seeds = range(fields["seed"], fields["seed"] + fields["batch_size"])
        return ok({"images": [{"url": f"http://127.0.0.1:8/{seed}.png"} for seed in seeds]})
    if request.url.endswith(".png"):
        seed = int(request.url.rpartition("/")[2].removesuffix(".png"))
        return Incoming(200, (("content-type", "image/png"),), png(seed))
    return None


def answering(make: Callable[[dict[str, Any], int], bytes | None], since: int = 0) -> FakeProvider:
    """A provider whose images are these by a request's fields and each one's place; honest before, and for None."""
    asked = []

    def answer(request: Outgoing) -> Incoming | None:
        if request.method == "GET":
            return None
        asked.append(request)
        fields = json.loads(request.body)
        made = [make(fields, place) for place in range(fields.get("n", 1))]
        if len(asked) <= since or None in made:
            return None
        sent = [{"image": images.to_base64(each), "seed": 0} for each in made if each]
        return ok({"images": sent, "cost": 0.0} if len(sent) > 1 else {**sent[0], "cost": 0.0})

    return FakeProvider(answer)


def meddling(make: Callable[[int], bytes], since: int = 0) -> FakeProvider:
    """A provider whose images are made of their seeds, from some request for images on."""
    return answering(lambda fields, place: make(fields["seed"] + place), since)
