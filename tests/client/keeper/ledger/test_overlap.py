"""Runs that cut the same images into different units: group privacy in both directions, for everybody it concerns."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcevolve.errors import BudgetError, LedgerError
from pcevolve.keeper.ledger.history import LedgerBook
from pcevolve.keeper.ledger.ledger import PrivateUnit, Terms
from pcevolve.keeper.ledger.overlap import Overlap, compute_exposures
from pcevolve.keeper.ledger.store import LedgerKey
from pcevolve.keeper.ledger.units import RunUnits, UnitPartition, Units
from pcevolve.public.dp.accountants import epsilon
from pcevolve.public.privacy import Budget, Event
from support.accounts import account, budget, gaussian, images, of_source, outcome, patients, query, spend
from support.examples import examples

IMAGES = images(b"1", b"2", b"3", b"4")
PATIENTS = patients(p=[b"1", b"2", b"3"], q=[b"4"])
PURE = Event("exponential", "1/2")
THREE = Event("exponential", "3")
NOISE = Event("gaussian", "6")
KEY = LedgerKey(bytes(32))


def worst(mine, others, relation="replace-one", most=None):
    """The sizes that decide, in runs that all did something else."""

    def party(run, units):
        kind = "image" if units[0].name is None else "patient"
        return RunUnits(run, kind, UnitPartition.of(Units.of(KEY, units, kind)), most)

    own, theirs = party("mine", mine), [party(run, units) for run, units in others.items()]
    reach = Overlap.of(own, theirs, theirs)
    runs = [*theirs, own]
    found = compute_exposures(reach, runs, relation, {run.run_id: run.run_id for run in runs})
    return sorted((each.sizes for each in found), key=lambda each: sorted(each.items()))


def test_taking_an_image_away_changes_a_patient_which_is_a_removal_and_an_addition():
    sizes = {"r": 2, "mine": 1}
    assert sizes in worst(images(b"1"), {"r": PATIENTS}, "add-remove", most=3)
    assert sizes in worst(images(b"4"), {"r": PATIENTS}, "add-remove", most=3)  # another may come to his own
    assert worst(PATIENTS, {"r": PATIENTS}, "add-remove") == [{"r": 1, "mine": 1}]


def test_a_patient_of_one_image_has_a_neighbour_of_as_many_as_are_declared():
    assert worst(patients(q=[b"4"]), {"r": images(b"4")}, most=5) == [{"r": 5, "mine": 1}]
    assert {"r": 5, "mine": 1} in worst(patients(q=[b"4"]), {"r": images(b"4")}, "add-remove", most=5)
    assert worst(patients(q=[b"4"]), {"r": images(b"4")}, most=2**32) == [{"r": 2**32, "mine": 1}]
    crossing = worst(patients(q=[b"4"]), {"r": patients(other=[b"4", b"5"])}, "add-remove", most=5)
    assert {"r": 10, "mine": 1} in crossing
    assert worst(patients(q=[b"4"]), {"r": patients(q=[b"5"])}, "add-remove", most=5) == [{"r": 1, "mine": 1}]


def test_a_patient_with_new_images_is_the_same_patient(path):
    spend(path, "march", patients(p17=[b"1", b"2"], p18=[b"3"]), THREE, unit="patient")
    april = account(path, "april", patients(p17=[b"8", b"9"]), unit="patient")
    assert april.compute_spent_before() == 3
    with pytest.raises(
        BudgetError, match=r"on the most exposed patient of these data, .* would bring the sum to 6"
    ):
        april.require([THREE])
    account(path, "others", patients(p19=[b"5", b"6"]), unit="patient").require([THREE])


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("again", [{"q": [b"1"]}, {"p": [b"1", b"2"]}, {"q": [b"2", b"9"]}, None])
def test_another_source_for_the_same_images_forgets_nothing(path, relation, again):
    size = {"relation": relation, "unit_size": 2, "limit": 30, "lifetime": 3}
    spend(path, "one", of_source("ward", p=[b"1", b"2"]), THREE, unit="patient", **size)
    units = images(b"1") if again is None else of_source("clinic", **again)
    same = account(path, "two", units, unit="image" if again is None else "patient", **size)
    assert same.compute_spent_before() >= 3
    with pytest.raises(BudgetError, match="earlier runs have already spent"):
        same.require([Event("exponential", "1/100")])


def test_a_refusal_says_where_a_name_alone_is_the_link(path):
    spend(path, "one", patients(p=[b"1"]), THREE, unit="patient")
    for units, told in ((patients(p=[b"2"]), True), (patients(p=[b"1"]), False), (patients(q=[b"1"]), False)):
        with pytest.raises(BudgetError) as refused:
            account(path, "two", units, unit="patient").require([THREE])
        assert (
            "share no image with this run but contain a patient of the same name, and" in str(refused.value)
        ) is told
        assert ("data.unit_namespace" in str(refused.value)) is told


def test_images_that_a_run_showed_without_spending_belong_to_the_patient_too(path):
    account(path, "shown", patients(p=[b"1", b"2"]), unit="patient")
    spend(path, "paid", patients(p=[b"1"]), THREE, unit="patient")
    assert account(path, "image", images(b"2")).compute_spent_before() == 3


@pytest.mark.parametrize("images_first", [True, False])
def test_under_add_remove_patients_are_counted_by_other_units_only_with_a_declared_size(path, images_first):
    first, second = (IMAGES, "image"), (PATIENTS, "patient")
    (one, kind), (other, another) = (first, second) if images_first else (second, first)
    options = {"limit": 9, "lifetime": 9, "relation": "add-remove"}
    spend(path, "one", one, PURE, unit=kind, **options)
    with pytest.raises(
        LedgerError, match=r"set data.unit_size to the largest number of images of one patient"
    ):
        account(path, "other", other, unit=another, **options).require([PURE])
    account(path, "bound", other, unit=another, unit_size=3, **options).require([PURE])


def test_a_declared_size_that_earlier_runs_exceed_is_refused(path):
    options = {"limit": 99, "lifetime": 99}
    spend(path, "images", images(b"1", b"2", b"3"), PURE, **options)
    spend(path, "some", patients(p=[b"1", b"2"]), PURE, unit="patient", unit_size=2, **options)
    more = account(path, "more", patients(p=[b"3"]), unit="patient", unit_size=2, **options)
    with pytest.raises(LedgerError, match=r"begin this run with a larger data.unit_size"):
        more.require([PURE])
    account(path, "larger", patients(p=[b"3"]), unit="patient", unit_size=3, **options).require([PURE])


def test_the_largest_size_that_was_ever_declared_for_a_patient_counts(path):
    options = {"limit": 99, "lifetime": 99}
    spend(path, "five", patients(p=[b"1"]), PURE, unit="patient", unit_size=5, **options)
    spend(path, "image", images(b"1"), PURE, **options)
    now = account(path, "two", patients(p=[b"1"]), unit="patient", unit_size=2, **options)
    assert now.compute_spent_before() == 0.5 + 5 * 0.5


def reference(runs: Sequence, relation: str, declared: Sequence[int | None]) -> dict:
    """Compute what each subject bears, slowly and from the words of the definition.

    Args:
        runs: Of each, its units and what it spent; a unit is a name, or None, and a set of images.
        relation: Neighbour relation.
        declared: Most images per unit, by run.
    """
    named = {name for units, _ in runs for name, _ in units if name}
    extents = {n: set().union(*(im for units, _ in runs for name, im in units if name == n)) for n in named}
    singles = {next(iter(im)) for units, _ in runs for name, im in units if not name}
    subjects = [(None, {image}) for image in singles] + list(extents.items())
    total = {}
    for subject, extent in subjects:
        sizes = [one_size(subject, extent, units, relation, runs, declared) for units, _ in runs]
        total[subject or min(extent)] = sum(
            size * spent for size, (_, spent) in zip(sizes, runs, strict=True)
        )
    return total


def one_size(subject, extent, units, relation, runs, declared):
    touched = [(name, im) for name, im in units if im & extent or (name and name == subject)]
    if not touched:
        return 0
    if len(touched) == 1 and (touched[0][0] == subject):
        return 1
    factor = 1 if relation == "replace-one" or touched[0][0] is None else 2
    if subject is None:
        most = 1
    else:
        said = [m or 0 for (its, _), m in zip(runs, declared, strict=True) if subject in {n for n, _ in its}]
        most = max(said)
    counted = sum(1 if relation == "replace-one" or im <= extent else 2 for _, im in touched)
    return max(counted, most * factor)


@st.composite
def unit_maps(draw):
    """The units of one run: single images, or patients who share images with other runs' patients, not in one run."""
    chosen = draw(st.sets(st.integers(0, 7), min_size=1, max_size=6))
    if draw(st.booleans()):
        return [(None, {image}) for image in sorted(chosen)]
    owners = {image: draw(st.sampled_from("pqrs")) for image in sorted(chosen)}
    return [(name, {i for i in owners if owners[i] == name}) for name in sorted(set(owners.values()))]


@settings(deadline=None, max_examples=examples(100))
@given(
    st.lists(st.tuples(unit_maps(), st.integers(1, 4)), min_size=2, max_size=5),
    st.sampled_from([("replace-one", None), ("replace-one", 8), ("add-remove", 8)]),
)
def test_no_subject_ever_bears_more_than_the_limit_and_no_run_that_keeps_it_is_refused(runs, terms):
    (relation, declared), done = terms, []
    with tempfile.TemporaryDirectory() as folder, closing(LedgerBook(Path(folder) / "l.sqlite")) as ledger:
        ledger.set_cap(Budget(Fraction(4)))
        for number, (units, quarters) in enumerate(runs):
            event, name = Event("exponential", str(Fraction(quarters, 4))), f"run {number}"
            after = [*done, (units, event.value)]
            fits = max(reference(after, relation, [declared] * len(after)).values()) <= 4
            assert can_pay(ledger, name, units, event, relation, declared) == fits
            done = after if fits else done


def can_pay(ledger, name, units, event, relation, declared) -> bool:
    """True if a run's one draw can be paid for; if not, the run never begins."""
    named = [PrivateUnit(tuple(b"%d" % i for i in sorted(im)), name) for name, im in units]
    kind = "image" if named[0].name is None else "patient"
    mine = ledger.account(name, named, relation, budget(9), kind, Terms(unit_size=declared))
    with contextlib.suppress(BudgetError):
        mine.require([event])
        mine.enrol().pay(query(1, name), [event], outcome())
        return True
    return False


AS_PATIENTS, AS_IMAGES = {"units": PATIENTS, "unit": "patient"}, {"units": IMAGES}


def test_gaussian_events_count_for_a_patient_once_and_for_all_images_by_group_privacy(path):
    spend(path, "images", event=NOISE, **AS_IMAGES, **gaussian(90))
    mine = account(path, run="patients", **AS_PATIENTS, **gaussian(90)).compute_spent_before()
    assert mine == pytest.approx(epsilon([Event("gaussian", "2")], 1e-5))
    assert mine > 1.5 * epsilon([Event("gaussian", "6", 3)], 1e-5), "composition understates it"
    once = pytest.approx(epsilon([NOISE], 1e-5))
    assert account(path, run="more", **AS_IMAGES, **gaussian(90)).compute_spent_before() == once
    other = path.with_name("other.sqlite")
    spend(other, "patients", event=NOISE, **AS_PATIENTS, **gaussian(90))
    assert account(other, run="images", **AS_IMAGES, **gaussian(90)).compute_spent_before() == once


@pytest.mark.parametrize("mine", [{"units": images(b"2")}, {"units": patients(p=[b"9"]), "unit": "patient"}])
def test_the_relation_of_every_run_that_touches_the_same_patient_is_checked(path, mine):
    spend(path, "patients", patients(p=[b"1", b"2"]), PURE, unit="patient")
    later = account(path, "later", relation="add-remove", unit_size=2, **mine)
    with pytest.raises(LedgerError, match="a different neighbour relation: use the same relation"):
        later.require([PURE])
