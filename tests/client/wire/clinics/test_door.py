"""The coordinator's door, over loopback: who is let in, what is taken, and what everybody is told."""

from __future__ import annotations

import base64

import pytest

from pcevolve.public.clinics.messages import state_agreement, state_presence
from pcevolve.public.clinics.sync import BODIES, SYNC, News
from pcevolve.public.transcript.bodies import Bodies
from support.clinics import make_key
from support.doors import CLINICS, PLAN, QUESTION, answer, ask, read_all


def test_whoever_comes_before_there_is_a_plan_is_told_to_come_again(coordinator):
    """A coordinator that was started again knows no owner yet, whose front goes on where it was."""
    assert coordinator.say().status_code == 503
    token = base64.b64encode(make_key(1).signing.sign(state_presence(CLINICS.digest))).decode()
    let_in = {"Authorization": f"0 {token}"}
    assert coordinator.client.get(BODIES + "0" * 64, headers=let_in).status_code == 503
    assert coordinator.client.post(SYNC, content=b" " * (2**16 + 1), headers=let_in).status_code == 503


def test_a_run_waits_for_every_owner_and_for_nobody_else(coordinator):
    waiting = coordinator.go(lambda: coordinator.door.wait(PLAN))
    assert coordinator.agree(0).status_code == 200
    assert News.model_validate_json(coordinator.say(0).content).missing == ("Clinic 2",)
    assert waiting.is_alive()
    coordinator.agree(1)
    waiting.join(5)
    assert not waiting.is_alive()
    assert "Clinic 2 agrees (2 of 2)" in coordinator.told


@pytest.mark.parametrize(
    ("said", "status", "why", "told"),
    [
        ({"key": 3}, 403, "differs from this owner's key", ""),
        ({"roster": "0" * 64, "key": 3}, 403, "roster differs", ""),
        ({"owner": 5, "key": 6}, 403, "differs from this owner's key", ""),
        ({"owner": 1, "key": 1}, 403, "differs from this owner's key", "Clinic 1"),
        ({"owner": 5, "key": 2, "roster": "0" * 64}, 403, "roster differs", "Clinic 2"),
        ({"version": "0.9"}, 409, "version 1.0 of pcevolve, but this owner has version 0.9", "Clinic 1"),
        ({"lines": 7}, 409, "copy of a different record", "Clinic 1"),
        ({"lines": 1, "head": "0" * 64}, 409, "copy of a different record", "Clinic 1"),
    ],
)
def test_whoever_is_not_let_in_is_told_why_and_of_an_owner_the_coordinator_once(
    open_door, said, status, why, told
):
    before = len(open_door.told)
    for _ in range(2):
        answered = open_door.say(**said)
        assert answered.status_code == status
        assert why in answered.json()["why"]
    heard = open_door.told[before:]
    assert len(heard) == bool(told)
    for each in heard:
        assert each.startswith(f"{told} was refused: ")
        assert why in each
        assert each.isprintable()


def test_a_signature_under_another_plan_is_no_agreement(coordinator):
    waiting = coordinator.go(lambda: coordinator.door.wait(PLAN))
    signature = make_key(1).signing.sign(state_agreement("0" * 64))
    answered = coordinator.say(0, agreement=base64.b64encode(signature))
    assert "the signature is not valid for the coordinator's plan" in answered.json()["why"]
    assert waiting.is_alive()
    coordinator.agree(0)
    coordinator.agree(1)
    waiting.join(5)


def test_an_owner_reads_the_record_line_by_line_and_its_files(open_door):
    news = News.model_validate_json(open_door.say().content)
    assert news.lines == open_door.folder.log.read_bytes()
    digest = Bodies(open_door.folder.bodies).keep(b"an image")
    token = base64.b64encode(make_key(1).signing.sign(state_presence(CLINICS.digest))).decode()
    let_in = {"Authorization": f"0 {token}"}
    assert open_door.client.get(BODIES + digest, headers=let_in).content == b"an image"
    for path in (BODIES + "0" * 64, BODIES + "../log.jsonl", BODIES + "%2e%2e/log.jsonl", "/", BODIES):
        assert open_door.client.get(path, headers=let_in).status_code == 404
    for wrong in (
        {},
        {"Authorization": f"1 {token}"},
        {"Authorization": "0 x"},
        {"Authorization": f"9 {token}"},
    ):
        assert open_door.client.get(BODIES + digest, headers=wrong).status_code == 403


def test_a_question_is_told_until_it_is_answered_and_the_first_answer_counts(open_door):
    asking, known = ask(open_door), read_all(open_door)
    assert News.model_validate_json(open_door.say(0, **known).content).question == QUESTION
    assert News.model_validate_json(open_door.say(0, **known, **answer(0)).content).question is None
    open_door.say(0, **known, **answer(0, fill=9))
    assert asking.is_alive()
    open_door.say(1, **known, **answer(1))
    asking.join(5)
    (found,) = [each for each in open_door.results if each is not None]
    assert [each.vector for each in found] == [bytes(8), bytes(8)]


def test_an_answer_of_somebody_else_or_to_something_else_is_not_taken(open_door):
    asking, known = ask(open_door), read_all(open_door)
    other = QUESTION.model_copy(update={"iteration": 2})
    for said in ({**answer(1)}, {**answer(0, other), "question": QUESTION.digest}):
        assert "no valid signature of this owner" in open_door.say(0, **known, **said).json()["why"]
    open_door.say(0, **known, **answer(0, other))  # of a question that nobody asks any more
    assert asking.is_alive()
    for place in (0, 1):
        open_door.say(place, **known, **answer(place))
    asking.join(5)


def test_an_owner_who_refuses_ends_the_run_with_a_sentence_that_says_no_more_than_the_kind(open_door):
    asking = ask(open_door)
    open_door.say(1, refusal="DataError")
    asking.join(5)
    (failed,) = open_door.failed
    assert "owner Clinic 2 cannot use its data" in str(failed)


def test_owners_hear_that_the_run_is_over(open_door):
    known = read_all(open_door)
    ending = open_door.go(lambda: open_door.door.finish({"images": 3}))
    for place in (0, 1):
        assert News.model_validate_json(open_door.say(place, **known).content).figures == {"images": 3}
    ending.join(5)
    assert not ending.is_alive()
