"""A run that other weights judged than those at hand: its choices are not checked, which is neither right nor wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pcevolve.auditing import Audit, audit, encoder_of
from pcevolve.cli.main import main
from pcevolve.encoders import BUNDLED_WEIGHTS, bundled_digest
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


def test_json_says_so_too(foreign: Path, capsys):
    with pytest.raises(SystemExit):
        main(["audit", str(foreign), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["holds"] is False
    assert [each["unchecked"] != "" for each in told["findings"]].count(True) == 1


def test_the_page_does_not_say_that_all_holds(foreign: Path):
    page = Audit.of(foreign).write_pages().read_text()
    assert "NOT ALL CHECKED" in page
    assert "BROKEN" not in page
    assert "checks hold" not in page


def test_a_run_that_is_broken_as_well_ends_with_the_code_of_a_broken_one(foreign: Path, capsys):
    (foreign / "odd").write_text("odd")
    with pytest.raises(SystemExit) as ended:
        main(["audit", str(foreign)])
    (foreign / "odd").unlink()
    assert ended.value.code == 1


def test_a_file_of_the_weights_that_the_plan_names_is_taken(tmp_path):
    copy = tmp_path / "copy.safetensors"
    copy.write_bytes(BUNDLED_WEIGHTS.read_bytes())
    assert encoder_of(small_plan(), str(copy)).name == "bundled"
    (tmp_path / "other.safetensors").write_bytes(b"other")
    with pytest.raises(ModelError, match=f"with sha256 {OTHER}: give --encoder-weights FILE"):
        encoder_of(small_plan(weights=OTHER), str(tmp_path / "other.safetensors"))


def test_an_encoder_that_is_not_bundled_is_not_said_to_come_with_another_version():
    with pytest.raises(ModelError, match="weights of encoder resnet18 with sha256") as caught:
        encoder_of(small_plan(encoder="resnet18", weights=OTHER))
    assert "version of pcevolve" not in str(caught.value)
