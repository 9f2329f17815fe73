"""The way of an option from the command line to the plan, as docs/architecture.md has it: who hands options on."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import pcevolve
from pcevolve.app.cli.commands import app
from pcevolve.app.session import orders as to_processes
from pcevolve.app.session import staff
from pcevolve.keeper.keeper import Keeper
from pcevolve.keeper.keeping import read_orders
from pcevolve.public import protocol
from pcevolve.public.config.runner import Config
from pcevolve.public.modality.base import ModelSize
from pcevolve.public.plan import PublicPlan
from pcevolve.public.run.checked import CheckedRun
from support.folders import class_folders

SOURCES = Path(pcevolve.__file__).parent
PAGE = Path(__file__).parents[4] / "docs" / "architecture.md"
DECLARATIONS = {
    *("config/owner.py", "config/runner.py"),
    *("public/settings.py", "public/methods.py", "public/modality.py", "config/declared.py"),
}
"""Where the sections of options and plan are declared: what a model checks about itself."""
OF_THE_PLAN = {"public/canonical.py", "public/fields.py"}
"""What the plan's own module asks."""


class Told(BaseException):
    """The keeper's process has its orders."""


def holds_options(value: object) -> bool:
    if isinstance(value, Config | CheckedRun | PublicPlan):
        return True
    names = value.keys() if isinstance(value, dict) else ()
    return "epsilon" in names or {"privacy", "data"} <= {*names} or "settings" in names


def find_row(file: str) -> str | None:
    """Room and file of a module as the page has it; None outside of the package."""
    path = Path(file)
    return "/".join(path.parts[-2:]) if path.is_relative_to(SOURCES) else None


@pytest.fixture
def walked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Modules of which a function returns options, from what is typed to the settled plan."""
    found: set[str] = set()
    orders: dict[str, Any] = {}

    def note(frame: FrameType, event: str, value: object) -> None:
        if event == "return" and holds_options(value) and (row := find_row(frame.f_code.co_filename)):
            found.add(row)

    def order(self: object, run: CheckedRun, audience: object, **_: object) -> None:
        orders.update(to_processes.describe(run, audience, tmp_path))  # type: ignore[arg-type]
        raise Told

    monkeypatch.setattr(staff.Staff, "carry_out", order)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    class_folders(tmp_path / "private", 1, ("cut", "good"), 1)
    typed = {
        "--private": tmp_path / "private", "--domain": "x", "--shots": 1, "--method": "pe", "--delta": 1e-5,
        "--candidates": 2, "--iterations": 1, "--epsilon": 1000, "--out": tmp_path / "runs" / "run",
        "--set": f"privacy.ledger={tmp_path / 'own' / 'ledger.sqlite'}", "--encoder": "bundled",
    }  # fmt: skip
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        with pytest.raises(Told):
            app(
                ["run", *(str(each) for pair in typed.items() for each in pair), "--yes"],
                standalone_mode=False,
            )
        keeper = Keeper(*read_orders(orders))
        keeper.prepare(protocol.Prepare(run_id="0" * 32))
        keeper.settle(protocol.Settle(size=ModelSize(16, 16)))
        keeper.close()
    finally:
        sys.setprofile(before)
    return found


def test_an_option_comes_to_the_plan_by_the_files_that_the_page_names_and_by_no_others(walked: set[str]):
    table = PAGE.read_text("utf-8").partition("| room | file |")[2].partition("\n\n")[0]
    named, room = set(), ""
    for line in table.splitlines()[2:]:
        first, files, _ = (each.strip() for each in line.strip().strip("|").split("|", 2))
        room = first.strip("`") or room
        named |= {f"{room}/{each}" for each in re.findall(r"`([a-z_]+\.py)`", files)}
    assert len({each.partition("/")[0] for each in named}) <= 5
    assert len(table.splitlines()[2:]) <= 10
    assert {
        "cli/run.py",
        "config/sources.py",
        "session/preflight.py",
        "keeper/planning.py",
        "public/plan.py",
    } <= walked
    assert walked - DECLARATIONS - OF_THE_PLAN <= named
