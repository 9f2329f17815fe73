"""The command as a real process: exit codes, one-line errors, and a whole life over real HTTP.

The whole life is that of the installed command; the others are forks, which ``system/test_forkserver.py`` compares.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from pcevolve_server.settings import API_KEY_VARIABLE
from pcevolve_shared import images, wire
from support.forking import API_SERVER

pytestmark = pytest.mark.system

COMMAND = Path(sys.executable).with_name("pcevolve-server")
KEY = "correct-horse-battery-staple"


def environment(**extra):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PCEVOLVE_")}
    return inherited | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"} | extra


@pytest.fixture
def run(forks):
    return lambda *arguments, **extra: forks.run(arguments, environment(**extra), 400, command=API_SERVER)


def assert_fails(done, code, message):
    assert done.returncode == code, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("pcevolve-server: ")]
    assert len(lines) == 1
    assert message in lines[0]
    assert "Traceback" not in done.stderr


def test_the_key_cannot_be_given_where_other_users_see_it(run):
    assert "--api-key " not in run("serve", "--help", COLUMNS="200").stdout


@pytest.mark.parametrize("option", ["--port 99999", "--batching maybe", "--drain-seconds 30", "--nope"])
def test_impossible_options_exit_with_2(run, option):
    assert run("serve", *option.split()).returncode == 2


def test_listening_to_the_network_without_a_key_is_refused(run):
    assert_fails(run("serve", "--host", "0.0.0.0"), 2, "refusing to listen on 0.0.0.0 without an API key")


def test_a_port_that_is_taken_is_told_with_the_option_for_another(run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        asked = run("serve", "--port", str(taken.getsockname()[1]))
    assert_fails(asked, 4, "choose another --port or --host")


class Server:
    """A server process, its log and its address; the installed command unless there are forks to be one of."""

    def __init__(self, log_path, *arguments, forks=None, **extra):
        self.log_path = log_path
        words = ["serve", "--port", "0", *map(str, arguments)]
        if forks is not None:
            outputs = (log_path.with_name("printed"), log_path)
            self.process = forks.start(words, environment(**extra), outputs, command=API_SERVER)
        else:
            with log_path.open("wb") as log:
                self.process = subprocess.Popen([COMMAND, *words], stderr=log, env=environment(**extra))
        self.url = f"http://127.0.0.1:{self.wait(self.port)}"

    def log(self):
        lines = self.log_path.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def port(self):
        return next((entry["port"] for entry in self.log() if entry["event"] == "listening"), None)

    def wait(self, condition, seconds=400):
        deadline = time.monotonic() + seconds
        while not (value := condition()):
            assert self.process.poll() is None, self.log_path.read_text()
            assert time.monotonic() < deadline, "waited in vain"
            time.sleep(0.1)
        return value

    def call(self, path, body=None, key=KEY):
        """Return status and body."""
        data = None if body is None else body.model_dump_json(exclude_unset=True).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        request = urllib.request.Request(self.url + path, data, headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def model(self):
        """Return what the server says of its model."""
        (info,) = wire.ModelList.model_validate_json(self.call(wire.MODELS)[1]).data
        return info

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@pytest.fixture(scope="module")
def server(tiny_model, tmp_path_factory):
    log = tmp_path_factory.mktemp("server") / "log"
    running = Server(log, "--model", tiny_model, "--max-batch", 4, **{API_KEY_VARIABLE: KEY})
    yield running
    running.process.kill()
    running.process.wait()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found in Linux's /proc")
@pytest.mark.parametrize(
    ("number", "code", "replicas"), [(signal.SIGTERM, 0, 2), (signal.SIGKILL, -signal.SIGKILL, 1)]
)
def test_replicas_answer_as_one_process_does_and_end_with_the_server(
    server, tiny_model, tmp_path, number, code, replicas, forks
):
    options = ("--model", tiny_model, "--engine", "processes", "--replicas", replicas)
    several = Server(tmp_path / "log", *options, forks=forks)
    server.wait(lambda: server.call(wire.READY)[0] == 200)
    several.wait(lambda: several.call(wire.READY)[0] == 200)
    ask = wire.TextToImageRequest(model=server.model().id, prompt="a cat", steps=4, seed=11, n=2)
    assert several.call(wire.TEXT_TO_IMAGE, ask) == server.call(wire.TEXT_TO_IMAGE, ask)
    children = Path(f"/proc/{several.process.pid}/task/{several.process.pid}/children").read_text().split()
    assert len(children) >= replicas
    several.process.send_signal(number)
    assert several.process.wait(60) == code
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < deadline, "a replica outlives its server"
        time.sleep(0.1)
    assert "leaked" not in several.log_path.read_text()


def waiting_images(server):
    return int(float(re.search(rb"^pcevolve_queue_images (\S+)", server.call("/metrics")[1], re.M)[1]))


def test_after_sigterm_who_cannot_be_served_in_time_is_told_so_and_not_cut_off(tiny_model, tmp_path, forks):
    options = ("--model", tiny_model, "--threads", 1, "--shutdown-seconds", 3)
    stopping = Server(tmp_path / "log", *options, forks=forks)
    stopping.wait(lambda: stopping.call(wire.READY)[0] == 200)
    ask = wire.TextToImageRequest(prompt="a cat", steps=150, width=64, height=64, n=64)
    with ThreadPoolExecutor() as pool:
        asked = [pool.submit(stopping.call, wire.TEXT_TO_IMAGE, ask) for _ in range(2)]
        # A first piece of what was asked for is being drawn, and the others wait.
        stopping.wait(lambda: 64 < waiting_images(stopping) < 128)
        assert stopping.stop() == 0
        answers = [(status, json.loads(body)["error"]["code"]) for status, body in map(Future.result, asked)]
    assert answers == 2 * [(503, "stopping")]


def test_a_real_server_lives_a_whole_life(server):
    # The port answers long before the model does.
    assert server.call(wire.HEALTH)[0] == 200
    server.wait(lambda: server.call(wire.READY)[0] == 200)
    info = server.model()

    ask = wire.TextToImageRequest(model=info.id, prompt="a secret cat", steps=4, seed=11, n=6)
    status, first = server.call(wire.TEXT_TO_IMAGE, ask)
    made = wire.BatchResponse.model_validate_json(first).images
    assert (status, [image.seed for image in made]) == (200, [11, 12, 13, 14, 15, 16])
    assert images.decode(images.from_base64(made[0].image)).size == (32, 32)
    assert server.call(wire.TEXT_TO_IMAGE, ask)[1] == first

    seen = set()
    for strength in (0.0, 0.60, 0.62, 1.0):
        body = wire.ImageToImageRequest(
            model=info.id, prompt="dog", steps=10, seed=1, image=made[0].image, strength=strength
        )
        status, answer = server.call(wire.IMAGE_TO_IMAGE, body)
        assert status == 200
        seen.add(wire.ImageResponse.model_validate_json(answer).image)
    assert len(seen) == 4

    assert server.call(wire.TEXT_TO_IMAGE, ask, key="wrong")[0] == 401
    assert server.stop() == 0
    text = server.log_path.read_text()
    assert all(json.loads(line) for line in text.splitlines())
    assert [entry["url"] for entry in server.log() if entry["event"] == "ready"] == [server.url]
    assert not [word for word in ("secret", KEY, made[0].image[:40]) if word in text]
