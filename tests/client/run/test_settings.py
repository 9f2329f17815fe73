"""Options: validated once, stored with the run, never with a key."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pcevolve.errors import UsageError
from pcevolve.run.settings import RunSettings, default_ledger, key_in_file, read_toml

GIVEN = {"private": "digits", "domain": "leather texture", "out": Path("runs/x")}


def test_options_come_back_from_the_run_folder_as_they_were(tmp_path):
    settings = RunSettings.of({**GIVEN, "epsilon": "2.5", "iterations": 4, "size": 64})
    settings.save(tmp_path / "config.toml")
    assert RunSettings.load(tmp_path / "config.toml") == settings


def test_a_ledger_is_remembered_by_its_place_and_not_by_the_way_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = RunSettings.of({**GIVEN, "ledger": "mine.sqlite"})
    assert settings.ledger == tmp_path / "mine.sqlite"
    monkeypatch.setenv("PCEVOLVE_LEDGER", "ours.sqlite")
    assert default_ledger() == tmp_path / "ours.sqlite"


def test_an_empty_lifetime_limit_is_none(tmp_path):
    """So that docker-compose.yml can pass on a variable that nobody set."""
    assert RunSettings.of({**GIVEN, "lifetime_epsilon": ""}).lifetime_epsilon is None


def test_the_key_is_not_stored(tmp_path, monkeypatch):
    monkeypatch.setenv("PCEVOLVE_API_KEY", "hush-hush")
    settings = RunSettings.of(GIVEN)
    settings.save(tmp_path / "config.toml")
    assert settings.key() == "hush-hush"
    assert "hush" not in (tmp_path / "config.toml").read_text()
    assert "hush" not in repr(settings)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"relation": "sideways"}, "--relation: Input should be"),
        ({"strength_start": 1.5}, "--strength-start: Input should be less than"),
        ({"colour": "red"}, "--colour: Extra inputs"),
        ({"domain": ""}, "--domain: String should have at least 1"),
        ({"test": "rest"}, "--test rest is for what --subsample leaves: give --subsample K"),
        ({"subsample": 3, "shots": 4}, "--subsample 3 and --shots 4 differ: leave --shots out"),
        ({"shots": 0}, "--shots: Input should be greater"),
        ({"timeout": float("inf")}, "--timeout: Input should be a finite number"),
        ({"pace": 1e300}, "--pace: Input should be less than or equal to 86400"),
        ({"pad_selection": 5e-324}, "--pad-selection: must be 0 or at least 0.001 seconds"),
    ],
)
def test_a_bad_option_is_named(change, reason):
    with pytest.raises(UsageError, match=reason):
        RunSettings.of({**GIVEN, **change})


@pytest.mark.parametrize("window", ["-160,240", " -160 , 240.0", (-160, 240), [-160.0, 240]])
def test_a_window_is_the_same_however_it_is_written_and_comes_back_from_the_run_folder(tmp_path, window):
    settings = RunSettings.of(GIVEN | {"window": window})
    settings.save(tmp_path / "config.toml")
    assert RunSettings.load(tmp_path / "config.toml").window == settings.window == "-160,240"


def test_each_run_gets_a_public_seed_of_its_own():
    assert RunSettings.of(GIVEN).seed != RunSettings.of(GIVEN).seed


def test_a_key_file_is_read_if_only_its_owner_can(tmp_path):
    key = tmp_path / "key"
    key.write_text("hush\n")
    key.chmod(0o600)
    assert RunSettings.of({**GIVEN, "api_key_file": key}).key() == "hush"
    key.chmod(0o640)
    with pytest.raises(UsageError, match="chmod 600"):
        RunSettings.of({**GIVEN, "api_key_file": key}).key()


def test_a_missing_key_file_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"nokey cannot be read"):
        RunSettings.of({**GIVEN, "api_key_file": tmp_path / "nokey"}).key()


def test_the_ledger_is_one_for_all_runs_of_a_user(monkeypatch, tmp_path):
    monkeypatch.delenv("PCEVOLVE_LEDGER", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_ledger() == tmp_path / "pcevolve" / "ledger.sqlite"
    monkeypatch.setenv("PCEVOLVE_LEDGER", str(tmp_path / "other"))
    assert default_ledger() == tmp_path / "other"


def test_a_configuration_that_is_not_toml_is_refused(tmp_path):
    (tmp_path / "x.toml").write_text("epsilon = = 3")
    with pytest.raises(UsageError, match=r"x.toml cannot be read"):
        read_toml(tmp_path / "x.toml")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a = " + "[" * 50_000, "nested too deeply"),
        ("a = " + "{a=" * 20_000, "nested too deeply"),
        ("a." * 30_000 + "a = 1", "nested too deeply"),
        ("a = 'x.y'\nb." + "'c'." * 10_000 + "a = 1", "nested too deeply"),
        ("shots = " + "9" * 100_000, "Exceeds the limit"),
        ("# " + "x" * 200_000, "larger than 131,072 bytes"),
    ],
)
def test_a_hostile_configuration_is_refused_in_a_line_and_soon(tmp_path, text, told):
    (tmp_path / "c.toml").write_text(text)
    begun = time.monotonic()
    with pytest.raises(UsageError, match=told) as error:
        read_toml(tmp_path / "c.toml")
    assert "\n" not in str(error.value)
    assert time.monotonic() - begun < 2


@pytest.mark.parametrize("read", [read_toml, key_in_file])
def test_a_pipe_in_the_place_of_a_configuration_or_key_does_not_block(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="no regular file"):
        read(tmp_path / "pipe")
