"""The native wire over a real socket: the fake provider on loopback; for tests only."""

from __future__ import annotations

from pcevolve.egress.transport import Outgoing
from support.online import Heard, LocalServer, Reply
from support.provider import FakeProvider


def native_server() -> LocalServer:
    """An API server whose model answers with noise."""
    provider = FakeProvider()

    def speak(heard: Heard) -> Reply:
        said = provider.answer(Outgoing(heard.method, f"http://127.0.0.1{heard.path}", (), heard.body))
        return Reply(said.status, said.body, dict(said.headers))

    return LocalServer(speak)
