"""What the owner alone is told before a run, of the ledger and of the private data."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from pcevolve.keeper.beginning import note_private
from pcevolve.keeper.ledger.account import Account
from pcevolve.keeper.ledger.entries import Listed
from pcevolve.public.plan import PublicPlan
from pcevolve.public.screen import Fact
from pcevolve.public.selectors import find_method
from support.accounts import account, pay
from support.runs import small_plan

PLAN = small_plan(method="pcevolve")


def notes(mine: Account, plan: PublicPlan = PLAN, held: tuple[int, int] = (10, 10)) -> dict[str, Fact]:
    components = SimpleNamespace(
        data=SimpleNamespace(count_units_in=dict(zip(plan.labels, held, strict=True)).__getitem__),
        method=find_method(plan.method.name),
        notes=(("window", "0 to 255"),),
        settings=SimpleNamespace(privacy=SimpleNamespace(ledger=Path("own/ledger.sqlite"))),
    )
    return {each.title: each for each in note_private(components, plan, mine)}


def test_of_a_new_ledger_nothing_is_known_and_of_an_old_one_what_was_spent(tmp_path: Path):
    path = tmp_path / "ledger.sqlite"
    first = account(path, "a")
    found = notes(first)
    assert found["ledger"].text.startswith("own/ledger.sqlite; the ledger is new.")
    assert found["ledger"].brief == "new, without earlier runs"
    assert found["before"].brief == ""
    assert found["window"].text == "0 to 255"
    pay(first, 1)
    found = notes(account(path, "b"))
    assert (found["ledger"].text, found["ledger"].brief) == ("own/ledger.sqlite", "")
    assert found["before"].text == "epsilon 1, for the most exposed unit, by other runs on these data"
    assert found["before"].brief is None


def test_to_a_run_that_spends_nothing_it_does_not_matter(tmp_path: Path):
    found = notes(account(tmp_path / "ledger.sqlite"), small_plan())
    assert found["before"].text == "not needed, because this run spends nothing"
    assert found["ledger"].brief == ""
    assert "together" not in found


@pytest.mark.parametrize(
    ("held", "changes", "said"),
    [
        ((10, 10), {}, None),
        ((9, 9), {}, "your classes hold 9 privacy units each, but --shots is 10"),
        ((11, 8), {}, "your classes hold 8 to 11 privacy units each, but --shots is 10"),
        ((10, 11), {}, "your classes hold 10 to 11 privacy units each"),
        ((11, 8), {"method": "random"}, None),
        ((11, 8), {"method": "pe", "delta": 1e-5, "class_counts": True}, None),
        ((11, 8), {"method": "pe", "delta": 1e-5}, "your classes hold 8 to 11 privacy units each"),
    ],
)
def test_classes_that_do_not_hold_what_the_plan_says_are_noted(tmp_path: Path, held, changes, said):
    found = notes(account(tmp_path / "ledger.sqlite"), small_plan(**{"method": "pcevolve", **changes}), held)
    assert ("NOTE" in found) is (said is not None)
    assert said is None or found["NOTE"].text.startswith(said)


def test_how_often_a_listed_secret_can_be_guessed_counts_what_other_runs_said_of_it(tmp_path: Path):
    path, terms = tmp_path / "ledger.sqlite", {"limit": 9, "lifetime": 9, "delta": 1e-5}
    listed = Listed("print", most=1, budget=0.5)
    alone = account(path, "a", secrets=listed, **terms)
    assert "all runs" not in notes(alone)
    pay(alone, 1)
    told = notes(account(path, "b", secrets=listed, **terms))["all runs"].text
    assert told.startswith("secrets: guessed with a probability of at most ")
    assert told.endswith("; runs that declared other secrets count in full")
    pay(account(path, "c", secure=False, **terms), 1, "c")
    found = notes(account(path, "d", secrets=listed, **terms), small_plan())
    assert found["all runs"].text.startswith("a run without epsilon used these data, so nothing limits what")
