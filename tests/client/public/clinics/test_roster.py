"""The roster: what it says, and one sentence for what it cannot say."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from pcevolve.errors import UsageError
from pcevolve.public.clinics.roster import Roster
from support.clinics import make_clinics, write_roster


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_roster(tmp_path / "roster.toml", make_clinics(3, holders=2), ["zebra", "ant"])


def test_a_roster_names_owners_and_classes_in_the_order_of_the_plan(path):
    roster = Roster.read(path)
    assert roster.clinics == make_clinics(3, holders=2)
    assert roster.clinics.shots == 30
    assert roster.labels == {"ant": "ant", "zebra": "zebra"}
    assert [*roster.labels] == ["ant", "zebra"]


def test_one_owner_may_collude_and_a_unit_is_with_one_where_nothing_is_said(path):
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(each for each in lines if not each.startswith(("colluding", "holders"))))
    assert Roster.read(path).clinics == make_clinics(3, colluding=1, holders=1)


def test_a_roster_that_was_read_stays_as_it_was_shown(path):
    with pytest.raises(ValidationError, match="frozen"):
        Roster.read(path).colluding = 2


def test_words_stand_in_place_of_names_in_their_own_order(path):
    path.write_text(path.read_text() + '[words]\nzebra = "type A"\nant = "type B"\n')
    assert Roster.read(path).labels == {"zebra": "type A", "ant": "type B"}


def test_whatever_is_changed_has_another_digest(path):
    before = Roster.read(path).digest
    for old, new in (("ant", "bee"), ("shots = 10", "shots = 11"), ("holders = 2", "holders = 1")):
        other = path.with_name("other.toml")
        other.write_text(path.read_text().replace(old, new))
        assert Roster.read(other).digest != before


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "Clinic 2"', 'name = "Clinic 1"', "two owners have the same name"),
        (make_clinics(3).owners[1].key, make_clinics(3).owners[0].key, "two owners have the same key"),
        ("pcevolve-owner-1", "ssh-ed25519", r"owner\.1\.key: is no owner's key"),
        ("'ant'", "'zebra'", "stands there twice"),
        ("'ant'", "'a/b'", "cannot be used as a label"),
        ("colluding = 1", "colluding = 3", "at most 2 can collude"),
        ("colluding = 1", "seed = 1", "seed: there is no such entry"),
        ("shots = 10", "shots = 0", r"owner\.1\.shots"),
    ],
)
def test_a_roster_that_means_nothing_is_refused_in_one_sentence(path, old, new, said):
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(UsageError, match=said) as refused:
        Roster.read(path)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_roster_that_is_not_there_is_told(tmp_path):
    with pytest.raises(UsageError, match=r"^roster .*none\.toml cannot be read"):
        Roster.read(tmp_path / "none.toml")


def test_words_are_given_to_every_class_or_to_none(path):
    path.write_text(path.read_text() + '[words]\nant = "type A"\n')
    with pytest.raises(UsageError, match="words: every class needs some"):
        Roster.read(path)


@pytest.mark.parametrize("owners", [0, 1])
def test_one_owner_or_none_is_no_roster(path, owners):
    path.write_text("[[owner]]".join(path.read_text().split("[[owner]]")[: owners + 1]))
    with pytest.raises(
        UsageError, match=r"roster\.toml: a run of several owners has at least two, each under"
    ):
        Roster.read(path)
