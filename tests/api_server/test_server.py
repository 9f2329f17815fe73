"""The server's process leaves in order and in time, whatever runs; and it ends when its model does."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from pcevolve_server.errors import SettingsError
from pcevolve_server.settings import Settings
from support.served import wait_until

pytestmark = pytest.mark.system

TESTS = Path(__file__).parents[1]
CODE = """
import sys
from pcevolve_server import logs, server
from pcevolve_server.engines import thread
from pcevolve_server.errors import ServerError
from pcevolve_server.models import ModelCache
from pcevolve_server.errors import SettingsError
from pcevolve_server.settings import Settings
from support.painters import Device, GpuPainter

logs.configure("info")
options = eval(sys.argv[1])
try:
    server.run(Settings(port=0, **options), thread.opening(lambda: ModelCache([lambda: GpuPainter(Device())]), 1.0))
except ServerError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)
"""


class Process:
    """A server whose model hangs, or whose device fails, when a prompt says so."""

    def __init__(self, log, **options):
        self.log = log
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-c", CODE, repr(options)],
                stderr=file,
                env=os.environ | {"PYTHONPATH": str(TESTS)},
            )
        wait_until(lambda: '"ready"' in log.read_text())
        port = re.search(r'"port": (\d+)', log.read_text())[1]
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30)

    def ask(self, prompt="p"):
        return self.http.post("/v1/stable-diffusion/text-to-image", json={"prompt": prompt})

    def seconds_to_end(self):
        begun = time.monotonic()
        self.process.wait(30)
        return time.monotonic() - begun


@pytest.fixture
def start(tmp_path):
    started = []

    def start(**options):
        started.append(Process(tmp_path / "log", **options))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.wait()


def test_what_hangs_holds_no_process_beyond_its_deadline(start):
    server, outcomes = start(shutdown_seconds=2, stall_seconds=0), []

    def ask():
        try:
            outcomes.append(server.ask("hang").status_code)
        except httpx.HTTPError:
            outcomes.append(503)  # cut off before an answer, which is all the same to its caller

    asking = threading.Thread(target=ask)
    asking.start()
    time.sleep(0.3)
    server.process.send_signal(signal.SIGTERM)
    assert 0.5 < server.seconds_to_end() < 3.5
    assert server.process.returncode == 0
    asking.join()
    assert outcomes == [503]


@pytest.mark.parametrize("prompt", ["break", "hang"])
def test_a_process_whose_device_failed_ends_for_its_supervisor(start, prompt):
    server = start(shutdown_seconds=60)
    answer = server.ask(prompt)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "failed")
    assert server.seconds_to_end() < 10
    assert server.process.returncode == 3


def test_after_sigterm_requests_are_taken_for_a_while_and_the_server_says_that_it_is_not_ready(start):
    server = start(shutdown_seconds=20, drain_seconds=2)
    server.process.send_signal(signal.SIGTERM)
    wait_until(lambda: server.http.get("/readyz").status_code == 503)
    assert server.http.get("/readyz").json() == {"status": "stopping"}
    with httpx.Client(base_url=server.http.base_url) as newcomer:  # over a connection of its own
        assert newcomer.post("/v1/stable-diffusion/text-to-image", json={"prompt": "p"}).status_code == 200
    assert server.seconds_to_end() < 10
    with pytest.raises(httpx.ConnectError):
        httpx.get(server.http.base_url.join("/readyz"))
    assert server.process.returncode == 0
    assert "error" not in server.log.read_text()


def test_a_second_signal_waits_no_longer(start):
    server = start(shutdown_seconds=60, drain_seconds=50)
    server.process.send_signal(signal.SIGTERM)
    wait_until(lambda: server.http.get("/readyz").status_code == 503)
    server.http.close()
    server.process.send_signal(signal.SIGTERM)
    assert server.seconds_to_end() < 10


def test_a_drain_as_long_as_all_there_is_would_leave_no_time_to_answer():
    with pytest.raises(SettingsError, match="--drain-seconds must be less than --shutdown-seconds"):
        Settings(shutdown_seconds=10, drain_seconds=10)
