"""RF under --not-private: it runs, all that is made of it says what it is, and nobody can take that off unseen."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from client.auditing.test_honest_runs import judged_run
from leaks.forgeries.marks import FORGERIES, UNSAID, told_of, without
from pcevolve.auditing import Audit
from pcevolve.errors import BudgetError, EgressError, UsageError
from pcevolve.ledger.ledger import Ledger, Limits, Paid, PrivateUnit, Terms
from pcevolve.methods import method
from pcevolve.pages.wire.prices import in_words
from pcevolve.privacy import Budget, Event
from pcevolve.public.fields import Extension
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Query
from pcevolve.rules import Refusal, RunState
from pcevolve.selectors.resembling import Resembling
from pcevolve.selectors.scene import PrivateEmbeddings, Scene
from pcevolve.transcript import RunReader
from support.extended import reopened
from support.provider import FakeProvider
from support.runs import SmallRun, small_plan

MARK = "NOT PRIVATE"
ADDED = Extension(more=1, strength=0.5)


def plan_of_rf(**changes: object) -> PublicPlan:
    shape: dict[str, object] = {
        "method": "rf", "not_private": True, "candidates": 2, "initial": 6, "iterations": 0, "strengths": (),
        "pool": "all", "keep": "selected", "shots": 3,
    }  # fmt: skip
    return small_plan(**{**shape, **changes})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return judged_run(tmp_path / "run", plan_of_rf())


def test_the_record_holds_and_the_audit_does_not(run: Path):
    audited = Audit.of(run)
    assert not audited.broken
    assert not audited.holds
    assert audited.mark == MARK
    assert any(MARK in each for each in audited.marks)


def test_all_that_may_be_shared_says_so_for_good(run: Path):
    summary, manifest = (
        json.loads((run / name).read_text()) for name in ("summary.json", "release/manifest.json")
    )
    assert any(MARK in mark for mark in summary["marks"])
    assert any(MARK in mark for mark in manifest["marks"])
    assert summary["epsilon_spent"] is None
    assert manifest["guarantee"]["statement"].startswith("none: private data had a say without any noise")
    names = [path.name for path in (run / "release").rglob("*.png")]
    assert len(names) == 4
    assert all(name.startswith("NOT-PRIVATE-") for name in names)
    card = (run / "release" / "README.md").read_text()
    assert f"# {MARK}: " in card
    assert "differential privacy" not in card
    report = (run / "report.html").read_text()
    assert f"they are {MARK}" in report
    assert "There was no noise" in report
    assert MARK in Audit.of(run).write_pages().read_text()


def test_what_left_is_prompts_alone(run: Path):
    record = Audit.of(run).run
    assert not any(each.carried for each in record.traffic.attempts)


def test_no_image_goes_back_in_an_extension(run: Path):
    with (
        reopened(run, FakeProvider()) as (gate, _, committed),
        pytest.raises(EgressError, match="no noise hides which images this run chose"),
    ):
        gate.extend(1, ADDED, committed)
    assert not RunReader.strict(run).require_plan().extended


def test_an_image_that_an_unprotected_look_chose_has_no_reason_to_leave(run: Path):
    record = RunReader.strict(run)
    plan = record.require_plan().extended_by([ADDED])
    state = RunState(plan)
    for receipt in record.receipts:
        state.note_receipt(receipt)
    verdicts = {type(state.image_of(call)) for call in plan.enlargements()}
    assert verdicts == {Refusal}


def test_the_wire_page_says_that_nothing_bounds_an_unprotected_look():
    assert in_words(Event("unprotected")) == "unprotected, without noise: no epsilon bounds it"
    assert in_words(Event("uniform")) == "uniform, costs nothing"


OWN = {UNSAID: (without("not_private"), "'rf' needs --not-private"), **FORGERIES}


@pytest.mark.parametrize("name", OWN)
def test_a_forged_record_is_refused(run: Path, name: str):
    act, fault = OWN[name]
    act(run)
    told = told_of(run)
    assert any(fault in each for each in told), told


def test_no_method_with_a_guarantee_takes_the_mark_and_rf_takes_no_plan_without():
    with pytest.raises(UsageError, match="'rf' needs --not-private"):
        method("rf").planned(plan_of_rf(not_private=False))
    with pytest.raises(UsageError, match="'pe' is no method for --not-private"):
        method("pe").planned(small_plan(method="pe", not_private=True, delta=1e-5))


def test_a_later_run_on_the_same_data_is_refused_and_told_why(tmp_path: Path):
    limits = Limits(Budget(1, 1e-5), Budget(1, 1e-5))
    units = [PrivateUnit((b"one",))]
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        bare = ledger.account(
            "a" * 32, units, "replace-one", limits, terms=Terms(secure=False, not_private=True)
        )
        bare.enrol()
        bare.pay(_query("a" * 32), (Event("unprotected"),), _nothing)
        later = ledger.account("b" * 32, units, "replace-one", limits)
        with pytest.raises(BudgetError, match=r"a NOT PRIVATE run used these data.* with --forget-insecure"):
            later.require([Event("gaussian", "9")])
        assert later.spent_before() == np.inf
        assert [row.noise for row in ledger.runs()] == ["none: NOT PRIVATE"]


def test_a_run_that_promises_something_cannot_pay_for_an_unprotected_look(tmp_path: Path):
    run = SmallRun.open(tmp_path, small_plan())
    with pytest.raises(BudgetError, match="no epsilon bounds"):
        run.account.pay(_query(run.plan.run_id), (Event("unprotected"),), _nothing)


def _query(run_id: str) -> Query:
    return Query(run_id, 1)


def _nothing() -> Paid:
    return Paid(())


def scene(*pools: list[list[float]], wanted: int = 2) -> Scene:
    return Scene(
        ("a", "b"), tuple(np.array(pool, dtype=float) for pool in pools), wanted, 1, 1, 0, 0, "replace-one"
    )


PRIVATE = PrivateEmbeddings(np.array([[0.0], [10.0]]), np.array([0, 1]), np.arange(2))


def picked(asked: Scene) -> list[list[int]]:
    found = Resembling().measure(PRIVATE, asked, (Event("unprotected"),), None)
    assert Resembling().rounding_bits(found, asked, ()) == 0
    return [each.tolist() for each in Resembling().pick(found, asked)]


def test_candidates_near_their_own_class_come_first_in_the_order_of_the_pool():
    assert picked(scene([[9.0], [4.0], [1.0]], [[0.0], [6.0], [9.0]])) == [[1, 2], [1, 2]]


def test_where_too_few_are_near_the_least_doubtful_follow_and_what_is_no_image_comes_last():
    assert picked(scene([[np.nan], [9.0], [6.0]], [[1.0], [10.0], [4.0]])) == [[2, 1], [1, 2]]


def test_a_look_without_noise_is_not_paid_for_as_if_it_had_some():
    with pytest.raises(ValueError, match="does not pay"):
        Resembling().measure(PRIVATE, scene([[1.0]], [[1.0]]), (Event("gaussian", "1"),), None)
