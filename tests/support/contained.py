"""The containers of a project on a real engine, and what to ask inside of them; for tests only.

Builds only with PCEVOLVE_DOCKER_TESTS=1, where an engine answers; the first build takes many minutes.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.processes import MODEL
from support.tally import Tally

ROOT = Path(__file__).parents[2]
NAME = "contained"
SMALL = {"PCEVOLVE_NAME": NAME, "PCEVOLVE_CANDIDATES": "6", "PCEVOLVE_ITERATIONS": "2", "PCEVOLVE_STEPS": "4"}
WRITABLE = {
    "api": ["/tmp"],
    "client": ["/tmp", "/runs"],
    "keeper": ["/tmp", "/state", "/door"],
    "auditor": ["/tmp", "/captures"],
}

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
        "/ /etc /opt /private /models /tmp /runs /state /door /captures".split() if writable(folder)],
    "interfaces": sorted(os.listdir("/sys/class/net")),
    "ledger": sorted(os.listdir("/state")) if os.path.exists("/state") else [],
    "private": sorted(os.listdir("/private")) if os.path.exists("/private") else None,
    "tools": [tool for tool in ("pip", "uv", "gcc") if shutil.which(tool)],
}))
"""

SEARCH = """
import os, re, sys

own = re.compile(re.escape(sys.argv[1]) + r"(\\.py|-[0-9].*)?").fullmatch
count = 0
for folder, folders, files in os.walk("/"):
    if folder == "/":
        folders[:] = [name for name in folders if name not in ("proc", "sys")]
    count += sum(own(name) is not None for name in folders + files)
print(count)
"""

# Counts the files of the whole container that have a digest.
SAME = """
import hashlib, os, sys

count = 0
for folder, folders, files in os.walk("/"):
    if folder == "/":
        folders[:] = [name for name in folders if name not in ("proc", "sys", "dev")]
    for name in files:
        try:
            with open(os.path.join(folder, name), "rb") as file:
                count += hashlib.file_digest(file, "sha256").hexdigest() == sys.argv[1]
        except OSError:
            continue
print(count)
"""

# Waits for one address of the web, then tries others; "first" is where a bridge's gateway would be.
REACH = """
import json, socket, sys, time, urllib.request

def answers(address):
    try:
        socket.create_connection(tuple(address), timeout=3).close()
    except OSError:
        return False
    return True

def lookup(name):
    try:
        return socket.gethostbyname(name)
    except OSError:
        return None

asked = json.loads(sys.argv[1])
status = None
for _ in range(300 if asked["url"] else 0):
    try:
        status = urllib.request.urlopen(asked["url"], timeout=30).status
        break
    except OSError:
        time.sleep(1)
first = None
if any(host == "first" for host, _ in asked["targets"]):
    first = socket.gethostbyname(socket.gethostname()).rsplit(".", 1)[0] + ".1"
targets = [[first if host == "first" else host, port] for host, port in asked["targets"]]
print(json.dumps({
    "status": status,
    "reached": [target for target in targets if answers(target)],
    "known": [name for name in asked["names"] if lookup(name)],
}))
"""
INTERNET = [["1.1.1.1", 443], ["8.8.8.8", 53], ["192.168.0.1", 80]]
NAMES = ["python.org", "example.com", "host.docker.internal"]


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
    root: Path
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

    @property
    def run(self) -> Path:
        """The main job's folder."""
        return self.root / "runs" / NAME

    @property
    def capture(self) -> Path:
        return self.root / "captures" / f"{NAME}.jsonl"

    def address(self, service: str) -> str:
        """Of a container that is up."""
        code = "import socket; print(socket.gethostbyname(socket.gethostname()))"
        done = self("exec", "-T", service, "python", "-c", code)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def main_job(self) -> subprocess.CompletedProcess[str]:
        return self("up", "--abort-on-container-exit", "--exit-code-from", "client")


def project(root: Path, name: str, *options: str) -> Iterator[Stack]:
    folders = {"PCEVOLVE_RUNS": str(root / "runs"), "PCEVOLVE_CAPTURES": str(root / "captures")}
    environment = {**os.environ, **SMALL, **folders}
    if MODEL != "bundled":
        environment |= {"PCEVOLVE_MODELS": str(Path(MODEL).parent), "PCEVOLVE_MODEL": Path(MODEL).name}
    stack = Stack([*_compose(), *options, "-p", f"pcevolve-{name}-{os.getpid()}"], root, environment)
    try:
        built = stack("build")
        assert built.returncode == 0, built.stderr
        yield stack
    finally:
        stack("down", "--volumes")


def own_address() -> str:
    """The host's own, towards the outside; connecting a datagram socket sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        address: str = probe.getsockname()[0]
        return address


def facts(stack: Stack, service: str) -> dict[str, Any]:
    return json.loads(stack.inside(service, FACTS))


def show_spent(stack: Stack) -> list[dict[str, Any]]:
    done = stack("run", "--rm", "--no-deps", "-T", "keeper", "budget", "show", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def require_allowed(tally: Tally, done: subprocess.CompletedProcess[str]) -> str:
    """Count what has to work."""
    tally.add("allowed" if done.returncode == 0 else "refused")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def reach(
    stack: Stack,
    tally: Tally,
    service: str,
    url: str | None,
    targets: list[Any],
    names: Sequence[str] = NAMES,
) -> None:
    """One service gets an answer from the one address that it may call, and from nobody else."""
    asked = {"url": url, "targets": targets, "names": names}
    seen = json.loads(stack.inside(service, REACH, json.dumps(asked)))
    gone = len(seen["reached"]) + len(seen["known"])
    for number in range(len(targets) + len(names)):
        tally.add("escaped" if number < gone else "refused")
    if url:
        tally.add("allowed" if seen["status"] == 200 else "refused")
    assert seen == {"status": 200 if url else None, "reached": [], "known": []}, f"{service}: {seen}"


def of_the_host(port: int) -> list[list[Any]]:
    return [[each, port] for each in ("first", "172.17.0.1", own_address())]
