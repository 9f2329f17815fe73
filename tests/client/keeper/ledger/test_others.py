"""One run has to know of others: INSECURE ones, earlier releases, and what they say of a secret."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest

from pcevolve.app.cli.budget import _as_json
from pcevolve.errors import BudgetError
from pcevolve.keeper.ledger.entries import Listed
from pcevolve.keeper.ledger.history import LedgerBook
from pcevolve.public.dp.attacks import most_success, most_success_of, secret_budget
from pcevolve.public.parts import LedgerCap, PriorReleases
from pcevolve.public.privacy import FREE, Budget, Event
from support.accounts import ONE, account, gaussian, images, outcome, patients, pay, query

API = {"provider": "https://api.example"}
TWO = Event("exponential", "2")
ETA = secret_budget(1e-4, 1e-3)
MINE = Listed("a" * 64, 3, ETA)
OTHER = Listed("b" * 64, 3, ETA)
BOTH = images(b"1", b"2")
NOISE = Event("gaussian", "8")
REFUSED = "an INSECURE run used these data"


# -- INSECURE runs: no sum of losses bounds them, and no later run forgets them by itself --------------------------


def test_a_run_with_noise_is_refused_on_data_that_an_insecure_run_used(path):
    pay(account(path, "a", secure=False), 1)
    later = account(path, "b", lifetime=99)
    assert later.compute_spent_before() == math.inf
    with pytest.raises(BudgetError, match=rf"{REFUSED}.* privacy.forget_insecure, which leaves"):
        later.require([ONE])
    account(path, "c", images(b"other")).require([ONE])


def test_an_insecure_run_is_found_through_the_patient(path):
    pay(account(path, "a", patients(p=[b"1", b"2"]), unit="patient", secure=False), 1)
    with pytest.raises(BudgetError, match=REFUSED):
        account(path, "month", patients(p=[b"8"]), unit="patient").require([ONE])
    with pytest.raises(BudgetError, match=REFUSED):
        account(path, "image", images(b"2")).require([ONE])


def test_an_insecure_run_is_left_out_of_the_sum_only_where_that_is_asked_for(path):
    pay(account(path, "a", secure=False), 1)
    knowing = account(path, "b", forgets_insecure=True)
    assert knowing.compute_spent_before() == 0
    pay(knowing, 1, "b")
    with pytest.raises(BudgetError, match=REFUSED):
        account(path, "c", lifetime=99).require([ONE])
    assert account(path, "d", forgets_insecure=True).compute_spent_before() == 1


def test_an_insecure_run_promises_nothing_and_is_held_to_the_other_limits_all_the_same(path):
    pay(account(path, "a", secure=False), 1)
    again = account(path, "b", secure=False)
    again.require([Event("exponential", "3")])
    pay(account(path, "c", forgets_insecure=True), 1, "c")
    with pytest.raises(BudgetError, match="already spent epsilon=1"):
        again.require([Event("exponential", "3")])


def test_an_insecure_run_that_looked_at_nothing_harms_nobody(path):
    account(path, "a", secure=False).pay(query(1), [Event("uniform")], outcome())
    account(path, "b").require([ONE])
    assert LedgerBook(path).runs()[0].epsilon == 0


def test_an_insecure_run_is_marked_wherever_the_ledger_is_read(path):
    pay(account(path, "a", secure=False), 1)
    pay(account(path, "b", forgets_insecure=True), 1, "b")
    ledger = LedgerBook(path)
    rows = [(row.noise, row.forgets_insecure, row.epsilon) for row in ledger.runs()]
    assert rows == [("INSECURE", False, math.inf), ("os-csprng", True, 1.0)]
    told = [(row.noise, row.epsilon) for row in ledger.history()]
    assert told == [("INSECURE", math.inf), ("os-csprng", 1.0)]
    first, second = json.loads(json.dumps(ledger.export()))["runs"]
    assert (first["noise"], set(first["epsilon"].values())) == ("INSECURE", {None})
    assert (second["noise"], second["forgets_insecure"]) == ("os-csprng", True)


# -- runs on a draw from a folder, of which one unit changes two of the draw ------------------------------------------


def test_a_run_on_a_draw_is_told_and_counted_as_a_unit_of_its_folder_bears_it(path):
    pay(account(path, "a", subsampled=True, **API), 1)
    ledger = LedgerBook(path)
    (row,) = ledger.runs()
    assert (row.epsilon, row.epsilon_drawn) == (2.0, 1.0)
    assert [each.epsilon for each in ledger.history()] == [2.0]
    (exported,) = ledger.export()["runs"]
    assert (exported["subsampled"], exported["epsilon"]["pure"]) == (True, 2.0)
    later = account(path, "b", **API)
    assert later.compute_spent_before() == 2.0
    assert later.earlier() == PriorReleases(releases=1, events=(TWO,))
    pay(account(path, "c", images(b"other")), 1, "c")
    assert (ledger.runs()[-1].epsilon, ledger.runs()[-1].epsilon_drawn) == (1.0, None)


def test_what_all_runs_may_spend_is_held_against_what_a_unit_of_the_folder_bears(path):
    drawn = account(path, "a", subsampled=True)
    with pytest.raises(BudgetError, match="this run would spend epsilon=4 on one image, and the cap is 3"):
        drawn.require([TWO])
    pay(drawn, 1)
    with pytest.raises(BudgetError, match=r"already spent epsilon=2 .* this run would bring the sum to 4"):
        account(path, "b").require([TWO])
    account(path, "c").require([ONE])


@pytest.mark.parametrize("first", ["drawn", "whole"])
def test_runs_that_did_the_same_do_not_stand_for_each_other_where_one_was_on_a_draw(path, first):
    """Images a, b: one in a run on all, one in a run on a draw; whoever is worst off bore that of the draw."""
    runs = {"drawn": (b"1", True), "whole": (b"2", False)}
    for name in (first, *(runs.keys() - {first})):
        image, subsampled = runs[name]
        pay(account(path, name, images(image), subsampled=subsampled), 1, name)
    assert account(path, "both", images(b"1", b"2")).compute_spent_before() == 2.0


# -- earlier releases, as the card adds them up: a function of public facts alone ----------------------------------


@pytest.mark.parametrize("mine", [images(b"1"), images(b"never seen")], ids=["the same data", "other data"])
def test_earlier_releases_are_counted_whether_or_not_they_share_data(path, mine):
    pay(account(path, "a", images(b"1", b"2"), **API), 1)
    pay(account(path, "b", images(b"3"), provider="http://API.example/v2"), 1, "b", TWO)
    found = account(path, "c", mine, lifetime=99, **API).earlier()
    assert (found.releases, found.events) == (2, (ONE, TWO))


def test_releases_to_other_providers_count_and_the_cap_is_told(path):
    pay(account(path, "a", provider="https://other.example"), 1)
    mine = account(path, "b", images(b"9"), **API)
    LedgerBook(path).set_cap(Budget(Fraction(7), 1e-5))
    assert mine.earlier() == PriorReleases(releases=1, events=(ONE,), cap=LedgerCap(epsilon=7, delta=1e-5))


def test_controls_insecure_runs_and_the_run_itself_do_not_count(path):
    account(path, "b", **API).pay(query(1, "b"), [Event("uniform")], outcome())
    pay(account(path, "c", secure=False, **API), 1, "c")
    mine = account(path, "d", images(b"9"), **API)
    pay(mine, 1, "d")
    assert mine.earlier() == PriorReleases()


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
    pay(account(path, "a", images(b"1"), **API), 1)
    units = images(b"5") if kind == "image" else patients(p=[b"5"])
    mine = account(path, "b", units, unit=kind, relation=relation, unit_size=unit_size, **API)
    assert mine.earlier() == PriorReleases(releases=1, events=events)


@pytest.mark.parametrize(("relation", "size"), [("replace-one", "1"), ("add-remove", "2")])
def test_releases_on_patients_count_for_an_image_as_one_or_as_a_removal_and_an_addition(path, relation, size):
    pay(account(path, "a", patients(p=[b"1"]), unit="patient", relation=relation, **API), 1)
    mine = account(path, "b", images(b"5"), relation=relation, **API)
    assert mine.earlier().events == (Event("exponential", size),)


# -- secrets: by a run's own budget where they were declared, else as of a group of records -------------------------


def spend(path, run, event=NOISE, units=BOTH, **terms):
    mine = account(path, run=run, units=units, **gaussian(9000), **terms)
    mine.pay(query(1, run), [event, FREE], outcome())


def asking(path, units=BOTH, **options):
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


@pytest.mark.parametrize("theirs", [{}, {"secrets": MINE, "units": images(b"7")}])
def test_an_insecure_run_on_the_data_or_with_the_same_secrets_leaves_no_bound(path, theirs):
    spend(path, "seeded", secure=False, **theirs)
    assert asking(path, secrets=MINE).borne_by_secrets() is None
    assert asking(path.with_name("x"), secrets=MINE, forgets_insecure=True).borne_by_secrets() == ()


def test_the_ledger_tells_what_a_run_said_of_each_secret_and_nothing_of_them(path):
    spend(path, "one", secrets=MINE)
    spend(path, "none")
    spend(path, "seeded", secure=False, secrets=MINE, units=images(b"7"))
    rows = {row.run_id: row for row in LedgerBook(path).runs()}
    assert rows["one"].secret_mu == pytest.approx(ETA)
    assert rows["none"].secret_mu is None
    assert rows["seeded"].secret_mu == math.inf
    assert json.loads(json.dumps(_as_json(rows["seeded"])))["secret_mu"] is None
    assert MINE.fingerprint not in json.dumps(LedgerBook(path).export())
