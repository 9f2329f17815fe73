"""Every module of the client lies in one of five zones (docs/architecture.md)."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

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
ZONES = {"public", "keeper", "wire", "auditing", "app"}


def test_every_module_of_the_client_is_in_a_zone() -> None:
    places = (SOURCES["pcevolve"] / "pcevolve").glob("**/*.py")
    inside = {each.relative_to(SOURCES["pcevolve"] / "pcevolve").parts[0] for each in places}
    assert inside == ZONES | {"__init__.py", "errors.py"}


def test_the_zones_contract_is_about_all_of_them_and_has_no_exceptions() -> None:
    (layers,) = [each for each in CONTRACTS if each["type"] == "layers"]
    named = {name for layer in layers["layers"] for name in layer.split(" | ")}
    assert (named, layers["exhaustive"], layers["exhaustive_ignores"]) == (ZONES, True, ["errors"])
    assert layers["layers"] == ["app", "auditing", "keeper | wire", "public"]
    assert [each["name"] for each in CONTRACTS if each.get("ignore_imports")] == []


def test_pytorch_is_for_the_server_s_models_and_not_for_the_wire() -> None:
    (contract,) = [each for each in PROTECTED if "torch" in each["protected_modules"]]
    others = [each for each in contract["allowed_importers"] if each.startswith("pcevolve_server.")]
    assert others == [
        "pcevolve_server.diffusion",
        "pcevolve_server.language",
        "pcevolve_server.library.clip",
        "pcevolve_server.networks",
    ]


ROOTS = {
    "client": SOURCES["pcevolve"] / "pcevolve",
    "api_server": SOURCES["pcevolve_server"] / "pcevolve_server",
    "benchmarks": SOURCES["pcevolve_benchmarks"] / "pcevolve_benchmarks",
    "shared": SOURCES["pcevolve_shared"] / "pcevolve_shared",
}


@pytest.mark.parametrize("name", ROOTS)
def test_folders_of_tests_are_those_of_the_sources(name: str) -> None:
    """CONTRIBUTING.md says so."""
    tests = ROOT / "tests" / name
    folders = {each.parent.relative_to(tests) for each in tests.rglob("test_*.py")}
    strange = {
        folder
        for folder in folders
        if not (ROOTS[name] / folder).is_dir() and not (ROOTS[name] / folder).with_suffix(".py").is_file()
    }
    assert strange == set()
