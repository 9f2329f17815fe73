"""Every dialect with a local server that speaks it, over real sockets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pcevolve.egress.address import Address
from pcevolve.egress.http_transport import HttpTransport
from pcevolve.providers import dialect
from support import online
from support.runs import SmallRun, small_plan


@dataclass
class World:
    """A dialect, its API, and a plan that it can carry out."""

    name: str
    server: online.LocalServer
    pictures: online.LocalServer | None
    key: str

    @property
    def plan(self) -> dict[str, Any]:
        """Options of a small plan, with strengths as far as the dialect has any."""
        spoken = dialect(self.name)
        strengths = (0.8, 0.78) if "strength" in spoken.capabilities else ()
        hosts = {"image_hosts": (self.pictures.host,)} if self.pictures else {}
        names = {"a1111": "v1-5", "siliconflow": "Kwai-Kolors/Kolors", "openai-plain": "gpt-image-1"}
        fixed = {
            "iterations": 2,
            "strengths": strengths,
            "batch": 1 if self.name == "getimg" else min(2, spoken.most),
        }
        model = names.get(self.name, "bundled")
        fixed |= {"candidates": 2}
        return {**fixed, **hosts, "api": self.server.address, "dialect": self.name, "model": model}

    def open(self, root: Path, key: str | None = None, **changes: Any) -> SmallRun:
        """A run against the server, over a socket."""
        names = ("allowance", "sleep")
        opened = {name: changes.pop(name) for name in names if name in changes}
        address = Address(self.server.address, key or self.key, dialect(self.name).scheme)
        none = {"strengths": ()} if changes.get("graded") is False else {}
        plan = small_plan(**{**self.plan, **none, **changes})
        return SmallRun.open(root, plan, HttpTransport(5), address=address, **opened)


Make = Callable[[str], World]


@pytest.fixture
def world() -> Iterator[Make]:
    """Start a dialect's server by the dialect's name."""
    servers: list[online.LocalServer] = []

    def serve(speak: Callable[[online.Heard], online.Reply]) -> online.LocalServer:
        servers.append(online.LocalServer(speak))
        return servers[-1]

    def make(name: str) -> World:
        if name == "siliconflow":
            pictures = serve(online.image_host)
            return World(name, serve(online.SiliconFlow(pictures.address)), pictures, online.KEY)
        speak = getattr(online, name.replace("-", "_"))
        return World(name, serve(speak), None, online.LOGIN if name == "a1111" else online.KEY)

    yield make
    for server in servers:
        server.close()
