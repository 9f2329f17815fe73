"""Options of a run: from where they come, validated once, stored with the run, never with a key."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from pcevolve.config.config import RunConfig
from pcevolve.config.files import read_key_file, read_prompts, spell_prompts
from pcevolve.config.owner import DataSettings
from pcevolve.config.sources import gather, read_toml
from pcevolve.config.table import run_options
from pcevolve.errors import UsageError

GIVEN = {"private": "digits", "domain": "leather texture", "out": Path("runs/x")}


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


def test_a_key_file_is_read_if_only_its_owner_can(tmp_path):
    key = tmp_path / "key"
    key.write_text("hush\n")
    key.chmod(0o600)
    assert RunConfig.of({**GIVEN, "api_key_file": key}).key() == "hush"
    key.chmod(0o640)
    with pytest.raises(UsageError, match="chmod 600"):
        RunConfig.of({**GIVEN, "api_key_file": key}).key()


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
    begun = time.process_time()
    with pytest.raises(UsageError, match=told) as error:
        read_toml(tmp_path / "c.toml")
    assert "\n" not in str(error.value)
    assert time.process_time() - begun < 2


@pytest.mark.parametrize("read", [read_toml, read_key_file])
def test_a_pipe_in_the_place_of_a_configuration_or_key_does_not_block(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="no regular file"):
        read(tmp_path / "pipe")


@pytest.mark.parametrize("strengths", ["[0.5, 0.25]", "0.5,0.25"])
def test_a_file_gives_options_of_every_kind_and_the_environment_set_and_flags_win_in_this_order(
    tmp_path, monkeypatch, strengths
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.toml").write_text(
        '[data]\ndomain = "scratch"\nshots = 7\nunlabelled = false\nunit_map = "units.csv"\n'
        "[privacy]\nepsilon = 3\nforget-insecure = true\n[method]\nname = 'pe'\ncandidates = 40\nvotes = 2\n"
        '[provider]\nguidance = 2.5\nsteps = 9\nimage-hosts = ["a.example", "b.example"]\n'
    )
    monkeypatch.setenv("PCEVOLVE_METHOD__VOTES", "3")
    monkeypatch.setenv("PCEVOLVE_METHOD__CANDIDATES", "30")
    monkeypatch.setenv("PCEVOLVE_PROVIDER__STEPS", "")
    monkeypatch.setenv("PCEVOLVE_METHOD__STRENGTHS", strengths)
    monkeypatch.setenv("PCEVOLVE_OUTPUT__FORMATS", "parquet")
    said = ["method.candidates=20", "data.shots=6", "output.formats=parquet,webdataset", "provider.guidance="]
    asked = gather(
        run_options(), {"private": "scans", "out": "run", "shots": "5"}, said, tmp_path / "run.toml"
    )
    settings = RunConfig.of(asked.values)
    assert (settings.data.domain, settings.privacy.epsilon, settings.method.candidates) == (
        "scratch",
        "3",
        20,
    )
    assert (settings.provider.guidance, settings.provider.steps, settings.data.shots) == (2.5, 9, 5)
    assert (settings.data.unit_map, settings.get("votes")) == (tmp_path / "units.csv", 3)
    assert (settings.privacy.forget_insecure, settings.data.unlabelled) == (True, False)
    assert settings.provider.image_hosts == ("a.example", "b.example")
    assert (settings.method.strengths, settings.output.formats) == ((0.5, 0.25), ("parquet", "webdataset"))


LABELS = ("cut", "good")


def test_a_file_is_taken_in_the_order_of_the_classes(tmp_path: Path):
    path = tmp_path / "prompts.json"
    path.write_text(spell_prompts({"good": ["g1", "g2"], "cut": ["c1", "c2"]}))
    assert read_prompts(path, 10, "leather texture", LABELS) == (("c1", "c2"), ("g1", "g2"))
    path.write_text(spell_prompts({"e\u0301": ["e"], "b": ["b"]}), "utf-8")
    assert read_prompts(path, 0, "", ("\u00e9", "b")) == (("e",), ("b",))
    assert DataSettings(private="x", domain="y", words={"e\u0301": "w"}).words == {"\u00e9": "w"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[", "the file: Invalid JSON"),
        ('["a"]', "one list of prompts for each class"),
        ('{"cut": ["a", ""], "good": ["b", "c"]}', "cut/1: String should have at least 1"),
        ('{"cut": ["a\\u0000"], "good": ["b"]}', "cut/0: String should match"),
        ('{"cut": ["a"], "good": []}', "no prompt for 'good'"),
        ('{"cut": ["a"]}', "no prompt for 'good'"),
        ('{"cut": ["a"], "good": ["b"], "fold": ["c"]}', "'fold': no such class in --private"),
        ('{"cut": ["a"], "good": ["b", "c"]}', "as many prompts as every other"),
        (json.dumps({"cut": ["a" * 1001], "good": ["b"]}), "cut/0: String should have at most 1000"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, content: str, reason: str):
    path = tmp_path / "prompts.json"
    path.write_text(content)
    with pytest.raises(UsageError, match=reason):
        read_prompts(path, 0, "leather texture", LABELS)
