"""The routes: parse, delegate, answer."""

from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, PlainTextResponse, Response

from pcevolve_server import facade
from pcevolve_server.answering import EVENTS, answered
from pcevolve_server.facade import EditFields, GenerationFields
from pcevolve_server.host import Host
from pcevolve_server.json_bodies import BoundedRoute
from pcevolve_server.metrics import Metrics
from pcevolve_server.middleware import caller_of
from pcevolve_server.rendering import native
from pcevolve_server.service import Service
from pcevolve_shared import wire
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

router = APIRouter()
_json = APIRouter(route_class=BoundedRoute)


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _host(request: Request) -> Host:
    host: Host = request.app.state.host
    return host


def _metrics(request: Request) -> Metrics:
    metrics: Metrics = request.app.state.metrics
    return metrics


ServiceDep = Annotated[Service, Depends(_service)]
HostDep = Annotated[Host, Depends(_host)]


def _failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": ErrorResponse} for status in statuses}


_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The images; or, to a caller who accepts them, events: progress, then the same or an error.",
        "content": {EVENTS: {"schema": {"type": "string"}}},
    },
    **_failures(401, 404, 408, 413, 422, 429, 500, 503),
}
_GENERATES: dict[str, Any] = {"response_model": ImageResponse | BatchResponse, "responses": _ANSWERS}
_FACADE: dict[str, Any] = {"responses": _ANSWERS}
_EDIT_FORM = EditFields.model_json_schema()
_EDIT_FORM["properties"]["image"] = {"type": "string", "format": "binary"}
_EDIT_FORM["required"] = ["image", *_EDIT_FORM["required"]]
_EDIT_BODY: dict[str, Any] = {"requestBody": {"content": {"multipart/form-data": {"schema": _EDIT_FORM}}}}


@_json.post(wire.TEXT_TO_IMAGE, **_GENERATES)
async def text_to_image(request: Request, body: TextToImageRequest, service: ServiceDep) -> Response:
    """Make images from a prompt."""
    return await answered(request, partial(service.text_to_image, body, caller_of(request), native))


@_json.post(wire.IMAGE_TO_IMAGE, **_GENERATES)
async def image_to_image(request: Request, body: ImageToImageRequest, service: ServiceDep) -> Response:
    """Make variations of an image."""
    return await answered(request, partial(service.image_to_image, body, caller_of(request), native))


@_json.post(wire.IP_ADAPTER, **_GENERATES)
async def ip_adapter(request: Request, body: IpAdapterRequest, service: ServiceDep) -> Response:
    """Make variations of an image that is also part of the prompt."""
    return await answered(request, partial(service.image_to_image, body, caller_of(request), native))


@_json.post(wire.OPENAI_GENERATIONS, **_FACADE)
async def openai_generations(request: Request, body: GenerationFields, service: ServiceDep) -> Response:
    """Make images from a prompt, asked for as OpenAI's Images API does."""
    asked = facade.text_to_image(body)
    return await answered(request, partial(service.text_to_image, asked, caller_of(request), facade.answer))


@router.post(wire.OPENAI_EDITS, openapi_extra=_EDIT_BODY, **_FACADE)
async def openai_edits(request: Request, service: ServiceDep) -> Response:
    """Make variations of an image, asked for as OpenAI's Images API does: a form."""
    kind, form = request.headers.get("Content-Type", ""), await request.body()
    body = await run_in_threadpool(facade.image_to_image, kind, form)
    return await answered(request, partial(service.image_to_image, body, caller_of(request), facade.answer))


@router.get(wire.MODELS, responses=_failures(401, 503))
async def models(host: HostDep) -> ModelList:
    """List the models."""
    return ModelList(data=host.infos)


@router.get(wire.MODELS + "/{model:path}", responses=_failures(401, 404, 503))
async def model(model: str, host: HostDep) -> ModelInfo:
    """Tell about a model."""
    return host.info(model)


@router.get(wire.BALANCE, responses=_failures(401))
async def balance(service: ServiceDep) -> BalanceResponse:
    """Tell what was used; this server does not bill."""
    return BalanceResponse(images=service.images)


@router.get(wire.HEALTH)
async def health() -> JSONResponse:
    """Tell that the process runs."""
    return JSONResponse({"status": "ok"})


@router.get(wire.READY, responses={HTTPStatus.SERVICE_UNAVAILABLE: {"description": "Not yet, or no more."}})
async def ready(host: HostDep) -> JSONResponse:
    """Tell whether the model answers."""
    status = HTTPStatus.OK if host.status == "ready" else HTTPStatus.SERVICE_UNAVAILABLE
    return JSONResponse({"status": host.status}, status)


@router.get(wire.METRICS, response_class=PlainTextResponse, responses=_failures(401))
async def metrics(collected: Annotated[Metrics, Depends(_metrics)]) -> Response:
    """Return the Prometheus exposition."""
    return Response(collected.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


router.include_router(_json)
