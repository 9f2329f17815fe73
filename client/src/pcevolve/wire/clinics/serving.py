"""The coordinator's door over HTTP: connections, messages and files, with limits before anything is read."""

from __future__ import annotations

import base64
import re
import socket
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from pcevolve.errors import UsageError
from pcevolve.public.clinics.sync import BODIES, MOST_BYTES, SYNC, Denied, Sync
from pcevolve.wire.clinics.door import DeniedError, Door
from pcevolve.wire.clinics.guests import Guests

MOST_UNAUTHENTICATED_BYTES: Final = 2**16
"""Largest number of bytes of a message that are read before the sender is known; only owners' answers are longer."""
_NO_OWNER: Final = "only owners of the roster are accepted"
_SILENT_SECONDS: Final = 60.0
"""Longest time in seconds for which a connection may send nothing."""
_BODY: Final = re.compile(re.escape(BODIES) + "([0-9a-f]{64})")


class _Listening(ThreadingHTTPServer):
    """Serves a door at a port that is already open."""

    daemon_threads = True

    def __init__(self, listener: int, door: Door, tls: ssl.SSLContext | None) -> None:
        self.door, self.guests, self._tls = door, Guests(), tls
        super().__init__(("", 0), _Visit, bind_and_activate=False)
        self.socket.close()
        self.socket = socket.socket(fileno=listener)

    def get_request(self) -> tuple[Any, Any]:
        connection, address = super().get_request()
        connection.settimeout(_SILENT_SECONDS)
        if self._tls is not None:  # the TLS handshake is done in the client's thread
            connection = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as it is declared
        self.guests.arrive(request, client_address[0])
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        if isinstance(request, ssl.SSLSocket):
            try:
                request.do_handshake()
            except OSError as error:
                self.door.note_fault(getattr(error, "reason", None))
                self.shutdown_request(request)
                return
        super().process_request_thread(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401
        self.guests.leave(request)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        self.guests.dismiss_late()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Ignore a connection that breaks."""


class _Visit(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Listening

    def do_POST(self) -> None:
        self._answer(self._hear)

    def do_GET(self) -> None:
        self._answer(self._give)

    def log_message(self, *_: object) -> None:
        """Do nothing, so that no addresses are logged."""

    def version_string(self) -> str:
        """Return an empty string, so that no library is named."""
        return "pcevolve"

    def _answer(self, respond: Callable[[], bytes]) -> None:
        try:
            status, body = 200, respond()
        except DeniedError as error:
            status, body = error.status, Denied(why=error.why).model_dump_json().encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if status != 200:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        self.wfile.write(body)

    def _hear(self) -> bytes:
        # Path, length and sender are checked before the body is read.
        length = self.headers.get("Content-Length", "")
        if self.path != SYNC:
            raise DeniedError(404, "there is nothing at this address")
        if not (length.isascii() and length.isdigit()) or int(length) > MOST_BYTES:
            raise DeniedError(413, "a message without a length, or too long")
        if not self._is_owner() and int(length) > MOST_UNAUTHENTICATED_BYTES:
            raise DeniedError(403, _NO_OWNER)
        try:
            sync = Sync.model_validate_json(self.rfile.read(int(length)))
        except ValidationError:
            raise DeniedError(422, "this message does not belong to this version of pcevolve") from None
        return self.server.door.hear(sync).model_dump_json().encode()

    def _is_owner(self) -> bool:
        """True if the request's headers contain an owner's signature; the connection then counts as the owner's."""
        place, _, token = self.headers.get("Authorization", "").partition(" ")
        try:
            signed = base64.b64decode(token, validate=True)
        except ValueError:
            signed = b""
        if not (place.isascii() and place.isdigit() and len(place) < 4):
            return False
        is_owner = self.server.door.admits(int(place), signed)
        if is_owner:
            self.server.guests.recognise(self.connection, int(place))
        return is_owner

    def _give(self) -> bytes:
        if not self._is_owner():
            raise DeniedError(403, _NO_OWNER)
        found = _BODY.fullmatch(self.path)
        if found is None:
            raise DeniedError(404, "there is nothing at this address")
        return self.server.door.find_body(found[1])


def serve(listener: int, door: Door, certificate: Path | None, key: Path | None) -> ThreadingHTTPServer:
    """Start serving a door in threads; ``UsageError`` if the certificate or its key cannot be used."""
    server = _Listening(listener, door, None if certificate is None else _load(certificate, key))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
    return server


def _load(certificate: Path, key: Path | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"--certificate {certificate} cannot be used: {error}") from None
    return context
