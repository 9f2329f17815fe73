"""Where options come from: a file, the environment, ``--set`` and flags."""

from __future__ import annotations

import time

import pytest

from pcevolve.errors import UsageError
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.sources import complete, gather, parse_set, read_toml
from pcevolve.public.config.table import run_options


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
    flags = {"private": "scans", "out": "run", "shots": "5", "test": None, "formats": []}
    with gather(flags, said, tmp_path / "run.toml") as asked:
        settings = RunConfig.of(asked)
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


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("data.unit_m", ["data.unit_map="]),
        ("privacy.relation=a", ["privacy.relation=add-remove"]),
        ("data.unit_map=x", []),
        ("data.colour=", []),
    ],
)
def test_a_shell_completes_keys_and_behind_an_equals_sign_words(typed: str, offered: list[str]):
    assert complete(run_options(), typed) == offered


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("epsilon=3", "did you mean privacy.epsilon?"),
        ("method.epsilon=3", "did you mean privacy.epsilon?"),
        ("privacy.epsilom=3", "did you mean privacy.epsilon?"),
        ("zzz=3", "docs/options.md lists all, as section.key"),
    ],
)
def test_a_key_that_is_no_option_is_answered_with_the_one_that_may_be_meant(typed: str, meant: str):
    with pytest.raises(UsageError) as error:
        parse_set(typed, run_options())
    assert str(error.value) == f"--set: there is no option '{typed[:-2]}'; {meant}"
