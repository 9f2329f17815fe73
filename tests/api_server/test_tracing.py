"""OpenTelemetry is told some things of a request, and others never."""

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pcevolve_server import tracing
from pcevolve_server.work import Picture
from pcevolve_shared import wire

PROMPT = "a most unusual prompt"
ASK = {"prompt": PROMPT, "seed": 7, "n": 2}
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def told(monkeypatch):
    """Where spans end up that this process leaves."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(tracing, "_tracer", provider.get_tracer("test"))
    return exporter


@pytest.fixture
def measured(fake, monkeypatch):
    """A generator that says how long its stages took."""
    paint = fake.paint
    monkeypatch.setattr(
        fake, "paint", lambda task: Picture(paint(task).image, seconds={"denoise": 0.5, "decode": 0.25})
    )
    return fake


def test_a_request_has_spans_of_waiting_running_and_writing_within_the_callers_trace(serve, measured, told):
    with serve(measured) as client:
        client.post(wire.TEXT_TO_IMAGE, json=ASK, headers={"traceparent": PARENT})
        client.get("/metrics")
    spans = {span.name: span for span in told.get_finished_spans()}
    request = spans[f"POST {wire.TEXT_TO_IMAGE}"]
    assert set(spans) == {request.name, "wait", "run", "write"}
    assert format(request.context.trace_id, "032x") == PARENT.split("-")[1]
    assert format(request.parent.span_id, "016x") == PARENT.split("-")[2]
    for name in ("wait", "run", "write"):
        assert spans[name].parent.span_id == request.context.span_id
        assert request.start_time <= spans[name].start_time <= spans[name].end_time <= request.end_time
    assert spans["wait"].end_time == spans["run"].start_time
    assert dict(spans["run"].attributes) == {
        "pcevolve.images": 2,
        "pcevolve.denoise_seconds": 1.0,
        "pcevolve.decode_seconds": 0.5,
    }
    assert request.attributes["http.response.status_code"] == 200


def test_what_fails_is_an_error_without_the_words_of_it(serve, fake, told):
    with serve(fake) as client:
        client.post(wire.TEXT_TO_IMAGE, json=ASK | {"prompt": "explode"})
    requests = [span for span in told.get_finished_spans() if span.kind.name == "SERVER"]
    assert [span.attributes["http.response.status_code"] for span in requests] == [500]
    assert {span.status.status_code.name for span in requests} == {"ERROR"}
    assert not any(
        "SECRET" in span.to_json() or "explode" in span.to_json() for span in told.get_finished_spans()
    )


def test_a_path_that_a_caller_made_up_is_told_as_none(serve, fake, told):
    with serve(fake) as client:
        client.get("/SECRET?SECRET=1", headers={"tracestate": "SECRET=1", "baggage": "SECRET=1"})
        client.request("SECRET", wire.MODELS)
    assert [span.name for span in told.get_finished_spans()] == [
        "GET unmatched",
        f"_OTHER {wire.MODELS}",
    ]
    assert not any("SECRET" in span.to_json() for span in told.get_finished_spans())
