"""A topology in network namespaces: one for each service, and one for each network's bridge, where nobody lives.

Needs root. Everything is named after this process and taken away at the end.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from boundary.topology import Topology

SETTINGS = Path("/etc/netns")  # `ip netns exec` lays these files over /etc
UNPRIVILEGED = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")


@dataclass
class Lab:
    """The running topology; a context manager.

    Attributes:
        tag: Begins every name.
    """

    topology: Topology
    tag: str = field(default_factory=lambda: f"pcb{os.getpid()}")
    _processes: list[subprocess.Popen[Any]] = field(default_factory=list)

    def __enter__(self) -> Self:
        try:
            for network in self.topology.internal:
                self._bridge(network)
            for service in self.topology.services:
                self._service(service)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def space(self, name: str) -> str:
        """Namespace of a service or a network."""
        return f"{self.tag}-{name}"

    def net(self, network: str, version: int) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        """Addresses of a network."""
        index = list(self.topology.internal).index(network)
        return ipaddress.ip_network({4: f"10.213.{index}.0/24", 6: f"fd42:7063:6576:{index}::/64"}[version])

    def address(self, service: str, network: str, version: int = 4) -> str:
        """A service's address on a network; also an unused one if it is not on it."""
        return str(self.net(network, version)[10 + list(self.topology.services).index(service)])

    def gateway(self, network: str, version: int = 4) -> str:
        """Where a way out would be."""
        return str(self.net(network, version)[1])

    def command(self, service: str, arguments: Sequence[object], confined: bool | None = None) -> list[str]:
        """A command line inside a service's namespace, without capabilities if its container has none."""
        drop = self.topology.services[service].confined if confined is None else confined
        prefix = ("ip", "netns", "exec", self.space(service), *(UNPRIVILEGED if drop else ()))
        return [*prefix, *map(str, arguments)]

    def run(self, service: str, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run to the end, as root if ``confined=False``."""
        confined = options.pop("confined", None)
        given = {"capture_output": True, "text": True, "timeout": 300, **options}
        return subprocess.run(self.command(service, arguments, confined), **given)

    def start(
        self, service: str, arguments: Sequence[object], log: Path, environment: Mapping[str, str]
    ) -> subprocess.Popen[Any]:
        """Start a process that ends with the lab at the latest."""
        with log.open("ab") as sink:
            process = subprocess.Popen(
                self.command(service, arguments), stdout=sink, stderr=sink, env={**os.environ, **environment}
            )
        self._processes.append(process)
        return process

    def close(self) -> None:
        """End the processes that were started here, then take the namespaces away."""
        for process in self._processes:
            process.kill()
            process.wait()
        for name in (*self.topology.services, *self.topology.internal):
            subprocess.run(["ip", "netns", "del", self.space(name)], capture_output=True)
            shutil.rmtree(SETTINGS / self.space(name), ignore_errors=True)
        subprocess.run(["ip", "link", "del", self._host_link()], capture_output=True)
        with contextlib.suppress(OSError):
            SETTINGS.rmdir()  # only if it is empty, as it was

    def _host_link(self) -> str:
        return f"{self.tag}h"[:15]

    def _bridge(self, network: str) -> None:
        space = self.space(network)
        _ip("netns", "add", space)
        _ip("netns", "exec", space, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
        _ip("netns", "exec", space, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
        _ip("-n", space, "link", "add", "bridge0", "type", "bridge")
        _ip("-n", space, "link", "set", "bridge0", "up")
        if not self.topology.internal[network]:
            _ip("link", "add", self._host_link(), "type", "veth", "peer", "name", "host", "netns", space)
            self._plug(network, "host")
            _ip("addr", "add", f"{self.gateway(network)}/24", "dev", self._host_link())
            _ip("link", "set", self._host_link(), "up")

    def _plug(self, network: str, port: str) -> None:
        _ip("-n", self.space(network), "link", "set", port, "master", "bridge0", "up")

    def _service(self, name: str) -> None:
        space, service = self.space(name), self.topology.services[name]
        _ip("netns", "add", space)
        _ip("-n", space, "link", "set", "lo", "up")
        for network in service.names:
            self._connect(name, network)
        for key, value in service.sysctls.items():
            _ip("netns", "exec", space, "sysctl", "-qw", f"{key}={value}")
        folder = SETTINGS / space
        folder.mkdir(parents=True)
        (folder / "hosts").write_text(self._hosts(name))
        (folder / "resolv.conf").write_text(
            "".join(f"nameserver {each}\n" for each in service.dns) + "options timeout:1 attempts:1\n"
        )

    def _connect(self, name: str, network: str) -> None:
        space = self.space(name)
        number = list(self.topology.services[name].names).index(network)
        port = f"port{list(self.topology.services).index(name)}"
        device = f"eth{number}"
        _ip(
            "link",
            "add",
            device,
            "netns",
            space,
            "type",
            "veth",
            "peer",
            "name",
            port,
            "netns",
            self.space(network),
        )
        self._plug(network, port)
        _ip("-n", space, "addr", "add", f"{self.address(name, network)}/24", "dev", device)
        _ip("-n", space, "addr", "add", f"{self.address(name, network, 6)}/64", "dev", device, "nodad")
        _ip("-n", space, "link", "set", device, "up")
        if not self.topology.internal[network]:
            _ip("-n", space, "route", "add", "default", "via", self.gateway(network))

    def _hosts(self, name: str) -> str:
        """Whom a service can call by name: those on its networks, as an engine's name server would say."""
        lines = ["127.0.0.1 localhost"]
        for network in self.topology.services[name].names:
            for other, service in self.topology.services.items():
                known = service.names.get(network)
                if known:
                    lines.append(f"{self.address(other, network)} {' '.join(known)}")
        return "\n".join(lines) + "\n"


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
