"""The routes: parse, delegate, answer."""

from __future__ import annotations

from collections.abc import Callable
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
from pcevolve_server.http.rendering import Layout, Links, Made, address_of, native
from pcevolve_server.http.service import Chats, Service
from pcevolve_server.metrics import Metrics
from pcevolve_shared import wire
from pcevolve_shared.chat import ChatRequest, ChatResponse
from pcevolve_shared.wire import (
    BalanceResponse,
    BatchResponse,
    ErrorResponse,
    GenerationRequest,
    ImageResponse,
    ImageToImageRequest,
    IpAdapterRequest,
    LinkBatchResponse,
    LinkResponse,
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
    links: Links


def parts_of(request: Request) -> Parts:
    """Return the parts of a request's app."""
    parts: Parts = request.app.state.parts
    return parts


async def _depend_on_parts(request: Request) -> Parts:
    # Async although it waits for nothing: FastAPI runs any other dependency on a worker thread, for each request.
    return parts_of(request)


PartsDep = Annotated[Parts, Depends(_depend_on_parts)]


router = APIRouter()
_json = APIRouter(route_class=BoundedRoute)


def _spelling(request: Request, body: GenerationRequest, spelled: Callable[[Made], str]) -> Layout:
    """Return what puts an answer into JSON: with its images, or with their addresses."""
    if body.response_format == "b64":
        return spelled
    linked = parts_of(request).links.of(caller_of(request), address_of(request), body.output_format)
    return lambda made: spelled(linked(made))


def _failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": ErrorResponse} for status in statuses}


_NAMED: dict[str, Any] = {"type": "string"}
# Before OpenAPI 3.2 the schema of server-sent events is that of one event.
_EVENT: dict[str, Any] = {
    "type": "object",
    "properties": {"event": _NAMED, "data": _NAMED},
    "required": ["data"],
}
_ANSWERS = _failures(401, 404, 408, 413, 422, 429, 500, 503)
_STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer; or, if a stream is asked for, events.",
        "content": {EVENTS: {"schema": _EVENT}},
    },
    **_ANSWERS,
}
_GENERATES: dict[str, Any] = {
    "response_model": ImageResponse | BatchResponse | LinkResponse | LinkBatchResponse,
    "responses": _ANSWERS,
}
_FACADE: dict[str, Any] = {"responses": _ANSWERS}
_EDIT_FORM = EditFields.model_json_schema()
_FILE: dict[str, Any] = {"type": "string", "format": "binary"}
_EDIT_FORM["properties"]["image"] = _FILE
_EDIT_FORM["required"] = ["image", *_EDIT_FORM["required"]]
_EDIT_BODY: dict[str, Any] = {"requestBody": {"content": {"multipart/form-data": {"schema": _EDIT_FORM}}}}


@_json.post(wire.TEXT_TO_IMAGE, **_GENERATES)
async def text_to_image(request: Request, body: TextToImageRequest, parts: PartsDep) -> Response:
    """Make images from a prompt."""
    spelled = _spelling(request, body, native)
    return await answer(request, partial(parts.service.text_to_image, body, caller_of(request), spelled))


@_json.post(wire.IMAGE_TO_IMAGE, **_GENERATES)
async def image_to_image(request: Request, body: ImageToImageRequest, parts: PartsDep) -> Response:
    """Make variations of an image."""
    spelled = _spelling(request, body, native)
    return await answer(request, partial(parts.service.image_to_image, body, caller_of(request), spelled))


@_json.post(wire.IP_ADAPTER, **_GENERATES)
async def ip_adapter(request: Request, body: IpAdapterRequest, parts: PartsDep) -> Response:
    """Make variations of an image that is also part of the prompt."""
    spelled = _spelling(request, body, native)
    return await answer(request, partial(parts.service.image_to_image, body, caller_of(request), spelled))


@_json.post(wire.OPENAI_GENERATIONS, **_FACADE)
async def openai_generations(request: Request, body: GenerationFields, parts: PartsDep) -> Response:
    """Make images from a prompt, asked for as OpenAI's Images API does."""
    asked = facade.text_to_image(body)
    spelled = _spelling(request, asked, facade.answer)
    return await answer(request, partial(parts.service.text_to_image, asked, caller_of(request), spelled))


@router.post(wire.OPENAI_EDITS, openapi_extra=_EDIT_BODY, **_FACADE)
async def openai_edits(request: Request, parts: PartsDep) -> Response:
    """Make variations of an image, asked for as OpenAI's Images API does: a form."""
    kind, form = request.headers.get("Content-Type", ""), await request.body()
    body = await run_in_threadpool(facade.image_to_image, kind, form)
    spelled = _spelling(request, body, facade.answer)
    return await answer(request, partial(parts.service.image_to_image, body, caller_of(request), spelled))


@_json.post(wire.CHAT, response_model=ChatResponse, responses=_STREAMED)
async def chat(request: Request, body: ChatRequest, parts: PartsDep) -> Response:
    """Let a language model answer, asked as OpenAI's Chat Completions API is."""
    work = partial(parts.chats.complete, body, caller_of(request))
    if not body.stream:
        return await answer(request, work)
    usage = body.stream_options is not None and bool(body.stream_options.include_usage)
    return await answer_in_chunks(request, work, usage)


@router.get(
    wire.LINKS + "/{name}",
    response_class=Response,
    responses={200: {"content": {"image/*": {"schema": _FILE}}}, **_failures(401, 404)},
)
async def link(request: Request, name: str, parts: PartsDep) -> Response:
    """Return an image that was asked for by address, to who asked for it."""
    found = parts.links.find(name, caller_of(request))
    headers = {"Cache-Control": "private, no-store", "X-Content-Type-Options": "nosniff"}
    return Response(found.data, media_type=found.media_type, headers=headers)


@router.get(wire.MODELS, responses=_failures(401, 503))
async def models(parts: PartsDep) -> ModelList:
    """List the models."""
    return ModelList(data=parts.host.infos)


@router.get(wire.MODELS + "/{model:path}", responses=_failures(401, 404, 503))
async def model(model: str, parts: PartsDep) -> ModelInfo:
    """Tell about a model."""
    return parts.host.info(model)


@router.get(wire.BALANCE, responses=_failures(401))
async def balance(parts: PartsDep) -> BalanceResponse:
    """Tell what was used; this server does not bill."""
    return BalanceResponse(images=parts.service.images)


@router.get(wire.HEALTH)
async def health() -> JSONResponse:
    """Tell that the process runs."""
    return JSONResponse({"status": "ok"})


@router.get(wire.READY, responses={HTTPStatus.SERVICE_UNAVAILABLE: {"description": "Not yet, or no more."}})
async def ready(parts: PartsDep) -> JSONResponse:
    """Tell whether the model answers."""
    status = HTTPStatus.OK if parts.host.status == "ready" else HTTPStatus.SERVICE_UNAVAILABLE
    return JSONResponse({"status": parts.host.status}, status)


@router.get(wire.METRICS, response_class=PlainTextResponse, responses=_failures(401))
async def metrics(parts: PartsDep) -> Response:
    """Return the Prometheus exposition."""
    return Response(parts.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


router.include_router(_json)
