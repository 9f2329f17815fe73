"""Turn a validated request for images or a chat into tasks, and their results into the answer."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from PIL import Image
from starlette.concurrency import run_in_threadpool

from pcevolve_server import tracing
from pcevolve_server.errors import InvalidRequestError, NotFoundError, too_many_pixels
from pcevolve_server.host import Host
from pcevolve_server.http.rendering import EncodedResponse, Layout, native, render
from pcevolve_server.metrics import Metrics
from pcevolve_server.settings import Settings
from pcevolve_server.work import Completion, Recipe, Task, TextRecipe, TextTask
from pcevolve_shared import images, limits, wire
from pcevolve_shared.chat import ChatChoice, ChatReply, ChatRequest, ChatResponse, Usage
from pcevolve_shared.wire import (
    GenerationRequest,
    ImageToImageRequest,
    IpAdapterRequest,
    ModelInfo,
    Pipeline,
    TextToImageRequest,
)

_SHORT: Final = 128 * 128
"""Up to this many pixels or characters, encoding or decoding takes less time than waking a worker thread."""
_SCHEDULERS: Final = {"dpmsolver++": "dpmpp_2m", "dpmsolver": "dpmpp_2m", "dpm++_2m": "dpmpp_2m"}
"""Other names for schedulers, from getimg's API and other APIs."""


class Service:
    def __init__(self, settings: Settings, host: Host, metrics: Metrics) -> None:
        self._settings, self._host, self._metrics = settings, host, metrics
        self._images = 0

    @property
    def images(self) -> int:
        """Images generated since the start."""
        return self._images

    async def text_to_image(
        self,
        body: TextToImageRequest,
        caller: str,
        layout: Layout = native,
    ) -> EncodedResponse:
        """Make images from a prompt. Absent width and height are the model's own."""
        model = self._model(body, "text-to-image")
        base = model.size
        width = body.width if "width" in body.model_fields_set else base.width
        height = body.height if "height" in body.model_fields_set else base.height
        recipe = self._recipe(body, model, width, height)
        return await self._answer(body, caller, recipe, None, layout)

    async def image_to_image(
        self,
        body: ImageToImageRequest,
        caller: str,
        layout: Layout = native,
    ) -> EncodedResponse:
        """Make variations of the request's image."""
        model = self._model(body, "image-to-image")
        image = await self._read(body.image)
        multiple = model.size_multiple
        width, height = (side // multiple * multiple for side in image.size)
        if not width or not height:
            raise InvalidRequestError(f"image: needs at least {multiple} x {multiple} pixels")
        scale = self._adapter_scale(body, model) if isinstance(body, IpAdapterRequest) else None
        strength = _strength(body, model)
        recipe = self._recipe(body, model, width, height, strength=strength, adapter_scale=scale)
        return await self._answer(body, caller, recipe, image, layout)

    def _model(self, body: GenerationRequest, pipeline: Pipeline) -> ModelInfo:
        info = self._host.info(body.model, pipeline)
        if body.scheduler is not None and _scheduler(body) not in info.schedulers:
            raise InvalidRequestError(
                f"scheduler: this model has {', '.join(info.schedulers) or 'none to choose'}"
            )
        if body.negative_prompt and not info.negative_prompts:
            raise InvalidRequestError("negative_prompt: this model reads no negative prompt; leave it out")
        return info

    def _adapter_scale(self, body: IpAdapterRequest, model: ModelInfo) -> float:
        if not model.adapters:
            raise NotFoundError("this server runs without an IP-Adapter", code="adapter_not_loaded")
        if body.adapter not in model.adapters:
            raise NotFoundError(
                f"unknown adapter; this server has {', '.join(model.adapters)}", code="adapter_not_found"
            )
        return self._settings.model.adapter_scale if body.scale is None else body.scale

    def _recipe(
        self,
        body: GenerationRequest,
        model: ModelInfo,
        width: int,
        height: int,
        *,
        strength: float | None = None,
        adapter_scale: float | None = None,
    ) -> Recipe:
        self._check_size(body, model, width, height)
        # In rising priority: the model's own values, the server owner's, the caller's.
        own = {"steps": self._settings.default_steps, "guidance": self._settings.default_guidance}
        chosen: dict[str, Any] = {name: value for name, value in own.items() if value is not None}
        chosen |= body.model_dump(include=body.model_fields_set & own.keys())
        return replace(
            Recipe.usual(model, strength),
            width=width,
            height=height,
            scheduler=_scheduler(body),
            adapter_scale=adapter_scale,
            **chosen,
        )

    def _check_size(self, body: GenerationRequest, model: ModelInfo, width: int, height: int) -> None:
        multiple = model.size_multiple
        if width % multiple or height % multiple:
            raise InvalidRequestError(f"width, height: must be multiples of {multiple}")
        if width * height > self._settings.max_pixels:
            raise InvalidRequestError(f"width, height: more than {self._settings.max_pixels} pixels")
        if model.max_pixels is not None and width * height > model.max_pixels:
            raise too_many_pixels(model.max_pixels)
        # If images cannot be compressed, a pixel takes three bytes, which are four characters in base64.
        if body.n * width * height * 4 > limits.MAX_RESPONSE_BYTES:
            raise InvalidRequestError("n: too many images of this size for one answer")

    async def _read(self, text: str) -> Image.Image:
        """Decode the image of a request. Raise ``InvalidRequestError`` if it is too large or not an image."""
        if len(text) <= _SHORT:
            try:
                return images.decode(images.from_base64(text), images.ImageLimits(max_pixels=_SHORT))
            except images.ImageError:
                pass  # it unpacks to more, or is none: whoever may take long finds out which
        return await run_in_threadpool(self._image, text)

    def _image(self, text: str) -> Image.Image:
        bounds = images.ImageLimits(max_pixels=self._settings.max_pixels)
        try:
            return images.decode(images.from_base64(text), bounds)
        except images.ImageError as error:
            raise InvalidRequestError(f"image: {error}", code="invalid_image") from error

    async def _answer(
        self,
        body: GenerationRequest,
        caller: str,
        recipe: Recipe,
        image: Image.Image | None,
        layout: Layout,
    ) -> EncodedResponse:
        first = secrets.randbits(32) if body.seed is None else body.seed
        seeds = [wire.seed_of(first, index) for index in range(body.n)]
        tasks = [Task(recipe, body.prompt, body.negative_prompt, seed, image, caller) for seed in seeds]
        pictures = await self._host.batcher.submit(tasks, caller)
        with self._metrics.stages.labels("write").time(), tracing.open_span("write"):
            rendering = partial(render, body, seeds, pictures, layout)
            short = len(tasks) * recipe.width * recipe.height <= _SHORT
            answer = rendering() if short else await run_in_threadpool(rendering)
        made = sum(each.made is not None for each in pictures)
        self._images += made
        self._metrics.images.inc(made)
        return answer


def _strength(body: ImageToImageRequest, model: ModelInfo) -> float:
    """Return the share of the noise levels that a variation runs through: all if the model takes no strength."""
    if model.strengths:
        return body.strength
    if "strength" in body.model_fields_set:
        raise InvalidRequestError("strength: this model sets its own degree of variation; leave strength out")
    return 1.0


def _scheduler(body: GenerationRequest) -> str | None:
    return _SCHEDULERS.get(body.scheduler or "", body.scheduler)


class Chats:
    def __init__(self, host: Host, metrics: Metrics) -> None:
        self._host, self._metrics = host, metrics

    async def complete(self, body: ChatRequest, caller: str) -> EncodedResponse:
        model = self._host.info(body.model, "chat").id
        recipe = TextRecipe(body.new_tokens, body.temperature, body.top_p, body.stops, model)
        messages = tuple((each.role, each.content) for each in body.messages)
        first = secrets.randbits(32) if body.seed is None else body.seed
        tasks = [TextTask(recipe, messages, wire.seed_of(first, index)) for index in range(body.n)]
        written = await self._host.batcher.submit(tasks, caller)
        self._metrics.tokens.inc(sum(each.tokens for each in written))
        return EncodedResponse(
            _response(model, written).model_dump_json(), max(each.cut_tokens for each in written)
        )


def _response(model: str, written: Sequence[Completion]) -> ChatResponse:
    read, made = written[0].prompt_tokens, sum(each.tokens for each in written)
    return ChatResponse(
        id=f"chatcmpl-{secrets.token_hex(12)}",
        created=int(time.time()),
        model=model,
        choices=tuple(
            ChatChoice(index=index, message=ChatReply(content=each.text), finish_reason=each.finish)
            for index, each in enumerate(written)
        ),
        usage=Usage(prompt_tokens=read, completion_tokens=made, total_tokens=read + made),
    )
