"""What the card says that all releases to one provider add up to: a function of public facts alone."""

from __future__ import annotations

import pytest

from pcevolve.privacy import Event
from pcevolve.public.fields import Earlier
from pcevolve.publish import in_all
from support.accounts import ONE, account, images, outcome, paid, patients, query
from support.runs import small_plan

API = {"provider": "https://api.example"}
TWO = Event("exponential", "2")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


@pytest.mark.parametrize("mine", [images(b"1"), images(b"never seen")], ids=["the same data", "other data"])
def test_earlier_releases_are_counted_whether_or_not_they_share_data(path, mine):
    paid(account(path, "a", images(b"1", b"2"), **API), 1)
    paid(account(path, "b", images(b"3"), **API), 1, "b", TWO)
    found = account(path, "c", mine, lifetime=99, **API).earlier()
    assert found == Earlier(releases=2, events=(ONE, TWO))


def test_other_providers_controls_insecure_runs_and_the_run_itself_do_not_count(path):
    paid(account(path, "a", provider="https://other.example"), 1)
    account(path, "b", **API).pay(query(1, "b"), [Event("uniform")], outcome())
    paid(account(path, "c", secure=False, **API), 1, "c")
    mine = account(path, "d", images(b"9"), **API)
    paid(mine, 1, "d")
    assert mine.earlier() == Earlier()


@pytest.mark.parametrize(
    ("relation", "kind", "unit_size", "events"),
    [
        ("replace-one", "image", None, (ONE,)),
        ("replace-one", "patient", 4, (Event("exponential", "4"),)),
        ("replace-one", "patient", None, None),
        ("add-remove", "image", None, None),
    ],
)
def test_releases_on_images_count_for_as_many_as_a_patient_may_have(path, relation, kind, unit_size, events):
    paid(account(path, "a", images(b"1"), **API), 1)
    units = images(b"5") if kind == "image" else patients(p=[b"5"])
    mine = account(path, "b", units, unit=kind, relation=relation, unit_size=unit_size, **API)
    assert mine.earlier() == Earlier(releases=1, events=events)


@pytest.mark.parametrize(("relation", "size"), [("replace-one", "1"), ("add-remove", "2")])
def test_releases_on_patients_count_for_an_image_as_one_or_as_a_removal_and_an_addition(path, relation, size):
    paid(account(path, "a", patients(p=[b"1"]), unit="patient", relation=relation, **API), 1)
    mine = account(path, "b", images(b"5"), relation=relation, **API)
    assert mine.earlier().events == (Event("exponential", size),)


def test_the_sentence_adds_up_all_releases():
    plan = small_plan(unit="patient", earlier=Earlier(releases=2, events=(ONE, TWO)))
    assert in_all(plan, [Event("exponential", "5")]) == (
        "This ledger knows 2 earlier releases to this provider; one patient that is in all of them and in this one "
        "bears epsilon <= 8 at delta 0 in all."
    )


def test_the_sentence_says_where_nothing_can_be_added_up():
    assert "cannot be added up" in in_all(small_plan(earlier=Earlier(releases=1, events=None)), [ONE])
    noisy = small_plan(earlier=Earlier(releases=1, events=(Event("gaussian", "1"),)))
    assert "more than any epsilon bounds" in in_all(noisy, [ONE])
