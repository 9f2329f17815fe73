"""Promises of the compose files: which services there are, on which networks, and how they are confined."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
_VARIABLE = re.compile(r"\$\{([A-Z_]+):-([^}]*)\}")


@dataclass(frozen=True)
class Service:
    """One container to be.

    Attributes:
        names: On each of its networks, the names that others on it know it by.
        dns: Where names are looked up.
        sysctls: Of its network namespace.
        confined: Whether it has no capabilities and gets none.
    """

    names: Mapping[str, tuple[str, ...]]
    dns: tuple[str, ...]
    sysctls: Mapping[str, str]
    confined: bool
    environment: Mapping[str, str]
    command: tuple[str, ...]


@dataclass(frozen=True)
class Topology:
    """All containers to be, and for each network whether it is internal."""

    services: Mapping[str, Service]
    internal: Mapping[str, bool]

    @classmethod
    def of(cls, compose: str, variables: Mapping[str, str]) -> Topology:
        """Read a compose file's text as an engine would with these variables and profiles."""
        read = yaml.safe_load(_VARIABLE.sub(lambda found: variables.get(found[1]) or found[2], compose))
        profiles = set(variables.get("COMPOSE_PROFILES", "").split(","))
        services = {
            name: _service(name, spec)
            for name, spec in read["services"].items()
            if profiles.intersection(spec.get("profiles", profiles))
        }
        networks = {network for each in services.values() for network in each.names}
        declared = read.get("networks") or {}
        return cls(
            services, {name: bool((declared.get(name) or {}).get("internal")) for name in sorted(networks)}
        )


def variables_of(path: Path) -> dict[str, str]:
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def _service(name: str, spec: dict[str, Any]) -> Service:
    return Service(
        names=_networks(name, spec),
        dns=tuple(spec.get("dns", ())),
        sysctls={key: str(value) for key, value in spec.get("sysctls", {}).items()},
        confined=spec.get("cap_drop") == ["ALL"] and not spec.get("cap_add") and not spec.get("privileged"),
        environment={key: str(value) for key, value in spec.get("environment", {}).items()},
        command=tuple(spec.get("command", ())),
    )


def _networks(name: str, spec: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    if spec.get("network_mode") == "none":
        return {}
    given = spec.get("networks", ["default"])
    each = given if isinstance(given, dict) else dict.fromkeys(given)
    return {network: (name, *((its or {}).get("aliases", ()))) for network, its in each.items()}
