"""What a release promises, to whom, and what it assumes."""

from __future__ import annotations

import html
import re

import pytest

from pcevolve.auditing.checks import list_claims
from pcevolve.errors import UsageError
from pcevolve.keeper.planning import keep_recorded
from pcevolve.public.config.config import RunConfig
from pcevolve.public.pages.report.page import write_report
from pcevolve.public.parts import Confinement
from pcevolve.public.publish.promises import (
    describe_making,
    list_assumptions,
    name_confinement,
    state_confinement,
    state_guarantee,
    state_promise,
)
from pcevolve.public.release import Receipt
from pcevolve.public.selectors import find_method
from pcevolve.public.transcript.reader import RunReader
from support.clinics import make_clinics
from support.paid import make_paid_run
from support.runs import following_plan, small_plan


def test_nothing_is_promised_where_noise_came_from_a_seed():
    assert "is sent unless noise was added" in state_promise(small_plan())
    assert state_promise(small_plan(noise="INSECURE-seeded")) == ""


@pytest.mark.parametrize(
    ("confinement", "named", "stated"),
    [
        (None, "not enforced here", "only the client's code keeps"),
        (Confinement(by="containers"), "enforced by containers", "open a connection"),
        (
            Confinement(by="kernel", landlock=6),
            "enforced by the kernel (Landlock 6, seccomp)",
            "no process can both read a private file and open a connection",
        ),
    ],
)
def test_what_keeps_private_files_from_the_network_is_named_and_stated(confinement, named, stated):
    plan = small_plan(confinement=confinement)
    assert name_confinement(plan) == named
    assert stated in state_confinement(plan)


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({"unit": "patient"}, ["how many images each patient has"]),
        ({"unit": "patient", "unit_size": 5}, ["at most 5 images per patient"]),
        ({"unit_size": 5}, ["at most 5 images per unit of any run on these data"]),
        ({"unit": "patient", "relation": "add-remove"}, []),
        ({}, []),
    ],
)
def test_what_is_assumed_about_the_images_of_a_unit_is_said(plan, said):
    assert [
        each for each in list_assumptions(small_plan(method="jvem", **plan)) if " images " in each
    ] == said


def test_the_card_says_that_names_count_within_a_source_as_the_owner_claims():
    claim = (
        "the owner's claim that no patient here is the same as a patient of the same name in data of another"
    )
    (said,) = [
        each
        for each in list_assumptions(small_plan(method="jvem", unit="patient", namespaced=True))
        if "claim" in each
    ]
    assert said.startswith(claim)
    assert not any("claim" in each for each in list_assumptions(small_plan(unit="patient")))


KERNEL = {"by": "kernel", "landlock": 4}


@pytest.mark.parametrize(
    ("confinement", "said"),
    [
        (
            KERNEL,
            "enforced by the kernel (Landlock 4, seccomp), so no process can both read a private file and open a",
        ),
        (
            {"by": "containers"},
            "enforced by containers, so no process can both read a private file and open a conn",
        ),
        (
            None,
            "not enforced in this run; only the client's code keeps private files and the network apart",
        ),
    ],
)
def test_what_kept_private_files_from_the_network_is_said_as_the_clients_claim(tmp_path, confinement, said):
    run = RunReader.strict(make_paid_run(tmp_path / "run", small_plan(confinement=confinement)))
    card = run.layout.card.read_text()
    assert f"Confinement, as stated by the client: {said}" in card
    write_report(run)
    page = " ".join(html.unescape(run.layout.report.read_text()).split())
    assert f"Confinement, as stated by the client: {said}" in page
    claimed = list_claims(run.require_plan()).get("confinement")
    assert claimed == (None if confinement is None else {"landlock": None, **confinement})


@pytest.mark.parametrize("odd", [{"by": "kernel"}, {"by": "containers", "landlock": 3}, {"by": "me"}])
def test_a_confinement_that_there_cannot_be_is_no_plans(odd):
    with pytest.raises(ValueError, match="confinement"):
        small_plan(confinement=odd)


def test_a_run_that_began_confined_does_not_go_on_without():
    began = small_plan(confinement=KERNEL)
    settings = RunConfig.of({"private": "digits", "domain": "x", "out": "run"})
    with pytest.raises(UsageError, match=r"by the kernel \(Landlock 4, seccomp\)\), as its card states"):
        keep_recorded(began, small_plan(), settings)
    with pytest.raises(UsageError, match="continue the run where confinement is enforced"):
        keep_recorded(began, small_plan(confinement={"by": "containers"}), settings)
    newer = small_plan(confinement={"by": "kernel", "landlock": 7})
    assert keep_recorded(began, newer, settings).confinement == began.confinement


def test_a_sum_of_several_owners_says_against_whom_it_holds_and_what_is_left_against_all():
    plan = small_plan(method="pe", delta=1e-5, epsilon="1", shots=40, clinics=make_clinics(4, holders=2))
    method = find_method("pe")
    receipts = [
        Receipt(plan.run_id, iteration, (), events, plan.privacy.relation)
        for iteration, events in method.plan_events(plan).items()
    ]
    told = state_guarantee(plan, method, receipts)
    assert told.epsilon_spent == pytest.approx(1)
    assert "the sum of 4 owners' answers" in told.statement
    against = (
        "in the data of at most 2 of them. It holds against the provider, the coordinator and 1 of the other owners "
        "together"
    )
    assert against in told.statement
    # z * 2 / sqrt(3): noise was made for a unit at two owners, and one share of three is left.
    assert re.search(r"Against all other owners together, epsilon is 0\.8\d+ at delta 1e-05", told.statement)
    alone = small_plan(method="pe", delta=1e-5, epsilon="1", shots=40)
    assert "owners" not in state_guarantee(alone, method, receipts).statement


def test_variations_of_what_several_owners_released_promise_no_more_than_their_release():
    owners = {"shots": 40, "clinics": make_clinics(4, holders=2), "delta": 1e-5, "epsilon": "1"}
    event = {"mechanism": "gaussian", "parameter": "5", "count": 1}
    start = following_plan().start
    assert start is not None
    plan = following_plan(**owners, start={**start.model_dump(), "events": [event]})
    said = state_guarantee(plan, find_method(plan.method.name), ()).statement
    assert "The release is the sum of 4 owners' answers" in said
    assert "against the provider, the coordinator and 1 of the other owners together" in said


def test_why_a_dataset_was_chosen_before_the_last_round_is_said_and_only_then():
    selected = {
        "method": "dp-means", "delta": 1e-5, "pool": "all", "keep": "selected", "candidates": 2, "initial": 4,
        "prototypes": 2, "iterations": 2, "strengths": (0.8, 0.6),
    }  # fmt: skip
    plan = small_plan(**selected)

    def tell(*iterations: int) -> str:
        return describe_making(plan, [Receipt(plan.run_id, t, (), (), "replace-one") for t in iterations], ())

    assert tell(1, 2, 3) == "images selected from all rounds according to the released numbers"
    plan = small_plan(**{**selected, "iterations": 0, "strengths": ()})
    assert tell(1) == "images selected from all candidates according to the released numbers"
    plan = small_plan(**selected)
    assert tell(1, 3) == (
        "images selected from all rounds according to the released numbers. Only 1 of 2 rounds were made, because then "
        "the API sent too few usable answers that differ"
    )
