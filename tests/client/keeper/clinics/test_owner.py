"""An owner's answers: charged, committed, the same ever after; and what it refuses before anything is drawn."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from pcevolve.errors import (
    BudgetError,
    DataError,
    DeclinedError,
    LedgerError,
    ProtocolError,
    UsageError,
)
from pcevolve.keeper.clinics.owner import Owner
from pcevolve.keeper.ledger.history import LedgerBook
from pcevolve.keeper.screen import OwnerScreen
from pcevolve.public.clinics import messages
from pcevolve.public.clinics.answers import Exchange, Question, SignedAnswer
from pcevolve.public.privacy import Budget
from support.clinics import OnePerson, Together, bring_together, make_clinics, make_key, write_roster
from support.folders import class_folders


class CaughtError(Exception):
    """A question was asked."""


class Asked(Together):
    """Owners who agreed, and the first question of a coordinator."""

    def gather(self, question: Question, before: Sequence[Exchange]) -> tuple[SignedAnswer, ...]:
        self.question = question
        raise CaughtError


@pytest.fixture
def asked(tmp_path: Path, clinics_api: str) -> Asked:
    made = bring_together(tmp_path, clinics_api, appearance="as-is")
    asked = Asked(made.run, made.clinics, made.folder)
    with pytest.raises(CaughtError):
        asked.carry_out()
    return asked


def join(asked: Together, place: int = 0) -> Owner:
    owner = asked.make_owner(place)
    considered = owner.consider(messages.Consider())
    owner.agree(messages.Agree(plan=considered.plan))
    return owner


def count_draws(asked: Together, place: int = 0) -> int:
    ledger = LedgerBook(asked.folder / f"owner-{place}" / "ledger" / "ledger.sqlite")
    draws = sum(row.count for row in ledger.history())
    ledger.close()
    return draws


def test_asked_again_an_owner_answers_with_the_same_bytes_and_pays_once(asked):
    told = messages.Answer(question=asked.question)
    first, owner = join(asked).answer(told), join(asked)
    assert owner.answer(told) == owner.answer(told) == first
    assert count_draws(asked) == 1
    assert first.answer.is_signed(asked.question, asked.clinics)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"head": "0" * 64}, "a different record"),
        ({"iteration": 0}, "not about the next release"),
        ({"iteration": 2}, "not about the next release"),
        ({"part": 1}, "out of order"),
        ({"part": 7}, "an access that the plan does not contain"),
        ({"plan": "0" * 64}, "another plan"),
        ({"earlier": "0" * 64}, "follows other answers"),
        ({"frame": b"nonsense"}, "no frame"),
        (
            {"frame": save({"centre": np.zeros(3), "axes": np.zeros((3, 2))})},
            "not what these candidates give",
        ),
        ({"frame": save({"centre": np.zeros(()), "axes": np.zeros(())})}, "not what these candidates give"),
    ],
)
def test_a_question_that_is_not_the_plans_next_about_this_record_draws_nothing(asked, change, said):
    owner = join(asked)
    with pytest.raises(ProtocolError, match=said):
        owner.answer(messages.Answer(question=asked.question.model_copy(update=change)))
    assert count_draws(asked) == 0


def test_the_same_access_is_never_answered_for_other_candidates_or_another_grid(asked):
    owner = join(asked)
    owner.answer(messages.Answer(question=asked.question))
    other = asked.question.model_copy(update={"step": asked.question.step / 2})
    with pytest.raises(LedgerError, match="already used to answer a different question"):
        owner.answer(messages.Answer(question=other))
    assert count_draws(asked) == 1


def test_a_coarse_grid_of_the_coordinators_gets_as_much_more_noise_as_it_costs(asked):
    owner = join(asked)
    work = owner._work
    owner.check(messages.Check())
    pool = work.lineage.pool(1)
    usual = work.summing.leave(pool, asked.question, (), work.views).grid
    for_nothing = asked.question.model_copy(update={"step": asked.question.step * 2**20})
    with pytest.raises(ProtocolError, match="the noise is too small"):
        work.summing.leave(pool, for_nothing, (), work.views)
    coarse = asked.question.model_copy(update={"step": asked.question.step * 2**6})
    found = work.summing.leave(pool, coarse, (), work.views).grid
    assert found.share * found.step > usual.share * usual.step


def test_nothing_is_answered_before_somebody_agreed(asked):
    for place in range(3):
        shutil.rmtree(asked.folder / f"owner-{place}" / "ledger")
    owner = asked.make_owner(0)
    with pytest.raises(ProtocolError, match="before a plan was considered"):
        owner.answer(messages.Answer(question=asked.question))
    assert not owner.consider(messages.Consider()).is_agreed
    with pytest.raises(ProtocolError, match="before the owner has agreed"):
        owner.answer(messages.Answer(question=asked.question))


def test_private_images_are_embedded_while_the_plan_is_considered_and_never_after(asked, monkeypatch):
    owner = join(asked)
    monkeypatch.setattr(
        "pcevolve.keeper.private.judge.embed_images", lambda *_: pytest.fail("embedded again")
    )
    assert owner.answer(messages.Answer(question=asked.question)).answer.owner == 0


def test_a_person_is_asked_once_for_a_plan(asked):
    before = asked.person.asked
    assert asked.make_owner(0).consider(messages.Consider()).is_agreed
    assert asked.person.asked == before


def test_the_front_cannot_agree_in_place_of_the_person(asked):
    shutil.rmtree(asked.folder / "owner-0" / "ledger")
    asked.person.agrees = False
    owner = asked.make_owner(0)
    plan = owner.consider(messages.Consider()).plan
    with pytest.raises(DeclinedError):
        owner.agree(messages.Agree(plan=plan))
    with pytest.raises(ProtocolError, match="before the owner has agreed"):
        owner.answer(messages.Answer(question=asked.question))
    assert not asked.make_owner(0).consider(messages.Consider()).is_agreed


def test_another_plan_than_was_agreed_to_is_refused(asked):
    own = next((asked.folder / "owner-0" / "ledger" / "joined").iterdir())
    (own / "agreed.json").write_text('{"plan": "another", "owner": 0}')
    with pytest.raises(LedgerError, match="a different plan from the one"):
        asked.make_owner(0).consider(messages.Consider())


def test_a_lost_ledger_is_noticed_by_the_owners_own_answers_on_record(tmp_path, clinics_api):
    made = bring_together(tmp_path, clinics_api)
    made.carry_out()
    shutil.rmtree(tmp_path / "owner-1" / "ledger")
    with pytest.raises(ProtocolError, match="an answer of yours that is not in your ledger"):
        join(made, 1).check(messages.Check())
    join(made, 0).check(messages.Check())


def replace_data(folder: Path, seed: int, shots: int) -> None:
    shutil.rmtree(folder / "private")
    class_folders(folder / "private", seed, shots=shots)


def spend_all(folder: Path) -> None:
    shutil.rmtree(folder / "ledger")
    with closing(LedgerBook(folder / "ledger" / "ledger.sqlite")) as ledger:
        ledger.set_cap(Budget(Fraction(1), 1e-5))


def exchange_roster(folder: Path) -> None:
    clinics = make_clinics(3, colluding=2, shots=3)
    write_roster(folder.parent / "roster.toml", clinics, ["type A", "type B"])


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        (
            lambda folder: (folder / "private" / "type B").rename(folder / "private" / "type C"),
            DataError,
            "classes differ from the roster's",
        ),
        (lambda folder: replace_data(folder, 9, 1), DataError, "are too far from the roster's shots 3, "),
        (
            lambda folder: replace_data(folder, 77, 3),
            LedgerError,
            "differ from those that this run began with",
        ),
        (spend_all, BudgetError, "epsilon"),
        (exchange_roster, ProtocolError, "roster differs from this owner's"),
    ],
    ids=["other classes", "too few units", "other data", "too little left", "another roster"],
)
def test_an_owner_who_cannot_take_part_is_told_why_in_a_line_and_nothing_is_drawn(asked, change, kind, said):
    change(asked.folder / "owner-0")
    with pytest.raises(kind, match=said) as refused:
        join(asked)
    assert "\n" not in str(refused.value)
    assert count_draws(asked) == 0


@pytest.mark.parametrize(
    ("most", "delta", "fits"), [("4.99", 1e-5, False), ("5", 0.5, False), ("5", 1e-5, True)]
)
def test_a_plan_of_more_than_an_owner_allows_is_refused_whatever_its_delta(
    tmp_path, clinics_api, most, delta, fits
):
    asked = bring_together(tmp_path, clinics_api, delta=delta)
    asked.most = Fraction(most)
    said = f"more than --max-epsilon {most}; nothing was spent"
    with nullcontext() if fits else pytest.raises(BudgetError, match=said):
        asked.carry_out()
    assert (count_draws(asked) > 0) is fits


def test_what_the_ledger_learned_while_the_person_thought_refuses_before_anybody_pays(asked):
    path = asked.folder / "owner-0" / "ledger"
    shutil.rmtree(path)
    owner = asked.make_owner(0)
    plan = owner.consider(messages.Consider()).plan
    ledger = LedgerBook(path / "ledger.sqlite")
    ledger.set_cap(Budget(Fraction(1), 1e-5))
    with pytest.raises(BudgetError, match="epsilon"):
        owner.agree(messages.Agree(plan=plan))
    assert ledger.runs() == []
    ledger.close()


def test_an_owner_who_is_not_in_the_roster_cannot_begin(asked):
    path = asked.folder / "owner-0" / "strange.key"
    make_key(9).save(path)
    options = replace(asked.make_owner(0)._options, key=path)
    with pytest.raises(UsageError, match="does not belong to an owner"):
        Owner(options, OwnerScreen(quiet=True), OnePerson())


@pytest.mark.parametrize("share", [0.9, 1.1])
def test_an_owner_is_told_where_its_work_was_longer_than_what_hides_it(asked, capsys, share):
    owner = join(asked)
    owner._screen = OwnerScreen()
    owner._padding.longest = share * owner._padding.tick
    owner.close()
    assert ("so the coordinator could observe the longer time" in capsys.readouterr().err) == (share > 1)


def test_a_run_is_never_priced_without_what_all_others_together_could_learn(asked, capsys):
    owner = asked.make_owner(0)
    owner._screen = OwnerScreen(verbose=True)
    owner.consider(messages.Consider())
    told = " ".join(capsys.readouterr().err.split())
    assert "you are Clinic 1" in told
    assert "epsilon 5 at delta 0.00001" in told or "epsilon 5 at delta 1e-05" in told
    assert "trust nobody" in told
    assert "if all other owners, coordinator and server pool" in told
    assert "after this run the sum will be" in told
