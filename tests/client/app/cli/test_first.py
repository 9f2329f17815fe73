"""Commands before a run: what check tells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def test_what_is_to_be_mended_is_folded_between_words_at_a_terminal_and_whole_in_a_pipe(
    folder, command, monkeypatch
):
    (folder / "cut" / "photo.heic").write_bytes(b"x")
    monkeypatch.setenv("COLUMNS", "40")
    whole = "fix: cut/photo.heic is HEIC: convert it, such as by heif-convert photo.heic photo.png"
    assert whole in command("check", folder).out.splitlines()
    monkeypatch.setenv("FORCE_COLOR", "1")
    folded = command("check", folder).out.splitlines()
    start = next(place for place, line in enumerate(folded) if line.startswith("fix"))
    assert [line.rstrip() for line in folded[start : start + 3]] == [
        *("fix: cut/photo.heic is HEIC: convert it,", "such as by heif-convert photo.heic", "photo.png")
    ]


@pytest.mark.parametrize("options", ["--shots 3", "--set data.subsample=4"])
def test_options_that_fit_are_in_the_next_command(check, folder, options):
    code, told = check(folder, *options.split())
    assert code == 0
    assert f"next: pcevolve preview --private {folder} {options} --domain WORDS" in told


@pytest.mark.parametrize("sample", ["cells", "digits:3,5", "terms"])
def test_a_sample_of_the_client_needs_no_check(command, sample, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = command("check", sample)
    assert told.code == 2
    assert (
        f"{sample} is built-in sample data and needs no check: use it with pcevolve run --private {sample}"
        in told.said
    )


def test_the_next_command_repeats_all_that_was_given(check, folder, tmp_path, monkeypatch):
    """Without them the run would send the names of classes that ``data.words`` hides."""
    monkeypatch.chdir(tmp_path)
    Path("my words.toml").write_text('[data]\nwords = {cut = "group one", good = ""}\ndomain = "skin"\n')
    told = check(
        *(folder, "--shots", 4, "--config", "my words.toml", "--method", "pe"),
        *("--set", "privacy.relation=add-remove", "--set", "method.class_counts=true"),
    )[1]
    assert told.endswith(
        f"next: pcevolve preview --private {folder} --shots 4 --method pe --config 'my words.toml' "
        "--set privacy.relation=add-remove --set method.class_counts=true --out RUN"
    )


def test_prompts_are_for_the_classes_of_a_folder_that_there_is(command, tmp_path):
    ask = ("prompts", "--domain", "scan", "--out", tmp_path / "p.json")
    assert (
        f"--private {tmp_path / 'none'}: no such folder" in command(*ask, "--private", tmp_path / "none").said
    )
    (tmp_path / "scans" / "cut").mkdir(parents=True)
    (tmp_path / "scans" / "good").mkdir()
    assert command(*ask, "--private", tmp_path / "scans").code == 0
    assert sorted(json.loads((tmp_path / "p.json").read_text())) == ["cut", "good"]
