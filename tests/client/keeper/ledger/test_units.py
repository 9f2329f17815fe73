"""Units are known again by keyed fingerprints, and none by two."""

from __future__ import annotations

import sqlite3

import pytest

from pcevolve.errors import DataError
from pcevolve.keeper.ledger.ledger import PrivateUnit
from pcevolve.public.privacy import FREE, Event
from support.accounts import (
    account,
    outcome,
    patients,
    query,
)

PATIENTS = patients(p=[b"1", b"2", b"3"], q=[b"4"])
THREE = Event("exponential", "3")


def spend(path, run, units, event, unit="image", **options):
    mine = account(path, run=run, units=units, unit=unit, **options)
    mine.require([event])
    return mine.pay(query(1, run), [event, FREE], outcome())


@pytest.mark.parametrize(
    ("kind", "name"),
    [("Patient", "Zoé"), ("patient ", " Zoé"), ("patient", "Zoe\u0301"), ("PATIENT", "Zoe\u0301 ")],
)
def test_a_name_is_known_again_however_it_is_spelled(path, kind, name):
    spend(path, "a", [PrivateUnit((b"1",), "Zo\u00e9")], THREE, unit="patient")
    assert account(path, "b", [PrivateUnit((b"2",), name)], unit=kind).compute_spent_before() == 3


def of_source(namespace, **units):
    return tuple(PrivateUnit(tuple(digests), name, namespace) for name, digests in units.items())


def test_patients_of_one_name_in_two_sources_are_two_and_each_is_known_again_in_his_own(path):
    spend(path, "one", of_source("ward", p=[b"1"]), THREE, unit="patient")
    for run, namespace in (("two", "clinic"), ("three", "")):
        other = account(path, run, of_source(namespace, p=[b"2"]), unit="patient")
        assert other.compute_spent_before() == 0
        other.require([THREE])
    assert account(path, "four", of_source(" ward", p=[b"9"]), unit="patient").compute_spent_before() == 3


def test_a_name_is_kept_as_a_keyed_fingerprint_alone(path):
    account(path, "a", patients(Erika=[b"1"]), unit="patient")
    assert b"Erika" not in path.read_bytes()
    assert "Erika" not in repr(patients(Erika=[b"1"]))


@pytest.mark.parametrize(
    ("units", "fault"),
    [
        ((PrivateUnit((b"1",), "p"), PrivateUnit((b"2",))), "all other units have one"),
        (patients(p=[b"1"], q=[b"1"]), "two privacy units share an image"),
        ((PrivateUnit((b"1",), "p"), PrivateUnit((b"2",), " p")), "two privacy units have the same name"),
        ((PrivateUnit((), "p"),), "has no images"),
        ((), "there is no privacy unit"),
    ],
)
def test_units_that_cannot_be_told_apart_are_refused(path, units, fault):
    with pytest.raises(DataError, match=fault):
        account(path, units=units, unit="patient")


def test_no_unit_may_have_more_images_than_declared(path):
    with pytest.raises(DataError, match=r"a patient has more images than data.unit_size 2 says"):
        account(path, "a", PATIENTS, unit="patient", unit_size=2)


def prints_in(path):
    """The fingerprints of a run on single images."""
    blob = sqlite3.connect(path).execute("SELECT private FROM rows WHERE name = ''").fetchone()[0]
    return {blob[start : start + 32] for start in range(0, len(blob), 32)}


def test_fingerprints_reveal_nothing_without_the_key(path):
    account(path)
    prints = prints_in(path)
    assert len(prints) == 3
    for image in (b"unit 1", b"unit 1".hex().encode()):
        assert image not in path.read_bytes()


def test_two_ledgers_know_the_same_image_by_different_fingerprints(tmp_path):
    for name in ("one", "two"):
        account(tmp_path / f"{name}.sqlite")
    one, two = (prints_in(tmp_path / f"{name}.sqlite") for name in ("one", "two"))
    assert not one & two
