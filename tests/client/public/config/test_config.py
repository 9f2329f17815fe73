"""Options of a run: from where they come, validated once, stored with the run, never with a key."""

from __future__ import annotations

from pathlib import Path

import pytest

from pcevolve.errors import UsageError
from pcevolve.public.config.config import RunConfig

GIVEN = {"private": "digits", "domain": "leather texture", "out": Path("runs/x")}


def test_the_key_is_not_stored(tmp_path, monkeypatch):
    monkeypatch.setenv("PCEVOLVE_API_KEY", "hush-hush")
    settings = RunConfig.of(GIVEN)
    settings.save(tmp_path / "options.json")
    assert settings.key() == "hush-hush"
    assert "hush" not in (tmp_path / "options.json").read_text()
    assert "hush" not in repr(settings)


def test_what_is_stored_is_read_again_as_it_was(tmp_path):
    settings = RunConfig.of({**GIVEN, "subsample": 3, "words": {"a": "cut", "b": ""}, "pad_selection": 0.25})
    settings.save(tmp_path / "options.json")
    assert RunConfig.load(tmp_path / "options.json") == settings


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "the file: Invalid JSON"),
        ('{"data": {"colour": "red"}}', "data.domain: it is missing"),
    ],
)
def test_stored_options_that_are_damaged_or_of_another_version_are_refused(tmp_path, text, said):
    (tmp_path / "options.json").write_text(text)
    with pytest.raises(UsageError, match=rf"the options in .*options.json cannot be read: .*({said})"):
        RunConfig.load(tmp_path / "options.json")
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        RunConfig.load(tmp_path / "elsewhere.json")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"relation": "sideways"}, "privacy.relation: Input should be"),
        ({"strength_start": 1.5}, "method.strength_start: Input should be less than"),
        ({"colour": "red"}, "colour: there is no such option"),
        ({"domain": ""}, "--domain: String should have at least 1"),
        ({"test": "rest"}, "--test rest means the images or texts that data.subsample leaves out: set it"),
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


def test_stored_options_of_more_than_a_mebibyte_are_not_read(tmp_path):
    (tmp_path / "options.json").write_text(" " * (2**20 + 1))
    with pytest.raises(UsageError, match="larger than 1,048,576 bytes"):
        RunConfig.load(tmp_path / "options.json")


def test_an_option_that_is_given_as_it_is_without_it_is_not_listed():
    settings = RunConfig.of({**GIVEN, "shots": 7, "pad_selection": None})
    assert {each.name for each in settings.list_given()} == {"private", "domain", "out", "shots"}
