"""The containers on a real engine: what the images hold, what each side can reach, and the main job from nothing.

Runs with PCEVOLVE_DOCKER_TESTS=1 where an engine answers; the first build takes many minutes. Twice: with client and
server alone, and with an auditor between them.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pcevolve_client.audit.capture import reconcile
from pcevolve_client.audit.evidence import Evidence
from support.tally import Tally
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
WRITABLE = {"api": ["/tmp"], "client": ["/tmp", "/runs", "/state"], "auditor": ["/tmp", "/captures"]}

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
        ("/", "/etc", "/opt", "/private", "/models", "/tmp", "/runs", "/state", "/captures") if writable(folder)],
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
        """What the auditor wrote about it."""
        return self.root / "captures" / f"{NAME}.jsonl"

    def address(self, service: str) -> str:
        """Of a container that is up."""
        code = "import socket; print(socket.gethostbyname(socket.gethostname()))"
        done = self("exec", "-T", service, "python", "-c", code)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def main_job(self) -> subprocess.CompletedProcess[str]:
        return self("up", "--abort-on-container-exit", "--exit-code-from", "client")


def _project(root: Path, name: str, *options: str) -> Iterator[Stack]:
    folders = {"PCEVOLVE_RUNS": str(root / "runs"), "PCEVOLVE_CAPTURES": str(root / "captures")}
    environment = {**os.environ, **SMALL, **folders}
    if MODEL != "bundled":
        environment |= {"PCEVOLVE_MODELS": str(Path(MODEL).parent), "PCEVOLVE_MODEL": Path(MODEL).name}
    project = Stack([*_compose(), *options, "-p", f"pcevolve-{name}-{os.getpid()}"], root, environment)
    try:
        built = project("build")
        assert built.returncode == 0, built.stderr
        yield project
    finally:
        project("down", "--volumes")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    yield from _project(tmp_path_factory.mktemp("docker"), "test")


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    yield from _project(tmp_path_factory.mktemp("audited"), "audited", "--env-file", "docker/audit.env")


@pytest.fixture(scope="module")
def finished(stack: Stack) -> Path:
    done = stack.main_job()
    assert done.returncode == 0, done.stdout + done.stderr
    return stack.run


@pytest.fixture(scope="module")
def watched(audited: Stack) -> Stack:
    done = audited.main_job()
    assert done.returncode == 0, done.stdout + done.stderr
    return audited


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


def allowed(tally: Tally, done: subprocess.CompletedProcess[str]) -> str:
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
    assert seen == {"status": 200 if url else None, "reached": [], "known": []}


def of_the_host(port: int) -> list[list[Any]]:
    return [[each, port] for each in ("first", "172.17.0.1", own_address())]


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


def test_audit_in_a_container_holds(stack: Stack, tally: Tally, finished: Path) -> None:
    done = stack("run", "--rm", "--no-deps", "-T", "client", "audit", f"/runs/{NAME}", "--json")
    assert json.loads(allowed(tally, done))["holds"] is True


def test_second_up_spends_nothing_more(stack: Stack, tally: Tally, finished: Path) -> None:
    before = spent(stack)
    allowed(tally, stack.main_job())
    assert spent(stack) == before


@pytest.mark.parametrize("service", OTHERS)
def test_container_is_an_ordinary_user_who_can_write_only_where_it_must(stack: Stack, service: str) -> None:
    seen = facts(stack, service)
    assert seen["user"] >= 1000
    assert seen["capabilities"] == 0
    assert seen["no_new_privileges"] == "1"
    assert seen["writable"] == WRITABLE[service]


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


def test_client_reaches_the_server_and_nothing_else(stack: Stack, tally: Tally, listener: int) -> None:
    allowed(tally, stack("up", "-d", "api"))
    reach(stack, tally, "client", "http://api:8000/readyz", INTERNET + of_the_host(listener))


def test_no_auditor_starts_unless_it_is_asked_for(stack: Stack, finished: Path) -> None:
    mine = f"label=com.docker.compose.project={stack.command[-1]}"
    listed = subprocess.run(
        ["docker", "ps", "-a", "--filter", mine, "--format", "{{.Image}}"], capture_output=True, text=True
    )
    assert "pcevolve-client" in listed.stdout
    assert "pcevolve-auditor" not in listed.stdout


def test_an_audited_main_job_reconciles_with_what_the_auditor_saw(tally: Tally, watched: Stack) -> None:
    evidence = Evidence.of(watched.run)
    found = reconcile(evidence, watched.capture)
    tally.add("allowed" if all(each.holds for each in found) else "refused")
    assert [each.faults for each in found] == [()] * 4
    assert [each.checked for each in found][:3] == [evidence.requests] * 3


def test_the_auditors_folder_is_the_owners_and_nobody_elses(watched: Stack) -> None:
    for path, mode in ((watched.capture.parent, 0o700), (watched.capture, 0o600)):
        assert path.stat().st_uid == int(os.environ.get("PCEVOLVE_UID", "1000"))
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_the_documented_command_reconciles(watched: Stack, tally: Tally) -> None:
    mount = f"{watched.capture.parent}:/captures:ro"
    words = ["run", "--rm", "--no-deps", "-T", "-v", mount, "client", "audit", f"/runs/{NAME}"]
    said = json.loads(allowed(tally, watched(*words, "--capture", f"/captures/{NAME}.jsonl", "--json")))
    assert said["holds"] is True
    assert any("nothing was sent that is not on record" in each["claim"] for each in said["findings"])


def test_an_audited_client_reaches_the_auditor_and_nothing_else(
    watched: Stack, tally: Tally, listener: int
) -> None:
    allowed(tally, watched("up", "-d", "api", "auditor"))
    server = [[watched.address("api"), 8000]]
    targets = server + INTERNET + of_the_host(listener)
    reach(watched, tally, "client", "http://auditor:8000/readyz", targets, [*NAMES, "api"])


def test_the_auditor_reaches_the_server_and_nothing_else(watched: Stack, tally: Tally, listener: int) -> None:
    reach(watched, tally, "auditor", "http://api:8000/readyz", INTERNET + of_the_host(listener))


def test_an_audited_server_reaches_nobody(watched: Stack, tally: Tally, listener: int) -> None:
    allowed(tally, watched("up", "-d", "auditor"))
    targets = [["auditor", 8000], *INTERNET, *of_the_host(listener)]
    reach(watched, tally, "api", None, targets, [*NAMES, "client", "front"])


def test_the_auditor_is_an_ordinary_user_without_private_data(watched: Stack) -> None:
    seen = facts(watched, "auditor")
    assert seen["user"] >= 1000
    assert (seen["capabilities"], seen["no_new_privileges"]) == (0, "1")
    assert seen["writable"] == WRITABLE["auditor"]
    assert seen["private"] is None
    assert "uv" not in seen["tools"]


@pytest.mark.parametrize("package", ["pcevolve_client", "pcevolve_server", "pcevolve_shared"])
def test_the_auditors_image_holds_nothing_of_either_side(watched: Stack, package: str) -> None:
    assert watched.inside("auditor", SEARCH, package) == "0"
