"""A request of many large images holds up neither who comes after it nor the end of the server."""

from __future__ import annotations

import signal
import threading
import time

import httpx
import pytest

from pcevolve_shared import wire
from support.processes import ServerProcess

LARGE = {"prompt": "a", "n": 64, "width": 1024, "height": 1024, "steps": 4}
SMALL = {"prompt": "a", "n": 1, "width": 64, "height": 64, "steps": 4, "seed": 1}


def ask(server: ServerProcess, fields: dict[str, object], seconds: float) -> httpx.Response:
    return httpx.post(
        server.address + wire.TEXT_TO_IMAGE, json=fields, timeout=httpx.Timeout(10, read=seconds)
    )


def test_many_large_images_hold_up_no_small_one_after_their_caller_left_and_no_end(tmp_path, forks):
    """The small one had no answer in 130 s, and the process lived for minutes after SIGTERM."""
    with ServerProcess(tmp_path / "log", forks, arguments=("--shutdown-seconds", 3)) as server:
        with pytest.raises(httpx.ReadTimeout):
            ask(server, LARGE, 2)
        begun = time.monotonic()
        assert ask(server, SMALL, 100).status_code == 200
        assert time.monotonic() - begun < 60

        left = []
        asking = threading.Thread(target=lambda: left.append(ask(server, LARGE, 60).status_code))
        asking.start()
        time.sleep(1)
        server.process.send_signal(signal.SIGTERM)
        begun = time.monotonic()
        assert server.process.wait(60) == 0
        assert time.monotonic() - begun < 20
        asking.join()
        assert left == [503]
