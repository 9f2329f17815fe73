"""A run that other weights judged than those at hand: its choices are not checked, which is neither right nor wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from pcevolve.auditing import audit
from pcevolve.cli.main import main
from pcevolve.encoders import bundled_digest
from pcevolve.errors import ModelError
from pcevolve.public.finding import Finding
from support.paid import paid_run
from support.runs import small_plan

OTHER = "0" * 64
CHOICES = "every choice follows from what was measured and paid for"


@pytest.fixture(scope="module")
def foreign(tmp_path_factory) -> Path:
    """A run whose plan names bundled weights that this version has not."""
    return paid_run(tmp_path_factory.mktemp("foreign"), small_plan(method="jvem", weights=OTHER))


def the_choices(findings: list[Finding]) -> Finding:
    (found,) = (each for each in findings if each.claim.startswith(CHOICES))
    return found


def test_its_choices_are_told_as_not_checked_and_count_as_none(foreign: Path):
    found = the_choices(audit(foreign))
    assert (found.faults, found.checked, found.holds, found.verdict) == ((), 0, False, "NOT CHECKED")
    assert f"sha256 {OTHER}" in found.unchecked
    assert f"this one has {bundled_digest()}" in found.unchecked
    assert "none of 2 measurements" in found.unchecked


def test_all_else_about_it_is_checked_and_holds(foreign: Path):
    others = [each for each in audit(foreign) if not each.claim.startswith(CHOICES)]
    assert len(others) == 10
    assert all(each.holds and each.checked for each in others)


def test_the_command_says_so_and_ends_with_the_code_of_weights_that_are_not_at_hand(foreign: Path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["audit", str(foreign)])
    printed = capsys.readouterr()
    assert ended.value.code == ModelError.exit_code == 8
    assert "NOT CHECKED" in printed.out
    assert "BROKEN" not in printed.out
    assert f"{CHOICES}: NOT CHECKED, none of 2 measurements" in printed.err
