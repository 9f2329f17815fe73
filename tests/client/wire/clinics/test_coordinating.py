"""Runs of several owners in one process: what is released, and what anybody who lies comes to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load

from pcevolve.auditing import audit, find_encoder
from pcevolve.auditing.rerun import Rerun
from pcevolve.errors import BudgetError, ProtocolError, UsageError
from pcevolve.keeper.ledger.history import LedgerBook
from pcevolve.keeper.private.dataset import load_folder
from pcevolve.keeper.private.judge import PrivateViews
from pcevolve.public import selectors
from pcevolve.public.clinics import grid
from pcevolve.public.clinics.answers import Question, SignedAnswer, decode_exchanges, state_answer
from pcevolve.public.selectors.choosing import Chooser, choose_renditions
from pcevolve.public.selectors.selection import join_renditions
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import RecordedRelease
from support import online
from support.clinics import Together, bring_together, make_key
from support.tables import write_table

Answers = tuple[SignedAnswer, ...]


class CrashError(Exception):
    """The coordinator's process is gone."""


@pytest.mark.parametrize("method", ["dp-means", "pe", "aug-pe"])
def test_a_run_of_three_owners_ends_in_a_release_that_audits(tmp_path, clinics_api, method):
    together = bring_together(
        tmp_path, clinics_api, method=method, iterations=None if method == "dp-means" else 1
    )
    summary = together.carry_out()
    assert summary["images_released"] > 0
    assert [each.claim for each in audit(tmp_path / "run") if not each.holds] == []


class NoNoise:
    """Gives sums as they are."""

    source = "os-csprng"

    def gaussian(self, _key: str, values: np.ndarray, _sigma: float) -> np.ndarray:
        return values


@pytest.mark.parametrize("method", ["dp-means", "pe"])
def test_but_for_noise_the_release_is_that_of_one_owner_who_has_all_the_data(
    tmp_path, clinics_api, method, monkeypatch
):
    monkeypatch.setattr(grid.Grid, "add_noise", lambda self, steps: steps)
    iterations = None if method == "dp-means" else 1
    bring_together(
        tmp_path, clinics_api, method=method, appearance="as-is", iterations=iterations
    ).carry_out()
    run = RunReader.strict(tmp_path / "run")
    plan, (receipt, *_) = run.require_plan(), run.receipts
    selector = selectors.find_method(method).make_selector()
    chooser = Chooser(plan, find_encoder(plan), run.bodies.file, selector)
    scenes = chooser.find_inputs(
        receipt.iteration, Rerun.of(run).pools[receipt.iteration], choose_renditions(plan, None)
    )
    whole = tmp_path / "whole"
    for place in range(3):
        for label in ("type A", "type B"):
            (whole / label).mkdir(parents=True, exist_ok=True)
            for path in (tmp_path / f"owner-{place}" / "private" / label).iterdir():
                (whole / label / path.name).write_bytes(path.read_bytes())
    pooled = PrivateViews(load_folder(whole), chooser.encoder).embeddings(None)
    expected = selector.measure(pooled, join_renditions(scenes), receipt.events, NoNoise())
    measured = load(run.bodies.file(receipt.measured))
    assert measured.keys() == expected.keys()
    for name in measured:
        assert measured[name] == pytest.approx(expected[name], abs=1e-6)


def list_charged(folder: Path, owners: int = 3) -> list[list[tuple[str, int]]]:
    """What each owner's ledger has, run by run."""
    found = []
    for place in range(owners):
        ledger = LedgerBook(folder / f"owner-{place}" / "ledger" / "ledger.sqlite")
        found.append(
            [(row.run_id, sum(each.count for each in ledger.history(row.run_id))) for row in ledger.runs()]
        )
        ledger.close()
    return found


def meddle(together: Together, change: object) -> None:
    together.meddle = change  # type: ignore[assignment]
    together.carry_out()


def replace_answer(answers: Answers, place: int, **changes: object) -> Answers:
    return tuple(each.model_copy(update=changes) if at == place else each for at, each in enumerate(answers))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda question, answers: replace_answer(answers, 1, vector=bytes(len(answers[1].vector))),
            "has not signed",
        ),
        (lambda question, answers: (answers[1], answers[0], answers[2]), "once and in order"),
        (lambda question, answers: replace_answer(answers, 0, owner=1), "once and in order"),
        (lambda question, answers: answers[:2], "once and in order"),
        (lambda question, answers: replace_answer(answers, 2, signature=bytes(64)), "has not signed"),
    ],
    ids=["a changed vector", "two swapped", "one twice", "one missing", "one unsigned"],
)
def test_nothing_is_released_of_answers_that_are_not_their_owners(tmp_path, clinics_api, change, said):
    with pytest.raises(ProtocolError, match=said):
        meddle(bring_together(tmp_path, clinics_api), change)
    assert not RunReader.lenient(tmp_path / "run").receipts


def test_an_owner_who_answers_nonsense_costs_a_release_and_nothing_else(tmp_path, clinics_api):
    def answer_nonsense(question: Question, answers: Answers) -> Answers:
        vector = np.random.default_rng(3).bytes(len(answers[1].vector))
        signature = make_key(2).signing.sign(state_answer(question.digest, 1, vector))
        return (answers[0], SignedAnswer.of(1, vector, signature), answers[2])

    with pytest.raises(ProtocolError, match="cannot be the sum"):
        meddle(bring_together(tmp_path, clinics_api), answer_nonsense)


def test_a_release_that_a_crash_cut_off_is_made_again_to_the_last_bit_and_paid_once(tmp_path, clinics_api):
    heard: list[Answers] = []

    def crash(_question: Question, answers: Answers) -> Answers:
        heard.append(answers)
        if len(heard) == 2:  # in the middle of a release of two accesses
            raise CrashError
        return answers

    together = bring_together(tmp_path, clinics_api, appearance="as-is")
    with pytest.raises(CrashError):
        meddle(together, crash)
    before = list_charged(tmp_path)
    meddle(together, crash)
    assert heard[:2] == heard[2:4]
    assert list_charged(tmp_path) == before
    assert [each.claim for each in audit(tmp_path / "run") if not each.holds] == []


def test_a_finished_run_is_gone_through_again_and_nobody_is_asked(tmp_path, clinics_api):
    together = bring_together(tmp_path, clinics_api)
    first = together.carry_out()["images_released"]

    def ask_nobody(_question: Question, _answers: Answers) -> Answers:
        raise CrashError

    together.meddle = ask_nobody
    assert together.carry_out()["images_released"] == first


def test_a_method_that_draws_is_refused_before_anything_is_sent(tmp_path, clinics_api, clinics_heard):
    for method in ("pcevolve", "jvem", "pe-em", "random", "t2i"):
        with pytest.raises(UsageError, match="its releases are not sums"):
            bring_together(tmp_path / method, clinics_api, method=method).carry_out()
    assert clinics_heard == []


def test_two_coordinators_are_added_up_by_the_same_owners_ledger(tmp_path, clinics_api):
    bring_together(tmp_path, clinics_api).carry_out()
    assert [len(each) for each in list_charged(tmp_path)] == [1, 1, 1]
    second = bring_together(tmp_path, clinics_api, out=tmp_path / "second", is_new=False)
    # Without a cap the second run finds nothing left of what the first may spend.
    with pytest.raises(BudgetError, match="epsilon"):
        second.carry_out()
    assert [len(each) for each in list_charged(tmp_path)] == [1, 1, 1]


def test_the_record_has_every_answer_and_none_of_anybodys_data(tmp_path, clinics_api):
    bring_together(tmp_path, clinics_api, appearance="matched").carry_out()
    assert [each.claim for each in audit(tmp_path / "run") if not each.holds] == []
    run = RunReader.strict(tmp_path / "run")
    released = [each.record for each in run.entries if isinstance(each.record, RecordedRelease)]
    exchanges = [
        each for one in released if one.answers for each in decode_exchanges(run.bodies.file(one.answers))
    ]
    assert len(exchanges) == 3  # appearance, centre and deviations
    assert all([one.owner for one in each.answers] == [0, 1, 2] for each in exchanges)


def test_owners_of_texts_make_one_release_as_well(tmp_path):
    server = online.LocalServer(online.chat)
    together = bring_together(
        tmp_path, server.address, dialect="chat", model="bundled", method="pe", encoder="words", size=None,
        iterations=1, key=online.KEY,
    )  # fmt: skip
    for place in range(3):
        rows = [
            {"text": f"{word} {label[-1]} note {number} of {place}", "label": label}
            for label, word in (("type A", "fever"), ("type B", "fracture"))
            for number in range(3)
        ]
        write_table(tmp_path / f"owner-{place}" / "private.csv", rows)
    together.private = "private.csv"
    try:
        assert together.carry_out()["images_released"] > 0
    finally:
        server.close()
    assert [each.claim for each in audit(tmp_path / "run") if not each.holds] == []
