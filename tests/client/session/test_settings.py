"""Options: validated once, stored with the run, never with a key."""

from __future__ import annotations

import os
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import pcevolve
from pcevolve.cli.main import main
from pcevolve.config.config import RunConfig
from pcevolve.config.places import default_ledger, key_in_file
from pcevolve.config.sources import read_toml
from pcevolve.errors import UsageError

GIVEN = {"private": "digits", "domain": "leather texture", "out": Path("runs/x")}


def test_options_come_back_from_the_run_folder_as_they_were(tmp_path):
    settings = RunConfig.of({**GIVEN, "epsilon": "2.5", "iterations": 4, "size": 64})
    settings.save(tmp_path / "config.toml")
    assert RunConfig.load(tmp_path / "config.toml") == settings


def test_a_ledger_is_remembered_by_its_place_and_not_by_the_way_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = RunConfig.of({**GIVEN, "ledger": "mine.sqlite"})
    assert settings.privacy.ledger == tmp_path / "mine.sqlite"
    monkeypatch.setenv("PCEVOLVE_LEDGER", "ours.sqlite")
    assert default_ledger() == tmp_path / "ours.sqlite"


def test_the_key_is_not_stored(tmp_path, monkeypatch):
    monkeypatch.setenv("PCEVOLVE_API_KEY", "hush-hush")
    settings = RunConfig.of(GIVEN)
    settings.save(tmp_path / "config.toml")
    assert settings.key() == "hush-hush"
    assert "hush" not in (tmp_path / "config.toml").read_text()
    assert "hush" not in repr(settings)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"relation": "sideways"}, "privacy.relation: Input should be"),
        ({"strength_start": 1.5}, "method.strength_start: Input should be less than"),
        ({"colour": "red"}, "colour: there is no such option"),
        ({"domain": ""}, "--domain: String should have at least 1"),
        ({"test": "rest"}, "--test rest is for what data.subsample leaves: say how many it draws"),
        ({"subsample": 3, "shots": 4}, "data.subsample 3 and --shots 4 differ: leave --shots out"),
        ({"shots": 0}, "--shots: Input should be greater"),
        ({"timeout": float("inf")}, "provider.timeout: Input should be a finite number"),
        ({"pace": 1e300}, "privacy.pace: Input should be less than or equal to 86400"),
        ({"pad_selection": 5e-324}, "privacy.pad_selection: must be 0 or at least 0.001 seconds"),
    ],
)
def test_a_bad_option_is_named(change, reason):
    with pytest.raises(UsageError, match=reason):
        RunConfig.of({**GIVEN, **change})


@pytest.mark.parametrize("window", ["-160,240", " -160 , 240.0", (-160, 240), [-160.0, 240]])
def test_a_window_is_the_same_however_it_is_written_and_comes_back_from_the_run_folder(tmp_path, window):
    settings = RunConfig.of(GIVEN | {"window": window})
    settings.save(tmp_path / "config.toml")
    assert RunConfig.load(tmp_path / "config.toml").data.window == settings.data.window == "-160,240"


def test_each_run_gets_a_public_seed_of_its_own():
    assert RunConfig.of(GIVEN).provider.seed != RunConfig.of(GIVEN).provider.seed


def test_a_key_file_is_read_if_only_its_owner_can(tmp_path):
    key = tmp_path / "key"
    key.write_text("hush\n")
    key.chmod(0o600)
    assert RunConfig.of({**GIVEN, "api_key_file": key}).key() == "hush"
    key.chmod(0o640)
    with pytest.raises(UsageError, match="chmod 600"):
        RunConfig.of({**GIVEN, "api_key_file": key}).key()


def test_a_missing_key_file_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"nokey cannot be read"):
        RunConfig.of({**GIVEN, "api_key_file": tmp_path / "nokey"}).key()


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


@pytest.mark.parametrize("name", ["epsilon", "lifetime_epsilon"])
@pytest.mark.parametrize("given", [40, 40.0, "40", Fraction(40), Decimal(40), np.int64(40), np.float64(40)])
def test_a_number_is_taken_however_it_is_written(name, given):
    assert float(RunConfig.of({**GIVEN, name: given}).get(name)) == 40


@pytest.mark.parametrize(
    ("name", "given"), [("shots", np.int64(7)), ("shots", 7.0), ("shots", "7"), ("delta", 0)]
)
def test_numbers_of_other_libraries_are_numbers(name, given):
    assert RunConfig.of({**GIVEN, name: given}).get(name) == float(given)


@pytest.mark.parametrize("name", ["test", "prompts", "encoder_weights", "unit_map", "ledger"])
def test_a_path_is_as_good_as_its_text(tmp_path, name):
    of_text, of_path = (RunConfig.of({**GIVEN, name: each}) for each in (str(tmp_path / "x"), tmp_path / "x"))
    assert of_text.get(name) == of_path.get(name)


@pytest.mark.parametrize("name", ["shots", "epsilon", "lifetime_epsilon", "guidance", "iterations", "model"])
def test_yes_is_no_number_and_no_text(name):
    with pytest.raises(UsageError, match=f"{name}: True is no value for it"):
        RunConfig.of({**GIVEN, name: True})


OUT_OF_BOUNDS = [
    ({"shots": 0}, "shots"),
    ({"shots": "many"}, "shots"),
    ({"noise_seed": "x"}, "noise_seed"),
    ({"subsample": 3, "shots": 4}, "subsample"),
    ({"strengths": (0.5,), "strength_start": 0.9}, "strengths"),
    ({"nonsense": 1}, "nonsense"),
    ({"lifetime_delta": 2}, "lifetime_delta"),
]


@pytest.mark.parametrize(("options", "name"), OUT_OF_BOUNDS)
def test_in_python_messages_call_options_by_their_keywords(options, name):
    with pytest.raises(UsageError) as error:
        pcevolve.evolve(private="digits", domain="x", **options)
    assert str(error.value).startswith(name)
    assert "--" not in str(error.value)


def test_in_a_plan_too():
    with pytest.raises(UsageError, match=r"^shots: Input should be greater"):
        pcevolve.plan(shots=0)
    assert pcevolve.plan("pe", noise_multiplier=2) == pcevolve.plan("pe", noise_multiplier="2")


@pytest.mark.parametrize(
    ("options", "flag"),
    [({"shots": 0}, "--shots"), ({"strengths": (0.5,), "iterations": 2}, "method.strengths: ")],
)
def test_of_the_command_line_they_are_called_by_their_flags(options, flag):
    with pytest.raises(UsageError, match=f"^{flag}"):
        RunConfig.of({**GIVEN, **options})


@pytest.mark.parametrize(
    ("text", "flags", "called"),
    [
        ("[data]\nshots = 0", [], "error: data.shots in c.toml: "),
        ("[privacy]\nlifetime_delta = 3", [], "error: privacy.lifetime_delta in c.toml: "),
        ("[privacy]\nlifetime-delta = 3", [], "error: privacy.lifetime_delta in c.toml: "),
        (
            "[privacy]\nlifetime-delta = 3",
            ["--set", "privacy.lifetime_delta=4"],
            "error: privacy.lifetime_delta: ",
        ),
        ("[data]\nshots = 4", ["--shots", "0"], "error: --shots: "),
        ("[data]\nshots = 4", ["--delta", "2"], "error: --delta: "),
    ],
)
def test_of_a_file_they_are_called_by_their_keys(tmp_path, monkeypatch, capsys, text, flags, called):
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(text)
    with pytest.raises(SystemExit):
        main(["run", "--config", "c.toml", "--private", "digits", "--domain", "x", "--out", "r", *flags])
    assert capsys.readouterr().err.startswith(called)
    with pytest.raises(UsageError, match=r"^--shots"):  # nothing of it is left behind
        RunConfig.of({**GIVEN, "shots": 0})
