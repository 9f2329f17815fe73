"""Runs that cut the same images into different units: group privacy in both directions."""

from __future__ import annotations

import contextlib
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcevolve_client.budget.accountants import epsilon
from pcevolve_client.budget.overlap import exposures
from pcevolve_client.errors import BudgetError
from pcevolve_client.privacy import FREE, Event
from support.accounts import account, gaussian, outcome, query

IMAGES = ([b"1"], [b"2"], [b"3"], [b"4"])
PATIENTS = ([b"1", b"2", b"3"], [b"4"])
PURE = Event("exponential", "1/2")
NOISE = Event("gaussian", "6")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


def spend(path, run, units, event, unit="image", **options):
    mine = account(path, run=run, units=units, unit=unit, **options)
    return mine.pay(query(1, run), [event, FREE], outcome())


def worst(units, others, relation="replace-one"):
    sets = {run: [frozenset(unit) for unit in theirs] for run, theirs in others.items()}
    found = exposures([frozenset(unit) for unit in units], sets, relation)
    return sorted((dict(each) for each in found), key=lambda each: sorted(each.items()))


def test_a_patient_of_three_images_is_three_units_of_a_run_on_images():
    assert worst(PATIENTS, {"r": IMAGES}) == [{"r": 3}]


def test_an_image_is_one_unit_of_a_run_on_patients():
    assert worst(IMAGES, {"r": PATIENTS}) == [{"r": 1}]


def test_removing_an_image_changes_a_patient_which_is_a_removal_and_an_addition():
    assert worst([[b"1"]], {"r": PATIENTS}, "add-remove") == [{"r": 2}]
    assert worst([[b"4"]], {"r": PATIENTS}, "add-remove") == [{"r": 1}]
    assert worst(PATIENTS, {"r": IMAGES}, "add-remove") == [{"r": 3}]
    assert worst(PATIENTS, {"r": PATIENTS}, "add-remove") == [{"r": 1}]


def test_units_that_lean_on_different_runs_are_all_kept_and_lesser_ones_are_not():
    units = [[b"1", b"2"], [b"3"], [b"4"], [b"5"]]
    others = {"r": [[b"1"], [b"2"], [b"3"]], "s": [[b"3"], [b"4"]]}
    assert worst(units, others) == [{"r": 1, "s": 1}, {"r": 2}]


def test_data_that_nobody_used_are_not_exposed():
    assert worst(IMAGES, {"r": [[b"9"]]}) == [{}]
    assert worst([], {"r": [[b"9"]]}) == [{}]


units_of_images = st.lists(st.sets(st.integers(0, 8), min_size=1, max_size=4), min_size=1, max_size=6)


@given(units_of_images, st.lists(units_of_images, max_size=3), st.sampled_from(["replace-one", "add-remove"]))
def test_no_unit_is_touched_more_than_an_exposure_says(units, others, relation):
    runs = {f"run {place}": theirs for place, theirs in enumerate(others)}
    found = worst(units, runs, relation)
    for unit in units:
        counts = {run: sum(not unit.isdisjoint(each) for each in theirs) for run, theirs in runs.items()}
        assert any(all(count <= each.get(run, 0) for run, count in counts.items()) for each in found)
    largest = {run: max(sum(not one.isdisjoint(each) for each in runs[run]) for one in units) for run in runs}
    for each in found:
        assert all(each[run] <= largest[run] * (2 if relation == "add-remove" else 1) for run in each)


def test_a_run_on_patients_counts_pure_events_on_their_images_by_group_privacy(path):
    spend(path, "images", IMAGES, PURE, limit=9, lifetime=9)
    patients = account(path, run="patients", units=PATIENTS, unit="patient", limit=9, lifetime=2)
    assert patients.spent_before() == 1.5
    patients.require([PURE])
    with pytest.raises(BudgetError, match=r"spent epsilon=1\.5 on these data, .* would make it 2\.25"):
        patients.require([Event("exponential", "3/4")])


def test_a_run_on_images_counts_pure_events_on_their_patient_once_and_its_own_for_all_his_images(path):
    spend(path, "patients", PATIENTS, PURE, unit="patient", limit=9, lifetime=9)
    images = account(path, run="images", units=IMAGES, limit=9, lifetime=2)
    assert images.spent_before() == 0.5
    images.require([PURE])
    with pytest.raises(
        BudgetError, match=r"already spent epsilon=0\.5 on these data, .* would make it 2\.75"
    ):
        images.require([Event("exponential", "3/4")])


def test_nobody_is_promised_anything_by_a_run_that_spent_nothing(path):
    account(path, run="patients", units=PATIENTS, unit="patient")
    spend(path, "control", PATIENTS, Event("uniform"), unit="patient", limit=9, lifetime=9)
    account(path, run="images", units=IMAGES, limit=9, lifetime=1).require([Event("exponential", "1")])


patients_of_images = st.lists(st.integers(0, 2), min_size=4, max_size=4).map(
    lambda owners: [
        [b"%d" % image for image in range(4) if owners[image] == owner] for owner in sorted(set(owners))
    ]
)


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.tuples(patients_of_images, st.integers(1, 4)), min_size=1, max_size=4),
    st.sampled_from(["replace-one", "add-remove"]),
)
def test_no_unit_that_was_ever_promised_to_bears_more_than_the_limit(runs, relation):
    with tempfile.TemporaryDirectory() as folder:
        done = []
        for number, (units, quarters) in enumerate(runs):
            event = Event("exponential", str(Fraction(quarters, 4)))
            name = f"run {number}"
            mine = account(Path(folder) / "l.sqlite", name, units, 9, 3, relation=relation)
            with contextlib.suppress(BudgetError):
                mine.pay(query(1, name), [event], outcome())
                done.append(([set(unit) for unit in units], event.value))
        for promised in (unit for units, _ in done for unit in units):
            total = sum(
                value
                * sum(
                    (1 if each <= promised or relation == "replace-one" else 2)
                    for each in units
                    if each & promised
                )
                for units, value in done
            )
            assert total <= 3


def test_a_run_on_patients_counts_gaussian_events_on_their_images_by_group_privacy(path):
    spend(path, "images", IMAGES, NOISE, **gaussian(90))
    patients = account(path, run="patients", units=PATIENTS, unit="patient", **gaussian(90))
    assert patients.spent_before() == pytest.approx(epsilon([Event("gaussian", "2")], 1e-5))
    assert patients.spent_before() > 1.5 * epsilon([Event("gaussian", "6", 3)], 1e-5), (
        "composition understates it"
    )
    assert account(path, run="more images", units=IMAGES, **gaussian(90)).spent_before() == pytest.approx(
        epsilon([NOISE], 1e-5)
    )


def test_a_run_on_images_counts_gaussian_events_on_their_patient_once(path):
    spend(path, "patients", PATIENTS, NOISE, unit="patient", **gaussian(90))
    images = account(path, run="images", units=IMAGES, **gaussian(90))
    assert images.spent_before() == pytest.approx(epsilon([NOISE], 1e-5))


def test_earlier_runs_of_both_kinds_compose_for_the_patient_who_is_in_all_of_them(path):
    spend(path, "images", IMAGES, PURE, limit=9, lifetime=9)
    spend(path, "patients", PATIENTS, PURE, unit="patient", limit=9, lifetime=9)
    spend(path, "fourth", [[b"4"]], Event("exponential", "1/8"), limit=9, lifetime=9)
    now = account(path, run="now", units=PATIENTS, unit="patient", limit=9, lifetime=9)
    assert now.spent_before() == 2.0
    assert account(path, run="then", units=[[b"4"]], limit=9, lifetime=9).spent_before() == 1.125


def test_a_third_run_sees_the_group_even_when_the_images_are_of_several_units(path):
    spend(path, "images", IMAGES, PURE, limit=9, lifetime=9)
    pairs = account(path, run="pairs", units=[[b"1", b"2"], [b"3", b"4"]], unit="pair", limit=9, lifetime=9)
    assert pairs.spent_before() == float(2 * Fraction(1, 2))
