"""A generator inside this process, in the place of a network: for measurements on public data alone.

What runs in the process that holds the images can read them, and no record of requests could show it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from pcevolve.errors import UsageError
from pcevolve.wire.egress.transport import Incoming, Outgoing
from pcevolve_shared import images, wire

ModelImage: TypeAlias = Any
"""A PIL image; or, of what a generator makes, the bytes of an encoded one."""
_JSON = (("content-type", "application/json"),)


class LocalGenerator(Protocol):
    """A generative model as a Python object, under the client's own roof."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of its images, in pixels."""
        ...

    def create(self, prompt: str, seeds: Sequence[int]) -> Sequence[ModelImage]:
        """Text-to-image: one image for each seed, in their order."""
        ...

    def vary(
        self, image: ModelImage, prompt: str, strength: float, seeds: Sequence[int]
    ) -> Sequence[ModelImage]:
        """Image-to-image: one variation for each seed, in their order.

        Args:
            image: The one that is varied, a PIL image in RGB; one of its own.
            strength: From 0, the image itself, to 1, anything.
        """
        ...


@dataclass(frozen=True)
class InProcess:
    """Hands requests of the native dialect to a generator; a ``Transport`` that leads nowhere.

    What the generator raises ends the run, which can be resumed.
    """

    generator: LocalGenerator
    model: str

    def send(self, request: Outgoing) -> Incoming:
        """Answer a request as the native API would; ``UsageError`` if the generator made another number of images."""
        if request.url.endswith(wire.MODELS):
            return _reply([self._describe()])
        if request.url.endswith(wire.BALANCE):
            return _reply({})
        asked = json.loads(request.body)
        seeds = [wire.seed_of(asked["seed"], index) for index in range(asked.get("n", 1))]
        made = self._make(asked, seeds)
        if len(made) != len(seeds):
            raise UsageError(f"the generator was asked for {len(seeds)} images and made {len(made)}")
        answers = [
            {"image": images.to_base64(_encode(each)), "seed": seed}
            for each, seed in zip(made, seeds, strict=True)
        ]
        return _reply({"images": answers, "cost": 0.0} if len(answers) > 1 else {**answers[0], "cost": 0.0})

    def close(self) -> None:
        """There is no connection to be closed."""

    def _make(self, asked: dict[str, Any], seeds: Sequence[int]) -> Sequence[ModelImage]:
        if "image" not in asked:
            return self.generator.create(asked["prompt"], seeds)
        varied = images.decode(images.from_base64(asked["image"]))
        return self.generator.vary(varied, asked["prompt"], asked["strength"], seeds)

    def _describe(self) -> dict[str, Any]:
        width, height = self.generator.size
        return {"id": self.model, "base_resolution": {"width": width, "height": height}}


def _encode(made: ModelImage) -> bytes:
    """The bytes of what a generator made.

    Raises:
        UsageError: It is no image.
    """
    if not isinstance(made, bytes) and not hasattr(made, "convert"):
        raise UsageError(
            f"the generator made a {type(made).__name__} where a PIL image or the bytes of one were expected: of an "
            "array without NaN, with values from 0 to 255, Image.fromarray(array.astype('uint8')) makes one"
        )
    return made if isinstance(made, bytes) else images.encode(made.convert("RGB"), "png")


def _reply(payload: object) -> Incoming:
    return Incoming(200, _JSON, json.dumps(payload).encode())
