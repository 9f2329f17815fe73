"""What the command of a run is told in a line."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "words",
    [
        ("--private", "scans"),
        ("--shots", "3"),
        ("--resume", "run"),
        ("--set", "provider.patience=0"),
        ("--dashboard",),
        ("--yes",),
    ],
)
def test_a_client_of_a_keeper_takes_no_options_of_a_run(command, words):
    told = command("run", "--keeper", "nowhere.sock", *words)
    assert told.code == 2
    assert told.said == (
        "error: pcevolve run --keeper SOCKET takes --verbose and --json only; give all other options to pcevolve keeper"
    )


def test_a_keeper_has_to_know_where_to_wait_and_for_what(command):
    assert "--socket" in command("keeper", "--private", "scans").said
    told = command("keeper", "--socket", "nowhere.sock", "--epsilon", "3")
    assert told.said == "error: --private, --domain and --out must be given: see --help"


def test_demonstrations_of_images_and_of_texts_stand_beside_each_other(command, monkeypatch):
    begun = []
    monkeypatch.setattr(
        "pcevolve.app.first.demo.demonstrate",
        lambda out, _, kind, verbose: begun.append((out, kind)) or {},
    )
    monkeypatch.setattr("pcevolve.app.cli.run.show", lambda *_: None)
    assert (command("demo").code, command("demo", "--text").code) == (0, 0)
    assert begun == [(Path("runs/demo"), "image"), (Path("runs/demo-text"), "text")]


def test_a_demonstration_that_is_stopped_before_its_run_begins_says_how_it_goes_on(
    command, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)  # where no demonstration was made before

    def press(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pcevolve.app.first.demo._demonstrate", press)
    told = command("demo")
    assert (told.code, told.said) == (130, "stopped to continue, give the same command again")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("votes=3", "--set: there is no option 'votes'; did you mean method.votes?"),
        ("privacy.delta", "--set privacy.delta: give a value: --set privacy.delta=VALUE"),
        ("method.votes=3", "method.votes: only for aug-pe, pe"),
        ("privacy.delta=2", "privacy.delta: "),
        ("", "--set: there is no option ''; docs/options.md lists all, as section.key"),
    ],
)
def test_a_wrong_key_is_told_with_the_one_that_may_be_meant(command, said, told):
    refused = command("run", "--private", "digits", "--domain", "x", "--out", "nowhere", "--set", said)
    assert refused.code == 2
    assert refused.said.startswith(f"error: {told}")


def test_a_client_of_a_keeper_goes_to_its_door_where_no_other_option_is_given(command, monkeypatch):
    asked = []
    monkeypatch.setattr("pcevolve.app.cli.run._run_at_door", lambda *given: asked.append(given))
    assert command("run", "--keeper", "keeper.sock", "--json").code == 0
    assert asked == [(Path("keeper.sock"), False, True)]
