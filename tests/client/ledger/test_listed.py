"""What several runs say of one secret: by its own budget where it was declared, else as of a group of records."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest

from pcevolve.cli.budget import _as_json
from pcevolve.dp.secrecy import most_success, most_success_of, secret_budget
from pcevolve.ledger.entries import Listed
from pcevolve.ledger.ledger import Ledger
from pcevolve.privacy import FREE, Event
from support.accounts import account, gaussian, images, outcome, query

ETA = secret_budget(1e-4, 1e-3)
MINE = Listed("a" * 64, 3, ETA)
OTHER = Listed("b" * 64, 3, ETA)
TWO = images(b"1", b"2")
NOISE = Event("gaussian", "8")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


def spend(path, run, event=NOISE, units=TWO, **terms):
    mine = account(path, run=run, units=units, **gaussian(9000), **terms)
    mine.pay(query(1, run), [event, FREE], outcome())


def asking(path, units=TWO, **options):
    return account(path, run="mine", units=units, **gaussian(9000), **options)


def test_a_run_with_the_same_secrets_adds_their_budget_whatever_data_it_was_on(path):
    spend(path, "same", secrets=MINE)
    spend(path, "elsewhere", secrets=Listed(MINE.fingerprint, 50, ETA / 2), units=images(b"7"))
    borne = asking(path, secrets=MINE).borne_by_secrets()
    assert borne == (MINE.as_event(), Event("gaussian", str(2 / Fraction(ETA))))
    mu = math.sqrt(1 + 1 / 4 + 1) * ETA
    assert most_success_of([*borne, MINE.as_event()], 1e-4) == pytest.approx(most_success(mu, 1e-4))


@pytest.mark.parametrize(("relation", "changes"), [("replace-one", 3), ("add-remove", 6)])
@pytest.mark.parametrize("terms", [{}, {"secrets": OTHER}])
def test_a_run_with_others_or_none_counts_as_one_on_a_group(path, terms, relation, changes):
    spend(path, "theirs", relation=relation, **terms)
    assert asking(path, secrets=MINE, relation=relation).borne_by_secrets() == (NOISE.on_group(changes),)


def test_a_run_with_others_on_other_data_is_not_counted_and_neither_is_one_that_did_not_look(path):
    spend(path, "elsewhere", units=images(b"7"))
    spend(path, "control", event=Event("uniform"))
    assert asking(path, secrets=MINE).borne_by_secrets() == ()


def test_an_insecure_run_leaves_no_bound(path):
    spend(path, "seeded", secure=False)
    assert asking(path, secrets=MINE).borne_by_secrets() is None
    assert asking(path.with_name("x"), secrets=MINE, forgets_insecure=True).borne_by_secrets() == ()


def test_an_insecure_run_with_the_same_secrets_on_other_data_leaves_none_either(path):
    spend(path, "seeded", secure=False, secrets=MINE, units=images(b"7"))
    assert asking(path, secrets=MINE).borne_by_secrets() is None


def test_the_ledger_tells_what_a_run_said_of_each_secret_and_nothing_of_them(path):
    spend(path, "one", secrets=MINE)
    spend(path, "none")
    spend(path, "seeded", secure=False, secrets=MINE, units=images(b"7"))
    rows = {row.run_id: row for row in Ledger(path).runs()}
    assert rows["one"].secret_mu == pytest.approx(ETA)
    assert rows["none"].secret_mu is None
    assert rows["seeded"].secret_mu == math.inf
    assert json.loads(json.dumps(_as_json(rows["seeded"])))["secret_mu"] is None
    assert MINE.fingerprint not in json.dumps(Ledger(path).export())


def test_a_run_does_not_go_on_with_other_secrets(path):
    spend(path, "mine", secrets=MINE)
    with pytest.raises(Exception, match="this run began with"):
        asking(path, secrets=OTHER)
