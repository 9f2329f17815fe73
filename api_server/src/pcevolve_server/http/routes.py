"""The routes. Each parses a request, calls the service, and answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, PlainTextResponse, Response

from pcevolve_server.host import Host
from pcevolve_server.http import facade
from pcevolve_server.http.answering import EVENTS, answer, answer_in_chunks
from pcevolve_server.http.facade import EditFields, GenerationFields
from pcevolve_server.http.json_bodies import BoundedRoute
from pcevolve_server.http.middleware import caller_of
from pcevolve_server.http.service import Chats, Service
from pcevolve_server.metrics import Metrics
from pcevolve_shared import wire
from pcevolve_shared.chat import ChatRequest, ChatResponse
from pcevolve_shared.wire import (
    BalanceResponse,
    BatchResponse,
    ErrorResponse,
    ImageResponse,
    ImageToImageRequest,
    IpAdapterRequest,
    ModelInfo,
    ModelList,
    TextToImageRequest,
)


@dataclass(frozen=True)
class Parts:
    """The parts of the app that routes use, as ``app.state.parts``."""

    service: Service
    chats: Chats
    host: Host
    metrics: Metrics


async def _find_parts(request: Request) -> Parts:
    # Async although it never waits, because FastAPI runs any other dependency of a request on a worker thread.
    parts: Parts = request.app.state.parts
    return parts


PartsDep = Annotated[Parts, Depends(_find_parts)]
router = APIRouter()
json_router = APIRouter(route_class=BoundedRoute)


def _failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": ErrorResponse} for status in statuses}


_NAMED: dict[str, Any] = {"type": "string"}
# Before OpenAPI 3.2, the schema of server-sent events is the schema of one event.
_EVENT: dict[str, Any] = {
    "type": "object",
    "properties": {"event": _NAMED, "data": _NAMED},
    "required": ["data"],
}
_ANSWERS = _failures(401, 404, 408, 413, 422, 429, 500, 503)
_STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer, or events if a stream is requested.",
        "content": {EVENTS: {"schema": _EVENT}},
    },
    **_ANSWERS,
}
_GENERATES: dict[str, Any] = {
    "response_model": ImageResponse | BatchResponse,
    "responses": _ANSWERS,
}
_FACADE: dict[str, Any] = {"responses": _ANSWERS}
_EDIT_FORM = EditFields.model_json_schema()
_FILE: dict[str, Any] = {"type": "string", "format": "binary"}
_EDIT_FORM["properties"]["image"] = _FILE
_EDIT_FORM["required"] = ["image", *_EDIT_FORM["required"]]
_EDIT_BODY: dict[str, Any] = {"requestBody": {"content": {"multipart/form-data": {"schema": _EDIT_FORM}}}}


@json_router.post(wire.TEXT_TO_IMAGE, **_GENERATES)
async def text_to_image(request: Request, body: TextToImageRequest, parts: PartsDep) -> Response:
    """Make images from a prompt."""
    return await answer(request, partial(parts.service.text_to_image, body, caller_of(request)))


@json_router.post(wire.IMAGE_TO_IMAGE, **_GENERATES)
async def image_to_image(request: Request, body: ImageToImageRequest, parts: PartsDep) -> Response:
    """Make variations of an image."""
    return await answer(request, partial(parts.service.image_to_image, body, caller_of(request)))


@json_router.post(wire.IP_ADAPTER, **_GENERATES)
async def ip_adapter(request: Request, body: IpAdapterRequest, parts: PartsDep) -> Response:
    """Make variations of an image that is also part of the prompt."""
    return await answer(request, partial(parts.service.image_to_image, body, caller_of(request)))


@json_router.post(wire.OPENAI_GENERATIONS, **_FACADE)
async def openai_generations(request: Request, body: GenerationFields, parts: PartsDep) -> Response:
    """Make images from a prompt; fields are those of OpenAI's Images API."""
    work = partial(parts.service.text_to_image, facade.text_to_image(body), caller_of(request), facade.answer)
    return await answer(request, work)


@router.post(wire.OPENAI_EDITS, openapi_extra=_EDIT_BODY, **_FACADE)
async def openai_edits(request: Request, parts: PartsDep) -> Response:
    """Make variations of an image; the form's fields are those of OpenAI's Images API."""
    kind, form = request.headers.get("Content-Type", ""), await request.body()
    body = await run_in_threadpool(facade.image_to_image, kind, form)
    work = partial(parts.service.image_to_image, body, caller_of(request), facade.answer)
    return await answer(request, work)


@json_router.post(wire.CHAT, response_model=ChatResponse, responses=_STREAMED)
async def chat(request: Request, body: ChatRequest, parts: PartsDep) -> Response:
    """Let a language model answer a chat; fields are those of OpenAI's Chat Completions API."""
    work = partial(parts.chats.complete, body, caller_of(request))
    if not body.stream:
        return await answer(request, work)
    usage = body.stream_options is not None and bool(body.stream_options.include_usage)
    return await answer_in_chunks(request, work, usage)


@router.get(wire.MODELS, responses=_failures(401, 503))
async def models(parts: PartsDep) -> ModelList:
    """List the models."""
    return ModelList(data=parts.host.infos)


@router.get(wire.MODELS + "/{model:path}", responses=_failures(401, 404, 503))
async def model(model: str, parts: PartsDep) -> ModelInfo:
    """Describe a model."""
    return parts.host.info(model)


@router.get(wire.BALANCE, responses=_failures(401))
async def balance(parts: PartsDep) -> BalanceResponse:
    """Return the number of generated images. This server does not bill."""
    return BalanceResponse(images=parts.service.images)


@router.get(wire.HEALTH)
async def health() -> JSONResponse:
    """Confirm that the process runs."""
    return JSONResponse({"status": "ok"})


@router.get(
    wire.READY,
    responses={
        HTTPStatus.SERVICE_UNAVAILABLE: {
            "description": "The model is loading, has failed, or is being stopped."
        }
    },
)
async def ready(parts: PartsDep) -> JSONResponse:
    """Return whether the model answers."""
    status = HTTPStatus.OK if parts.host.status == "ready" else HTTPStatus.SERVICE_UNAVAILABLE
    return JSONResponse({"status": parts.host.status}, status)


@router.get(wire.METRICS, response_class=PlainTextResponse, responses=_failures(401))
async def metrics(parts: PartsDep) -> Response:
    """Return the Prometheus exposition."""
    if parts.host.status == "ready":
        parts.metrics.tell_exactness(parts.host.infos)
    return Response(parts.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
