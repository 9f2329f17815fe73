"""Independent record of a client's traffic, as an addon of mitmproxy; shares no code with what it watches.

A capture is a file of JSON lines, each on disk before what it tells of goes on: a request before its first byte is
passed to the API, an answer before its first byte is passed to the client. What cannot be written is not passed on.
A restart appends. Format ``pcevolve-capture/2``, one of these a line:

- ``{"event": "opened", "time": T, "format": "pcevolve-capture/2", "recorder": NAME}``: a start; flows count from 1
- ``{"event": "request", "time": T, "flow": N, "method": M, "target": PATH, "version": "HTTP/1.1", "headers": HEADERS,
  "body": BODY}``: a whole request, about to be passed on
- ``{"event": "answer", "time": T, "flow": N, "status": CODE, "headers": HEADERS, "body": BODY}``: a whole answer
- ``{"event": "failed", "time": T, "flow": N, "reason": TEXT, "request": HEAD}``: no whole answer; ``HEAD`` is None, or
  the request (with ``body`` None) if it never became whole, in which case nothing of it was passed on

``T`` is seconds since 1970. ``HEADERS`` is a list of [name, value] in the order and spelling of the wire; a value that
is the owner's key is replaced by its scheme (``Bearer``, ``Basic`` or nothing), a line feed, which no header has, and
``(hidden)``; one that is any other key is not. ``BODY`` is ``{"sha256": HEX, "base64": TEXT}``. Bytes beyond ASCII in
text are read as Latin-1.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mitmproxy.http import Headers, HTTPFlow, Message, Request

FORMAT = "pcevolve-capture/2"
HIDDEN = "(hidden)"
HTTPS_PORT = 443


class Capture:
    """A capture that is being written."""

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._file = os.fdopen(descriptor, "r+b", buffering=0)
        self._drop_torn_line()

    def write(self, event: str, **facts: object) -> None:
        """Put one line on the disk."""
        line = json.dumps({"event": event, "time": round(time.time(), 3), **facts}, separators=(",", ":"))
        raw = line.encode("ascii") + b"\n"
        if self._file.write(raw) != len(raw):
            self._file.close()  # nothing may be put behind a torn line, so nothing passes until a restart drops it
            raise OSError("the disk took only a part of a line")
        os.fsync(self._file.fileno())

    def _drop_torn_line(self) -> None:
        """Cut off a line that a crash left unfinished: what it says had not been passed on."""
        end = whole = self._file.seek(0, os.SEEK_END)
        while whole and os.pread(self._file.fileno(), 1, whole - 1) != b"\n":
            whole -= 1
        if whole < end:
            self._file.truncate(whole)


class Recorder:
    """Writes down every flow, in the order in which they began."""

    def __init__(self) -> None:
        self._begun: dict[str, tuple[int, dict[str, Any]]] = {}
        self._count = 0

    def load(self, loader: object) -> None:
        """Begin; mitmproxy ends if this fails. The environment names the file and the key to hide."""
        self._secrets = _spellings(os.environ.get("PCEVOLVE_AUDITOR_KEY", ""))
        self._capture = Capture(Path(os.environ["PCEVOLVE_AUDITOR_CAPTURE"]))
        self._capture.write("opened", format=FORMAT, recorder="mitmproxy")

    def configure(self, updated: set[str]) -> None:
        """Listen on the address of the name that is given: where it passes on by https, mitmproxy takes no name."""
        from mitmproxy import ctx

        if "listen_host" in updated and ctx.options.listen_host:
            address = socket.gethostbyname(ctx.options.listen_host)
            if address != ctx.options.listen_host:
                ctx.options.listen_host = address

    def requestheaders(self, flow: HTTPFlow) -> None:
        """Number a request and copy its head before mitmproxy touches it: it takes `Expect` out, for one."""
        self._count += 1
        self._begun[flow.id] = (self._count, self._head(flow.request))

    def request(self, flow: HTTPFlow) -> None:
        """Record a whole request; let it go only then."""
        number, head = self._begun[flow.id]
        with _or_stop(flow):
            self._capture.write("request", flow=number, **head, body=_body(flow.request))
        self._begun[flow.id] = (number, {})
        if flow.request.scheme == "https":  # an online endpoint serves its own name, and not the recorder's
            flow.request.host_header = _host_of(flow.request)

    def response(self, flow: HTTPFlow) -> None:
        """Record a whole answer; let it go only then."""
        number, _ = self._begun.pop(flow.id)
        answer = flow.response
        assert answer is not None  # mitmproxy calls this when there is one
        with _or_stop(flow):
            self._capture.write(
                "answer",
                flow=number,
                status=answer.status_code,
                headers=self._headers(answer.headers),
                body=_body(answer),
            )

    def error(self, flow: HTTPFlow) -> None:
        """Record that there will be no answer, or not even a whole request."""
        if flow.id not in self._begun:
            return
        number, head = self._begun.pop(flow.id)
        reason = flow.error.msg if flow.error else "unknown"
        self._capture.write(
            "failed", flow=number, reason=reason, request={**head, "body": None} if head else None
        )

    def _head(self, request: Request) -> dict[str, Any]:
        return {
            "method": request.data.method.decode("latin-1"),
            "target": (request.data.authority + request.data.path).decode("latin-1"),
            "version": request.data.http_version.decode("latin-1"),
            "headers": self._headers(request.headers),
        }

    def _headers(self, headers: Headers) -> list[tuple[str, str]]:
        pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.fields]
        return [(name, self._secrets.get(value, value)) for name, value in pairs]


@contextmanager
def _or_stop(flow: HTTPFlow) -> Iterator[None]:
    """Stop a flow that could not be recorded; mitmproxy itself would log the error and pass it on."""
    try:
        yield
    except BaseException:
        flow.kill()
        raise


def _host_of(request: Request) -> str:
    return request.host if request.port == HTTPS_PORT else f"{request.host}:{request.port}"


def _spellings(key: str) -> dict[str, str]:
    """How a key may stand in a header, and what stands in its place."""
    basic = base64.b64encode(key.encode()).decode("ascii")
    spelled = {key: "", f"Bearer {key}": "Bearer", f"Basic {basic}": "Basic"} if key else {}
    return {value: f"{scheme}\n{HIDDEN}" for value, scheme in spelled.items()}


def _body(message: Message) -> dict[str, str]:
    data = message.raw_content or b""
    return {"sha256": hashlib.sha256(data).hexdigest(), "base64": base64.b64encode(data).decode("ascii")}


addons = [Recorder()]
