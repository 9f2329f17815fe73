"""Every module has a room, and every room says who may enter it (docs/architecture.md)."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SOURCES = {
    "pcevolve": ROOT / "client" / "src",
    "pcevolve_benchmarks": ROOT / "benchmarks" / "src",
    "pcevolve_server": ROOT / "api_server" / "src",
    "pcevolve_shared": ROOT / "shared" / "src",
}
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS: list[dict[str, Any]] = PYPROJECT["tool"]["importlinter"]["contracts"]
PROTECTED = [each for each in CONTRACTS if each["type"] == "protected"]
FREE = {"pcevolve.errors", "pcevolve.privacy", "pcevolve.durable", "pcevolve.screen"}
"""What everybody may import, because it imports nothing of ours but these."""


def rooms(root: str) -> set[str]:
    """Top-level modules and packages of a distribution, by their full names."""
    inside = (SOURCES[root] / root).iterdir()
    found = {each.stem for each in inside if each.suffix == ".py" or (each / "__init__.py").is_file()}
    return {f"{root}.{name}" for name in found - {"__init__", "__main__"}}


def test_every_room_of_the_client_says_who_may_import_it() -> None:
    confined = {module for contract in PROTECTED for module in contract["protected_modules"]}
    doorless = rooms("pcevolve") - FREE - confined - {"pcevolve.cli"}
    assert doorless == set(), "pyproject.toml: add a contract 'who may import …' for each of these"


def test_private_data_noise_and_budgets_are_kept_from_the_network() -> None:
    (contract,) = [each for each in CONTRACTS if each["name"].startswith("what holds private data")]
    kept = {"dp", "encoders", "evaluation", "ledger", "modality", "private", "selectors"}
    assert {f"pcevolve.{name}" for name in kept} <= set(contract["source_modules"])
    assert {"pcevolve.egress", "pcevolve.providers", "httpx"} <= set(contract["forbidden_modules"])


def test_pytorch_is_for_the_server_s_models_and_not_for_the_wire() -> None:
    (contract,) = [each for each in PROTECTED if "torch" in each["protected_modules"]]
    others = [each for each in contract["allowed_importers"] if each.startswith("pcevolve_server.")]
    assert others == [
        "pcevolve_server.diffusion",
        "pcevolve_server.language",
        "pcevolve_server.library.clip",
        "pcevolve_server.networks",
    ]
