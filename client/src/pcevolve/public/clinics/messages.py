"""Messages between two processes of one command: of a coordinator, and of an owner, beside ``public.protocol``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import Base64Bytes, Field

from pcevolve.public.clinics.answers import Exchanges, Question, SignedAnswer
from pcevolve.public.clinics.owners import MOST_OWNERS
from pcevolve.public.protocol import ASKED, Close, Finish, Iteration, Message
from pcevolve.public.settings import Digest


class Ask(Message):
    """Say what owners are to be asked next for a release, of which these exchanges are there; see ``Summing.ask``."""

    iteration: Iteration
    head: Digest
    exchanges: Exchanges = ()


class Asked(Message):
    """The next question; nothing where all were answered."""

    question: Question | None = None


class Add(Message):
    """Combine all owners' answers into a release; the reply is a ``Released``."""

    iteration: Iteration
    head: Digest
    exchanges: Exchanges = ()


ASKED_OF_COORDINATOR: Final[Mapping[str, type[Message]]] = {**ASKED, "ask": Ask, "add": Add}
"""What a coordinator's runner may say, by name."""


class Introduce(Message):
    """Say who the owner is."""


class Introduced(Message):
    """The owner's place, and a signature by which the coordinator knows it again.

    Attributes:
        roster: Digest of the owners that the owner's roster names.
    """

    owner: Annotated[int, Field(ge=0, lt=MOST_OWNERS)]
    roster: Digest
    token: Base64Bytes


class Consider(Message):
    """The coordinator's record has a plan: read the private data, and say if it can be paid for."""


class Considered(Message):
    """It can; ``is_agreed``: a person has agreed to this very plan before."""

    plan: Digest
    is_agreed: bool


class Agree(Message):
    """The owner's person agrees to a plan: enter the run in the ledger."""

    plan: Digest


class Agreed(Message):
    """The owner's signature under the plan."""

    signature: Base64Bytes


class Check(Message):
    """Take in what is new in the record, and check that every release follows from the owners' answers."""


class Checked(Message):
    """It does."""


class Answer(Message):
    """Answer a question, of whose release these exchanges came before."""

    question: Question
    before: Exchanges = ()


class PaidAnswer(Message):
    """The answer, which is paid for and stays the same."""

    answer: SignedAnswer


ASKED_OF_OWNER: Final[Mapping[str, type[Message]]] = {
    each.__name__.lower(): each for each in (Introduce, Consider, Agree, Check, Answer, Finish, Close)
}
"""What an owner's front may say, by name."""


def state_presence(roster: str) -> bytes:
    """The bytes that an owner signs to be let in by a coordinator, whose record every owner may read."""
    return b"/".join((b"pcevolve clinics presence 1", roster.encode()))


def state_agreement(plan: str) -> bytes:
    """The bytes that an owner signs when its person agrees to a plan."""
    return b"/".join((b"pcevolve clinics agreement 1", plan.encode()))
