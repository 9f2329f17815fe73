"""The FastAPI app: connects the parts, and returns every error in the contract's format."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import Response

from pcevolve_server import __version__
from pcevolve_server.engines import Opening
from pcevolve_server.errors import (
    GenerationError,
    InvalidRequestError,
    MethodError,
    NotFoundError,
    RequestError,
)
from pcevolve_server.host import Host
from pcevolve_server.http import reference
from pcevolve_server.http.bodies import BodyMemory, Bounded
from pcevolve_server.http.middleware import (
    Authenticated,
    Observed,
    WithoutKey,
    error_response,
    host_name,
    request_id_of,
)
from pcevolve_server.http.routes import Parts, json_router, router
from pcevolve_server.http.service import Chats, Service
from pcevolve_server.metrics import Metrics
from pcevolve_server.settings import Settings
from pcevolve_shared.wire import ModelInfo

_MAX_REPORTED_ERRORS = 8
_MAX_FIELD_CHARS = 64
# FastAPI's own spans and logs would contain paths, queries and exceptions' messages. tracing.py has the server's own.
_NO_TELEMETRY: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
_HANDLED = (RequestError, RequestValidationError, HTTPException, Exception)


def create_app(
    settings: Settings,
    opening: Opening,
    on_failure: Callable[[BaseException], None] = lambda _: None,
    on_ready: Callable[[Sequence[ModelInfo]], None] = lambda _: None,
) -> FastAPI:
    """Return the app. The model starts to load with the app."""
    metrics = Metrics()
    host = Host(settings, opening, metrics, on_failure, on_ready)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        host.start()
        yield
        await host.stop()

    app = FastAPI(
        title="PCEvolve API server",
        version=__version__,
        summary="Text-to-image and image-to-image in the style of getimg's v1 API, and chats in the"
        " style of OpenAI's API.",
        lifespan=lifespan,
        openapi_url=reference.SCHEMA,
        docs_url=None,
        redoc_url=None,
        telemetry=_NO_TELEMETRY,
        exception_handlers=dict.fromkeys(_HANDLED, _on_error),
        middleware=[
            # From outside in: every request is named, counted and traced, then admitted. Its body is read after that.
            Middleware(Observed, metrics=metrics),
            # With a key, everybody who knows it is served. Without one, only this machine's programs and pages are.
            Middleware(Authenticated, keys=settings.keys)
            if settings.keys
            else Middleware(WithoutKey, allowed=frozenset(map(host_name, settings.allowed_hosts))),
            Middleware(
                Bounded, memory=BodyMemory(settings.max_buffered_mib * 2**20), seconds=settings.body_seconds
            ),
        ],
    )
    app.state.parts = Parts(Service(settings, host, metrics), Chats(host, metrics), host, metrics)
    # Routes are searched in this order, so routes that generate come first.
    for each in (json_router, router, reference.router):
        app.include_router(each)
    return app


async def _on_error(request: Request, error: Any) -> Response:  # noqa: ANN401 - the framework's signature
    response = error_response(request_id_of(request), _as_request_error(error))
    if isinstance(error, HTTPException) and error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        response.headers.update(error.headers or {})  # Allow
    return response


def _as_request_error(error: Exception) -> RequestError:
    """Turn any error that ended a request, including the framework's own, into an error of the contract."""
    match error:
        case RequestError():
            return error
        case RequestValidationError():
            return InvalidRequestError(_explain(error.errors()))
        case HTTPException(status_code=HTTPStatus.NOT_FOUND):
            return NotFoundError("no such route; see /docs")
        case HTTPException(status_code=HTTPStatus.METHOD_NOT_ALLOWED):
            return MethodError("wrong method for this route; see /docs")
        case HTTPException():
            return InvalidRequestError("the body is not readable JSON")
    return GenerationError("internal error", code="internal")


def _explain(details: Sequence[Any]) -> str:
    """List the wrong fields and their faults, without the fields' values."""
    lines = []
    for detail in details[:_MAX_REPORTED_ERRORS]:
        # The first part is "body". An unknown field's name is the caller's text, so it is cut short.
        field = ".".join(str(part) for part in detail["loc"][1:])[:_MAX_FIELD_CHARS] or "body"
        lines.append(f"{field}: {detail['msg']}")
    if len(details) > _MAX_REPORTED_ERRORS:
        lines.append(f"and {len(details) - _MAX_REPORTED_ERRORS} more")
    return "; ".join(lines)
