"""``pcevolve clinics``: a key pair, and a roster that is checked before anybody relies on it."""

from __future__ import annotations

import json
import re
import tomllib

from click.testing import CliRunner, Result

from pcevolve.app.cli.commands import app
from pcevolve.keeper.clinics.keys import OwnerKey
from support.clinics import make_clinics, write_roster


def test_nobody_agrees_beforehand_to_any_price(tmp_path):
    words = ["join", "http://127.0.0.1:1", "--private", "x", "--roster", "x", "--key", "x", "--yes"]
    done = CliRunner().invoke(app, words)
    assert "--max-epsilon E" in str(done.exception)


def run_cli(*arguments: str) -> Result:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    return done


def test_the_line_that_a_key_prints_is_the_one_for_the_roster(tmp_path):
    done = run_cli("clinics", "key", str(tmp_path / "own.key"))
    assert tomllib.loads(done.stdout) == {"key": OwnerKey.load(tmp_path / "own.key").public}
    assert "stays on this machine" in done.stderr


def test_a_roster_is_shown_with_the_digest_that_owners_compare(tmp_path):
    roster = write_roster(tmp_path / "roster.toml", make_clinics(3), ["red", "blue"])
    facts = json.loads(run_cli("clinics", "roster", str(roster), "--json").stdout)
    assert [each["name"] for each in facts["owners"]] == ["Clinic 1", "Clinic 2", "Clinic 3"]
    assert facts["classes"] == ["blue", "red"]
    assert facts["colluding"] == 1
    shown = run_cli("clinics", "roster", str(roster)).stdout
    assert facts["digest"] in shown
    assert "if at most 1 of the owners collude with them" in " ".join(shown.split())


def test_somebody_who_is_in_a_roster_twice_is_two_owners_of_another_digest(tmp_path):
    """Nobody can tell that two keys are one person's; whoever compares names and digests can."""
    honest = write_roster(tmp_path / "roster.toml", make_clinics(3), ["red", "blue"])
    twice = write_roster(tmp_path / "twice.toml", make_clinics(4), ["red", "blue"])
    shown = run_cli("clinics", "roster", str(twice)).stdout
    names = re.findall(r"Clinic \d", shown)
    assert names == ["Clinic 1", "Clinic 2", "Clinic 3", "Clinic 4"]
    assert make_clinics(4).owners[3].key[-12:] in shown
    assert "an owner listed twice counts twice" in " ".join(shown.split())
    assert shown.splitlines()[-1] != run_cli("clinics", "roster", str(honest)).stdout.splitlines()[-1]
