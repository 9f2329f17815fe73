"""The containers on a real engine: what the images hold, what each side can reach, and the main job from nothing.

Runs with PCEVOLVE_DOCKER_TESTS=1 where an engine answers; the first build takes many minutes.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from system.conftest import MODEL

pytestmark = [pytest.mark.system, pytest.mark.timeout(5400)]

ROOT = Path(__file__).parents[2]
NAME = "contained"
SMALL = {
    "PCEVOLVE_NAME": NAME,
    "PCEVOLVE_CANDIDATES": "6",
    "PCEVOLVE_ITERATIONS": "2",
    "PCEVOLVE_STEPS": "4",
}
OTHERS = {"api": "pcevolve_client", "client": "pcevolve_server"}

FACTS = """
import json, os, pathlib, shutil

def writable(folder):
    try:
        (pathlib.Path(folder) / "probe").touch()
        (pathlib.Path(folder) / "probe").unlink()
    except OSError:
        return False
    return True

status = dict(line.split(":\\t", 1) for line in open("/proc/self/status") if ":\\t" in line)
print(json.dumps({
    "user": os.getuid(),
    "capabilities": int(status["CapBnd"], 16),
    "no_new_privileges": status["NoNewPrivs"].strip(),
    "writable": [folder for folder in
        ("/", "/etc", "/opt/pcevolve", "/private", "/models", "/tmp", "/runs", "/state") if writable(folder)],
    "private": sorted(os.listdir("/private")) if os.path.exists("/private") else None,
    "tools": [tool for tool in ("pip", "uv", "gcc") if shutil.which(tool)],
}))
"""

SEARCH = """
import os, sys

count = 0
for folder, folders, files in os.walk("/"):
    if folder == "/":
        folders[:] = [name for name in folders if name not in ("proc", "sys")]
    count += sum(name.startswith(sys.argv[1]) for name in folders + files)
print(count)
"""

WAIT = """
import time, urllib.request

for _ in range(300):
    try:
        urllib.request.urlopen("http://api:8000/readyz", timeout=5)
        break
    except OSError:
        time.sleep(1)
"""

REACH = """
import json, socket, sys, urllib.request

def answers(address):
    try:
        socket.create_connection(address, timeout=3).close()
    except OSError as error:
        return str(error)
    return True

def lookup(name):
    try:
        return socket.gethostbyname(name)
    except OSError:
        return None

own = socket.gethostbyname(socket.gethostname())
first = own.rsplit(".", 1)[0] + ".1"
host = int(sys.argv[1])
print(json.dumps({
    "api": urllib.request.urlopen("http://api:8000/readyz", timeout=30).status,
    "elsewhere": {ip: answers((ip, port)) for ip, port in [("1.1.1.1", 443), ("8.8.8.8", 53), ("192.168.0.1", 80)]},
    "host": {ip: answers((ip, host)) for ip in [first, "172.17.0.1", *sys.argv[2:]]},
    "names": {name: lookup(name) for name in ("python.org", "example.com", "host.docker.internal")},
}))
"""


def _answers(*command: str) -> bool:
    return shutil.which(command[0]) is not None and (
        subprocess.run(command, capture_output=True, timeout=60).returncode == 0
    )


def _compose() -> list[str]:
    if os.environ.get("PCEVOLVE_DOCKER_TESTS") != "1":
        pytest.skip("builds images for many minutes: set PCEVOLVE_DOCKER_TESTS=1")
    if not _answers("docker", "info"):
        pytest.skip("no Docker engine answers")
    if _answers("docker", "compose", "version"):
        return ["docker", "compose"]
    if _answers("docker-compose", "version"):
        return ["docker-compose"]
    pytest.skip("neither docker compose nor docker-compose is installed")


@dataclass(frozen=True)
class Stack:
    """A project of its own, with its own runs and ledger."""

    command: list[str]
    runs: Path
    environment: dict[str, str]

    def __call__(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.command, *map(str, arguments)],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=3600,
        )

    def inside(self, service: str, code: str, *arguments: object) -> str:
        """Run Python in a new container of a service, confined as the service is."""
        done = self(
            "run", "--rm", "--no-deps", "-T", "--entrypoint", "python", service, "-c", code, *arguments
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip().splitlines()[-1]

    def main_job(self) -> subprocess.CompletedProcess[str]:
        return self("up", "--abort-on-container-exit", "--exit-code-from", "client")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    compose = _compose()
    runs = tmp_path_factory.mktemp("docker") / "runs"
    environment = {**os.environ, **SMALL, "PCEVOLVE_RUNS": str(runs)}
    if MODEL != "bundled":
        environment |= {"PCEVOLVE_MODELS": str(Path(MODEL).parent), "PCEVOLVE_MODEL": Path(MODEL).name}
    project = Stack([*compose, "-p", f"pcevolve-test-{os.getpid()}"], runs, environment)
    built = project("build")
    assert built.returncode == 0, built.stderr
    yield project
    project("down", "--volumes")


@pytest.fixture(scope="module")
def finished(stack: Stack) -> Path:
    done = stack.main_job()
    assert done.returncode == 0, done.stdout + done.stderr
    return stack.runs / NAME


@pytest.fixture(scope="module")
def listener() -> Iterator[int]:
    """A service of the host's that is open to all its neighbours."""
    with socket.create_server(("0.0.0.0", 0)) as server:

        def accept() -> None:
            try:
                while True:
                    server.accept()[0].close()
            except OSError:
                return

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]


def own_address() -> str:
    """The host's own, towards the outside; connecting a datagram socket sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        address: str = probe.getsockname()[0]
        return address


def facts(stack: Stack, service: str) -> dict[str, Any]:
    return json.loads(stack.inside(service, FACTS))


def spent(stack: Stack) -> list[dict[str, Any]]:
    done = stack("run", "--rm", "--no-deps", "-T", "client", "budget", "show", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_main_job_runs_from_nothing_and_leaves_a_run(finished: Path) -> None:
    summary = json.loads((finished / "summary.json").read_text())
    assert summary["images_released"] == 3 * int(SMALL["PCEVOLVE_CANDIDATES"])
    assert 0 < summary["epsilon_spent"] <= summary["epsilon_budget"]
    assert (finished / "report.html").stat().st_size > 0
    assert {path.name for path in (finished / "release").iterdir() if path.is_dir()} >= {
        "type A",
        "type B",
        "type C",
    }
    assert (finished / "transcript").is_dir()


def test_run_belongs_to_the_client_and_its_private_part_to_nobody_else(finished: Path) -> None:
    private = (finished / "private").stat()
    assert private.st_uid == int(os.environ.get("PCEVOLVE_UID", "1000"))
    assert stat.S_IMODE(private.st_mode) == 0o700


def test_audit_in_a_container_holds(stack: Stack, finished: Path) -> None:
    done = stack("run", "--rm", "--no-deps", "-T", "client", "audit", f"/runs/{NAME}", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["holds"] is True


def test_second_up_spends_nothing_more(stack: Stack, finished: Path) -> None:
    before = spent(stack)
    assert stack.main_job().returncode == 0
    assert spent(stack) == before


@pytest.mark.parametrize("service", OTHERS)
def test_container_is_an_ordinary_user_who_can_write_only_where_it_must(stack: Stack, service: str) -> None:
    seen = facts(stack, service)
    assert seen["user"] >= 1000
    assert seen["capabilities"] == 0
    assert seen["no_new_privileges"] == "1"
    assert seen["writable"] == {"api": ["/tmp"], "client": ["/tmp", "/runs", "/state"]}[service]


def test_only_the_client_sees_private_images(stack: Stack) -> None:
    assert facts(stack, "api")["private"] is None
    assert set(facts(stack, "client")["private"]) >= {"type A", "type B", "type C"}


@pytest.mark.parametrize("service", OTHERS)
def test_image_holds_nothing_of_the_other_side(stack: Stack, service: str) -> None:
    assert stack.inside(service, SEARCH, OTHERS[service]) == "0"
    assert stack.inside(service, SEARCH, OTHERS[service].replace("_", "-")) == "0"
    assert stack.inside(service, SEARCH, "pcevolve_shared") != "0"


@pytest.mark.parametrize("service", OTHERS)
def test_image_holds_no_build_tools_of_ours(stack: Stack, service: str) -> None:
    assert "uv" not in facts(stack, service)["tools"]
    assert stack.inside(service, SEARCH, "requirements.lock") == "0"


def test_client_reaches_the_server_and_nothing_else(stack: Stack, listener: int) -> None:
    up = stack("up", "-d", "api")
    assert up.returncode == 0, up.stderr
    seen = json.loads(stack.inside("client", WAIT + REACH, listener, own_address()))
    assert seen["api"] == 200
    for answers in (seen["elsewhere"], seen["host"]):
        assert True not in answers.values(), answers
    assert set(seen["names"].values()) == {None}
