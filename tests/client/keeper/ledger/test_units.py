"""Units are known again by keyed fingerprints, and none by two."""

from __future__ import annotations

import pytest

from pcevolve.errors import DataError
from pcevolve.keeper.ledger.ledger import PrivateUnit
from pcevolve.public.privacy import Event
from support.accounts import account, of_source, patients, prints_in, spend

PATIENTS = patients(p=[b"1", b"2", b"3"], q=[b"4"])
THREE = Event("exponential", "3")


@pytest.mark.parametrize(
    ("kind", "name"),
    [("Patient", "Zoé"), ("patient ", " Zoé"), ("patient", "Zoe\u0301"), ("PATIENT", "Zoe\u0301 ")],
)
def test_a_name_is_known_again_however_it_is_spelled(path, kind, name):
    spend(path, "a", [PrivateUnit((b"1",), "Zo\u00e9")], THREE, unit="patient")
    assert account(path, "b", [PrivateUnit((b"2",), name)], unit=kind).compute_spent_before() == 3


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
        ((PrivateUnit((b"1",), "p"), PrivateUnit((b"2",))), "a privacy unit has no name"),
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
    with pytest.raises(DataError, match=r"a patient has more images than data.unit_size 2 allows"):
        account(path, "a", PATIENTS, unit="patient", unit_size=2)


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
