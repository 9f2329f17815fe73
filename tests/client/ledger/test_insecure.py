"""Runs whose noise came from a seed: no sum of losses bounds them, and no later run forgets them by itself."""

from __future__ import annotations

import json
import math

import pytest

from pcevolve.errors import BudgetError
from pcevolve.ledger.ledger import Ledger
from pcevolve.privacy import Event
from support.accounts import ONE, account, images, outcome, paid, patients, query


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


def test_a_run_with_noise_is_refused_on_data_that_an_insecure_run_used(path):
    paid(account(path, "a", secure=False), 1)
    later = account(path, "b", lifetime=99)
    assert later.spent_before() == math.inf
    with pytest.raises(
        BudgetError, match=r"an INSECURE run used these data.* with --set privacy.forget_insecure=true"
    ):
        later.require([ONE])
    account(path, "c", images(b"other")).require([ONE])


def test_an_insecure_run_is_found_through_the_patient(path):
    paid(account(path, "a", patients(p=[b"1", b"2"]), unit="patient", secure=False), 1)
    with pytest.raises(BudgetError, match="an INSECURE run used these data"):
        account(path, "month", patients(p=[b"8"]), unit="patient").require([ONE])
    with pytest.raises(BudgetError, match="an INSECURE run used these data"):
        account(path, "image", images(b"2")).require([ONE])


def test_an_insecure_run_is_left_out_of_the_sum_only_where_that_is_asked_for(path):
    paid(account(path, "a", secure=False), 1)
    knowing = account(path, "b", forgets_insecure=True)
    assert knowing.spent_before() == 0
    paid(knowing, 1, "b")
    with pytest.raises(BudgetError, match="an INSECURE run used these data"):
        account(path, "c", lifetime=99).require([ONE])
    assert account(path, "d", forgets_insecure=True).spent_before() == 1


def test_an_insecure_run_promises_nothing_and_is_held_to_the_other_limits_all_the_same(path):
    paid(account(path, "a", secure=False), 1)
    again = account(path, "b", secure=False)
    again.require([Event("exponential", "3")])
    paid(account(path, "c", forgets_insecure=True), 1, "c")
    with pytest.raises(BudgetError, match="already spent epsilon=1"):
        again.require([Event("exponential", "3")])


def test_an_insecure_run_that_looked_at_nothing_harms_nobody(path):
    account(path, "a", secure=False).pay(query(1), [Event("uniform")], outcome())
    account(path, "b").require([ONE])
    assert Ledger(path).runs()[0].epsilon == 0


def test_an_insecure_run_is_marked_wherever_the_ledger_is_read(path):
    paid(account(path, "a", secure=False), 1)
    paid(account(path, "b", forgets_insecure=True), 1, "b")
    ledger = Ledger(path)
    rows = [(row.noise, row.forgets_insecure, row.epsilon) for row in ledger.runs()]
    assert rows == [("INSECURE", False, math.inf), ("os-csprng", True, 1.0)]
    assert [(row.noise, row.epsilon) for row in ledger.history()] == [
        ("INSECURE", math.inf),
        ("os-csprng", 1.0),
    ]
    first, second = json.loads(json.dumps(ledger.export()))["runs"]
    assert (first["noise"], set(first["epsilon"].values())) == ("INSECURE", {None})
    assert (second["noise"], second["forgets_insecure"]) == ("os-csprng", True)
