"""The native wire over a real socket: the fake provider on loopback; for tests only."""

from __future__ import annotations

from pcevolve.wire.egress.transport import Outgoing
from pcevolve_shared import wire
from support.online import Heard, LocalServer, Reply, answer_json
from support.provider import SIZE, FakeProvider


def native_server(*models: str) -> LocalServer:
    """An API server whose models, one called ``bundled`` if none are named, answer with noise."""
    provider = FakeProvider()
    told = {"base_resolution": {"width": SIZE, "height": SIZE}}
    known = [{"id": each, **told} for each in models or ("bundled",)]

    def speak(heard: Heard) -> Reply:
        if heard.path == wire.MODELS:
            return answer_json(200, known)
        if heard.path == wire.BALANCE:
            return answer_json(200, {"balance": None})
        answer = provider.answer(Outgoing(heard.method, f"http://127.0.0.1{heard.path}", (), heard.body))
        return Reply(answer.status, answer.body, dict(answer.headers))

    return LocalServer(speak)
