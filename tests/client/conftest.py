"""Finished runs: draws paid for, with a choice of plan and provider, or by the library; and an online API."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import pcevolve
from pcevolve.cli.main import main
from pcevolve.egress.transport import Transport
from pcevolve.public.plan import PublicPlan
from support import online
from support.folders import class_folders
from support.native import native_server
from support.paid import make_paid_run
from support.runs import small_plan


@pytest.fixture(scope="session")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Callable[[PublicPlan], Path]:
    """Where a run of a plan against an honest provider lies, which is made once."""
    made: dict[str, Path] = {}

    def at(plan: PublicPlan) -> Path:
        key = plan.model_dump_json()
        if key not in made:
            made[key] = make_paid_run(tmp_path_factory.mktemp("honest") / "run", plan)
        return made[key]

    return at


@pytest.fixture
def finished(tmp_path: Path, honest: Callable[[PublicPlan], Path]) -> Callable[..., Path]:
    """Make a finished ``pcevolve`` run, or copy one; keywords change its plan."""

    def make(provider: Transport | None = None, **changes: object) -> Path:
        plan = small_plan(**{"method": "pcevolve", **changes})
        if provider is not None:
            return make_paid_run(tmp_path / "run", plan, provider)
        return shutil.copytree(honest(plan), tmp_path / "run", dirs_exist_ok=True)

    return make


class Told(NamedTuple):
    """Outcome of a command.

    Attributes:
        said: What it printed to stderr, in one line.
    """

    code: int
    out: str
    said: str


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Told]:
    """The command line, as ``pcevolve`` runs it."""

    def carry_out(*words: object) -> Told:
        capsys.readouterr()
        code = 0
        try:
            main([str(each) for each in words])
        except SystemExit as ended:
            code = int(ended.code or 0)
        printed = capsys.readouterr()
        return Told(code, printed.out, " ".join(printed.err.split()))

    return carry_out


@pytest.fixture
def server() -> Iterator[online.LocalServer]:
    """An API on loopback that speaks one of the online dialects, ``a1111``."""
    made = online.LocalServer(online.a1111)
    yield made
    made.close()


SMALL = {"candidates": 2, "batch": 2, "iterations": 1, "pad_selection": 0.01, "shots": 3, "seed": 7}


@pytest.fixture
def native() -> Iterator[online.LocalServer]:
    """An API server on loopback that speaks the native dialect."""
    made = native_server()
    yield made
    made.close()


@pytest.fixture
def private(tmp_path: Path) -> Path:
    return class_folders(tmp_path / "scans", 1)


@pytest.fixture
def evolved(native: online.LocalServer, private: Path, tmp_path: Path) -> Callable[..., pcevolve.Result]:
    """A small finished run, on a ledger of its own; keywords change its options."""

    def make(**changes: object) -> pcevolve.Result:
        given: dict[str, object] = {
            "private": private,
            "domain": "scan",
            "provider": pcevolve.Provider(native.address),
            "out": tmp_path / "run",
            "ledger": tmp_path / "ledger" / "ledger.sqlite",
            "method": "pcevolve",
            "quiet": True,
            "yes": True,
            **SMALL,
        }
        return pcevolve.evolve(**(given | changes))  # type: ignore[arg-type]

    return make
