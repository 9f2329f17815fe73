"""A folder of private images, an API on loopback, and runs made by ``pcevolve.evolve``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import pcevolve
from support.folders import class_folders
from support.native import native_server
from support.online import LocalServer

SMALL = {"candidates": 2, "batch": 2, "iterations": 1, "pad_selection": 0.01, "shots": 3, "seed": 7}


@pytest.fixture
def native() -> Iterator[LocalServer]:
    """An API server on loopback that speaks the native dialect."""
    made = native_server()
    yield made
    made.close()


@pytest.fixture
def private(tmp_path: Path) -> Path:
    return class_folders(tmp_path / "scans", 1)


@pytest.fixture
def evolved(native: LocalServer, private: Path, tmp_path: Path) -> Callable[..., pcevolve.Result]:
    """A small finished run, on a ledger of its own; keywords change its options."""

    def make(**changes: object) -> pcevolve.Result:
        given: dict[str, object] = {
            "private": private,
            "domain": "scan",
            "provider": pcevolve.Provider(native.address),
            "out": tmp_path / "run",
            "ledger": tmp_path / "ledger.sqlite",
            "method": "pcevolve",
            "quiet": True,
            "yes": True,
            **SMALL,
        }
        return pcevolve.evolve(**(given | changes))  # type: ignore[arg-type]

    return make
