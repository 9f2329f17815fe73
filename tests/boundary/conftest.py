"""The topology, brought up once; and the host, which nobody may reach."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator

import pytest

from boundary.namespaces import Lab
from boundary.stage import AUDITED, COMPOSE, MITMDUMP, Listener, Stage
from boundary.topology import Topology
from support.folders import class_folders


def give_up(reason: str) -> None:
    """Skip, or fail where the suite was asked for."""
    if os.environ.get("PCEVOLVE_REQUIRE_NAMESPACES") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def namespaces() -> None:
    """True if network namespaces can be made here."""
    missing = [name for name in ("ip", "setpriv", "sysctl") if shutil.which(name) is None]
    if missing:
        give_up(f"not installed: {', '.join(missing)}")
    name = f"pcb{os.getpid()}-probe"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if made.returncode:
        give_up(f"network namespaces need root: {made.stderr.strip()}")
    subprocess.run(["ip", "netns", "del", name], capture_output=True)


@pytest.fixture(scope="session")
def stage(namespaces: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    if not MITMDUMP.exists():
        give_up(f"no mitmproxy at {MITMDUMP}: make boundary installs it, PCEVOLVE_MITMDUMP names another")
    root = tmp_path_factory.mktemp("boundary")
    class_folders(root / "private", seed=5)
    with Lab(Topology.of(COMPOSE, AUDITED)) as lab:
        made = Stage(lab, root)
        made.start()
        yield made


@pytest.fixture(scope="session")
def host() -> Iterator[Listener]:
    found = subprocess.run(["ip", "-j", "addr"], capture_output=True, text=True)
    infos = [info for link in json.loads(found.stdout) for info in link["addr_info"]]
    own = [info["local"] for info in infos if info["scope"] == "global"]
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as server:
        listener = Listener(own, server.getsockname()[1])

        def accept() -> None:
            try:
                while True:
                    listener.reached.append(server.accept()[1])
            except OSError:
                return

        threading.Thread(target=accept, daemon=True).start()
        yield listener
