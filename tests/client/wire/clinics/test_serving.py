"""The coordinator's door over HTTP: what is read of whom, and who is sent away."""

from __future__ import annotations

import base64
import http.client
import socket
import threading
import time
from collections.abc import Iterator

import httpx
import pytest

from pcevolve.public.clinics.messages import state_presence
from pcevolve.public.clinics.sync import SYNC
from pcevolve.wire.clinics import serving
from support.clinics import make_key
from support.doors import CLINICS, answer, ask, read_all

SEVERAL_LINES = b'{"version": "0.9\\nall is well", "roster": "%s", "owner": 0, "token": "", "head": "%s"}' % (
    b"0" * 64,
    b"0" * 64,
)


@pytest.mark.parametrize("body", [b"", b"{}", b"nonsense", b"[" * 10_000, SEVERAL_LINES])
def test_what_is_no_message_is_refused(open_door, body):
    assert open_door.client.post(SYNC, content=body).status_code == 422
    assert open_door.client.post("/v1/other", content=body).status_code == 404


def test_a_message_without_a_length_or_too_long_is_not_read(open_door):
    def pieces() -> Iterator[bytes]:
        yield b"x"

    assert open_door.client.post(SYNC, content=pieces()).status_code == 413
    visit = http.client.HTTPConnection(
        open_door.client.base_url.host, open_door.client.base_url.port, timeout=5
    )
    visit.putrequest("POST", SYNC)
    visit.putheader("Content-Length", str(2**30))
    visit.endheaders()
    assert visit.getresponse().status == 413


def test_nothing_long_is_read_of_somebody_who_is_no_owner(open_door):
    for token in (None, make_key(3), make_key(1)):
        visit = http.client.HTTPConnection(
            open_door.client.base_url.host, open_door.client.base_url.port, timeout=5
        )
        visit.putrequest("POST", SYNC)
        visit.putheader("Content-Length", str(2**20))
        if token is not None:
            signed = token.signing.sign(state_presence(CLINICS.digest))
            visit.putheader("Authorization", f"0 {base64.b64encode(signed).decode()}")
        is_owner = token is not None and token.public == CLINICS.owners[0].key
        visit.endheaders(b"x" * 2**20 if is_owner else None)
        assert visit.getresponse().status == (422 if is_owner else 403)


def test_whoever_says_nothing_is_hung_up_on(coordinator, monkeypatch):
    monkeypatch.setattr(serving, "_SILENT_SECONDS", 0.2)
    address = coordinator.client.base_url
    with socket.create_connection((address.host, address.port), timeout=5) as visit:
        assert visit.recv(1) == b""


class Flood:
    """Strangers who connect as fast as they can, hold what they get, and send a byte now and then."""

    def __init__(self, port: int, threads: int = 4) -> None:
        self._port, self._over, self.made = port, threading.Event(), 0
        self._threads = [threading.Thread(target=self._pour, daemon=True) for _ in range(threads)]
        for each in self._threads:
            each.start()

    def end(self) -> None:
        self._over.set()
        for each in self._threads:
            each.join(10)

    def _pour(self) -> None:
        held: list[socket.socket] = []
        while not self._over.is_set():
            try:
                if len(held) < 90:
                    held.append(socket.create_connection(("127.0.0.1", self._port), timeout=5))
                    self.made += 1
                held.append(held.pop(0))
                held[-1].send(b"P")
            except OSError:  # sent away: it comes again
                if held:
                    held.pop().close()
        for each in held:
            each.close()


def test_in_a_flood_of_strangers_an_owner_is_let_in_and_answers(open_door):
    port = open_door.server.socket.getsockname()[1]
    token = base64.b64encode(make_key(1).signing.sign(state_presence(CLINICS.digest))).decode()
    flood, let_in = Flood(port), {"Authorization": f"0 {token}"}
    try:
        end = time.monotonic() + 60
        while flood.made < 340:
            assert time.monotonic() < end
            time.sleep(0.01)
        asking, known, tries = ask(open_door), read_all(open_door), 0
        open_door.client = httpx.Client(base_url=open_door.client.base_url, headers=let_in, timeout=10)
        while True:  # as an owner's front does, who is not let in at once
            tries += 1
            assert tries < 50, "nobody else gets in"
            try:
                heard = open_door.say(0, **known, **answer(0))
                break
            except httpx.HTTPError:
                time.sleep(0.1)
        assert heard.status_code == 200
        open_door.client.headers["Authorization"] = (
            f"1 {base64.b64encode(make_key(2).signing.sign(state_presence(CLINICS.digest))).decode()}"
        )
        assert open_door.say(1, **known, **answer(1)).status_code == 200  # the same connection stays
        asking.join(5)
        assert not asking.is_alive()
        assert len(open_door.server.guests) <= 64 + 1
    finally:
        flood.end()


def test_a_stranger_who_sends_a_byte_at_a_time_is_gone_when_its_time_is_over(open_door, monkeypatch):
    monkeypatch.setattr("pcevolve.wire.clinics.guests.UNAUTHENTICATED_SECONDS", 0.5)
    with socket.create_connection(("127.0.0.1", open_door.server.socket.getsockname()[1])) as slow:
        slow.settimeout(0.05)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            try:
                slow.send(b"P")
                if slow.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        else:
            pytest.fail("it is still there")
