"""Plans that are not what an owner's roster says."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from pcevolve.errors import DataError, ProtocolError
from pcevolve.keeper.clinics.owner import OwnOptions
from pcevolve.keeper.clinics.plans import (
    describe_plan,
    describe_protection,
    describe_sent,
    read_data,
    require_plan,
)
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.keeper.screen import OwnerScreen
from pcevolve.public.clinics.roster import Roster
from pcevolve.public.plan import PublicPlan
from pcevolve.public.publish.statements import list_statements
from pcevolve.public.selectors import list_paid_events
from support.accounts import account, gaussian
from support.clinics import make_clinics
from support.folders import class_folders
from support.runs import small_plan

CLINICS = make_clinics(4)
ROSTER = Roster(classes=("cut", "good"), owner=CLINICS.owners)


def make_plan(**changes: object) -> PublicPlan:
    return small_plan(
        **{"method": "pe", "delta": 1e-5, "epsilon": "1", "shots": 40, "clinics": CLINICS, **changes}
    )


def test_the_plan_that_the_roster_says_is_taken():
    require_plan(make_plan(), ROSTER, 0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"clinics": make_clinics(4, colluding=2)}, "roster differs from this owner"),
        ({"clinics": make_clinics(4, holders=2)}, "roster differs from this owner"),
        ({"labels": ("cut", "bad")}, "the classes in the coordinator's plan differ"),
        ({"words": ("cut", "good")}, "the classes in the coordinator's plan differ"),
        ({"unit": "patient"}, "one patient"),
    ],
)
def test_another_plan_is_refused_with_what_differs(changes, said):
    with pytest.raises(ProtocolError, match=said):
        require_plan(make_plan(**changes), ROSTER, 0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"method": "pcevolve"}, "is no sum"),
        ({"shots": 10}, "of all owners together"),
        ({"noise": "INSECURE-seeded"}, "noise from a seed"),
        ({"subsample": 40}, "nothing is drawn"),
        ({"namespaced": True, "unit": "patient"}, "nothing is drawn"),
    ],
)
def test_a_plan_that_several_owners_cannot_carry_out_is_none(changes, said):
    with pytest.raises(ValidationError, match=said):
        make_plan(**changes)


def test_a_plan_of_one_owner_says_nothing_of_several():
    assert "clinics" not in small_plan().model_dump()


def read(folder: Path, plan: PublicPlan) -> PrivateDataset:
    options = OwnOptions(
        str(folder / "private"),
        folder / "roster.toml",
        folder / "own.key",
        folder / "copy",
        folder / "ledger",
    )
    roster = ROSTER.model_copy(update={"words": {"cut": "type A", "good": "type B"}})
    return read_data(plan, roster, 0, options, OwnerScreen(quiet=True))[0]


def test_an_owners_data_are_read_under_the_labels_of_the_plan(tmp_path):
    class_folders(tmp_path / "private", 1, ("cut", "good"), shots=10)
    assert read(tmp_path, make_plan()).labels == ("type A", "type B")
    with pytest.raises(DataError, match="one image in these data, but one patient in the roster"):
        read(tmp_path, make_plan(unit="patient"))


def test_classes_that_the_roster_has_not_are_named(tmp_path):
    class_folders(tmp_path / "private", 1, ("cut", "fine"), shots=10)
    with pytest.raises(DataError, match="'fine' is in only one of them"):
        read(tmp_path, make_plan())


def test_too_few_units_for_the_roster_are_told_with_nothing_that_only_another_command_can_change(
    tmp_path, monkeypatch
):
    class_folders(tmp_path / "private", 1, ("cut", "good"), shots=3)
    shown: list[str] = []
    monkeypatch.setattr("pcevolve.keeper.private.offers.tell_on_screen", lambda *lines: shown.extend(lines))
    with pytest.raises(DataError, match="too far from the roster's shots 10,"):
        read(tmp_path, make_plan())
    assert shown == [
        "your classes hold 3 images each, but the roster's shots is 10: agree with the other owners on another number"
    ]


@pytest.mark.parametrize(
    ("relation", "said"),
    [
        (
            "replace-one",
            "for one image changed, its label included, in the data of one owner alone, against server",
        ),
        ("add-remove", "for one image added or removed, in the data of one owner alone, against server"),
    ],
)
def test_what_is_protected_is_named(relation, said):
    plan = make_plan(relation=relation)
    assert said in dict(describe_protection(plan, list_paid_events(plan)))["privacy"]


def test_both_promises_are_computed_and_named_with_whom_they_hold_against():
    plan = make_plan()
    said = dict(describe_protection(plan, list_paid_events(plan)))
    assert (
        said["privacy"].startswith("epsilon 1 at delta 0.00001")
        or "epsilon 1 at delta 1e-05" in said["privacy"]
    )
    assert "coordinator and 1 of the other owners" in said["privacy"]
    # z / sqrt(3): three of four owners' noise is missing, and a share is a third of the release's.
    assert "epsilon 1.8" in said["trust nobody"]


def test_an_owner_is_told_at_the_end_what_left_it():
    assert describe_sent([1000, 240]).text == (
        "the facts that you joined and agreed, and 2 answers of 1.24 kB; without the answers of all other owners, "
        "coordinator and provider see only random numbers"
    )


def test_an_owner_is_told_what_the_coordinator_says_of_the_provider_and_what_it_does_not_say(tmp_path):
    payer = account(tmp_path / "ledger.sqlite", **gaussian(3))
    plan = make_plan(operator="Example Ltd.")
    shown = {each.title: each.text for each in describe_plan(plan, 1, payer, list_paid_events(plan))}
    assert shown["owners"].endswith("; you are Clinic 2")
    assert shown["operator"] == "Example Ltd., as stated by the coordinator"
    assert shown["retention"] == "not stated by the coordinator"
    assert (
        "other runs have spent epsilon 0 on the most exposed image, and after this run the sum will be epsilon 1"
        in shown["ledger"]
    )


def test_a_report_of_several_owners_states_no_ledgers_sum_and_the_losses_of_this_run():
    plan = make_plan()
    said = dict(list_statements(plan, list_paid_events(plan)))
    assert said["All runs of a ledger, and its cap"].startswith("recorded in each owner's own ledger")
    assert "Privacy loss of all runs in the ledger" not in said
    assert said["Privacy loss of this run"].startswith("ε ")
