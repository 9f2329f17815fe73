"""The audited topology of docker-compose.yml, alive in network namespaces: client, auditor, API server, all real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boundary.namespaces import Lab
from boundary.topology import ROOT, variables_of
from support.processes import BIN, MODEL, READY_SECONDS
from support.tally import Tally

TALLY = Tally("boundary", ("tried", "refused", "allowed", "escaped"))
MITMDUMP = Path(os.environ.get("PCEVOLVE_MITMDUMP", ROOT / ".mitm" / "bin" / "mitmdump"))
SMALL = {
    "PCEVOLVE_NAME": "audited",
    "PCEVOLVE_DOMAIN": "handwritten mark",
    "PCEVOLVE_CANDIDATES": "6",
    "PCEVOLVE_ITERATIONS": "1",
    "PCEVOLVE_STEPS": "4",
    "PCEVOLVE_SHOTS": "3",
    "PCEVOLVE_THREADS": "1",
}
AUDITED = {**variables_of(ROOT / "docker" / "audit.env"), **SMALL}
Started = tuple[subprocess.Popen[Any], Path]  # a process and its log
COMPOSE = (ROOT / "docker-compose.yml").read_text()
PORT = 8000  # of the API server and of the auditor
DECOY = 8001  # open to everybody at the client's and at the server's, so that silence proves something
DECOY_CODE = f"""
import socket
listener = socket.create_server(("::", {DECOY}), family=socket.AF_INET6, dualstack_ipv6=True)
print("listening", flush=True)
while True:
    print("reached from", listener.accept()[1], flush=True)
"""
STRAYS = """
import pathlib

lines = [line.split() for line in pathlib.Path("/proc/net/snmp").read_text().splitlines()]
counts = {head[0] + name: int(value) for head, values in zip(lines[::2], lines[1::2])
          for name, value in zip(head[1:], values[1:])}
six = dict(line.split() for line in pathlib.Path("/proc/net/snmp6").read_text().splitlines())
print(counts["Ip:OutNoRoutes"] + counts["Udp:OutDatagrams"]
      + int(six["Ip6OutNoRoutes"]) + int(six["Udp6OutDatagrams"]))
"""


@dataclass
class Stage:
    """The lab and the folders of its services."""

    lab: Lab
    root: Path
    decoys: list[Path] = field(default_factory=list)

    @property
    def capture(self) -> Path:
        return self.root / "captures" / f"{SMALL['PCEVOLVE_NAME']}.jsonl"

    def here(self, text: str) -> str:
        for mount in ("/private", "/runs", "/captures", "/door"):
            text = text.replace(mount, f"{self.root}{mount}", 1) if mount in text else text
        return text

    def environment(self, service: str) -> dict[str, str]:
        given = self.lab.topology.services[service].environment
        return {
            **{name: self.here(value) for name, value in given.items()},
            "OMP_NUM_THREADS": "1",
            "OMP_WAIT_POLICY": "PASSIVE",
            "PCEVOLVE_LEDGER": str(self.root / "ledger" / "ledger.sqlite"),
        }

    def command(self, service: str) -> list[str]:
        """What a service's container is told to do."""
        return [self.here(part) for part in self.lab.topology.services[service].command]

    def main_job(self, *words: object, program: Sequence[object] = (BIN / "pcevolve",)) -> Any:
        """Keeper and client, each in its namespace; the client's end.

        Args:
            words: What the keeper is told in place of its container's command.
            program: The client's, in place of the command line's.
        """
        log = self.root / "keeper.log"
        told = [BIN / "pcevolve", *(words or self.command("keeper"))]
        keeper = self.lab.start("keeper", told, log, self.environment("keeper"))
        done = self.client(*self.command("client"), program=program)
        assert keeper.wait(120) == 0, log.read_text()
        return done

    def client(self, *arguments: object, program: Sequence[object] = (BIN / "pcevolve",)) -> Any:
        """Run the command line in the client's namespace."""
        environment = {**os.environ, **self.environment("client"), "COLUMNS": "200"}
        return self.lab.run("client", *program, *arguments, env=environment)

    def python(self, service: str, code: str, *arguments: object, confined: bool | None = None) -> Any:
        """Run a script that prints one JSON value."""
        done = self.lab.run(service, sys.executable, "-SIc", code, *arguments, confined=confined)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def strays(self, service: str) -> int:
        """Datagrams, and packets without a way, that any process or library of a service tried to send so far."""
        return int(self.python(service, STRAYS))

    def start(self) -> None:
        """Bring everything up, side by side."""
        for service in ("client", "api"):
            self.start_decoy(service)
        server, auditor = self._start_server(), self._start_auditor()
        wait_until(lambda: alive(auditor) and self._auditor_listens())
        wait_until(lambda: alive(server) and self._server_is_ready())

    def start_decoy(self, service: str) -> None:
        """A listener that writes down who reached it."""
        log = self.root / f"decoy-{service}.log"
        self.lab.start(service, [sys.executable, "-SIc", DECOY_CODE], log, {})
        self.decoys.append(log)
        wait_until(lambda: "listening" in log.read_text())

    def _start_server(self) -> Started:
        command = [BIN / "pcevolve-server", "serve", "--host", "0.0.0.0", "--port", PORT]
        environment = self.environment("api")
        if MODEL != "bundled":
            environment["PCEVOLVE_SERVER_MODEL"] = MODEL
            command += ["--model-id", "bundled"]
        log = self.root / "api.log"
        return self.lab.start("api", command, log, environment), log

    def _start_auditor(self) -> Started:
        """As its image starts it, with its script from the sources."""
        self.capture.parent.mkdir()
        words = auditor_entrypoint()
        words[0] = str(MITMDUMP)
        words = [word.replace("/opt/auditor", str(ROOT / "docker" / "auditor")) for word in words]
        words = [word.replace("/tmp/mitmproxy", str(self.root / "mitmproxy")) for word in words]
        command = [*words, *self.lab.topology.services["auditor"].command]
        log = self.root / "auditor.log"
        return self.lab.start("auditor", command, log, self.environment("auditor")), log

    def _auditor_listens(self) -> bool:
        return self.python("client", REACH, json.dumps([["tcp", "auditor", PORT]])) == [True]

    def _server_is_ready(self) -> bool:
        ready = f"import urllib.request as r; r.urlopen('http://127.0.0.1:{PORT}/readyz', timeout=5)"
        return self.lab.run("api", sys.executable, "-SIc", ready).returncode == 0


def alive(started: Started) -> bool:
    process, log = started
    assert process.poll() is None, log.read_text()
    return True


def auditor_entrypoint() -> list[str]:
    """The command of the auditor's image."""
    text = (ROOT / "docker" / "auditor.Dockerfile").read_text().replace("\\\n", " ")
    line = next(line for line in text.splitlines() if line.startswith("ENTRYPOINT"))
    words: list[str] = json.loads(line.removeprefix("ENTRYPOINT"))
    return words


def wait_until(holds: Any) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "it did not come up in time"
        time.sleep(0.5)


# Tries each [kind, host, port] and prints for each whether anything answered.
REACH = """
import json, socket, sys

def answers(kind, host, port):
    try:
        if kind == "name":
            return bool(socket.getaddrinfo(host, port))
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM) as probe:
            probe.settimeout(1)
            probe.connect(address)
            if kind == "udp":
                probe.send(bytes.fromhex("1234010000010000000000000377777706707974686f6e036f72670000010001"))
                probe.recv(512)
    except OSError:
        return False
    return True

print(json.dumps([answers(*each) for each in json.loads(sys.argv[1])]))
"""


@dataclass
class Listener:
    """A service of the host's that is open to all."""

    addresses: list[str]
    port: int
    reached: list[Any] = field(default_factory=list)
