"""SecPE as noted under --not-dp: it runs, and all that is made of it says what it protects and what it does not."""

from __future__ import annotations

import io
import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import pcevolve
from client.auditing.test_honest_runs import private_images
from leaks.forgeries.marks import FORGERIES, UNSAID, told_of, without
from pcevolve.auditing import Audit
from pcevolve.dp.mechanisms import SecureNoise
from pcevolve.errors import BudgetError, UsageError
from pcevolve.ledger.entries import Listed
from pcevolve.ledger.ledger import Ledger, Limits, Paid, PrivateUnit, Terms
from pcevolve.methods import method
from pcevolve.pages.live import Standing, rendered_live
from pcevolve.pages.wire.prices import in_words
from pcevolve.privacy import Budget, Event
from pcevolve.private.judge import PrivateJudge
from pcevolve.private.views import PrivateViews
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Query
from pcevolve.public.secrecy import NOT_DP, Secrecy
from pcevolve.run.comparison import compared, facts
from pcevolve.run.progress import summary_table
from pcevolve.selectors.choosing import Chooser
from pcevolve.selectors.sampled import SampledCells
from pcevolve.transcript import RunReader
from support.paid import encoder
from support.runs import SmallRun, small_plan

MARK, NOISED = "NOT DP", Event("secret-noise")
PROMISE = Secrecy(prior=1e-4, bound=1e-3, most=3)


def plan_as_noted(**changes: object) -> PublicPlan:
    shape: dict[str, object] = {
        "method": "secpe-as-noted", "not_dp": True, "secrecy": PROMISE, "candidates": 4, "initial": 4, "prototypes": 2,
        "cells": 4, "pool": "all", "keep": "selected", "shots": 3, "delta": 1e-5,
    }  # fmt: skip
    return small_plan(**{**shape, **changes})


def noted_run(root: Path, plan: PublicPlan, stop_after: int | None = None) -> SmallRun:
    """The parts of a run in which every other private image holds a secret."""
    run = SmallRun.open(root, plan)
    data = private_images(plan.labels)
    chooser = Chooser(plan, encoder(), run.transcript.bodies.file, SampledCells())
    views = PrivateViews(data, encoder(), caps=np.where(np.arange(len(data)) % 2, 0.4, 1.0), sigma=2.25)
    run.judge = PrivateJudge(views, chooser, run.account, SecureNoise(), method(plan.method).planned(plan))
    return run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("noted") / "run"
    run = noted_run(root, plan_as_noted())
    run.finish()
    run.close()
    return root


@pytest.fixture
def run(tmp_path: Path) -> Path:
    live = noted_run(tmp_path / "run", plan_as_noted())
    live.finish()
    live.close()
    return tmp_path / "run"


def test_the_record_holds_and_the_audit_does_not(made: Path):
    audited = Audit.of(made)
    assert [fault for finding in audited.findings for fault in finding.faults] == []
    assert (audited.holds, audited.mark) == (False, MARK)
    assert any(each.startswith(MARK) for each in audited.marks)


def test_every_round_is_measured_anew_and_the_dataset_follows_from_the_last(made: Path):
    receipts = RunReader.strict(made).receipts
    assert [receipt.events[0].mechanism for receipt in receipts] == [
        "secret-noise",
        "secret-noise",
        "post-processing",
    ]
    assert len({receipt.measured for receipt in receipts[:2]}) == 2


def test_wherever_an_epsilon_would_stand_it_says_what_is_protected(made: Path):
    summary = json.loads((made / "summary.json").read_text())
    assert (summary["promise"], summary["epsilon_spent"]) == (NOT_DP, None)
    assert summary["listed_secrets"] == PROMISE.model_dump()
    said = io.StringIO()
    Console(file=said, width=300).print(summary_table(summary))
    assert NOT_DP in said.getvalue()
    assert f"listed secrets {PROMISE.words}" in " ".join(said.getvalue().split())
    (one,) = compared([made])
    assert facts(one.summary)["ε"] == f"{NOT_DP}; listed secrets {PROMISE.words}"
    result = pcevolve.load(made)
    for page in (
        rendered_live(RunReader.lenient(made), Standing()).decode(), result._repr_html_(), repr(result),
        (made / "report.html").read_text(), Audit.of(made).write_pages().read_text(),
        (made / "release" / "README.md").read_text(),
    ):  # fmt: skip
        assert NOT_DP in page
        assert MARK in page
        assert "under differential privacy" not in page
        assert "no guarantee" not in page.lower()


def test_the_names_of_files_the_manifest_and_the_card_say_so_for_good(made: Path):
    names = [path.name for path in (made / "release").rglob("*.png")]
    assert names
    assert all(name.startswith("NOT-DP-") for name in names)
    manifest = json.loads((made / "release" / "manifest.json").read_text())
    assert any(mark.startswith(MARK) for mark in manifest["marks"])
    statement = manifest["guarantee"]["statement"]
    assert statement.startswith("the listed secrets are protected, and nothing else is: not DP")
    assert "the prior is 0.0001 and the bound 0.001" in statement
    assert f"# {MARK}: " in (made / "release" / "README.md").read_text()


def test_where_the_noise_came_from_a_seed_nothing_is_promised_of_secrets_either(tmp_path: Path):
    live = noted_run(tmp_path, plan_as_noted(noise="INSECURE-seeded"))
    live.finish()
    live.close()
    assert Audit.of(tmp_path).mark == "INSECURE"
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert "promise" not in summary
    assert "listed_secrets" not in summary
    assert NOT_DP not in (tmp_path / "report.html").read_text()


def test_the_wire_page_says_what_the_noise_is_for():
    assert in_words(NOISED) == f"secret-noise, {NOT_DP}: no epsilon bounds it"


OWN = {UNSAID: (without("not_dp"), "'secpe-as-noted' needs --not-dp"), **FORGERIES}


@pytest.mark.parametrize("name", OWN)
def test_a_forged_record_is_refused(run: Path, name: str):
    act, fault = OWN[name]
    act(run)
    told = told_of(run)
    assert any(fault in each for each in told), told


def test_no_other_method_takes_the_mark_and_this_one_no_plan_without_it_or_without_secrets():
    with pytest.raises(UsageError, match="'secpe-as-noted' needs --not-dp"):
        method("secpe-as-noted").planned(plan_as_noted(not_dp=False))
    with pytest.raises(UsageError, match="'secpe' is no method for --not-dp"):
        method("secpe").planned(plan_as_noted(method="secpe"))
    with pytest.raises(ValueError, match="what would be protected is not said"):
        plan_as_noted(secrecy=None)


def test_what_was_drawn_is_never_drawn_again(tmp_path: Path):
    live = noted_run(tmp_path, plan_as_noted())
    evolved = live.evolve()
    live.close()
    again = noted_run(tmp_path, plan_as_noted())
    forgetful = replace(again.judge, views=replace(again.judge.views, sigma=None))  # a second look would fail
    again.judge = forgetful
    assert again.evolve().receipts == evolved.receipts
    again.close()


LIMITS, UNITS = Limits(Budget(1, 1e-5), Budget(1, 1e-5)), [PrivateUnit((b"one",))]


def test_a_later_run_on_the_same_data_is_refused_and_told_why(tmp_path: Path):
    listed = Listed("ab", 3, 0.6)
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        terms = Terms(secure=False, not_dp=True, secrets=listed)
        noted = ledger.account("a" * 32, UNITS, "replace-one", LIMITS, terms=terms).enrol()
        noted.pay(Query("a" * 32, 1), (NOISED,), lambda: Paid(()))
        later = ledger.account("b" * 32, UNITS, "replace-one", LIMITS, terms=Terms(secrets=listed))
        with pytest.raises(BudgetError, match=r"a NOT DP run used these data.* with --forget-insecure"):
            later.require([Event("gaussian", "9")])
        assert later.spent_before() == np.inf
        assert later.borne_by_secrets() is None
        assert [(row.noise, row.secret_mu) for row in ledger.runs()] == [(NOT_DP, np.inf)]


def test_a_run_with_an_epsilon_cannot_pay_for_noise_that_is_meant_for_secrets(tmp_path: Path):
    live = SmallRun.open(tmp_path, small_plan())
    with pytest.raises(BudgetError, match="no epsilon bounds"):
        live.account.pay(Query(live.plan.run_id, 1), (NOISED,), lambda: Paid(()))
