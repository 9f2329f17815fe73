"""Owners' private keys: kept for their owner alone, and never written over."""

from __future__ import annotations

import stat

import pytest

from pcevolve.errors import UsageError
from pcevolve.keeper.clinics.keys import OwnerKey
from pcevolve.public.clinics.owners import split_key
from support.clinics import make_key


def test_a_key_is_the_same_after_it_was_saved_and_only_its_owner_can_read_it(tmp_path):
    path = tmp_path / "own.key"
    key = OwnerKey.new()
    key.save(path)
    assert OwnerKey.load(path).public == key.public
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert repr(key) == "OwnerKey"


def test_a_key_is_never_written_over(tmp_path):
    path = tmp_path / "own.key"
    make_key(1).save(path)
    with pytest.raises(UsageError, match="is not overwritten"):
        make_key(2).save(path)
    assert OwnerKey.load(path).public == make_key(1).public


def test_a_key_that_others_can_read_is_refused(tmp_path):
    path = tmp_path / "own.key"
    make_key(1).save(path)
    path.chmod(0o640)
    with pytest.raises(UsageError, match="others can read it"):
        OwnerKey.load(path)


@pytest.mark.parametrize("text", ["", "pcevolve-owner-private-1:", "pcevolve-owner-private-1:AAAA", "\xff"])
def test_what_is_no_key_is_told(tmp_path, text):
    path = tmp_path / "own.key"
    path.write_text(text, encoding="latin-1")
    path.chmod(0o600)
    with pytest.raises(UsageError, match="is no owner's private key"):
        OwnerKey.load(path)
    with pytest.raises(UsageError, match="clinics key makes one"):
        OwnerKey.load(tmp_path / "none")


def test_two_owners_agree_on_what_no_third_does():
    keys = [make_key(number) for number in (1, 2, 3)]
    halves = [split_key(each.public)[1] for each in keys]
    assert keys[0].agree(halves[1]) == keys[1].agree(halves[0]) != keys[2].agree(halves[0])


def test_a_key_by_which_anybody_knows_the_secret_is_refused():
    with pytest.raises(UsageError, match="unusable for key agreement"):
        make_key(1).agree(b"\0" * 32)
