"""Spans for OpenTelemetry, if they are collected: of requests, their waits, their runs, and the encoding of images.

Spans contain names, numbers and ids, but no prompt, image or key, and no caller's path or query.
"""

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.datastructures import Headers
from starlette.types import Scope

from pcevolve_server.errors import SettingsError
from pcevolve_shared import wire

_VARIABLES: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_METHODS: Final = {"GET", "POST"}
_UNTRACED: Final = {wire.HEALTH, wire.READY, wire.METRICS}
"""Routes that monitoring calls every few seconds."""
_FAILED: Final = 500

_tracer = trace.get_tracer("pcevolve_server")


def configure() -> None:
    """Start to export if the environment names a collector. OpenTelemetry's own variables configure the export.

    Raises:
        SettingsError: A collector is named, and the exporter is not installed.
    """
    if not any(os.environ.get(name) for name in _VARIABLES):
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise SettingsError(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set: install pcevolve-server[otel], or unset it"
        ) from error
    name = os.environ.get("OTEL_SERVICE_NAME", "pcevolve-server")
    provider = TracerProvider(resource=Resource.create({"service.name": name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def open_span(name: str) -> AbstractContextManager[Span]:
    """Return a span for a part of the current request. It records no errors, because errors may quote the caller."""
    return _tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False)


def get_span() -> Span:
    """Return the span of the current request, or an empty one."""
    return trace.get_current_span()


def record_run(
    waited: Iterable[tuple[Span, float]], started: float, images: int, stages: Mapping[str, float]
) -> None:
    """Add spans of a finished batch to each request that had images in the batch.

    Args:
        waited: Spans of requests, each with the start of the request's wait on the clock ``time.monotonic``.
        started: Start of the batch, on the same clock.
    """
    since: dict[Span, float] = {}
    for span, began in waited:
        if span.is_recording():
            since[span] = min(began, since.get(span, began))
    ended, now = time.monotonic(), time.time_ns()
    facts: dict[str, float] = {"pcevolve.images": images}
    facts |= {f"pcevolve.{stage}_seconds": seconds for stage, seconds in stages.items()}
    for span, began in since.items():
        context = trace.set_span_in_context(span)
        began_ns, started_ns = (now - round((ended - at) * 1e9) for at in (began, started))
        _tracer.start_span("wait", context, start_time=began_ns).end(started_ns)
        _tracer.start_span("run", context, start_time=started_ns, attributes=facts).end(now)


@contextmanager
def trace_request(scope: Scope) -> Iterator[None]:
    """Give a request a span within its caller's trace. The span ends with route and status."""
    if scope["path"] in _UNTRACED:
        yield
        return
    # No other header of the caller is used. This one contains a version, two random numbers and flags.
    begun = TraceContextTextMapPropagator().extract(
        {"traceparent": Headers(scope=scope).get("traceparent", "")}
    )
    facts = {"pcevolve.request_id": scope["state"]["request_id"]}
    with _tracer.start_as_current_span(
        "request", begun, SpanKind.SERVER, facts, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield
        finally:
            method = scope["method"] if scope["method"] in _METHODS else "_OTHER"
            # The route's template is recorded, never the path itself, because a path is a caller's text.
            route, status = (
                getattr(scope.get("route"), "path", "unmatched"),
                scope["state"].get("status", _FAILED),
            )
            span.update_name(f"{method} {route}")
            told = {"http.request.method": method, "http.route": route, "http.response.status_code": status}
            span.set_attributes(told)
            if status >= _FAILED:
                span.set_status(StatusCode.ERROR)
