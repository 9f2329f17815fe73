"""Uploads without the key, and JSON with it, cost the server memory and attention: so much, and no more."""

from __future__ import annotations

import base64
import contextlib
import threading

import pytest

from flood.servers import KEY, MIB, LightServer
from pcevolve_shared import limits, wire

pytestmark = pytest.mark.alone

CONNECTIONS = 15
UPLOAD = 21 * MIB
MOST_GROWTH = 5 * MIB
MOST_SECONDS = 0.2  # for a JSON of two million keys
HEAVIEST_SECONDS = 0.5  # for what is decoded, searched or copied as a whole
ATTEMPTS = 3  # a busy machine may hold up one of them, a server that is held up is so in all of them


class Uploads:
    """Fifteen callers without the key, each of whom sends 21 MiB of a longer body and stays."""

    def __init__(self, server: LightServer, path: str) -> None:
        self._server, self._path = server, path
        self._over = threading.Event()
        self._ended = threading.Semaphore(0)
        self._senders = [threading.Thread(target=self._send) for _ in range(CONNECTIONS)]

    def _send(self) -> None:
        length = f"Content-Length: {UPLOAD + 1}"
        with self._server.connect() as connection:
            with contextlib.suppress(OSError):
                connection.sendall(
                    f"POST {self._path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{length}\r\n\r\n".encode()
                )
                for _ in range(UPLOAD // MIB):
                    connection.sendall(bytes(MIB))
            self._ended.release()
            self._over.wait()

    def __enter__(self) -> Uploads:
        for sender in self._senders:
            sender.start()
        for _ in self._senders:
            assert self._ended.acquire(timeout=60)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for sender in self._senders:
            sender.join()


@pytest.mark.parametrize("path", [wire.HEALTH, wire.METRICS, wire.IMAGE_TO_IMAGE, "/nowhere"])
def test_fifteen_uploads_without_the_key_leave_the_memory_as_it_is(locked: LightServer, path):
    with locked.growth() as growth, Uploads(locked, path):
        grown = growth()
    print(f"{path}: memory grew by {grown / MIB:.2f} MiB")
    assert grown < MOST_GROWTH


def longest_wait(server: LightServer, path: str, body: bytes, **headers: str) -> tuple[float, int]:
    """Return the longest answer of /healthz while ``body`` is sent with the key, in the best of some attempts."""
    longest = []
    for _ in range(ATTEMPTS):
        with server.watch_health() as seconds:
            status, _ = server.ask("POST", path, body, Authorization=f"Bearer {KEY}", **headers)
        longest.append(max(seconds))
        if longest[-1] < MOST_SECONDS:
            break
    print(f"{path}: /healthz answered within {min(longest):.3f} s")
    return min(longest), status


def two_million_keys(opening: str = "{") -> bytes:
    return (opening + ",".join(f'"{number:05x}":1' for number in range(2_000_000)) + "}").encode()[
        : 22 * 10**6
    ]


@pytest.mark.parametrize(
    "path", [wire.IMAGE_TO_IMAGE, wire.IP_ADAPTER, wire.TEXT_TO_IMAGE, wire.OPENAI_GENERATIONS]
)
def test_a_json_of_two_million_keys_does_not_hold_up_the_server(locked: LightServer, path):
    seconds, status = longest_wait(locked, path, two_million_keys(), Content_Type="application/json")
    assert status in {413, 422}
    assert seconds < MOST_SECONDS


def largest_honest_json() -> bytes:
    image = base64.b64encode(bytes(limits.MAX_IMAGE_BYTES))
    return b'{"model": "painter", "prompt": "a", "image": "' + image + b'"}'


def near_boundaries() -> bytes:
    """A form of 21 MB that is full of what is almost its boundary."""
    head = b"--" + b"-" * 60 + b'\r\nContent-Disposition: form-data; name="image"\r\n\r\n'
    return head + (b"\r\n--" + b"-" * 59) * 330_000 + b"\r\n--" + b"-" * 60 + b"--\r\n"


HEAVY = {
    "the largest image": (wire.IMAGE_TO_IMAGE, "application/json", largest_honest_json),
    "a string of escapes": (
        wire.IMAGE_TO_IMAGE,
        "application/json",
        lambda: b'{"image": "' + rb"\u002b" * 3_600_000 + b'"}',
    ),
    "arrays in arrays": (wire.IMAGE_TO_IMAGE, "application/json", lambda: b"[" * 22_000_000),
    "as many messages as are parsed": (
        wire.CHAT,
        "application/json",
        lambda: b'{"model": "painter", "messages": [' + b"{}," * 21_000 + b"{}]}",
    ),
    "many images": (wire.IMAGE_TO_IMAGE, "application/json", lambda: b'{"image":"",' * 1_800_000),
    "a form of two million fields": (
        wire.OPENAI_EDITS,
        "multipart/form-data; boundary=b",
        lambda: b"--b\r\n" * 3_000_000,
    ),
    "almost a boundary": (wire.OPENAI_EDITS, "multipart/form-data; boundary=" + "-" * 60, near_boundaries),
}


@pytest.mark.parametrize("name", HEAVY)
def test_the_heaviest_bodies_do_not_hold_up_the_server(locked: LightServer, name):
    path, kind, body = HEAVY[name]
    seconds, status = longest_wait(locked, path, body(), Content_Type=kind)
    assert status in {413, 422}
    assert seconds < HEAVIEST_SECONDS


def test_a_body_in_chunks_of_one_byte_does_not_hold_up_the_server(locked: LightServer):
    head = f"POST {wire.HEALTH} HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    longest = []
    for _ in range(ATTEMPTS):
        with locked.watch_health() as seconds, contextlib.ExitStack() as stack:
            for _ in range(CONNECTIONS):
                connection = stack.enter_context(locked.connect())
                with contextlib.suppress(OSError):
                    connection.sendall(head + b"1\r\na\r\n" * 200_000)
        longest.append(max(seconds))
    assert min(longest) < HEAVIEST_SECONDS
