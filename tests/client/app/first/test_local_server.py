"""A server on this machine, started and ended with who wanted it."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from pcevolve.app.first import local_server
from pcevolve.errors import ProviderUnreachableError


class Server:
    """A process that lives until it has been looked at so often, and says something each time."""

    def __init__(self, log: Path, says: list[dict[str, str]]) -> None:
        self._log, self._says = log, says

    def poll(self) -> int | None:
        """The exit code once it has ended."""
        if not self._says:
            return 3
        with self._log.open("a") as log:
            log.write(json.dumps(self._says.pop(0)) + "\n")
        return None


LISTENING = {"event": "listening", "port": "1"}
READY = {"event": "ready", "url": "http://127.0.0.1:7"}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_server, "POLL_SECONDS", 0)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """With what an earlier server said, which is gone."""
    path = tmp_path / "server.log"
    path.write_text(json.dumps({"event": "ready", "url": "http://127.0.0.1:6"}) + "\n")
    return path


def test_a_port_that_answers_is_no_model_in_memory(log: Path):
    server = Server(log, [LISTENING, LISTENING, READY])
    assert local_server._address(server, log, log.stat().st_size) == "http://127.0.0.1:7"
    assert server._says == []


def test_a_server_that_ends_is_not_waited_for(log: Path):
    server = Server(log, [LISTENING])
    with pytest.raises(ProviderUnreachableError, match=r"^pcevolve-server is not ready: see .*server\.log$"):
        local_server._address(server, log, log.stat().st_size)


def test_a_port_that_another_program_has_is_named_as_the_reason(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with (
            pytest.raises(ProviderUnreachableError, match=rf"is not ready \(.*{port}.*in use.*\): see "),
            local_server.serve_locally(tmp_path / "server.log", port),
        ):
            pass
