"""Questions and signed answers: one spelling, and a signature for one question alone."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from pcevolve.errors import ProtocolError
from pcevolve.public.clinics.answers import (
    Exchange,
    Question,
    SignedAnswer,
    decode_exchanges,
    encode_exchanges,
    state_answer,
)
from support.clinics import make_clinics, make_key

CLINICS = make_clinics(2)
QUESTION = Question(plan="1" * 64, iteration=1, part=0, head="2" * 64, earlier="3" * 64, step=0.25)


def make_answer(
    owner: int = 0, question: Question = QUESTION, numbers: int = 3, key: int | None = None
) -> SignedAnswer:
    vector = np.arange(3, dtype="<u8").tobytes()
    signer = make_key(owner + 1 if key is None else key)
    return SignedAnswer.of(owner, vector, signer.signing.sign(state_answer(QUESTION.digest, owner, vector)))


def test_an_answer_is_signed_for_its_owner_and_its_question():
    answer = make_answer()
    assert answer.is_signed(QUESTION, CLINICS)
    assert answer.residues.tolist() == [0, 1, 2]
    for name, value in {
        "plan": "9" * 64,
        "iteration": 2,
        "part": 1,
        "head": "9" * 64,
        "earlier": "9" * 64,
    }.items():
        assert not answer.is_signed(QUESTION.model_copy(update={name: value}), CLINICS)
    assert not answer.is_signed(QUESTION.model_copy(update={"step": 0.5}), CLINICS)
    assert not answer.is_signed(QUESTION.model_copy(update={"frame": b"x"}), CLINICS)


def test_whoever_changes_an_answer_cannot_sign_it():
    answer = make_answer()
    for change in ({"vector": bytes(24)}, {"owner": 1}, {"signature": bytes(64)}, {"owner": 7}):
        assert not answer.model_copy(update=change).is_signed(QUESTION, CLINICS)
    assert not make_answer(key=2).is_signed(QUESTION, CLINICS)


@pytest.mark.parametrize("owners", [(0,), (0, 0), (1, 0), (0, 1, 1)])
def test_a_release_has_one_answer_of_each_owner_in_order(owners):
    exchange = Exchange(question=QUESTION, answers=tuple(map(make_answer, owners)))
    with pytest.raises(ProtocolError, match="once and in order"):
        exchange.read(CLINICS)


def test_exchanges_are_read_in_their_one_spelling():
    exchanges = (Exchange(question=QUESTION, answers=(make_answer(0), make_answer(1))),)
    data = encode_exchanges(exchanges)
    assert decode_exchanges(data) == exchanges
    for odd in (data + b" ", data.replace(b'"part":0', b'"part": 0'), b"", b"[]\n", b"{}"):
        with pytest.raises(ProtocolError, match="no answers of owners"):
            decode_exchanges(odd)


@pytest.mark.parametrize("step", [0.0, -0.25, 0.3, float("inf"), float("nan")])
def test_a_grid_has_a_power_of_two_for_its_step(step):
    with pytest.raises(ValidationError):
        Question(plan="1" * 64, iteration=1, part=0, head="2" * 64, earlier="3" * 64, step=step)


@pytest.mark.parametrize("length", [0, 7, 12])
def test_a_vector_is_of_whole_numbers(length):
    with pytest.raises(ProtocolError, match="not a vector"):
        _ = SignedAnswer.of(0, bytes(length), bytes(64)).residues


def test_a_vector_has_at_most_16_mib():
    assert len(SignedAnswer.of(0, bytes(16 * 2**20), bytes(64)).vector) == 16 * 2**20
    with pytest.raises(ValidationError, match="vector"):
        SignedAnswer.of(0, bytes(16 * 2**20 + 8), bytes(64))
