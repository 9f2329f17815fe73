"""The auditor's recorder at the transport seam, fed as mitmproxy feeds it; for tests only."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from threading import RLock
from types import ModuleType, SimpleNamespace
from urllib.parse import urlsplit

import pytest

from pcevolve.public.transcript.records import Header
from pcevolve.wire.egress.transport import ConnectionTroubleError, Incoming, Outgoing, Transport

SCRIPT = Path(__file__).parents[2] / "docker" / "auditor" / "record.py"


class Recorded:
    """A provider behind the recorder.

    Attributes:
        stopped: How many flows the recorder stopped.
        meddle: May lose a request before (``"unsent"``), in (``"broken"``) or after (``"unanswered"``) the recorder,
            or have the recorder say that there is no API (``"refused"``).
    """

    def __init__(
        self,
        provider: Transport,
        capture: Path,
        key: str,
        meddle: Callable[[Outgoing], str] = lambda request: "",
    ) -> None:
        self.provider = provider
        self.meddle = meddle
        self.stopped = 0
        self.recording = RLock()  # mitmproxy has one thread
        self.recorder = _script().Recorder()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PCEVOLVE_AUDITOR_CAPTURE", str(capture))
            patch.setenv("PCEVOLVE_AUDITOR_KEY", key)
            self.recorder.load(None)

    def send(self, request: Outgoing) -> Incoming:
        """Send through the recorder."""
        trouble = self.meddle(request)
        if trouble == "unsent":
            raise ConnectionTroubleError("connection refused or no such host")
        flow = self._flow(request)
        with self.recording:
            self.recorder.requestheaders(flow)
            if trouble == "broken":
                raise self._lose(flow)
            self.recorder.request(flow)
        if trouble == "refused":
            self._lose(flow)
            return Incoming(502, (("Server", "mitmproxy"),), b"no API")
        answer = self.provider.send(request)
        if trouble == "unpassed":
            raise self._lose(flow)
        flow.response = SimpleNamespace(
            status_code=answer.status, headers=_headers(answer.headers), raw_content=answer.body
        )
        with self.recording:
            self.recorder.response(flow)
        if trouble == "unanswered":
            raise ConnectionTroubleError("the answer took too long")
        return answer

    def close(self) -> None:
        """Close the way to the provider."""
        self.provider.close()

    def _lose(self, flow: SimpleNamespace) -> ConnectionTroubleError:
        flow.error = SimpleNamespace(msg="Client disconnected.")
        with self.recording:
            self.recorder.error(flow)
        return ConnectionTroubleError("the connection broke")

    def _flow(self, request: Outgoing) -> SimpleNamespace:
        """Stand-in for mitmproxy's flow, as far as the recorder looks."""
        data = SimpleNamespace(
            method=request.method.encode(),
            authority=b"",
            path=request.target.encode(),
            http_version=b"HTTP/1.1",
        )
        headers, scheme = _headers(request.headers), urlsplit(request.url).scheme
        made = SimpleNamespace(data=data, headers=headers, raw_content=request.body, scheme=scheme)
        return SimpleNamespace(id=object(), request=made, response=None, error=None, kill=self._stop)

    def _stop(self) -> None:
        self.stopped += 1


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("record", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _headers(headers: tuple[Header, ...]) -> SimpleNamespace:
    fields = tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in headers)
    return SimpleNamespace(fields=fields)
