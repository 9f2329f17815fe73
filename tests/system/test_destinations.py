"""Where a whole run goes, and that it goes there whatever the private data."""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pcevolve.public.transcript.bodies import Bodies, BodyRef
from pcevolve.wire.egress.address import Address
from pcevolve.wire.egress.http_transport import HttpTransport
from pcevolve.wire.egress.transport import ConnectionTroubleError
from pcevolve.wire.providers.dialect import WireRequest
from pcevolve_shared.quiet import VARIABLES
from support.certificates import self_signed
from support.folders import class_folders, events
from support.processes import BIN, READY_SECONDS, RUN_SECONDS, Client
from support.served import wait_until

LIBRARY_SEARCH = {"ldconfig", "gcc", "cc", "ld", "objdump", "uname"}
"""What Python's ctypes starts to find a shared library."""

WATCHED = """
import json, os, sys
seen = open(os.environ["SEEN"], "a", buffering=1)  # before the process is confined

def watch(event, arguments):
    if event in ("socket.getaddrinfo", "socket.gethostbyname"):
        print(json.dumps(["looked up", str(arguments[0])]), file=seen)
    elif event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        print(json.dumps(["went to", *map(str, arguments[1][:2])]), file=seen)
    elif event in ("subprocess.Popen", "os.system", "os.posix_spawn"):
        print(json.dumps(["started", str(arguments[0])]), file=seen)

sys.addaudithook(watch)
print(json.dumps(["watched", " ".join(sys.orig_argv)]), file=seen)
"""
"""What each process of a command imports at its start, as ``sitecustomize``."""


def destinations(
    client: Client, log: Path, options: list[object], **environment: str
) -> set[tuple[str, ...]]:
    """Destinations that the processes of a watched command reached for."""
    watcher = log.with_suffix(".site")
    watcher.mkdir()
    (watcher / "sitecustomize.py").write_text(WATCHED)
    done = subprocess.run(
        [BIN / "pcevolve", *map(str, options)],
        env={**client.environment(), "PYTHONPATH": str(watcher), "SEEN": str(log), **environment},
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return {tuple(json.loads(line)) for line in log.read_text().splitlines()}


def test_a_run_looks_up_and_reaches_the_api_host_and_nothing_else(client: Client, tmp_path: Path):
    port = client.address.rpartition(":")[2]
    private = class_folders(tmp_path / "private", seed=3)
    options = client.run_options(
        private, tmp_path / "run", api=f"http://localhost:{port}", method="random", iterations=1
    )
    nowhere = "http://192.0.2.1:9"
    found = destinations(
        client, tmp_path / "seen", options, HTTP_PROXY=nowhere, ALL_PROXY=nowhere, http_proxy=nowhere
    )
    assert {each[1] for each in found if each[0] == "looked up"} == {"localhost"}
    assert {each[1:] for each in found if each[0] == "went to"} <= {("127.0.0.1", port), ("::1", port)}
    own = Path(sys.executable).name  # the processes of a run
    assert {Path(each[1]).name for each in found if each[0] == "started"} <= LIBRARY_SEARCH | {own}
    assert {role for each in found for role in ("keeper", "runner") if f" {role} " in each[1]} == {
        "keeper",
        "runner",
    }


def test_a_server_has_its_libraries_tell_their_makers_nothing(tmp_path: Path):
    """Diffusers loads onnxruntime, which is no dependency, where it finds it; that would write an id and call home."""
    pytest.importorskip("onnxruntime")
    spoken = {"CI", "TF_BUILD", "GITHUB_ACTIONS", *VARIABLES}  # where makers are told nothing anyway
    environment = {name: value for name, value in os.environ.items() if name not in spoken}
    log = tmp_path / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [BIN / "pcevolve-server", "serve", "--port", "0"],
            env={**environment, "HOME": str(tmp_path / "home")},
            stdout=out,
            stderr=out,
        )
    try:
        wait_until(lambda: '"event": "ready"' in log.read_text(), READY_SECONDS)
        loaded = Path(f"/proc/{process.pid}/maps").read_text()
    finally:
        process.kill()
        process.wait()
    assert "onnxruntime" in loaded, "diffusers no longer loads it: the test says nothing"
    assert [*(tmp_path / "home").rglob("*")] == []


class TlsServer:
    """Offers a certificate that nobody signed, and notes what a client says in the clear and afterwards."""

    def __init__(self, folder: Path) -> None:
        self.names: list[str | None] = []
        self.heard = b""
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(self_signed(folder, "localhost"), folder / "key.pem")
        self._context.sni_callback = lambda _, name, __: self.names.append(name)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._socket.accept()
        try:
            with self._context.wrap_socket(connection, server_side=True) as tls:
                self.heard = tls.recv(65536)
        except OSError:
            connection.close()

    def close(self) -> None:
        self._thread.join(10)
        self._socket.close()


def test_tls_names_the_api_host_only_and_tells_a_stranger_nothing(tmp_path: Path):
    server = TlsServer(tmp_path)
    transport = HttpTransport(5)
    request = Address(f"https://localhost:{server.port}", "secret-key").outgoing(
        WireRequest("GET", "/v1/models")
    )
    with pytest.raises(ConnectionTroubleError):
        transport.send(request)
    transport.close()
    server.close()
    assert server.names == ["localhost"]
    assert server.heard == b""


def requests(run: Path) -> list[dict]:
    """Everything that left, put together again."""
    bodies = Bodies(run / "transcript" / "bodies")
    sent = [event for event in events(run) if event["kind"] == "sent"]
    return [{**event, "body": bodies.get(BodyRef(**event["body"])).decode()} for event in sent]


def without_image(request: dict) -> dict:
    body = json.loads(request["body"] or "{}")
    image = body.pop("image", None)
    lengths = {"Content-Length"} if image else set()
    headers = [pair for pair in request["headers"] if pair[0] not in lengths]
    kept = {key: value for key, value in request.items() if key != "wire_bytes" or not image}
    return {**kept, "headers": headers, "body": body, "has_image": image is not None}


def test_two_private_datasets_that_differ_in_everything_cause_the_same_requests(client: Client, tmp_path):
    runs = []
    for seed, shots in ((1, 3), (2, 5)):
        private = class_folders(tmp_path / f"private {seed}", seed=seed, shots=shots)
        runs.append(tmp_path / f"run{seed}")
        client.succeed(*client.run_options(private, runs[-1]))
    one, two = (requests(run) for run in runs)
    assert one[:2] == two[:2]
    assert [without_image(each) for each in one] == [without_image(each) for each in two]
    assert sum(without_image(each)["has_image"] for each in one) == 3 * 2 * 2
    assert [e["slot"] for e in one if "text-to-image" in e["url"]] == [e["slot"] for e in one[1:5]]
