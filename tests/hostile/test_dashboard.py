"""Processes of this machine that attack the page of a run under way: it stays to be seen, and the run goes on."""

from __future__ import annotations

import http.client
import resource
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from hostile.attempt import TALLY, Attempt
from hostile.launcher import environment
from hostile.verdict import broken
from support.processes import wait_for_page

DESCRIPTORS = 256
"""That the client may have."""
CROWD = 1000
"""Connections that the attacker holds at a time."""
GREETING = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"
ATTACKS = {
    "connections on which nothing comes": (b"", b""),
    "heads that stop": (GREETING, b""),
    "heads that come by bytes": (GREETING, b"x"),
    "heads without end": (GREETING + b"X-Long: " + b"x" * 2**16, b"x" * 2**16),
    "answers that nobody takes": (GREETING + b"\r\n", b""),
    "requests behind requests": (64 * (GREETING + b"\r\n"), GREETING + b"\r\n"),
    "what is no request": (b"\x16\x03\x01\x02\x00\x01\r\n\r\n" + bytes(range(256)), b"\0"),
}
"""What is sent at once on each connection, and what later, again and again."""


def confine(descriptors: int) -> None:
    """Leave this process so many file descriptors."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))


@contextmanager
def besiege(port: int, opening: bytes, later: bytes) -> Iterator[None]:
    """Open connections without a pause, and hold as many as the attacker can."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 2 * CROWD)), hard))
    over = threading.Event()

    def attack() -> None:
        held: deque[tuple[socket.socket, list[bytes]]] = deque(maxlen=CROWD)  # one that drops out is closed
        while not over.is_set():
            held.append((socket.socket(), [later, opening]))
            held[-1][0].setblocking(False)
            held[-1][0].connect_ex(("127.0.0.1", port))  # the kernel goes on trying
            for _ in range(3):
                held.rotate()
                connection, to_send = held[0]
                with suppress(OSError):
                    connection.send(to_send[-1])
                    del to_send[1:]

    attacker = threading.Thread(target=attack)
    attacker.start()
    try:
        yield
    finally:
        over.set()
        attacker.join()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("name", ATTACKS)
def test_the_page_stays_to_be_seen_and_the_run_goes_on(name: str, attempt: Attempt):
    attempt.provider.arm(None, None)
    out, told = attempt.root / "besieged" / name, attempt.root / "told"
    command = attempt.command(out=out, ledger=out.with_suffix(".ledger"), iterations=2, pace=3)
    started = attempt.launch.forks.start(
        [*command, "--dashboard"],
        environment(attempt.root),
        outputs=(attempt.root / "printed", told),
        first=("hostile.test_dashboard:confine", DESCRIPTORS),
    )
    port, path = wait_for_page(told)
    seen: list[float] = []
    most = 0
    with besiege(port, *ATTACKS[name]):
        while started.poll() is None:
            begun = time.monotonic()
            with suppress(OSError, http.client.HTTPException):
                most = max(most, len(list(Path(f"/proc/{started.pid}/fd").iterdir())))
                if look(port, path) == 200:
                    seen.append(time.monotonic() - begun)
            time.sleep(0.1)
    said = told.read_text()
    faults = [
        *([f"exit code {started.returncode}"] if started.returncode else broken(out)),
        *(["a traceback"] if "Traceback" in said else []),
        *([f"{most} file descriptors"] if most > 180 else []),
        *([] if seen else ["the page was not to be seen"]),
    ]
    TALLY.add("crashed" if faults else "survived", "dashboard")
    assert not faults, (faults, said[-2000:])
    print(f"{name}: {most} file descriptors, the page {len(seen)} times, within {max(seen):.1f} s")


def look(port: int, path: str) -> int:
    """The status that a browser gets."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path, headers={"Sec-Fetch-Site": "none"})
        return connection.getresponse().status
    finally:
        connection.close()
