"""Whole runs of a coordinator who lies, or of an owner who is no help: what each ends in, and what was spent till then.

Every party is processes; who lies is a coordinator whose own checks are taken out; see ``support.lying``.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from pcevolve.auditing import audit
from pcevolve.keeper.ledger.history import LedgerBook
from pcevolve.public.privacy import Budget
from support.clinics import make_clinics, write_roster
from support.examples import is_nightly
from support.folders import class_folders, receipts
from support.forkserver import ForkServer
from system.test_clinics import LABELS, Clinics, end, prepare

METHOD = ("--method", "pe", "--iterations", "2")
NOT_AGREED, TOO_MUCH = 1, 4
OWNERS = range(3)


@pytest.fixture
def clinics(tmp_path: Path, forks: ForkServer) -> Iterator[Clinics]:
    with prepare(tmp_path, forks) as made:
        yield made


def lie(clinics: Clinics, how: str, given: str = "") -> None:
    clinics.first["coordinator"] = (f"support.lying:{how}", given)
    clinics.coordinate(*METHOD)


def find_sentence(clinics: Clinics, place: int) -> str:
    """Why an owner took no more part: one error on its screen."""
    before, _, said = clinics.read(f"owner-{place}").partition("error: ")
    assert "error: " not in before + said
    return said


MINE = "an answer of yours that is not in your ledger"
UNSIGNED = "has not signed"


LIES = {
    "show_two_plans": (UNSIGNED, MINE, UNSIGNED),
    "swap_owners": (MINE, MINE, UNSIGNED),
    "choose_otherwise": ("the selection does not follow",) * 3,
}
AT_NIGHT = {
    "ask_one_otherwise": (UNSIGNED, MINE, UNSIGNED),
    "leave_out": ("once and in order", "once and in order", MINE),
    "release_another_sum": ("not the sum of the owners' answers",) * 3,
}


@pytest.mark.parametrize(("how", "said"), {**LIES, **(AT_NIGHT if is_nightly() else {})}.items())
def test_a_lie_about_a_release_ends_at_each_owner_before_the_next_is_paid_for(clinics, how, said):
    lie(clinics, how)
    assert end(*(clinics.join(place) for place in OWNERS)) == [NOT_AGREED] * 3, clinics.read("owner-0")
    for place in OWNERS:
        assert said[place] in find_sentence(clinics, place)
        assert clinics.count_paid(place) == 1
    assert [each for each in audit(clinics.folder / "run") if not each.holds] != []


def test_an_owner_answers_no_other_question_for_an_access_that_it_has_answered(clinics):
    lie(clinics, "ask_again")
    honest = [clinics.join(place) for place in (0, 2)]
    assert end(clinics.join(1)) == [TOO_MUCH]
    assert "already used to answer a different question" in find_sentence(clinics, 1)
    assert clinics.count_paid(1) == 1
    assert [each.poll() for each in honest] == [None, None]
    assert not receipts(clinics.folder / "run")


def test_answers_of_an_old_run_are_no_release_of_a_new_one_and_nobody_pays(clinics):
    everybody = [clinics.coordinate(*METHOD), *(clinics.join(place) for place in OWNERS)]
    assert end(*everybody) == [0] * 4
    old = clinics.folder / "old"
    (clinics.folder / "run").rename(old)
    for place in OWNERS:
        own = clinics.folder / f"owner-{place}"
        (own / "joined").rename(own / "old")
        with closing(LedgerBook(own / "ledger" / "ledger.sqlite")) as ledger:
            ledger.set_cap(Budget(Fraction(20), 1e-5))
    lie(clinics, "replay", str(old))
    assert end(*(clinics.join(place) for place in OWNERS)) == [NOT_AGREED] * 3
    for place in OWNERS:
        assert MINE in find_sentence(clinics, place)
        assert clinics.count_paid(place) == 2  # of the old run


def test_of_two_coordinators_at_once_one_is_told_no_once_the_owners_ledger_is_full(clinics):
    first = [clinics.coordinate(*METHOD), *(clinics.join(place) for place in OWNERS)]
    clinics.wait_for(lambda: clinics.count_paid(0) > 0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        second = replace(clinics, port=free.getsockname()[1])
    other = second.coordinate(*METHOD, "--out", "second")
    assert end(second.join(0, "--out", "owner-0/second")) == [TOO_MUCH]
    assert end(other) == [2]
    assert end(*first) == [0] * 4
    assert "and the cap is 5 at delta 1e-05" in find_sentence(clinics, 0)
    assert "owner Clinic 1 has not enough privacy budget left for this plan" in clinics.read("coordinator")
    assert "lifetime" not in clinics.read("coordinator")
    assert [clinics.count_paid(place) for place in OWNERS] == [2, 2, 2]


def test_an_owner_who_answers_nonsense_ends_the_run_and_its_answers_say_nothing(clinics):
    clinics.first["owner-1"] = ("support.lying:answer_nonsense", "")
    coordinator = clinics.coordinate(*METHOD)
    for place in OWNERS:
        clinics.join(place)
    assert end(coordinator) == [NOT_AGREED]
    assert "an owner answered another question, or nonsense" in clinics.read("coordinator")
    assert [clinics.count_paid(place) for place in OWNERS] == [1, 1, 1]
    assert not receipts(clinics.folder / "run")


def test_an_owner_who_vanishes_is_named_to_all_others_and_nothing_more_is_paid_for(clinics):
    clinics.first["coordinator"] = ("support.lying:miss_soon", "")
    clinics.first["owner-2"] = ("support.stopping:stop_at", "keeper checked")
    clinics.coordinate(*METHOD)
    owners = [clinics.join(place) for place in OWNERS]
    clinics.wait_for(lambda: clinics.count_paid(0) == clinics.count_paid(1) == 2)
    owners[2].send_signal(signal.SIGKILL)
    clinics.wait_for(lambda: "waiting for Clinic 3 to answer" in clinics.read("coordinator"))
    clinics.wait_for(lambda: "waiting for Clinic 3" in clinics.read("owner-0"))
    assert [owners[place].poll() for place in (0, 1)] == [None, None]
    assert [each["iteration"] for each in receipts(clinics.folder / "run")] == [1]
    assert clinics.count_paid(2) == 1
    # What the others would know together was said before anybody agreed.
    assert "trust nobody epsilon 7.5372" in clinics.read("owner-0")


def bring_other_weights(clinics: Clinics) -> list[str]:
    (clinics.folder / "other.pt").write_bytes(b"other weights")
    return ["--encoder-weights", "other.pt"]


def bring_few(clinics: Clinics) -> list[str]:
    class_folders(clinics.folder / "few", 9, shots=1)
    return ["--private", "few"]


def bring_a_spent_ledger(clinics: Clinics) -> list[str]:
    with closing(LedgerBook(clinics.folder / "owner-1" / "ledger" / "ledger.sqlite")) as ledger:
        ledger.set_cap(Budget(Fraction(1), 1e-5))
    return []


def come_with_another_version(clinics: Clinics) -> list[str]:
    clinics.first["owner-1"] = ("support.lying:be_older", "0.1.0")
    return []


def bring_another_class(clinics: Clinics) -> list[str]:
    own = clinics.folder / "owner-1" / "private"
    (own / "type B").rename(own / "secret C")
    return []


def bring_another_roster(clinics: Clinics) -> list[str]:
    (clinics.folder / "other").mkdir()
    write_roster(clinics.folder / "other" / "roster.toml", make_clinics(3, colluding=2, shots=3), LABELS)
    return ["--roster", "other/roster.toml"]


BAD = {
    bring_another_class: (3, "classes differ from the roster's", "owner Clinic 2 cannot use its data"),
    bring_another_roster: (2, "roster differs from this owner's", "roster differs from this owner's"),
    bring_other_weights: (
        8,
        "has different weights from those on this machine",
        "owner Clinic 2 has not the encoder",
    ),
    come_with_another_version: (
        2,
        "of pcevolve, but this owner has version 0.1.0: use the same version",
        "Clinic 2 was refused: the",
    ),
}
BAD_AT_NIGHT = {
    bring_few: (3, "class sizes are too far", "owner Clinic 2 cannot use its data for this plan"),
    bring_a_spent_ledger: (4, "and the cap is 1", "owner Clinic 2 has not enough privacy budget left"),
}


@pytest.mark.parametrize(("bring", "said"), {**BAD, **(BAD_AT_NIGHT if is_nightly() else {})}.items())
def test_whoever_cannot_take_part_is_told_why_and_the_coordinator_in_a_sentence_before_anybody_pays(
    clinics, bring, said
):
    code, told, heard = said
    more = bring(clinics)
    clinics.coordinate(*METHOD)
    clinics.join(0)
    assert end(clinics.join(1, *more)) == [code], clinics.read("owner-1")
    assert told in find_sentence(clinics, 1)
    clinics.wait_for(lambda: heard in clinics.read("coordinator"))
    assert "secret" not in clinics.read("coordinator")
    assert [clinics.count_paid(place) for place in OWNERS] == [0, 0, 0]
